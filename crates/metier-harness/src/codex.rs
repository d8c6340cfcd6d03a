//! Codex, over the JSON messages of `codex app-server`.

mod approvals;
mod command;
mod items;
mod options;
mod patch;
mod protocol;
mod requests;
mod schema;
mod usage;

use std::path::PathBuf;

use metier_home::{Agent, Secret};

pub use self::options::CodexOptions;
pub use self::protocol::CodexProtocol;
use crate::error::HarnessError;
use crate::harness::{Conversation, Opening};
use crate::program::{ProgramConversation, ToolBridge};
use crate::program_agent::{Launch, ProgramAgent};
use crate::setup::{AgentPlace, AgentSetup};

/// Codex.
///
/// It asks for permission before every command and every change of a file, so that the policy decides about all of
/// them. Reading the prompt's own skills needs no rule. Its web search is off, because it runs at the provider and
/// cannot be decided here. With the sandbox of [`AgentSetup`] on, commands run in Codex's own sandbox: the working
/// directory is writable, and there is no network. If that sandbox stops a permitted command, Codex runs the command
/// again without it.
#[derive(Debug, Clone)]
pub struct Codex {
    launch: Launch,
}

/// What the names of the prompt's tools begin with. Names that begin with `mcp__` are reserved.
const PREFIX: &str = "metier_";

impl Codex {
    /// Codex with this setup.
    pub const fn new(setup: AgentSetup) -> Self {
        Self { launch: Launch::new(setup) }
    }

    /// Adds an argument for the program, for example `--config=model_provider="azure"`. Arguments that change how it
    /// talks with metier break it.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<String>) -> Self {
        self.launch.arguments.push(argument.into());
        self
    }
}

/// The API key in the environment of the home. `codex app-server` does not read it from there.
fn api_key(place: &AgentPlace) -> Option<Secret> {
    let variable = |name: &str| place.home.env().get(name).filter(|value| !value.is_empty());
    let has_login = place.home.path().join(".codex/auth.json").is_file();
    let key = variable("CODEX_API_KEY").or_else(|| variable("OPENAI_API_KEY").filter(|_| !has_login));
    key.map(Secret::new)
}

impl ProgramAgent for Codex {
    fn launch(&self) -> &Launch {
        &self.launch
    }

    fn agent(&self) -> Agent {
        Agent::Codex
    }

    fn start(
        &self,
        opening: &Opening<'_>,
        place: &AgentPlace,
        resumed: Option<&str>,
    ) -> Result<Box<dyn Conversation>, HarnessError> {
        let sandbox = &self.launch.setup.home.isolation.sandbox;
        let mut options = CodexOptions::new(place.working.path(), place.home.path());
        options.model = opening.model.map(str::to_owned);
        options.tools = opening.prompt.tools.iter().map(|tool| options::declaration(&tool.tool)).collect();
        options.schema = opening.schema.and_then(schema::strict);
        options.resumed = resumed.map(str::to_owned);
        options.api_key = api_key(place);
        options.is_guarded = self.launch.setup.guard.is_some();
        options.is_sandboxed = sandbox.is_enabled;
        options.writable.clone_from(&sandbox.writable);
        let mut arguments = vec!["app-server".to_owned()];
        if options.api_key.is_some() {
            // The key stays in memory.
            arguments.push("--config=cli_auth_credentials_store=\"ephemeral\"".to_owned());
        }
        arguments.extend(self.launch.arguments.iter().cloned());
        let protocol = CodexProtocol::new(options);
        Ok(Box::new(ProgramConversation::start(place, arguments, protocol, &ToolBridge::default())?))
    }

    fn called_as(&self, tool: &str) -> String {
        format!("{PREFIX}{tool}")
    }

    fn asks_for(&self) -> &'static str {
        "all commands, also those that only read; changes of files; tools of MCP servers that do not only read"
    }
}

/// A path without `.` and `..`; nothing if it is not absolute.
fn normal(path: &std::path::Path) -> Option<PathBuf> {
    use std::path::Component;
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            // A link could make this another directory.
            Component::ParentDir => return None,
            other => normal.push(other),
        }
    }
    normal.is_absolute().then_some(normal)
}
