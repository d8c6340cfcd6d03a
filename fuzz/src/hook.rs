//! What agents pass to hooks, and the states that hooks keep.

use metier_guard::{ConversationState, HOOKS, HookAnswer, HookEvent, HookInput, skills_named};
use serde_json::Value;

/// Reads the bytes as the input of every hook of every agent, and as a state, and checks the properties.
pub fn check_hook(bytes: &[u8]) -> Result<(), String> {
    if let Ok(state) = ConversationState::parse(bytes) {
        return Err(format!("bytes that nobody wrote are a state: {state:?}"));
    }
    for row in HOOKS {
        let wrong = |what: &str| Err(format!("{} {}: {what}", row.agent, row.event));
        let no = HookAnswer::Deny(String::from_utf8_lossy(bytes).into_owned()).to_json(row.agent, row.event);
        let neutral = HookAnswer::NoOpinion.to_json(row.agent, row.event);
        let is_object = |text: &str| serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object());
        if !is_object(&no) || !is_object(&neutral) {
            return wrong("the answer is no JSON object");
        }
        if row.kind.refuses_on_failure() == (no == neutral) {
            return wrong("a refusal and no opinion are told apart exactly where something can be refused");
        }
        let Ok(input) = HookInput::read(row.agent, row.event, bytes) else { continue };
        if input.conversation.is_none() {
            return wrong("an event without a conversation was read");
        }
        match &input.event {
            HookEvent::BeforeTool(call) | HookEvent::AfterTool(call) | HookEvent::Permission(call) => {
                let seen = call.as_rules_see_it(row.agent);
                if seen.is_empty() || seen.iter().any(|call| call.tool.is_empty()) {
                    return wrong("a call is none for the rules");
                }
                if call.digest() != call.clone().digest() {
                    return wrong("a call has two digests");
                }
                let _ = call.escapes_hooks(row.agent);
            }
            HookEvent::Prompt(text)
                if skills_named(row.agent, text)
                    .iter()
                    .any(|name| name.is_empty() || !text.contains(name)) =>
            {
                return wrong("a prompt names what is not in it");
            }
            _ => {}
        }
    }
    Ok(())
}
