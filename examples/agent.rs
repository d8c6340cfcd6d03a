//! An agent with skills, on any server that speaks the Chat Completions of `OpenAI`:
//!
//! ```sh
//! cargo run -p metier --features search,session --example agent -- http://127.0.0.1:8080/v1 my-model "Write the release notes"
//! ```
//!
//! It asks at the terminal before a script runs. `METIER_API_KEY` is sent as a bearer token if it is set.

#![expect(clippy::print_stdout, reason = "the conversation is the result")]
#![expect(clippy::print_stderr, reason = "errors are for the person at the terminal")]
#![expect(clippy::disallowed_methods, reason = "a program of its own may read its environment")]

use std::error::Error;
use std::process::ExitCode;

use metier::{Approve, Metier};
use serde_json::{Value, json};

fn main() -> ExitCode {
    metier::launch_if_asked();
    match converse() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn converse() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [server, model, task] = arguments.as_slice() else {
        return Err("usage: agent URL MODEL TASK".into());
    };
    let key = std::env::var("METIER_API_KEY").unwrap_or_default();

    let metier = Metier::open()?;
    let skills = metier.catalog()?.skill_list().budget(2_000).task(task).render();
    let mut session = metier.session().approver(Approve::ask_terminal()).agent("example").start()?;
    let tools: Vec<Value> = session.tools().iter().map(function).collect();
    let mut messages = vec![
        json!({ "role": "system", "content": format!("You have these skills.\n{}", skills.text) }),
        json!({ "role": "user", "content": task }),
    ];
    loop {
        let request = json!({ "model": model, "messages": messages, "tools": tools });
        let mut reply = ureq::post(format!("{server}/chat/completions"))
            .header("authorization", format!("Bearer {key}"))
            .content_type("application/json")
            .send(request.to_string())
            .map_err(|error| format!("cannot ask the model server {server}: {error}"))?;
        let reply: Value = serde_json::from_str(&reply.body_mut().read_to_string()?)?;
        let message = reply["choices"][0]["message"].clone();
        messages.push(message.clone());
        let Some(calls) = message["tool_calls"].as_array() else {
            println!("{}", message["content"].as_str().unwrap_or_default());
            break;
        };
        for call in calls {
            let name = call["function"]["name"].as_str().unwrap_or_default();
            let arguments = serde_json::from_str(call["function"]["arguments"].as_str().unwrap_or("{}"))?;
            println!("{name} {arguments}");
            // A refusal is an answer too: the model reads why, and what to do instead.
            let text =
                session.dispatch(name, arguments).map_or_else(|refusal| refusal.text(), |answer| answer.text);
            messages.push(json!({ "role": "tool", "tool_call_id": call["id"], "content": text }));
        }
    }
    Ok(session.end()?)
}

/// A tool as Chat Completions takes it.
fn function(tool: &metier::SkillTool) -> Value {
    let function =
        json!({ "name": tool.name, "description": tool.description, "parameters": tool.input_schema });
    json!({ "type": "function", "function": function })
}
