//! What happens while an agent works: one kind of event for all agents.

use std::path::PathBuf;
use std::sync::Arc;

use metier_skill::Digest;
use serde::Serialize;
use serde_json::Value;

use crate::usage::{Cost, TokenUsage};

/// Something that happened while an agent worked, as the agent said it or as metier concluded it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AgentEvent {
    /// What happened.
    #[serde(flatten)]
    pub kind: AgentEventKind,
    /// Whether metier concluded it from other things, instead of the agent saying it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub synthetic: bool,
    /// The subagent that it is about, by the id of the call that started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagent: Option<String>,
    /// The frame as the agent sent it. Several events can come from one frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<Arc<Value>>,
}

/// What happened. In JSON, `type` says which it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum AgentEventKind {
    /// The agent is ready. It can say so again, with every prompt.
    Started {
        /// Its version.
        #[serde(skip_serializing_if = "Option::is_none")]
        version: Option<String>,
        /// The model that it uses.
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// Its own id of the conversation, to resume it.
        #[serde(skip_serializing_if = "Option::is_none")]
        conversation: Option<String>,
    },
    /// The next piece of the agent's text. All pieces after one another are what it said.
    Text {
        /// The piece.
        text: String,
    },
    /// The next piece of the agent's reasoning.
    Thought {
        /// The piece.
        text: String,
    },
    /// The agent calls a tool.
    ToolCall {
        /// The call.
        id: String,
        /// The tool, as the agent calls it.
        tool: String,
        /// The arguments.
        arguments: Value,
        /// The skill that this call loads, if the tool is the agent's tool for skills.
        #[serde(skip_serializing_if = "Option::is_none")]
        skill: Option<String>,
    },
    /// A tool call has ended.
    ToolResult {
        /// The call.
        id: String,
        /// What the model reads.
        text: String,
        /// Whether it failed or was denied.
        is_error: bool,
    },
    /// The agent loaded a skill.
    SkillActivated {
        /// The skill.
        name: String,
        /// The digest of what was mounted; `None` for a skill that metier did not mount.
        #[serde(skip_serializing_if = "Option::is_none")]
        digest: Option<Digest>,
        /// The mounted `SKILL.md`.
        #[serde(skip_serializing_if = "Option::is_none")]
        path: Option<PathBuf>,
    },
    /// The agent asks whether it may call a tool.
    PermissionAsked {
        /// The request.
        id: String,
        /// The tool.
        tool: String,
        /// The arguments.
        arguments: Value,
    },
    /// Such a request was answered.
    PermissionAnswered {
        /// The request.
        id: String,
        /// Whether the tool may be called.
        is_allowed: bool,
        /// Why.
        reason: String,
    },
    /// What the agent has used so far, all prompts of this evaluation together.
    Usage {
        /// Tokens.
        usage: TokenUsage,
        /// Money, where the agent says so.
        #[serde(skip_serializing_if = "Option::is_none")]
        cost: Option<Cost>,
    },
    /// The model opened sections of the prompt; the agent starts again with them.
    SectionsOpened {
        /// The paths of the sections.
        sections: Vec<String>,
    },
    /// The answer did not match the expected type, and the agent is asked once to repair it.
    Repairing {
        /// What is wrong with the answer.
        reason: String,
    },
    /// Something that a person should know.
    Notice {
        /// What.
        text: String,
    },
    /// A frame that has no meaning here; `raw` has it.
    Other,
}

impl AgentEvent {
    /// An event that the agent's frame means.
    pub fn new(kind: AgentEventKind, raw: Option<Arc<Value>>) -> Self {
        Self { kind, synthetic: false, subagent: None, raw }
    }

    /// An event that metier concluded.
    pub const fn synthetic(kind: AgentEventKind) -> Self {
        Self { kind, synthetic: true, subagent: None, raw: None }
    }

    /// A notice of metier's.
    pub fn notice(text: impl Into<String>) -> Self {
        Self::synthetic(AgentEventKind::Notice { text: text.into() })
    }

    /// The same, of a subagent.
    #[must_use]
    pub fn of_subagent(self, subagent: Option<String>) -> Self {
        Self { subagent, ..self }
    }
}
