//! What came of a call of a tool of an MCP server.

use std::collections::BTreeMap;

use metier_skill::Digest;
use serde::{Deserialize, Serialize};

use crate::privacy::RecordedContent;

/// A call of a tool of an MCP server, and its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerToolCalled {
    /// The server's name in the settings.
    pub server: String,
    /// The tool, as the server calls it.
    pub tool: String,
    /// The digest of the tool's definition.
    pub definition: Digest,
    /// Its arguments.
    pub arguments: RecordedContent,
    /// The outcome.
    pub outcome: ServerCallOutcome,
    /// The code of the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The answer.
    pub answer: RecordedContent,
    /// The active skills with the digests of their trees, as the server was told.
    pub skills: BTreeMap<String, Digest>,
    /// The duration in microseconds, without questions to a person before the call.
    pub duration_us: u64,
}

/// The outcome of a call of a tool of an MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ServerCallOutcome {
    /// The tool answered.
    Done,
    /// The tool answered that it failed.
    ToolFailed,
    /// The server answered with a protocol error.
    Refused,
    /// The tool asks for input; the client calls again with it.
    Asks,
    /// There was no valid answer: the server crashed, took too long, or broke the protocol. It may have done something.
    Lost,
    /// The client cancelled the call. The server may have done something.
    Cancelled,
}

impl ServerCallOutcome {
    /// As it is recorded.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::ToolFailed => "tool_failed",
            Self::Refused => "refused",
            Self::Asks => "asks",
            Self::Lost => "lost",
            Self::Cancelled => "cancelled",
        }
    }
}
