//! What a model server answered to one request, and why it did not.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::evaluation::StopReason;
use crate::event::{AgentEvent, AgentEventKind};
use crate::frame::text;
use crate::usage::{Cost, TokenUsage};

/// How much of a reply is kept in memory. More than that is not an answer.
const REPLY_MAX: u64 = 64 << 20;

/// The answer of a model server to one request.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ModelReply {
    /// The model's text.
    pub text: String,
    /// The tools that it wants to call.
    pub calls: Vec<ModelCall>,
    /// The reply as the next request repeats it.
    pub items: Vec<Value>,
    /// The tokens of the request, where the server says so.
    pub usage: Option<TokenUsage>,
    /// What the request cost, where the server says so.
    pub cost: Option<Cost>,
    /// Why the model stopped.
    pub stop: StopReason,
}

/// A tool that a model wants to call.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ModelCall {
    /// The call.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The arguments; the error says what is wrong with their JSON.
    pub arguments: Result<Value, String>,
}

impl ModelCall {
    /// A call with arguments as models write them: JSON in a text, where nothing means no arguments.
    pub(super) fn new(id: &str, number: usize, tool: &str, arguments: &str) -> Self {
        // The result needs an id to belong to.
        let id = if id.is_empty() { format!("call-{number}") } else { id.to_owned() };
        let arguments = if arguments.trim().is_empty() { "{}" } else { arguments };
        let arguments = serde_json::from_str(arguments).map_err(|error| error.to_string());
        Self { id, tool: tool.to_owned(), arguments }
    }
}

/// Why there is no reply.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplyProblem {
    /// The stream ended before the reply was complete.
    Incomplete,
    /// The server reported an error.
    Failed {
        /// What it said.
        message: String,
        /// Whether the same request may succeed later.
        is_temporary: bool,
    },
    /// It was not a stream of this API.
    Garbage {
        /// How it began.
        head: String,
    },
    /// It is larger than any answer.
    TooLarge,
}

impl fmt::Display for ReplyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Incomplete => f.write_str("the stream ended before the answer was complete"),
            Self::Failed { message, .. } => f.write_str(message),
            Self::Garbage { head } => write!(f, "it sent {head:?}"),
            Self::TooLarge => write!(f, "the answer has more than {} MiB", REPLY_MAX >> 20),
        }
    }
}

/// What both APIs have in common while a reply arrives.
#[derive(Debug, Default)]
pub(super) struct Progress {
    pub(super) text: String,
    pub(super) stop: Option<StopReason>,
    pub(super) usage: Option<TokenUsage>,
    pub(super) cost: Option<Cost>,
    pub(super) problem: Option<ReplyProblem>,
    pub(super) is_complete: bool,
    /// Whether any frame was one of this API.
    pub(super) is_recognised: bool,
    /// The bytes of text, reasoning and arguments so far.
    pub(super) written: u64,
    model: Option<String>,
    held: u64,
}

impl Progress {
    /// The next piece of the model's text.
    pub(super) fn say(&mut self, text: &str) -> AgentEventKind {
        self.text.push_str(text);
        self.hold(text.len());
        self.written += text.len() as u64;
        AgentEventKind::Text { text: text.to_owned() }
    }

    /// The next piece of its reasoning.
    pub(super) fn think(&mut self, text: &str) -> AgentEventKind {
        self.written += text.len() as u64;
        AgentEventKind::Thought { text: text.to_owned() }
    }

    /// Counts bytes that stay in memory until the reply is complete.
    pub(super) fn hold(&mut self, bytes: usize) {
        self.held += bytes as u64;
        if self.held > REPLY_MAX {
            self.problem.get_or_insert(ReplyProblem::TooLarge);
        }
    }

    /// The model that a frame names, when it is a new one.
    pub(super) fn started(&mut self, frame: &Value) -> Option<AgentEventKind> {
        let model = text(frame, "model").filter(|model| !model.is_empty())?;
        if self.model.as_deref() == Some(model) {
            return None;
        }
        self.model = Some(model.to_owned());
        Some(AgentEventKind::Started { version: None, model: self.model.clone(), conversation: None })
    }

    /// Reads the usage in a frame.
    pub(super) fn use_up(&mut self, frame: &Value) {
        let Some(usage) = frame.get("usage").filter(|usage| usage.is_object()) else { return };
        let number = |names: &[&str]| {
            names.iter().find_map(|name| usage.pointer(name).and_then(Value::as_u64)).unwrap_or_default()
        };
        let input = number(&["/input_tokens", "/prompt_tokens"]);
        let cached = number(&["/input_tokens_details/cached_tokens", "/prompt_tokens_details/cached_tokens"])
            .min(input);
        let output = number(&["/output_tokens", "/completion_tokens"]);
        if input == 0 && output == 0 {
            return;
        }
        self.usage = Some(TokenUsage { input: input - cached, output, cache_read: cached, cache_written: 0 });
        self.cost = usage.get("cost").and_then(Value::as_f64).and_then(Cost::from_dollars).or(self.cost);
    }

    /// Reads an error in a frame. The first one counts.
    pub(super) fn fail(&mut self, error: &Value) {
        let is_temporary = is_temporary(error);
        self.problem.get_or_insert(ReplyProblem::Failed { message: message(error), is_temporary });
    }
}

/// What an error says: a text, or an object with a message and a code.
pub(super) fn message(error: &Value) -> String {
    let said = error.as_str().or_else(|| text(error, "message")).unwrap_or_default().trim();
    let code = text(error, "code").or_else(|| text(error, "type")).unwrap_or_default();
    let whole = match (said, code) {
        ("", "") => "an error without a message".to_owned(),
        ("", code) => code.to_owned(),
        (said, code) if code.is_empty() || said.contains(code) => said.to_owned(),
        (said, code) => format!("{said} ({code})"),
    };
    whole.chars().take(2_000).collect()
}

/// Whether the same request may succeed later: the server has too much to do, or an error of its own.
fn is_temporary(error: &Value) -> bool {
    let code = error.get("code").or_else(|| error.get("status")).unwrap_or(&Value::Null);
    let number = code.as_u64().or_else(|| code.as_str()?.parse().ok());
    let words = [code.as_str(), text(error, "type")];
    number.is_some_and(|number| number == 429 || (500..600).contains(&number))
        || words.iter().flatten().any(|word| TEMPORARY.contains(word))
}

const TEMPORARY: &[&str] = &[
    "api_error",
    "internal_server_error",
    "overloaded_error",
    "rate_limit_error",
    "rate_limit_exceeded",
    "server_error",
    "server_is_overloaded",
    "service_unavailable",
    "slow_down",
];

/// The events of a frame; one without a meaning is kept as it is.
pub(super) fn events(raw: &Arc<Value>, kinds: Vec<AgentEventKind>) -> Vec<AgentEvent> {
    let kinds = if kinds.is_empty() { vec![AgentEventKind::Other] } else { kinds };
    kinds.into_iter().map(|kind| AgentEvent::new(kind, Some(Arc::clone(raw)))).collect()
}
