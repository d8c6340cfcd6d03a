//! Claude Code, over stream-json with the control protocol.

mod frames;
mod mcp;
mod protocol;
mod usage;

use std::fmt;

use serde_json::Value;

pub use self::protocol::ClaudeProtocol;
use crate::error::HarnessError;
use crate::harness::{AsksPermission, Conversation, Harness, Interrupts, Opening, PromptTools, Resume};
use crate::program::{ProgramConversation, ToolBridge};
use crate::setup::AgentSetup;

/// Claude Code.
///
/// Its settings, hooks, MCP servers and instructions of the working directory are left out. The prompt's tools are an
/// MCP server inside of this process, which Claude Code reaches over its control protocol.
#[derive(Clone)]
pub struct ClaudeCode {
    setup: AgentSetup,
    arguments: Vec<String>,
}

/// The name of the MCP server with the prompt's tools.
const SERVER: &str = "metier";

impl ClaudeCode {
    /// Claude Code with this setup.
    pub const fn new(setup: AgentSetup) -> Self {
        Self { setup, arguments: Vec::new() }
    }

    /// Adds an argument for the program, for example `--max-turns=5`. Arguments that change how it talks with metier or
    /// which settings it loads break it.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    fn start(
        &self,
        opening: &Opening<'_>,
        resumed: Option<&str>,
    ) -> Result<Box<dyn Conversation>, HarnessError> {
        let Some(place) = opening.place else {
            return Err(HarnessError::Unsupported {
                agent: self.title().to_owned(),
                what: "running without a home",
            });
        };
        let mut arguments: Vec<String> = ARGUMENTS.iter().map(|&argument| argument.to_owned()).collect();
        // Values can begin with a dash.
        arguments.extend(opening.model.map(|model| format!("--model={model}")));
        arguments.extend(resumed.map(|id| format!("--resume={id}")));
        arguments.extend(self.arguments.iter().cloned());
        let tools = opening.prompt.tools.iter().map(|tool| mcp::declaration(&tool.tool)).collect();
        let protocol = ClaudeProtocol::new(tools);
        Ok(Box::new(ProgramConversation::start(place, arguments, protocol, &ToolBridge::default())?))
    }
}

/// What it is always called with. Only settings of the home are loaded, and no MCP servers but ours.
const ARGUMENTS: &[&str] = &[
    "--print",
    "--input-format=stream-json",
    "--output-format=stream-json",
    "--verbose",
    "--include-partial-messages",
    "--permission-prompt-tool=stdio",
    "--setting-sources=user",
    "--strict-mcp-config",
];

impl Harness for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn title(&self) -> &'static str {
        "Claude Code"
    }

    fn open(&self, opening: &Opening<'_>) -> Result<Box<dyn Conversation>, HarnessError> {
        self.start(opening, None)
    }

    fn home(&self) -> Option<&AgentSetup> {
        Some(&self.setup)
    }

    fn tools(&self) -> Option<&dyn PromptTools> {
        Some(self)
    }

    fn resume(&self) -> Option<&dyn Resume> {
        Some(self)
    }

    fn permissions(&self) -> Option<&dyn AsksPermission> {
        Some(self)
    }

    fn interrupt(&self) -> Option<&dyn Interrupts> {
        Some(self)
    }
}

impl PromptTools for ClaudeCode {
    fn called_as(&self, tool: &str) -> String {
        format!("mcp__{SERVER}__{tool}")
    }
}

impl Resume for ClaudeCode {
    fn resume(
        &self,
        opening: &Opening<'_>,
        conversation: &str,
    ) -> Result<Box<dyn Conversation>, HarnessError> {
        self.start(opening, Some(conversation))
    }
}

impl AsksPermission for ClaudeCode {
    fn asks_for(&self) -> &'static str {
        "writing files, commands that write, and tools of MCP servers; not for reading"
    }
}

impl Interrupts for ClaudeCode {}

impl fmt::Debug for ClaudeCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClaudeCode").field("program", &self.setup.program).finish_non_exhaustive()
    }
}

/// A text member of a frame.
fn text<'a>(frame: &'a Value, name: &str) -> Option<&'a str> {
    frame.get(name).and_then(Value::as_str)
}

/// The same, as a text of its own; empty where there is none.
fn owned(frame: &Value, name: &str) -> String {
    text(frame, name).unwrap_or_default().to_owned()
}
