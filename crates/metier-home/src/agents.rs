//! What each agent's home has in it beside skills: settings, variables, and what it authenticates with.

mod claude;
mod codex;
mod gemini;
mod goose;
mod opencode;

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use metier_skill::{Origin, Rules, SKILL_FILES, read};

use crate::agent::Agent;
use crate::env::{Env, Host};
use crate::error::HomeError;
use crate::isolation::IsolationConfig;

pub use claude::BedrockConfig;
pub(crate) use claude::{KEYS, host_settings_env};

/// What a home is made of.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Variables that are the home's own.
    pub(crate) own: Env,
    /// Variables to authenticate with.
    pub(crate) authentication: Env,
    /// Files by their path in the home.
    pub(crate) files: Vec<(PathBuf, Vec<u8>)>,
    /// Files and directories of the host that are copied.
    pub(crate) copies: Vec<HostCopy>,
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
    host: &Host,
    config: &IsolationConfig,
    home: &Path,
    hidden: &[PathBuf],
) -> Result<Plan, HomeError> {
    match agent {
        Agent::ClaudeCode => claude::plan(host, config),
        Agent::Codex => Ok(codex::plan(host, config, home, hidden)),
        Agent::OpenCode => Ok(opencode::plan(host, config, home, hidden)),
        Agent::Gemini => Ok(gemini::plan(host, config, home, hidden)),
        Agent::Goose => Ok(goose::goose(host, config, home)),
        Agent::Copilot => Ok(goose::copilot(host, config, home, hidden)),
    }
}

/// The arguments that keep the skills of the working directory out, where the agent has such.
pub(crate) fn hermetic_arguments(agent: Agent) -> &'static [&'static str] {
    match agent {
        Agent::ClaudeCode => &["--setting-sources", "user"],
        _ => &[],
    }
}

/// What skills call themselves, for agents that can be told only by name. One that is mounted by the same name is lost with it, but
/// would not have been seen either: agents take the one in the working directory.
fn names_of(skills: &[PathBuf]) -> Vec<String> {
    let name = |file: &PathBuf| {
        let directory = file.parent()?.file_name()?.to_str()?;
        let origin = Origin { file: SKILL_FILES[0], directory: Some(directory) };
        let rules = Rules::standard();
        let file = fs::File::open(file).ok()?;
        let mut bytes = Vec::new();
        file.take(rules.limits.skill_md_bytes).read_to_end(&mut bytes).ok()?;
        let own = read(bytes, origin, &rules).skill.map(|skill| skill.name);
        Some(own.filter(|name| !name.is_empty()).unwrap_or_else(|| directory.to_owned()))
    };
    skills.iter().filter_map(name).collect()
}

/// A pair of texts as variables have them.
fn pair(name: &str, value: impl Into<String>) -> (String, String) {
    (name.to_owned(), value.into())
}
