//! The guard in a person's own agents: installing it, removing it, and whether it stands. Never without a record.
//!
//! A change is planned first, so that it can be shown, and then applied file by file, each whole or not at all. What is
//! remembered is written before the first file and removed after the last one: whenever metier is killed, the next install or
//! remove finishes the work.

mod error;
mod files;
mod memory;
mod place;
mod status;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use metier_guard::{
    GuardContent, GuardFile, HookProgram, InstalledHook, add_hooks, guard_files, guarded_rules, has_hooks,
    leaks_of, measured_version, remove_hooks,
};
use metier_home::Agent;
use metier_journal::{Event, RecordContext};
use metier_policy::PolicySettings;
use metier_skill::Digest;

pub use error::GuardInstallError;
pub use place::GuardScope;
pub use status::{GuardState, InstalledGuard};

use self::memory::{FileMemory, Memory, MemoryFile};
use self::place::Place;
use crate::checkup::agent_version;
use crate::error::HostError;
use crate::host::Metier;

/// How to install the guard.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct GuardInstall {
    /// The agent.
    pub agent: Agent,
    /// Where.
    pub scope: GuardScope,
    /// The program that hooks call.
    pub program: PathBuf,
    /// Whether skills that fit are named when a person sends a prompt.
    pub suggests: bool,
    /// Whether an agent of an older or unknown version is accepted.
    pub any_version: bool,
}

impl GuardInstall {
    /// The guard of an agent, which calls this program.
    pub fn new(agent: Agent, scope: GuardScope, program: impl Into<PathBuf>) -> Self {
        Self { agent, scope, program: program.into(), suggests: false, any_version: false }
    }
}

/// A change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GuardFileChange {
    /// Where the agent looks for it.
    pub path: PathBuf,
    /// Where it really is, if the path has symlinks.
    pub real: PathBuf,
    /// Its content; `None` if it does not exist.
    pub before: Option<String>,
    /// What it will be; `None` if it will be removed.
    pub after: Option<String>,
}

impl GuardFileChange {
    /// Whether anything is different afterwards.
    pub fn is_change(&self) -> bool {
        self.before != self.after
    }

    fn apply(&self) -> Result<(), HostError> {
        match &self.after {
            _ if !self.is_change() => Ok(()),
            Some(after) => files::write(&self.real, self.before.as_deref(), after),
            None => files::remove(&self.real),
        }
    }
}

/// A planned change of an agent's guard. Nothing is changed before [`GuardChange::apply`].
#[derive(Debug)]
#[non_exhaustive]
pub struct GuardChange {
    /// The agent.
    pub agent: Agent,
    /// Where.
    pub scope: GuardScope,
    /// The files, in the order in which they are changed.
    pub files: Vec<GuardFileChange>,
    /// What a person should know and do.
    pub notes: Vec<String>,
    /// What the guard cannot prevent.
    pub leaks: &'static [&'static str],
    /// `None` if the guard is removed.
    memory: Option<Memory>,
    /// Directories that are removed if nothing is in them.
    directories: Vec<PathBuf>,
    /// Directories in which a change that was killed can have left something.
    beside: Vec<PathBuf>,
    file: MemoryFile,
    place: PathBuf,
    metier: Metier,
}

impl GuardChange {
    /// Whether any file is different afterwards.
    pub fn is_change(&self) -> bool {
        self.files.iter().any(GuardFileChange::is_change)
    }

    /// Makes the change. Returns messages for the user.
    pub fn apply(&self) -> Result<Vec<String>, HostError> {
        // What cannot be recorded is not done.
        let recorder = if self.is_change() { Some(self.metier.recorder()?) } else { None };
        if let Some(memory) = &self.memory {
            self.file.write(memory)?;
        }
        self.beside.iter().for_each(|directory| files::remove_leftovers(directory));
        self.files.iter().try_for_each(GuardFileChange::apply)?;
        if self.memory.is_none() {
            self.directories.iter().rev().try_for_each(|directory| files::remove_empty(directory))?;
            self.file.forget()?;
        }
        let Some(recorder) = recorder else { return Ok(Vec::new()) };
        let event = Event::GuardChanged {
            agent: self.agent.name().to_owned(),
            place: self.place.to_string_lossy().into_owned(),
            installed: self.memory.is_some(),
        };
        recorder.record(&RecordContext::default(), &event).map_err(|error| match error {
            HostError::Journal(source) => HostError::NotRecorded { source },
            error => error,
        })?;
        Ok(recorder.close())
    }
}

