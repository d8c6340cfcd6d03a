//! Prompts on a model server behind `LiteLLM`'s proxy. `scripts/litellm` installs it and runs this.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use metier_fake_model::{Server, Step};
use metier_harness::{
    AgentEvent, AgentEventKind, OpenAi, OpenAiApi, OpenAiSettings, Retries, SkillTools, evaluate,
};
use metier_home::Secret;
use metier_prompt::{Prompt, Section, SkillMount, Tool, ToolAnswer, ToolContext, ToolResult};
use metier_skill::Coded as _;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::asking::{recorded, session};
use crate::rig::{alone, skill_md, var};

const KEY: &str = "sk-metier-test";

/// The proxy, in front of one model; ended with this.
struct Proxy {
    child: Child,
    url: String,
}

impl Proxy {
    fn start(place: &Path, model: &Server) -> Self {
        let program =
            var("METIER_LITELLM").unwrap_or_else(|| panic!("scripts/litellm says where LiteLLM is"));
        let config = json!({
            "model_list": [{
                "model_name": "fake-model",
                "litellm_params": {
                    "model": "openai/fake-model",
                    "api_base": format!("{}/v1", model.url()),
                    "api_key": "sk-fake",
                },
            }],
            "general_settings": { "master_key": KEY },
        });
        // JSON is YAML.
        let file = place.join("litellm.yaml");
        fs::write(&file, config.to_string()).unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port().to_string();
        drop(listener);
        let child = Command::new(program)
            .args(["--host", "127.0.0.1", "--port", &port, "--config"])
            .arg(file)
            .env("HOME", place)
            // Otherwise it asks the network for prices.
            .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
            .env("LITELLM_TELEMETRY", "False")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut proxy = Self { child, url: format!("http://127.0.0.1:{port}/v1") };
        let mut lines = BufReader::new(proxy.child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let mut said = Vec::new();
        let is_there = lines.any(|line| {
            said.push(line);
            said.last().is_some_and(|line| line.contains("Uvicorn running on"))
        });
        assert!(is_there, "{}", said.join("\n"));
        // What else it says must go somewhere, or it waits.
        thread::spawn(move || lines.for_each(drop));
        proxy
    }

    fn harness(&self, place: &Path, api: OpenAiApi, key: &str) -> OpenAi {
        let mut settings = OpenAiSettings::new(SkillTools::new(place.join("homes")));
        settings.base_url.clone_from(&self.url);
        settings.api = api;
        settings.key = Some(Secret::new(key));
        settings.model = Some("fake-model".to_owned());
        settings.retries = Retries { count: 0, ..Retries::default() };
        OpenAi::new(settings)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

fn prompt() -> Prompt {
    let add = Tool::new("add", "Adds two numbers", |add: Add, _: &mut ToolContext<'_>| {
        ToolResult::Ok(ToolAnswer::message(format!("the sum is {}", add.a + add.b)))
    });
    let text = skill_md("codeword-skill", "Quagga-description", "blue-phoenix-42");
    let section = Section::new("task", "Task").body("Add, and say the codeword.").tool(add);
    let section = section.skill(SkillMount::from_text("codeword-skill", text));
    Prompt::builder("tests", "proxied").section(section).build().unwrap()
}

/// Both APIs, streamed: a tool of the prompt, a skill that the model loads, the answer; then a wrong key and a model that is not
/// there.
#[test]
#[ignore = "needs LiteLLM; scripts/litellm installs it"]
fn litellm() {
    alone("proxied::litellm", || {
        let place = tempfile::tempdir().unwrap();
        let place = place.path();
        let model = Server::start(vec![
            Step::call("add", json!({ "a": 20, "b": 22 })),
            Step::call("load_skill", json!({ "skill_name": "codeword-skill" })),
            Step::quote("The codeword is "),
        ])
        .unwrap();
        let proxy = Proxy::start(place, &model);
        let mut session = session(place, None);
        for (round, api) in OpenAiApi::ALL.into_iter().enumerate() {
            let mut pieces = String::new();
            let harness = proxy.harness(place, api, KEY);
            let answer = evaluate(&harness, prompt().rendering()).on_event(|event: &AgentEvent| {
                if let AgentEventKind::Text { text } = &event.kind {
                    pieces.push_str(text);
                }
            });
            let answer = answer.run(&mut session).unwrap();
            assert_eq!(
                (answer.text.as_str(), pieces.as_str()),
                ("blue-phoenix-42", "blue-phoenix-42"),
                "{api:?}"
            );
            assert_eq!((answer.turns, answer.tool_calls), (3, 2), "{answer:?}");
            assert!(answer.usage.input > 0 && answer.usage.output > 0, "{answer:?}");
            assert_eq!(answer.skills.len(), 1);
            let mut requests = model.requests();
            // Besides, it asks for a list of models.
            requests.retain(|request| request.results.is_some());
            let [first, second, third] = &requests[3 * round..] else {
                panic!("{} requests", requests.len())
            };
            for request in [first, second, third] {
                assert!(
                    request.path.ends_with(api.path()) && request.contains("\"stream\":"),
                    "{}",
                    request.path
                );
            }
            assert!(first.contains("Quagga-description") && !first.contains("blue-phoenix-42"));
            assert!(second.contains("the sum is 42") && third.contains("blue-phoenix-42"));
            let stranger = proxy.harness(place, api, "sk-wrong");
            let error = evaluate(&stranger, prompt().rendering()).run(&mut session).unwrap_err();
            // Without a database, this is how the proxy refuses a key.
            assert_eq!(error.code(), "harness-agent", "{error}");
            assert!(!error.to_string().contains("sk-wrong"), "{error}");
            let missing = evaluate(&harness, prompt().rendering()).model("no-such-model");
            let error = missing.run(&mut session).unwrap_err();
            assert_eq!(error.code(), "harness-agent", "{error}");
        }
        session.end().unwrap();
        assert_eq!(recorded(place, "tool.invoked").len(), 2);
        assert_eq!(recorded(place, "skill.activated").len(), 2);
    });
}
