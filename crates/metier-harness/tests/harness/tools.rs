//! Tools of a prompt, called by an agent through the session.

use metier_harness::evaluate;
use metier_prompt::{Prompt, Rendering, Section, SkillMount, Tool, ToolAnswer, ToolContext, ToolResult};
use metier_session::{Budget, Session};
use metier_skill::Coded as _;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::ground::{Ground, denying, prompt};

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

pub(crate) fn adding() -> Rendering {
    let add = Tool::new("add", "Adds two numbers", |add: Add, context: &mut ToolContext<'_>| {
        context.notes.push(format!("added for {} in {}", context.task.unwrap_or("nothing"), context.session));
        let left = context.allowance.total.map(|left| format!(", {left} tokens left")).unwrap_or_default();
        ToolResult::Ok(ToolAnswer::message(format!("{} by {}{left}", add.a + add.b, context.call)))
    });
    let section = Section::new("task", "Task").body("Add.").tool(add);
    Prompt::builder("tests", "adding").section(section).build().unwrap().rendering()
}

#[test]
fn a_tool_gets_the_context_of_the_session_and_is_recorded() {
    let ground = Ground::new();
    let agent = ground.answering(
        "used 10 5 0; tool call-7 add '{\"a\":2,\"b\":3}'; echo \"$answer\" >&2\n\
         case $answer in *'\"5 by call-7, 85 tokens left\"'*'false'*) end right;; *) end \"wrong\";; esac",
    );
    let mut options = ground.options();
    options.budget = Some(Budget { total: Some(100), ..Budget::default() });
    let mut session = Session::with_id(options, "s1").unwrap();
    session.set_task(Some("sums".to_owned()));
    let answer = evaluate(&agent, adding()).run(&mut session).unwrap();
    assert_eq!(answer.text, "right");
    session.end().unwrap();
    let call = &ground.recorded("tool.invoked")[0];
    assert_eq!((call["tool"].as_str(), call["call_id"].as_str()), (Some("mcp__metier__add"), Some("call-7")));
    assert_eq!(call["outcome"], "done");
    assert_eq!(call["notes"].as_array().unwrap().len(), 1);
}

/// A tool knows which skills are active, and the record of its call has their digests.
#[test]
fn a_tool_gets_the_active_skills_with_their_digests() {
    let ground = Ground::new();
    let skill = ground.skill("codeword", "", "Text.");
    let which =
        Tool::new("which", "Says which skills are active", |_: Nothing, context: &mut ToolContext<'_>| {
            let active: Vec<String> =
                context.skills.iter().map(|(id, digest)| format!("{id} {digest}")).collect();
            ToolResult::Ok(ToolAnswer::message(active.join(", ")))
        });
    let section = Section::new("task", "Task").body("Do it.").tool(which).skill(SkillMount::new(skill));
    let rendering = Prompt::builder("tests", "which").section(section).build().unwrap().rendering();
    let agent = ground.answering(
        "skill 1 codeword; result 1 'Launching skill'; tool 2 which '{}'\n\
         end \"$(printf '%s' \"$answer\" | grep -o 'user/codeword sha256:[0-9a-f]*')\"",
    );
    let answer = evaluate(&agent, rendering).run(&mut ground.session()).unwrap();
    let digest = answer.skills[0].digest.unwrap().to_string();
    assert_eq!(answer.text, format!("user/codeword {digest}"));
    for kind in ["tool.invoked", "skill.tool_call_decided"] {
        assert_eq!(ground.recorded(kind)[0]["skills"]["codeword"], digest, "{kind}");
    }
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[test]
fn wrong_arguments_and_unknown_tools_are_told_to_the_agent() {
    let ground = Ground::new();
    let agent = ground.answering(
        "tool 1 add '{\"a\":2}'; case $answer in *true*) say ok;; esac\n\
         tool 2 divide '{}'; case $answer in *'not available'*true*) end refused;; *) end called;; esac",
    );
    assert_eq!(evaluate(&agent, adding()).run(&mut ground.session()).unwrap().text, "refused");
    let outcomes: Vec<_> =
        ground.recorded("tool.invoked").iter().map(|call| call["outcome"].clone()).collect();
    assert_eq!(outcomes, ["refused", "refused"]);
}

#[test]
fn a_denied_tool_is_not_called() {
    let ground = Ground::new();
    let agent = ground.answering(
        "tool 1 add '{\"a\":2,\"b\":3}'; case $answer in *true*) end denied;; *) end called;; esac",
    );
    let mut options = ground.options();
    options.policy = denying("mcp__metier__add");
    let mut session = Session::with_id(options, "s1").unwrap();
    assert_eq!(evaluate(&agent, adding()).run(&mut session).unwrap().text, "denied");
    assert_eq!(ground.recorded("tool.invoked")[0]["outcome"], "denied");
}

#[test]
fn an_agent_without_tools_refuses_a_prompt_with_tools() {
    let ground = Ground::new();
    let mut agent = ground.answering("end done");
    agent.has_tools = false;
    let error = evaluate(&agent, adding()).run(&mut ground.session()).unwrap_err();
    assert_eq!(
        (error.code(), error.to_string().as_str()),
        ("harness-unsupported", "Scripted does not support the tools of a prompt")
    );
    assert_eq!(evaluate(&agent, prompt("Go.")).run(&mut ground.session()).unwrap().text, "done");
}
