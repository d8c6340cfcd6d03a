//! Where the files of a guard are: in a person's home or in a project.

use std::fs;
use std::path::{Path, PathBuf};

use metier_guard::{
    GuardContent, GuardFile, HookProgram, InstalledHook, SwitchPlace, guard_files, settings_variable,
};
use metier_home::Agent;
use metier_journal::Clock as _;
use serde::Serialize;

use super::files;
use crate::environment::{Environment, SystemClock};
use crate::error::HostError;

/// What names of metier's own files begin with.
const OWN: &str = "metier-";
/// How many digits follow.
const DIGITS: usize = 12;
/// Stands for the name of metier's own files.
const ANY: &str = "*";

/// Whose agents a guard is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum GuardScope {
    /// The person's, in every directory.
    User,
    /// Those of all users, in this project.
    Project,
}

impl GuardScope {
    /// `user` or `project`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// The place of an agent's guard.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) agent: Agent,
    pub(super) scope: GuardScope,
    /// The home or the project.
    pub(super) base: PathBuf,
    /// The directory that a variable names instead of one in the home.
    moved: Option<(PathBuf, &'static str)>,
}

impl Place {
    pub(super) fn new(environment: &Environment, agent: Agent, scope: GuardScope) -> Result<Self, HostError> {
        let base = match scope {
            GuardScope::User => environment
                .home
                .clone()
                .ok_or(HostError::NoHome { purpose: "with settings of agents", variables: "HOME" })?,
            GuardScope::Project => environment.working.clone().ok_or(HostError::NoWorkingDirectory)?,
        };
        let moved = settings_variable(agent).filter(|_| scope == GuardScope::User);
        let moved = moved.and_then(|(variable, instead)| {
            Some((environment.absolute(Path::new(environment.variable(variable)?)), instead))
        });
        Ok(Self { agent, scope, base, moved })
    }

    /// A path in the home or the project.
    pub(super) fn at(&self, path: &str) -> PathBuf {
        match &self.moved {
            Some((directory, instead)) => match Path::new(path).strip_prefix(instead) {
                Ok(rest) => directory.join(rest),
                Err(_) => self.base.join(path),
            },
            None => self.base.join(path),
        }
    }

    pub(super) fn path(&self, file: &GuardFile) -> PathBuf {
        self.at(match self.scope {
            GuardScope::User => &file.in_home,
            GuardScope::Project => &file.in_project,
        })
    }

    /// Where a file really is. A person's symlinks are followed, those of a project only inside it.
    pub(super) fn real(&self, path: &Path) -> Result<PathBuf, HostError> {
        files::real_path(path, (self.scope == GuardScope::Project).then_some(&self.base))
    }

    /// The files of guards that are here, and those that are remembered.
    pub(super) fn files(&self, remembered: Option<&str>) -> Vec<GuardFile> {
        let mut names = self.names();
        names.extend(remembered.map(str::to_owned));
        names.sort();
        names.dedup();
        // Files that are shared with the person have no name.
        if names.is_empty() {
            names.push(ANY.to_owned());
        }
        let mut found: Vec<GuardFile> = Vec::new();
        for file in names.iter().flat_map(|name| self.named(name)) {
            if !found.contains(&file) {
                found.push(file);
            }
        }
        found
    }

    /// The files of a guard with a name, for any program.
    fn named(&self, name: &str) -> Vec<GuardFile> {
        HookProgram::new("metier").map(|program| guard_files(self.agent, &program, name)).unwrap_or_default()
    }

    /// The content of a file if its hooks call the program of this one.
    pub(super) fn again(&self, file: &GuardFile, hook: &InstalledHook) -> String {
        let program = HookProgram::new(&hook.program);
        let suggests = hook.suggests;
        let same = |other: &GuardFile| other.in_home == file.in_home;
        // The name is in the path.
        let parts = file.in_home.split('/').map(|part| part.split('.').next().unwrap_or(part));
        let name = parts.into_iter().find(|part| is_own_name(part));
        let (Ok(program), Some(name)) = (program, name) else { return String::new() };
        [program.clone().suggesting(), program]
            .into_iter()
            .skip(usize::from(!suggests))
            .flat_map(|program| guard_files(self.agent, &program, name))
            .find(same)
            .and_then(|file| match file.content {
                GuardContent::Whole(text) => Some(text),
                GuardContent::Merged(_) => None,
            })
            .unwrap_or_default()
    }

    /// The names of guards that have files of their own here.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for file in self.named(ANY) {
            let path = self.path(&file);
            let Some((directory, part)) = around_name(&path) else { continue };
            let suffix = part.trim_start_matches(ANY);
            let entries = fs::read_dir(directory).into_iter().flatten().flatten();
            let found = entries.filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                name.strip_suffix(suffix).filter(|name| is_own_name(name)).map(str::to_owned)
            });
            names.extend(found);
        }
        names.sort();
        names.dedup();
        names
    }

    /// Where a setting is that can switch hooks off.
    pub(super) fn switch(&self, place: SwitchPlace, path: &str, working: Option<&Path>) -> Option<PathBuf> {
        match place {
            SwitchPlace::Home => Some(self.at(path)),
            SwitchPlace::Project => Some(working?.join(path)),
            SwitchPlace::System => Some(Path::new("/").join(path)),
            _ => None,
        }
    }

    /// What a person should know and do after installing the guard here.
    pub(super) fn notes(&self, suggests: bool) -> Vec<String> {
        let title = self.agent.title();
        let mut notes = Vec::new();
        if self.agent == Agent::Codex {
            notes.push("Codex skips these hooks until you trust them: start `codex`, enter `/hooks`, and trust the hooks of metier".to_owned());
        }
        if self.scope == GuardScope::Project {
            notes.push(format!(
                "the path of this machine's metier is now in files of the project; {title} may read them only in a project that it trusts"
            ));
        }
        if suggests && self.agent == Agent::Goose {
            notes.push(
                "Goose shows its model nothing of what a hook says, so no skills are suggested".to_owned(),
            );
        }
        notes
    }
}

/// The directories of a file that are metier's own.
pub(super) fn own_directories(file: &GuardFile, real: &Path) -> Vec<PathBuf> {
    let GuardContent::Whole(_) = &file.content else { return Vec::new() };
    let parts: Vec<&str> = file.in_home.split('/').collect();
    let own = parts.iter().position(|part| is_own_name(part));
    let count = own.map_or(0, |own| parts.len() - 1 - own);
    real.ancestors().skip(1).take(count).map(Path::to_owned).collect()
}

/// A name that no one else's file has.
pub(super) fn random_name() -> String {
    // The end of an id is random.
    let id = SystemClock.id().simple().to_string();
    format!("{OWN}{}", &id[id.len() - DIGITS..])
}

fn is_own_name(name: &str) -> bool {
    let is_digits = |rest: &str| rest.len() == DIGITS && rest.bytes().all(|byte| byte.is_ascii_hexdigit());
    name.strip_prefix(OWN).is_some_and(is_digits)
}

/// The directory that has the entry with a name, and that entry.
fn around_name(path: &Path) -> Option<(&Path, String)> {
    let entry = path.ancestors().filter(|path| path.file_name().is_some()).find(|path| {
        path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(ANY.as_bytes()))
    })?;
    Some((entry.parent()?, entry.file_name()?.to_string_lossy().into_owned()))
}