impl Metier {
    /// The same with a policy that also denies writes to the files that hooks depend on: for deciding what an agent may do.
    #[must_use]
    pub fn protecting_hooks(&self) -> Self {
        let mut own = PolicySettings::default();
        own.deny = guarded_rules();
        let mut settings = self.settings().clone();
        settings.policies.push((PathBuf::from("the guard"), own));
        Self::new(self.environment().clone(), settings)
    }

    /// Plans to install the guard into a person's own agent, or to update it.
    pub fn install_guard(&self, install: &GuardInstall) -> Result<GuardChange, HostError> {
        let GuardInstall { agent, scope, .. } = *install;
        let mut notes = Vec::new();
        if let Some(note) = self.check_version(install)? {
            notes.push(note);
        }
        let program = HookProgram::new(&install.program).map_err(HostError::given)?;
        let program = if install.suggests { program.suggesting() } else { program };
        let place = Place::new(self.environment(), agent, scope)?;
        let file = MemoryFile::lock(self.environment(), agent, &place.base)?;
        let old = memory::remembered(self.environment(), agent, &place.base)?.unwrap_or_default();
        let known = old.name.clone().or_else(|| place.names().pop());
        let name = known.unwrap_or_else(place::random_name);
        let mut memory = Memory { name: Some(name.clone()), ..Memory::default() };
        let mut changes = Vec::new();
        for guard_file in guard_files(agent, &program, &name) {
            let path = place.path(&guard_file);
            let remembered = old.files.get(&path).cloned().unwrap_or_default();
            let (change, keep) = planned(agent, &guard_file, path, &place, remembered)?;
            let new = files::missing_directories(&change.real);
            let created =
                old.directories.iter().filter(|one| change.real.starts_with(one)).cloned().chain(new);
            for directory in created {
                if !memory.directories.contains(&directory) {
                    memory.directories.push(directory);
                }
            }
            memory.files.insert(change.path.clone(), keep);
            changes.push(change);
        }
        notes.extend(place.notes(install.suggests));
        Ok(GuardChange {
            agent,
            scope,
            files: changes,
            notes,
            leaks: leaks_of(agent),
            directories: Vec::new(),
            beside: Vec::new(),
            memory: Some(memory),
            file,
            place: place.base,
            metier: self.clone(),
        })
    }

    /// Plans to remove the guard from a person's own agent. What others wrote stays.
    pub fn remove_guard(&self, agent: Agent, scope: GuardScope) -> Result<GuardChange, HostError> {
        let place = Place::new(self.environment(), agent, scope)?;
        let file = MemoryFile::lock(self.environment(), agent, &place.base)?;
        let memory = memory::remembered(self.environment(), agent, &place.base)?.unwrap_or_default();
        let (mut changes, mut beside) = (Vec::new(), Vec::new());
        let mut directories = memory.directories.clone();
        for guard_file in place.files(memory.name.as_deref()) {
            let path = place.path(&guard_file);
            beside.extend(path.parent().and_then(|parent| place.real(parent).ok()));
            let remembered = memory.files.get(&path).cloned().unwrap_or_default();
            if let Some(change) = removal(agent, &guard_file, path, &place, &remembered)? {
                directories.extend(place::own_directories(&guard_file, &change.real));
                changes.push(change);
            }
        }
        // The file with the hooks is the last one that was written.
        changes.reverse();
        directories.sort();
        directories.dedup();
        let has_trust = agent == Agent::Codex && changes.iter().any(GuardFileChange::is_change);
        let notes = has_trust.then(|| {
            "Codex keeps its trust in these hooks in `config.toml`; it means nothing without the hooks"
                .to_owned()
        });
        Ok(GuardChange {
            agent,
            scope,
            files: changes,
            notes: notes.into_iter().collect(),
            leaks: &[],
            directories,
            beside,
            memory: None,
            file,
            place: place.base,
            metier: self.clone(),
        })
    }

