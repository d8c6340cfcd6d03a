//! Other skills that an agent would find: in its working directory, above it, and on the machine.

use std::fs;
use std::path::{Path, PathBuf};

use metier_skill::{SKILL_FILES, is_skill_directory, lossy_path, lossy_paths};
use serde::Serialize;

use crate::agent::Agent;
use crate::error::HomeError;
use crate::project::to_cover;

/// A directory with skills that an agent finds although they were not given to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Leak {
    /// The directory.
    #[serde(serialize_with = "lossy_path")]
    pub directory: PathBuf,
    /// The files of the skills in it.
    #[serde(serialize_with = "lossy_paths")]
    pub skills: Vec<PathBuf>,
    /// Whether the agent can be configured to ignore it.
    pub can_be_closed: bool,
}

/// How deep agents look for skills below a directory of theirs, and a bound for how much is looked at.
const DEPTH: usize = 8;
const MOST_ENTRIES: usize = 20_000;

/// The skills that an agent would find in a working directory and on this machine. `system` is the root directory, except in
/// tests.
pub fn leaks(agent: Agent, working_directory: &Path, system: &Path) -> Vec<Leak> {
    let all = skill_directories(agent, working_directory, system).into_iter();
    all.filter(|leak| !leak.skills.is_empty()).collect()
}

/// What an agent must not see in a hermetic run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Enclosure {
    /// Skills that it is configured to ignore one by one: see [`HomeOptions::hidden`](crate::HomeOptions::hidden).
    pub hidden: Vec<PathBuf>,
    /// Files and directories that it must not see.
    pub covered: Vec<PathBuf>,
}

impl Enclosure {
    /// The enclosure for an agent with this program, in a working directory. Files of the program stay visible.
    pub fn of(
        agent: Agent,
        program: &Path,
        working_directory: &Path,
        system: &Path,
    ) -> Result<Self, HomeError> {
        let refused = |reason: String| HomeError::Leaks { agent: agent.title(), reason };
        let skills = skill_directories(agent, working_directory, system);
        let covered = to_cover(agent, working_directory).ok_or_else(|| {
            let directory = working_directory.display();
            refused(format!(
                "{directory} has too many files to find everything that agents read; run it in a smaller directory, or with \
                 `--workspace`"
            ))
        })?;
        let in_system = facts_in_system(agent).map(|path| system.join(path.trim_start_matches('/')));
        let mut all: Vec<PathBuf> = Vec::new();
        let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let (programs, here) = ([program.to_owned(), real(program)], real(working_directory));
        for path in covered.into_iter().chain(in_system.filter(|path| path.exists())) {
            if working_directory.starts_with(&path) || here.starts_with(real(&path)) {
                let (directory, path) = (working_directory.display(), path.display());
                return Err(refused(format!(
                    "the working directory {directory} is inside {path}, which agents read; run it in another directory"
                )));
            }
            if programs.iter().any(|program| program.starts_with(&path)) {
                // Such as `~/.opencode/bin`: everything but what leads to the program.
                let entries = fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path());
                all.extend(
                    entries.filter(|entry| !programs.iter().any(|program| program.starts_with(entry))),
                );
            } else {
                all.push(path);
            }
        }
        let hidden =
            skills.into_iter().filter(|leak| leak.can_be_closed).flat_map(|leak| leak.skills).collect();
        Ok(Self { hidden, covered: all })
    }
}

/// What the machine gives to an agent beside the settings of its administrator, which stay in force.
fn facts_in_system(agent: Agent) -> impl Iterator<Item = &'static str> {
    agent.facts().in_system.iter().chain(agent.facts().covered_in_system).copied()
}

/// The directories that an agent looks for skills in, with the skills that it would find there, if any.
fn skill_directories(agent: Agent, working_directory: &Path, system: &Path) -> Vec<Leak> {
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
        if !directory.is_dir() || found.iter().any(|leak| leak.directory == directory) {
            continue;
        }
        let mut search = Search { left: MOST_ENTRIES, skills: Vec::new() };
        search.look(&directory, if facts.looks_below { DEPTH } else { 1 });
        search.skills.sort();
        // Those that were not looked at cannot be named.
        let can_be_closed = can_be_closed && search.left > 0;
        found.push(Leak { directory, skills: search.skills, can_be_closed });
    }
    found
}

struct Search {
    /// How many entries are still looked at.
    left: usize,
    /// The files of the skills that were found.
    skills: Vec<PathBuf>,
}

impl Search {
    /// So many levels below a directory. Links are followed, as agents do; the number of levels ends each circle.
    fn look(&mut self, directory: &Path, levels: usize) {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()) {
            self.left = self.left.saturating_sub(1);
            if self.left == 0 {
                return;
            }
            if is_skill_directory(&path) {
                let there = SKILL_FILES.iter().map(|name| path.join(name)).find(|file| file.exists());
                self.skills.push(there.unwrap_or_else(|| path.join(SKILL_FILES[0])));
            }
            if levels > 1 && path.is_dir() {
                self.look(&path, levels - 1);
            }
        }
    }
}
