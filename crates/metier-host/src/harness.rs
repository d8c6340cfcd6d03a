//! Agents that prompts run on, set up as the environment and the settings say.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use metier_harness::{Acp, AgentSetup, ClaudeCode, Codex, Harness};
use metier_home::{
    Agent, AgentSandbox, HomeOptions, HostVariables, IsolationConfig, MountOptions, NetworkPolicy,
};
use metier_prompt::HostMount;

use crate::error::HostError;
use crate::host::Metier;

impl Metier {
    /// Prepares an agent in a temporary home.
    pub fn home(&self, agent: Agent) -> HomeBuilder<'_> {
        HomeBuilder {
            metier: self,
            agent,
            program: None,
            is_fresh: false,
            copies: Vec::new(),
            is_hermetic: false,
            has_host_variables: false,
            variables: BTreeMap::new(),
            network: None,
            sandbox: None,
            api_key: None,
            keeps: false,
        }
    }
}

/// Options for running an agent: see [`Metier::home`].
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct HomeBuilder<'a> {
    metier: &'a Metier,
    agent: Agent,
    program: Option<PathBuf>,
    is_fresh: bool,
    copies: Vec<HostMount>,
    is_hermetic: bool,
    has_host_variables: bool,
    variables: BTreeMap<String, String>,
    network: Option<NetworkPolicy>,
    sandbox: Option<AgentSandbox>,
    api_key: Option<Result<IsolationConfig, metier_home::HomeError>>,
    keeps: bool,
}

impl HomeBuilder<'_> {
    /// Uses this program as the agent, if it is not in `PATH`.
    #[must_use]
    pub fn program(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = Some(program.into());
        self
    }

    /// Works in a new, empty directory.
    #[must_use]
    pub const fn fresh_directory(mut self) -> Self {
        self.is_fresh = true;
        self
    }

    /// Works in a new directory with a copy of this file or directory. Can be repeated.
    #[must_use]
    pub fn copy(self, path: &Path) -> Self {
        self.mount(HostMount::new(path))
    }

    /// The same with globs and limits.
    #[must_use]
    pub fn mount(mut self, mut mount: HostMount) -> Self {
        let environment = self.metier.environment();
        mount.host_path = environment.absolute(&mount.host_path);
        if mount.mount_path.is_none() && Some(&mount.host_path) == environment.working.as_ref() {
            // A copy of the working directory is where the agent works.
            mount.mount_path = Some(".".into());
        }
        self.copies.push(mount);
        self
    }

    /// Hides all other files that agents read. If that is not possible, the agent is not started.
    #[must_use]
    pub const fn hermetic(mut self) -> Self {
        self.is_hermetic = true;
        self
    }

    /// Passes the environment variables of the process to the agent, except those that look like secrets.
    #[must_use]
    pub const fn host_variables(mut self) -> Self {
        self.has_host_variables = true;
        self
    }

    /// Sets a variable for the agent.
    #[must_use]
    pub fn variable(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// What the agent's commands may reach. By default nothing. Only for agents with a sandbox of their own.
    #[must_use]
    pub fn network(mut self, network: NetworkPolicy) -> Self {
        self.network = Some(network);
        self
    }

    /// Settings for the agent's own sandbox. Only for agents that have one.
    #[must_use]
    pub fn sandbox(mut self, sandbox: AgentSandbox) -> Self {
        self.sandbox = Some(sandbox);
        self
    }

    /// Authenticates the agent with this key instead of the credentials of the person.
    #[must_use]
    pub fn api_key(mut self, key: &str) -> Self {
        self.api_key = Some(IsolationConfig::with_api_key(key.trim()));
        self
    }

    /// Keeps the agent's conversations with metier's state, so that an evaluation can
    /// [resume](metier_harness::EvaluationBuilder::resume) one. Claude Code finds only those of the same working directory.
    #[must_use]
    pub const fn keep_conversations(mut self) -> Self {
        self.keeps = true;
        self
    }

    /// Finds the program of the agent.
    pub fn find_program(&self) -> Result<PathBuf, HostError> {
        let name = self.program.as_deref().unwrap_or(Path::new(self.agent.program()));
        self.metier.environment().program(name).ok_or_else(|| {
            let (title, program) = (self.agent.title(), name.display().to_string());
            match self.program {
                Some(_) => HostError::NoProgram { title, program },
                None => HostError::NoAgent { title, program },
            }
        })
    }

    /// The agent as a harness: something that prompts run on. Its home is made anew for every conversation.
    pub fn harness(self) -> Result<Box<dyn Harness>, HostError> {
        let agent = self.agent;
        let mut setup = self.setup()?;
        // Over ACP, results do not name their tools, and Gemini CLI calls no hooks: there permission requests are what decides.
        if !matches!(agent, Agent::ClaudeCode | Agent::Codex) {
            setup.guard = None;
        }
        match agent {
            Agent::ClaudeCode => Ok(Box::new(ClaudeCode::new(setup))),
            Agent::Codex => Ok(Box::new(Codex::new(setup))),
            other => match Acp::new(setup) {
                Some(acp) => Ok(Box::new(acp)),
                None => Err(HostError::NoHarness { title: other.title() }),
            },
        }
    }

    /// Everything that the home, the working directory and the process of the agent are made from.
    pub fn setup(self) -> Result<AgentSetup, HostError> {
        let environment = self.metier.environment();
        let mut setup = AgentSetup::new(self.agent, self.host(), environment.homes(), self.metier.executor());
        setup.program = self.find_program()?;
        setup.mount =
            MountOptions { rules: self.metier.settings().mount_profile().rules(), ..MountOptions::default() };
        if self.is_fresh || !self.copies.is_empty() {
            setup.allowed_roots = self.copies.iter().map(|mount| mount.host_path.clone()).collect();
            setup.copies.clone_from(&self.copies);
        } else {
            setup.working = Some(environment.working.clone().ok_or(HostError::NoWorkingDirectory)?);
        }
        setup.is_hermetic = self.is_hermetic;
        #[cfg(feature = "guard")]
        {
            setup.guard = self.metier.agent_guard(self.agent);
        }
        setup.home = self.options()?;
        Ok(setup)
    }

    /// The variables that a home is made from.
    fn host(&self) -> HostVariables {
        let environment = self.metier.environment();
        let mut host = HostVariables::new(environment.variables().iter().cloned().collect());
        host.is_root = environment.is_root;
        host
    }

    /// How the home is made, for any working directory.
    fn options(self) -> Result<HomeOptions, HostError> {
        let mut isolation = self.api_key.transpose()?.unwrap_or_default();
        if (self.network.is_some() || self.sandbox.is_some()) && !self.agent.has_sandbox() {
            return Err(HostError::NoAgentSandbox { title: self.agent.title() });
        }
        isolation.include_host_env = self.has_host_variables;
        isolation.env = self.variables;
        isolation.network = self.network.unwrap_or_default();
        isolation.sandbox = self.sandbox.unwrap_or_default();
        let environment = self.metier.environment();
        let mut options = HomeOptions::new(environment.homes());
        if self.keeps {
            let no_home = HostError::NoHome {
                purpose: "to keep conversations in",
                variables: "HOME or XDG_STATE_HOME",
            };
            let state = environment.state_directory().ok_or(no_home)?;
            options.conversations = Some(state.join("conversations"));
        }
        options.isolation = isolation;
        Ok(options)
    }
}
