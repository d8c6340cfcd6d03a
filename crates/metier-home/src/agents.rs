//! What each agent's home has in it beside skills: settings, variables, and what it authenticates with.

mod claude;
mod codex;
mod gemini;
mod goose;
mod opencode;

use std::path::{Path, PathBuf};

use crate::agent::Agent;
use crate::env::{HostVariables, Variables};
use crate::error::HomeError;
use crate::home::HomeOptions;

pub use claude::BedrockConfig;
pub(crate) use claude::{KEYS, host_settings_env};

/// What a home is made of.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Variables that are the home's own.
    pub(crate) own: Variables,
    /// Variables to authenticate with.
    pub(crate) authentication: Variables,
    /// Files by their path in the home.
    pub(crate) files: Vec<(PathBuf, Vec<u8>)>,
    /// Files and directories of the host that are copied.
    pub(crate) copies: Vec<HostCopy>,
    /// What the person should know before the agent starts.
    pub(crate) warnings: Vec<HomeError>,
}

/// Something of the host's that an agent needs.
#[derive(Debug)]
pub(crate) struct HostCopy {
    pub(crate) from: PathBuf,
    /// Inside the home.
    pub(crate) to: PathBuf,
    /// What the agent cannot do without; an error says so.
    pub(crate) needed_for: Option<&'static str>,
}

/// The plan for an agent's home at a path.
pub(crate) fn plan(
    agent: Agent,
    host: &HostVariables,
    options: &HomeOptions,
    home: &Path,
) -> Result<Plan, HomeError> {
    let config = &options.isolation;
    match agent {
        Agent::ClaudeCode => claude::plan(host, config, home),
        Agent::Codex => Ok(codex::plan(host, config, home, options)),
        Agent::OpenCode => Ok(opencode::plan(host, config, home, options)),
        Agent::Gemini => Ok(gemini::plan(host, config, home, options)),
        Agent::Goose => Ok(goose::goose(host, config, home, options.is_hermetic)),
        Agent::Copilot => Ok(goose::copilot(host, config, home)),
    }
}

/// The arguments that keep out what is in the working directory, for agents that have such.
pub(crate) fn hermetic_arguments(agent: Agent) -> &'static [&'static str] {
    match agent {
        Agent::ClaudeCode => &["--setting-sources", "user"],
        Agent::Copilot => &["--no-custom-instructions"],
        _ => &[],
    }
}

/// What Amazon's models are reached with.
const AWS: &[&str] = &[
    "AWS_PROFILE",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_ROLE_ARN",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_BEARER_TOKEN_BEDROCK",
];

/// A pair of texts as variables have them.
fn pair(name: &str, value: impl Into<String>) -> (String, String) {
    (name.to_owned(), value.into())
}
