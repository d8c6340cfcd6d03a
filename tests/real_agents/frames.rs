//! Whether the frames of a real conversation are those that `metier-harness` knows: a newer agent that sends others is noticed
//! here.

use std::collections::BTreeSet;

use metier_fake_model::Step;
use metier_harness::{AgentEvent, AgentEventKind};
use metier_home::Agent;
use metier_prompt::{Prompt, Section, SkillMount, Tool, ToolAnswer, ToolContext, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::asking::{Asking, asked, rendering};
use crate::cases::codeword;
use crate::driver::{self, Act};
use crate::rig::Rig;

/// The frames of Claude Code that are kept without a meaning of their own, and those that must be among the understood.
const CLAUDE: [&[&str]; 2] = [
    &[
        // Text that came in pieces before.
        "assistant",
        "control_response",
        "result success",
        "stream_event content_block_delta input_json_delta",
        "stream_event content_block_start",
        "stream_event content_block_stop",
        "stream_event message_delta",
        "stream_event message_start",
        "stream_event message_stop",
        "system status",
        // The body of a skill, after the result that says that it is loaded.
        "user",
    ],
    &["assistant", "stream_event content_block_delta text_delta", "system init", "user"],
];

/// Those of Codex.
const CODEX: [&[&str]; 2] = [
    &[
        "account/login/completed",
        "account/rateLimits/updated",
        "account/updated",
        "an answer",
        "item/completed agentMessage",
        "item/completed userMessage",
        "item/started agentMessage",
        "item/started userMessage",
        "remoteControl/status/changed",
        "serverRequest/resolved",
        "thread/readState/changed",
        "thread/started",
        "thread/status/changed",
        "thread/tokenUsage/updated",
        "turn/completed",
        "turn/started",
    ],
    &[
        "an answer",
        "item/agentMessage/delta",
        "item/completed commandExecution",
        "item/completed dynamicToolCall",
        "item/started commandExecution",
        "item/started dynamicToolCall",
    ],
];

/// Those of the agents of the Agent Client Protocol, all together.
const ACP: [&[&str]; 2] = [
    &[
        "an answer",
        "session/update available_commands_update",
        "session/update config_option_update",
        "session/update current_mode_update",
        "session/update session_info_update",
        // The first frame of a call of OpenCode, and what a call prints while it runs.
        "session/update tool_call",
        "session/update tool_call_update",
        "session/update usage_update",
    ],
    &["an answer", "session/update tool_call_update"],
];

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// A conversation with everything in it: a skill, a tool of the prompt, a denied command, an answer. Every frame is understood,
/// or known to mean nothing here.
pub(crate) fn frames_are_known(rig: &Rig) {
    let acts =
        [Act::Activate("codeword-skill"), Act::Prompted("ping", json!({})), Act::Shell("touch written.txt")];
    let mut steps: Vec<Step> = acts.iter().map(|act| driver::step(rig.agent, act)).collect();
    steps.push(Step::text("ALL-DONE"));
    let Some(mut asking) = Asking::new(rig, steps) else { return };
    codeword(rig);
    let ping = Tool::new("ping", "Pings", |_: Nothing, _: &mut ToolContext<'_>| {
        ToolResult::Ok(ToolAnswer::message("pong"))
    });
    let section = Section::new("task", "Task").body("Go.").tool(ping);
    let section = section.skill(SkillMount::new(rig.path("skills/codeword-skill")));
    let prompt = rendering(Prompt::builder("tests", "frames").section(section));
    let mut events: Vec<AgentEvent> = Vec::new();
    let builder = asked(&*asking.harness, prompt).on_event(|event| events.push(event.clone()));
    builder.run(&mut asking.session).unwrap();
    let names = |is_other: bool| -> BTreeSet<String> {
        let chosen = events.iter().filter(|event| (event.kind == AgentEventKind::Other) == is_other);
        chosen.filter_map(|event| event.raw.as_deref().map(name)).collect()
    };
    let [known, expected] = match rig.agent {
        Agent::ClaudeCode => CLAUDE,
        Agent::Codex => CODEX,
        _ => ACP,
    };
    let (kept, understood) = (names(true), names(false));
    let unknown: Vec<&String> = kept.iter().filter(|name| !known.contains(&name.as_str())).collect();
    assert!(unknown.is_empty(), "{} sends frames that are not known: {unknown:#?}", rig.agent);
    let missing: Vec<&&str> = expected.iter().filter(|name| !understood.contains(**name)).collect();
    assert!(missing.is_empty(), "{} no longer sends {missing:#?}, only {understood:#?}", rig.agent);
    asking.assert_nothing_is_left();
}

/// What kind of frame it is, by the members that say so.
fn name(frame: &Value) -> String {
    let text = |pointer: &str| frame.pointer(pointer).and_then(Value::as_str);
    let parts = [
        "/method",
        "/type",
        "/subtype",
        "/request/subtype",
        "/event/type",
        "/event/delta/type",
        "/params/item/type",
        "/params/update/sessionUpdate",
    ];
    let parts: Vec<&str> = parts.into_iter().filter_map(text).collect();
    if parts.is_empty() { "an answer".to_owned() } else { parts.join(" ") }
}
