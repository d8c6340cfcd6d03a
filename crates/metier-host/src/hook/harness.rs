//! The guard of agents that harnesses and `metier run` start: put into every home, and compared with what ran.

use std::path::PathBuf;
use std::sync::Arc;

use metier_guard::{CallCheck, ContextSkill, guarded_arguments};
use metier_harness::{GuardedHome, HarnessError, HomeGuard, HomeHooks, ToolRun};
use metier_home::Agent;

use super::run::RunGuard;
use crate::error::HostError;
use crate::host::Metier;
use crate::settings::chain;

impl Metier {
    /// What puts the guard into homes of an agent; `None` where there is no program `metier` for its hooks to call.
    pub fn agent_guard(&self, agent: Agent) -> Option<Arc<dyn HomeGuard>> {
        let program = self.environment().hook_program()?;
        Some(Arc::new(AgentGuard { metier: self.clone(), agent, program }))
    }
}

/// Puts the guard into homes of an agent.
#[derive(Debug)]
struct AgentGuard {
    metier: Metier,
    agent: Agent,
    program: PathBuf,
}

impl HomeGuard for AgentGuard {
    fn install(&self, home: &GuardedHome<'_>) -> Result<Box<dyn HomeHooks>, HarnessError> {
        let skills: Vec<ContextSkill> = home
            .skills
            .iter()
            .map(|skill| ContextSkill::new(&skill.directory, skill.tier, skill.tree_digest))
            .collect();
        let failed = |error| failed(self.agent, &error);
        let guard =
            self.metier.guard_run(self.agent, home.session, &skills, &self.program).map_err(failed)?;
        guard.install(home.path).map_err(failed)?;
        Ok(Box::new(guard))
    }
}

impl HomeHooks for RunGuard {
    fn unguarded(&self, results: &[ToolRun]) -> Result<Vec<String>, HarnessError> {
        let proof = self.proof().map_err(|error| failed(self.agent(), &error))?;
        let results = results.iter().map(|run| (Some(run.call.as_str()), run.tool.as_str(), run.is_error));
        let mut tools = proof.unasked(results);
        tools.extend(proof.failures.iter().filter_map(CallCheck::tool).map(str::to_owned));
        tools.sort();
        tools.dedup();
        Ok(tools)
    }

    fn arguments(&self) -> &'static [&'static str] {
        guarded_arguments(self.agent())
    }
}

fn failed(agent: Agent, error: &HostError) -> HarnessError {
    HarnessError::Guard { agent: agent.title().to_owned(), reason: chain(error) }
}
