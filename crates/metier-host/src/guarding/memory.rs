//! What metier remembers of an installed guard, so that removing it leaves everything as it was.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use metier_guard::MergeTrace;
use metier_home::Agent;
use metier_skill::Digest;
use serde::{Deserialize, Serialize};

use super::files;
use crate::environment::Environment;
use crate::error::HostError;
use crate::settings::read_regular;

const MOST: u64 = 1 << 20;

/// An installed guard: of one agent, in a home or a project.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Memory {
    /// The name of files of its own.
    pub(super) name: Option<String>,
    /// Each file by its path.
    pub(super) files: BTreeMap<PathBuf, FileMemory>,
    /// Directories that did not exist before, the outer ones first.
    pub(super) directories: Vec<PathBuf>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct FileMemory {
    /// Whether the file did not exist before.
    pub(super) is_created: bool,
    /// What was written around the hooks.
    pub(super) trace: MergeTrace,
    /// The digest of a file that is metier's as a whole.
    pub(super) digest: Option<Digest>,
}

/// The memory of one guard. No other command changes guards as long as it is held.
#[derive(Debug)]
pub(super) struct MemoryFile {
    path: PathBuf,
    _lock: File,
}

impl MemoryFile {
    /// Waits for other commands that change guards.
    pub(super) fn lock(environment: &Environment, agent: Agent, base: &Path) -> Result<Self, HostError> {
        let path = place(environment, agent, base)?;
        let directory = path.parent().unwrap_or(Path::new("/"));
        let at = |source| HostError::Io { action: "write to", path: directory.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(at)?;
        let lock = directory.join("lock");
        let lock = File::options().create(true).append(true).open(lock).map_err(at)?;
        lock.lock().map_err(at)?;
        Ok(Self { path, _lock: lock })
    }

    pub(super) fn write(&self, memory: &Memory) -> Result<(), HostError> {
        // Plain data with text keys always serialises to JSON.
        let text = serde_json::to_string_pretty(memory).unwrap_or_default();
        let current = fs::read_to_string(&self.path).ok();
        if current.as_ref() == Some(&text) {
            return Ok(());
        }
        files::write(&self.path, current.as_deref(), &text)
    }

    pub(super) fn forget(&self) -> Result<(), HostError> {
        files::remove(&self.path)
    }
}

/// What is remembered of a guard; `None` if nothing is.
pub(super) fn remembered(
    environment: &Environment,
    agent: Agent,
    base: &Path,
) -> Result<Option<Memory>, HostError> {
    let path = place(environment, agent, base)?;
    let text = match read_regular(&path, MOST) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(HostError::read(path, error)),
    };
    let invalid = |error: serde_json::Error| HostError::read(&path, error.into());
    serde_json::from_str(&text).map(Some).map_err(invalid)
}

fn place(environment: &Environment, agent: Agent, base: &Path) -> Result<PathBuf, HostError> {
    let state = environment.state_directory().ok_or(HostError::NoHome {
        purpose: "to remember in what was changed",
        variables: "HOME or XDG_STATE_HOME",
    })?;
    let digest = Digest::of(base.as_os_str().as_encoded_bytes()).hex();
    Ok(state.join("installed-guards").join(format!("{agent}-{}.json", &digest[..16])))
}
