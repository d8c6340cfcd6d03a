//! Skills that an agent would find beside those it was given: in its working directory, above it, and on the machine.

use std::fs;
use std::path::{Path, PathBuf};

use metier_skill::{SKILL_FILES, is_skill_directory};

use crate::agent::Agent;

/// A directory of skills that a home does not close.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leak {
    /// The directory.
    pub directory: PathBuf,
    /// The files of the skills in it.
    pub skills: Vec<PathBuf>,
    /// Whether the agent can be told to leave it alone.
    pub can_be_closed: bool,
}

/// The skills that an agent would find in a working directory and on this machine. `system` is where the machine's directories
/// are; the root, unless somebody tries something.
pub fn leaks(agent: Agent, working_directory: &Path, system: &Path) -> Vec<Leak> {
    let facts = agent.facts();
    let mut places: Vec<&Path> = vec![working_directory];
    if facts.looks_above {
        places.extend(working_directory.ancestors().skip(1));
    }
    let below = |place: &Path| -> Vec<PathBuf> {
        facts.in_workspace.iter().map(|directory| place.join(directory)).collect()
    };
    let in_workspace = places.into_iter().flat_map(below).map(|path| (path, facts.can_ignore_workspace));
    let in_system = facts.in_system.iter().map(|path| system.join(path.trim_start_matches('/')));
    // Each of Codex's can be switched off, wherever it is.
    let in_system = in_system.map(|path| (path, agent == Agent::Codex));
    let mut found: Vec<Leak> = Vec::new();
    for (directory, can_be_closed) in in_workspace.chain(in_system) {
        let skills = skills_in(&directory);
        if !skills.is_empty() && !found.iter().any(|leak| leak.directory == directory) {
            found.push(Leak { directory, skills, can_be_closed });
        }
    }
    found
}

/// The files of the skills right below a directory.
fn skills_in(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let skills = entries.map(|entry| entry.path()).filter(|path| is_skill_directory(path));
    let file = |path: PathBuf| {
        let there = SKILL_FILES.iter().map(|name| path.join(name)).find(|file| file.exists());
        there.unwrap_or_else(|| path.join(SKILL_FILES[0]))
    };
    let mut files: Vec<PathBuf> = skills.map(file).collect();
    files.sort();
    files
}
