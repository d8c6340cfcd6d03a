//! Where an agent runs, which files it gets, and how it is isolated: the options that `run` and `ask` have in common.

use std::path::{Path, PathBuf};

use metier_home::{Agent, AgentSandbox, NetworkPolicy};
use metier_host::{HomeBuilder, Metier};
use metier_prompt::HostMount;

use crate::exit::UsageError;
use crate::files::must_exist;
use crate::running::size;

/// How an agent is run.
#[derive(Debug, clap::Args)]
pub(crate) struct Placing {
    #[command(flatten)]
    files: Files,

    /// Hide everything else that agents read: skills, instructions, commands, hooks, MCP servers and settings. If
    /// that is not possible, the agent is not started
    #[arg(long)]
    hermetic: bool,

    /// Pass your environment variables to the agent, except those that look like secrets
    #[arg(long)]
    host_env: bool,

    /// Set a variable for the agent. Can be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    env: Vec<(String, String)>,

    /// Authenticate the agent with the API key in this file, instead of with your own credentials
    #[arg(long, value_name = "FILE")]
    api_key_file: Option<PathBuf>,

    /// Program of the agent, if it is not in PATH
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,

    #[command(flatten)]
    isolation: Isolation,
}

/// Where the agent works.
#[derive(Debug, clap::Args)]
struct Files {
    /// Work in a new, empty directory that is removed afterwards
    #[arg(long)]
    workspace: bool,

    /// Work in a new directory with a copy of this file or directory. Can be repeated
    #[arg(long, value_name = "PATH")]
    copy: Vec<PathBuf>,

    /// Of directories, copy only files whose path in them matches GLOB. Can be repeated
    #[arg(long, value_name = "GLOB", requires = "copy")]
    include: Vec<String>,

    /// Do not copy files and directories whose path matches GLOB. Can be repeated
    #[arg(long, value_name = "GLOB", requires = "copy")]
    exclude: Vec<String>,

    /// Fail if what one `--copy` copies is larger
    #[arg(long, value_name = "SIZE", value_parser = size, requires = "copy")]
    copy_max: Option<u64>,

    /// Copy the files that symlinks lead to, if they are below a path that is copied
    #[arg(long, requires = "copy")]
    follow_links: bool,
}

/// The agent's own sandbox.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "The agent's own sandbox (Claude Code)")]
struct Isolation {
    /// Let the agent's commands reach this host. By default they reach none. Can be repeated
    #[arg(long, value_name = "HOST", conflicts_with = "no_agent_sandbox")]
    allow_domain: Vec<String>,

    /// Do not start the agent if its sandbox is not available
    #[arg(long, conflicts_with = "no_agent_sandbox")]
    require_agent_sandbox: bool,

    /// Switch the agent's sandbox off; then it asks before it runs a command
    #[arg(long)]
    no_agent_sandbox: bool,
}

fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("use NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

impl Placing {
    /// The file with the API key.
    pub(crate) fn api_key_file(&self) -> Option<&Path> {
        self.api_key_file.as_deref()
    }

    /// Whether any other of these was given.
    pub(crate) const fn is_given(&self) -> bool {
        let Files { workspace, copy, .. } = &self.files;
        let Isolation { allow_domain, require_agent_sandbox, no_agent_sandbox } = &self.isolation;
        *workspace
            || self.hermetic
            || self.host_env
            || *require_agent_sandbox
            || *no_agent_sandbox
            || self.program.is_some()
            || !(copy.is_empty() && self.env.is_empty() && allow_domain.is_empty())
    }

    /// The agent with these options.
    pub(crate) fn home<'a>(&self, metier: &'a Metier, agent: Agent) -> anyhow::Result<HomeBuilder<'a>> {
        let mut home = metier.home(agent);
        if let Some(program) = &self.program {
            home = home.program(program);
        }
        if self.files.workspace {
            home = home.fresh_directory();
        }
        if self.hermetic {
            home = home.hermetic();
        }
        if self.host_env {
            home = home.host_variables();
        }
        if let Some(path) = &self.api_key_file {
            let path = metier.environment().absolute(path);
            must_exist([&path])?;
            home = home.api_key(&read_key(&path)?);
        }
        home = self.files.copy.iter().fold(home, |home, path| home.mount(self.files.mount(path)));
        home = self.env.iter().fold(home, |home, (name, value)| home.variable(name, value));
        Ok(self.isolation.apply(home))
    }
}

impl Files {
    fn mount(&self, path: &Path) -> HostMount {
        let mut mount = HostMount::new(path);
        mount.include.clone_from(&self.include);
        mount.exclude.clone_from(&self.exclude);
        mount.max_bytes = self.copy_max;
        mount.follow_symlinks = self.follow_links;
        mount
    }
}

impl Isolation {
    fn apply<'a>(&self, home: HomeBuilder<'a>) -> HomeBuilder<'a> {
        let home = if self.allow_domain.is_empty() {
            home
        } else {
            home.network(NetworkPolicy::domains(&self.allow_domain))
        };
        if !self.require_agent_sandbox && !self.no_agent_sandbox {
            return home;
        }
        let mut sandbox = AgentSandbox::default();
        sandbox.is_enabled = !self.no_agent_sandbox;
        sandbox.fails_if_unavailable = self.require_agent_sandbox;
        home.sandbox(sandbox)
    }
}

fn read_key(path: &Path) -> anyhow::Result<String> {
    let wrong = |error| UsageError(format!("cannot read the API key in {}: {error}", path.display()));
    Ok(std::fs::read_to_string(path).map_err(wrong)?)
}
