//! Claude Code, over stream-json with the control protocol.

mod frames;
mod protocol;
mod usage;

use metier_home::Agent;

pub use self::protocol::ClaudeProtocol;
use crate::error::HarnessError;
use crate::harness::{Conversation, Opening};
use crate::mcp;
use crate::program::{ProgramConversation, ToolBridge};
use crate::program_agent::{Launch, ProgramAgent};
use crate::setup::{AgentPlace, AgentSetup};

/// Claude Code.
///
/// Its settings, hooks, MCP servers and instructions of the working directory are left out. The prompt's tools are an
/// MCP server inside of this process, which Claude Code reaches over its control protocol.
#[derive(Debug, Clone)]
pub struct ClaudeCode {
    launch: Launch,
}

impl ClaudeCode {
    /// Claude Code with this setup.
    pub const fn new(setup: AgentSetup) -> Self {
        Self { launch: Launch::new(setup) }
    }

    /// Adds an argument for the program, for example `--max-turns=5`. Arguments that change how it talks with metier or
    /// which settings it loads break it.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<String>) -> Self {
        self.launch.arguments.push(argument.into());
        self
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

impl ProgramAgent for ClaudeCode {
    fn launch(&self) -> &Launch {
        &self.launch
    }

    fn agent(&self) -> Agent {
        Agent::ClaudeCode
    }

    fn start(
        &self,
        opening: &Opening<'_>,
        place: &AgentPlace,
        resumed: Option<&str>,
    ) -> Result<Box<dyn Conversation>, HarnessError> {
        let mut arguments: Vec<String> = ARGUMENTS.iter().map(|&argument| argument.to_owned()).collect();
        // Values can begin with a dash.
        arguments.extend(opening.model.map(|model| format!("--model={model}")));
        arguments.extend(resumed.map(|id| format!("--resume={id}")));
        arguments.extend(self.launch.arguments.iter().cloned());
        let tools = opening.prompt.tools.iter().map(|tool| mcp::declaration(&tool.tool)).collect();
        let protocol = ClaudeProtocol::new(tools);
        Ok(Box::new(ProgramConversation::start(place, arguments, protocol, &ToolBridge::default())?))
    }

    fn called_as(&self, tool: &str) -> String {
        format!("mcp__{}__{tool}", mcp::SERVER)
    }

    fn asks_for(&self) -> &'static str {
        "writing files, commands that write, and tools of MCP servers; not for reading"
    }
}
