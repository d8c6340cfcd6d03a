//! Agents that prompts run on, set up as the environment and the settings say.

use metier_harness::{AgentSetup, ClaudeCode, Codex, Harness};
use metier_home::{Agent, MountOptions};

use crate::error::HostError;
use crate::home::HomeBuilder;

impl HomeBuilder<'_> {
    /// The agent as a harness: something that prompts run on. Its home is made anew for every conversation.
    pub fn harness(self) -> Result<Box<dyn Harness>, HostError> {
        let agent = self.agent;
        let setup = self.setup()?;
        match agent {
            Agent::ClaudeCode => Ok(Box::new(ClaudeCode::new(setup))),
            Agent::Codex => Ok(Box::new(Codex::new(setup))),
            other => Err(HostError::NoHarness { title: other.title() }),
        }
    }

    /// Everything that the home, the working directory and the process of the agent are made from.
    pub fn setup(self) -> Result<AgentSetup, HostError> {
        let environment = self.metier.environment();
        let mut setup = AgentSetup::new(self.agent, self.host(), environment.homes(), self.metier.executor());
        setup.program = self.find_program()?;
        setup.home = self.options();
        setup.mount =
            MountOptions { rules: self.metier.settings().mount_profile().rules(), ..MountOptions::default() };
        if self.is_fresh || !self.copies.is_empty() {
            setup.copies = self.mounts();
            setup.allowed_roots.clone_from(&self.copies);
        } else {
            setup.working = Some(environment.working.clone().ok_or(HostError::NoWorkingDirectory)?);
        }
        setup.is_hermetic = self.is_hermetic;
        Ok(setup)
    }
}
