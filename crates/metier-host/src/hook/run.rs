//! The guard of one run: an agent that metier starts in a home of its own.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use metier_guard::{
    CallCheck, ContextSkill, GuardContent, GuardContext, GuardStates, GuardedCall, HookProgram, guard_files,
};
use metier_home::Agent;
use metier_journal::Clock as _;
use serde_json::Value;

use super::states_directory;
use crate::environment::SystemClock;
use crate::error::HostError;
use crate::host::Metier;
use crate::settings::variables;

/// The states of the conversations of a run are beside its context.
pub(super) fn states_of(context: &Path) -> PathBuf {
    context.with_extension("states")
}

impl Metier {
    /// Prepares the guard of a run: the skills that the agent sees, and the session that its decisions are recorded under. `program` is
    /// metier, at an absolute path. What is kept is removed when the guard is dropped.
    pub fn guard_run(
        &self,
        agent: Agent,
        session: &str,
        skills: &[ContextSkill],
        program: &Path,
    ) -> Result<RunGuard, HostError> {
        let id = SystemClock.id().simple().to_string();
        let state =
            states_directory(self.environment()).unwrap_or_else(|_| self.environment().homes().join("guard"));
        let directory = state.with_file_name("guarded-runs").join(&id);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&directory)
            .map_err(|source| HostError::write(&directory, source))?;
        let context = directory.join("context.json");
        // From here on, dropping it removes the directory.
        let guard = RunGuard {
            agent,
            program: HookProgram::new(program)?.in_context(&context)?,
            name: format!("metier-{}", &id[id.len() - 12..]),
            states: GuardStates::new(states_of(&context)),
            directory,
        };
        let text = self.guard_context(session, skills).to_json();
        fs::write(&context, text).map_err(|source| HostError::write(&context, source))?;
        Ok(guard)
    }

    /// What a hook must know of a run. The variables of the agent's home are replaced by those of this process, also where this
    /// process has none.
    fn guard_context(&self, session: &str, skills: &[ContextSkill]) -> GuardContext {
        let environment = self.environment();
        let mut context = GuardContext::default();
        let of_system = ["XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"];
        for name in variables().into_iter().chain(of_system) {
            context
                .variables
                .insert(name.to_owned(), environment.variable(name).unwrap_or_default().to_owned());
        }
        if let Some(home) = &environment.home {
            context.variables.insert("HOME".to_owned(), home.to_string_lossy().into_owned());
        }
        context.session = Some(session.to_owned());
        context.journal = self.settings().recording.journal.value.as_ref().map(ToString::to_string);
        context.working.clone_from(&environment.working);
        context.skills = skills.to_vec();
        context.records_all = true;
        context
    }
}

/// The guard of one run.
#[derive(Debug)]
pub struct RunGuard {
    agent: Agent,
    program: HookProgram,
    name: String,
    states: GuardStates,
    directory: PathBuf,
}

impl RunGuard {
    /// The agent.
    pub(super) const fn agent(&self) -> Agent {
        self.agent
    }

    /// What the agent's hooks call.
    pub const fn program(&self) -> &HookProgram {
        &self.program
    }

    /// Adds the hooks to the agent's settings in a home of its own. Existing settings are kept.
    pub fn install(&self, home: &Path) -> Result<(), HostError> {
        for file in guard_files(self.agent, &self.program, &self.name) {
            let path = home.join(&file.in_home);
            let text = match file.content {
                GuardContent::Whole(text) => text,
                GuardContent::Merged(members) => merged(&path, members)?,
            };
            let parent = path.parent().unwrap_or(home);
            fs::create_dir_all(parent)
                .and_then(|()| fs::write(&path, text))
                .map_err(|source| HostError::write(&path, source))?;
        }
        Ok(())
    }

    /// What the hooks saw so far.
    pub fn proof(&self) -> Result<GuardProof, HostError> {
        let mut proof = GuardProof::default();
        for state in self.states.list()? {
            proof.calls.extend(state.calls);
            proof.failures.extend(state.failures);
        }
        Ok(proof)
    }
}

impl Drop for RunGuard {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// What hooks saw of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GuardProof {
    /// The calls that were decided, in order.
    pub calls: Vec<GuardedCall>,
    /// Results that were not as decided.
    pub failures: Vec<CallCheck>,
}

impl GuardProof {
    /// The tools of results that no hook had allowed. Each result is the agent's id of the call, if it is known, the tool, and
    /// whether it failed: that of a call that was denied must have. Without an id, the number of calls of a tool counts.
    pub fn unasked<'a>(
        &self,
        results: impl IntoIterator<Item = (Option<&'a str>, &'a str, bool)>,
    ) -> Vec<String> {
        let mut open: Vec<&GuardedCall> = self.calls.iter().collect();
        let mut missing = Vec::new();
        for (id, tool, is_error) in results {
            let is_it = |call: &&GuardedCall| {
                let is_same = match (id, &call.id) {
                    (Some(id), Some(known)) => id == known,
                    _ => call.tool == tool,
                };
                is_same && (is_error || call.is_allowed)
            };
            match open.iter().position(is_it) {
                Some(at) => {
                    open.remove(at);
                }
                None => missing.push(tool.to_owned()),
            }
        }
        missing
    }
}

/// Settings with the hooks of metier added to those that are there.
fn merged(path: &Path, members: Value) -> Result<String, HostError> {
    let mut settings = match fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map_err(|error| HostError::Settings { path: path.to_owned(), reason: error.to_string() })?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Value::Object(serde_json::Map::new()),
        Err(error) => return Err(HostError::read(path, error)),
    };
    add(&mut settings, members);
    // Plain data always serialises.
    Ok(serde_json::to_string_pretty(&settings).unwrap_or_default())
}

/// Adds members to an object: lists get longer, objects get members, everything else is replaced.
fn add(to: &mut Value, more: Value) {
    match (to, more) {
        (Value::Object(to), Value::Object(more)) => {
            for (name, value) in more {
                match to.get_mut(&name) {
                    Some(known) => add(known, value),
                    None => {
                        to.insert(name, value);
                    }
                }
            }
        }
        (Value::Array(to), Value::Array(more)) => to.extend(more),
        (to, more) => *to = more,
    }
}
