//! Agents that speak the Agent Client Protocol: `OpenCode`, Gemini CLI, Goose and Copilot.

mod agents;
mod calls;
mod options;
mod permissions;
mod protocol;
mod usage;

use std::io;

use metier_home::{Agent, ProjectFileKind, project_files};

use self::agents::{ModelBy, Row, row};
pub use self::options::AcpOptions;
pub use self::protocol::AcpProtocol;
use crate::error::HarnessError;
use crate::harness::{Conversation, Opening};
use crate::mcp;
use crate::program::{ProgramConversation, ToolBridge};
use crate::program_agent::{Launch, ProgramAgent};
use crate::setup::{AgentPlace, AgentSetup};
use crate::tool_server::ToolServer;

/// An agent that speaks the Agent Client Protocol.
///
/// It is set up to ask for permission before it uses its tools, as far as it can be. Reading the prompt's own skills
/// and the files of the working directory needs no rule. The protocol has no names of tools: metier finds them in what
/// each agent says beside it. A call whose tool is not certain is a call of `unknown`, which no rule for a tool allows.
///
/// The prompt's tools are an MCP server on loopback that lasts as long as the conversation. Its token is made for that
/// conversation, and given to the agent over its standard input.
///
/// To resume conversations, give the agent a data directory that is kept, in `home.isolation.env` of the setup.
#[derive(Debug, Clone)]
pub struct Acp {
    launch: Launch,
    row: &'static Row,
}

impl Acp {
    /// The agent of this setup; `None` if it does not speak the protocol.
    pub fn new(mut setup: AgentSetup) -> Option<Self> {
        let row = row(setup.agent)?;
        setup.home.asks_permission = true;
        Some(Self { launch: Launch::new(setup), row })
    }

    /// Adds an argument for the program. Arguments that change how it talks with metier or which tools need no
    /// permission break it.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<String>) -> Self {
        self.launch.arguments.push(argument.into());
        self
    }

    /// A project from elsewhere could run programs with its hooks.
    fn refuse_hooks(&self, place: &AgentPlace) -> Result<(), HarnessError> {
        if !self.row.runs_hooks || place.is_hermetic() {
            return Ok(());
        }
        let files = project_files(self.row.agent, place.working.path());
        let Some(hooks) = files.iter().find(|file| file.kind == ProjectFileKind::Hooks) else {
            return Ok(());
        };
        let path = hooks.path.display();
        let reason = format!("it would run the hooks in {path} without asking; `--hermetic` hides them");
        let agent = self.row.agent.title().to_owned();
        Err(HarnessError::NotStarted { agent, reason, errors: String::new() })
    }

    fn arguments(&self, opening: &Opening<'_>, place: &AgentPlace) -> Vec<String> {
        let hermetic = if place.is_hermetic() { place.home.hermetic_arguments() } else { &[] };
        let for_tools = if opening.prompt.tools.is_empty() { &[] } else { self.row.for_tools };
        let fixed = self.row.arguments.iter().chain(hermetic).chain(for_tools);
        let mut arguments: Vec<String> = fixed.map(|&argument| argument.to_owned()).collect();
        if let (ModelBy::Argument(name), Some(model)) = (self.row.model_by, opening.model) {
            // A value can begin with a dash.
            arguments.push(format!("{name}={model}"));
        }
        arguments.extend(self.launch.arguments.iter().cloned());
        arguments
    }
}

impl ProgramAgent for Acp {
    fn launch(&self) -> &Launch {
        &self.launch
    }

    fn agent(&self) -> Agent {
        self.row.agent
    }

    fn start(
        &self,
        opening: &Opening<'_>,
        place: &AgentPlace,
        resumed: Option<&str>,
    ) -> Result<Box<dyn Conversation>, HarnessError> {
        self.refuse_hooks(place)?;
        let tools = &opening.prompt.tools;
        let bridge = ToolBridge::default();
        let declared = tools.iter().map(|tool| mcp::declaration(&tool.tool)).collect();
        let failed = |source: io::Error| HarnessError::Io {
            agent: self.row.agent.title().to_owned(),
            action: "serve tools to",
            source,
        };
        let server = (!tools.is_empty()).then(|| ToolServer::start(declared, &bridge));
        let server = server.transpose().map_err(failed)?;
        let mut options = AcpOptions::new(self.row.agent, place.working.path());
        options.tools = tools.iter().map(|tool| tool.tool.name().to_owned()).collect();
        options.server = server.as_ref().map(|server| (server.url(), server.authorization()));
        options.model = opening.model.map(str::to_owned);
        options.resumed = resumed.map(str::to_owned);
        let protocol = AcpProtocol::of_row(self.row, options);
        let arguments = self.arguments(opening, place);
        let conversation = ProgramConversation::start(place, arguments, protocol, &bridge)?;
        Ok(Box::new(conversation.serving(server)))
    }

    fn called_as(&self, tool: &str) -> String {
        format!("mcp__{}__{tool}", mcp::SERVER)
    }

    fn asks_for(&self) -> &'static str {
        self.row.asks_for
    }

    fn can_resume(&self) -> bool {
        self.row.can_resume
    }
}
