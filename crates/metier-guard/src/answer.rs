//! What a hook answers, in each agent's own words. No word works everywhere: `deny` runs the call in Goose, `block` runs it in
//! Copilot, and Claude Code's form runs it in three agents.

use metier_home::Agent;
use serde_json::{Value, json};

use crate::event::{HookKind, hook_row};

/// The maximum length of a reason; it goes into the model's context.
const LONGEST: usize = 1_000;

/// What a hook answers.
///
/// ```
/// use metier_guard::HookAnswer;
/// use metier_home::Agent;
///
/// let deny = HookAnswer::Deny("not in the list".to_owned());
/// assert_eq!(deny.to_json(Agent::Goose, "PreToolUse"), r#"{"decision":"block","reason":"not in the list"}"#);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum HookAnswer {
    /// The agent does what it would do without the guard, which may be to ask a person.
    NoOpinion,
    /// The agent need not ask.
    Allow(String),
    /// The agent must not do it.
    Deny(String),
    /// A text for the model, beside the prompt.
    Context(String),
}

impl HookAnswer {
    /// The answer as JSON for an event of an agent. What an agent has no words for becomes no opinion.
    pub fn to_json(&self, agent: Agent, event: &str) -> String {
        let kind = hook_row(agent, event).map(|row| row.kind);
        let answer = match self {
            Self::Deny(reason) => kind.and_then(|kind| denied(agent, event, kind, &shortened(reason))),
            Self::Allow(reason) => kind.and_then(|kind| allowed(agent, event, kind, &shortened(reason))),
            Self::Context(text) => {
                kind.filter(|kind| *kind == HookKind::Prompt).and_then(|_| context(agent, event, text))
            }
            Self::NoOpinion => None,
        };
        answer.unwrap_or_else(|| neutral(agent)).to_string()
    }
}

/// Nothing to say. Two agents must read that nothing is refused.
fn neutral(agent: Agent) -> Value {
    match agent {
        Agent::Goose | Agent::OpenCode => json!({ "decision": "allow" }),
        _ => json!({}),
    }
}

fn denied(agent: Agent, event: &str, kind: HookKind, reason: &str) -> Option<Value> {
    Some(match (kind, agent) {
        (HookKind::BeforeTool, _) if has_claude_form(agent, event) => decided(event, "deny", reason),
        (HookKind::BeforeTool, Agent::Copilot) => {
            json!({ "permissionDecision": "deny", "permissionDecisionReason": reason })
        }
        (HookKind::Permission, Agent::Copilot) => json!({ "behavior": "deny", "message": reason }),
        (HookKind::Permission, _) => permitted(event, &json!({ "behavior": "deny", "message": reason })),
        (HookKind::BeforeTool | HookKind::Prompt | HookKind::Expansion, Agent::Gemini | Agent::OpenCode) => {
            json!({ "decision": "deny", "reason": reason })
        }
        (HookKind::BeforeTool | HookKind::Prompt | HookKind::Expansion, _) => {
            json!({ "decision": "block", "reason": reason })
        }
        _ => return None,
    })
}

fn allowed(agent: Agent, event: &str, kind: HookKind, reason: &str) -> Option<Value> {
    Some(match (kind, agent) {
        (HookKind::BeforeTool, _) if has_claude_form(agent, event) => decided(event, "allow", reason),
        (HookKind::BeforeTool, Agent::Copilot) => json!({ "permissionDecision": "allow" }),
        (HookKind::BeforeTool, Agent::Gemini) => json!({ "decision": "allow" }),
        (HookKind::Permission, Agent::Copilot) => json!({ "behavior": "allow" }),
        (HookKind::Permission, _) => permitted(event, &json!({ "behavior": "allow" })),
        _ => return None,
    })
}

fn context(agent: Agent, event: &str, text: &str) -> Option<Value> {
    Some(match agent {
        Agent::ClaudeCode | Agent::Codex | Agent::Gemini => {
            json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": text } })
        }
        Agent::Copilot => json!({ "additionalContext": text }),
        Agent::OpenCode => json!({ "decision": "allow", "context": text }),
        _ => return None,
    })
}

/// Whether an answer about a tool has Claude Code's form.
fn has_claude_form(agent: Agent, event: &str) -> bool {
    match agent {
        Agent::ClaudeCode | Agent::Codex => true,
        Agent::Copilot => event == "PreToolUse",
        _ => false,
    }
}

fn decided(event: &str, word: &str, reason: &str) -> Value {
    json!({ "hookSpecificOutput": {
        "hookEventName": event,
        "permissionDecision": word,
        "permissionDecisionReason": reason,
    } })
}

fn permitted(event: &str, decision: &Value) -> Value {
    json!({ "hookSpecificOutput": { "hookEventName": event, "decision": decision } })
}

fn shortened(reason: &str) -> String {
    reason.chars().take(LONGEST).collect()
}