    /// Whether the agent is there and calls hooks. Returns a message for the user.
    fn check_version(&self, install: &GuardInstall) -> Result<Option<String>, HostError> {
        let agent = install.agent;
        let environment = self.environment();
        let Some(program) = environment.program(Path::new(agent.program())) else {
            return Err(GuardInstallError::NoAgent { title: agent.title(), program: agent.program() }.into());
        };
        if install.any_version {
            let measured = measured_version(agent);
            return Ok(Some(format!(
                "the version of {} is not checked; the guard was tested with {measured} and later",
                agent.title()
            )));
        }
        let text = agent_version(&program, environment).unwrap_or_default();
        let found = text.split_whitespace().find_map(|word| {
            let word = word.trim_start_matches('v').trim_end_matches([',', ';', '.', ')']);
            semver::Version::parse(word).ok()
        });
        let Some(found) = found else {
            return Err(GuardInstallError::NoVersion { title: agent.title(), program }.into());
        };
        let measured = measured_version(agent);
        let is_old = semver::Version::parse(measured).is_ok_and(|measured| found < measured);
        if is_old {
            let found = found.to_string();
            return Err(GuardInstallError::TooOld { title: agent.title(), found, measured }.into());
        }
        Ok(None)
    }
}

fn unreadable(path: &Path) -> impl Fn(metier_guard::JsoncError) -> HostError + '_ {
    |source| GuardInstallError::Settings { path: path.to_owned(), source }.into()
}

/// The change of a file that installs the guard, and what is to be remembered of it.
fn planned(
    agent: Agent,
    file: &GuardFile,
    path: PathBuf,
    place: &Place,
    old: FileMemory,
) -> Result<(GuardFileChange, FileMemory), HostError> {
    let real = place.real(&path)?;
    let before = files::read(&real)?;
    let (after, memory) = match &file.content {
        GuardContent::Merged(hooks) => {
            let current = before.as_deref().unwrap_or_default();
            if before.is_some() && has_hooks(current, agent, hooks).map_err(unreadable(&path))? {
                (current.to_owned(), old)
            } else {
                let rest = remove_hooks(current, agent, &old.trace).map_err(unreadable(&path))?;
                let (text, trace) = add_hooks(&rest, hooks).map_err(unreadable(&path))?;
                let is_created = before.is_none() || (old.is_created && rest.is_empty());
                (text, FileMemory { is_created, trace, digest: None })
            }
        }
        GuardContent::Whole(text) => {
            if before.as_ref().is_some_and(|before| !is_own(before, file, place, &old)) {
                return Err(GuardInstallError::ChangedSince { path }.into());
            }
            let digest = Some(Digest::of(text.as_bytes()));
            (text.clone(), FileMemory { is_created: true, digest, ..FileMemory::default() })
        }
    };
    Ok((GuardFileChange { path, real, before, after: Some(after) }, memory))
}

/// Whether a file that is metier's as a whole is as metier wrote it: by its digest, or with the program that it calls.
fn is_own(found: &str, file: &GuardFile, place: &Place, memory: &FileMemory) -> bool {
    let hook = InstalledHook::all_in(found).into_iter().find(|hook| hook.suggests);
    let hook = hook.or_else(|| InstalledHook::all_in(found).into_iter().next());
    let again = match (hook, &file.content) {
        (Some(hook), _) => place.again(file, &hook),
        (None, GuardContent::Whole(text)) => text.clone(),
        (None, GuardContent::Merged(_)) => return false,
    };
    found == again || memory.digest == Some(Digest::of(found.as_bytes()))
}

/// The change of a file that removes the guard; `None` if there is no such file.
fn removal(
    agent: Agent,
    file: &GuardFile,
    path: PathBuf,
    place: &Place,
    memory: &FileMemory,
) -> Result<Option<GuardFileChange>, HostError> {
    // A symlink to nothing has no hooks.
    let Ok(real) = place.real(&path) else { return Ok(None) };
    let Some(before) = files::read(&real)? else { return Ok(None) };
    let after = match &file.content {
        GuardContent::Merged(_) => {
            let rest = remove_hooks(&before, agent, &memory.trace).map_err(unreadable(&path))?;
            (!rest.is_empty() || !memory.is_created).then_some(rest)
        }
        GuardContent::Whole(_) if is_own(&before, file, place, memory) => None,
        GuardContent::Whole(_) => return Err(GuardInstallError::ChangedSince { path }.into()),
    };
    Ok(Some(GuardFileChange { path, real, before: Some(before), after }))
}
