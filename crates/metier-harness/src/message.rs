//! What an agent tells metier: events, requests that must be answered, and the end of a turn.

use serde_json::Value;

use crate::evaluation::StopReason;
use crate::event::AgentEvent;
use crate::permission::PermissionRequest;
use crate::usage::UsageSoFar;

/// A message of an agent, whatever its protocol.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum AgentMessage {
    /// Something happened.
    Event(AgentEvent),
    /// The agent has used this much since the conversation began. It can be sent at any time.
    Used(UsageSoFar),
    /// The agent asks for permission; answer with [`Answered::Permission`](crate::Answered).
    Permission(PermissionRequest),
    /// The agent calls a tool of the prompt; answer with [`Answered::Tool`](crate::Answered).
    ToolCall(PromptToolCall),
    /// The turn has ended.
    TurnEnded(TurnEnd),
}

/// An agent calls a tool of the prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptToolCall {
    /// The request.
    pub id: String,
    /// The tool, by its name in the prompt.
    pub tool: String,
    /// The arguments.
    pub arguments: Value,
    /// The agent's id of the call, if it says so.
    pub call: Option<String>,
}

/// The result of a tool of the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolAnswered {
    /// The text for the model.
    pub text: String,
    /// Whether the call failed.
    pub is_error: bool,
}

/// The end of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnEnd {
    /// The agent's final text.
    pub text: String,
    /// Why it stopped.
    pub stop: StopReason,
    /// What the whole conversation used so far.
    pub used: UsageSoFar,
    /// The error that the agent reports instead of an answer.
    pub error: Option<String>,
}
