//! The files of a project that agents read by themselves: instructions, commands, subagents, hooks, MCP servers, settings. One row for
//! each path, with the agents that are known to read it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use crate::agent::Agent::{self, ClaudeCode as Claude, Codex, Copilot, Gemini, Goose, OpenCode};

/// The kind of a file or directory that an agent reads in a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ProjectFileKind {
    /// Skills.
    Skills,
    /// Text that is part of every conversation.
    Instructions,
    /// Prompts that can be called by name.
    Commands,
    /// Subagents that the agent can call.
    Subagents,
    /// Programs that run at certain events, or code that the agent loads.
    Hooks,
    /// MCP servers that the agent starts.
    Servers,
    /// Settings, which can also contain hooks and MCP servers.
    Settings,
}

impl fmt::Display for ProjectFileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Skills => "skills",
            Self::Instructions => "instructions",
            Self::Commands => "commands",
            Self::Subagents => "subagents",
            Self::Hooks => "hooks",
            Self::Servers => "MCP servers",
            Self::Settings => "settings",
        })
    }
}

use ProjectFileKind::{Commands, Hooks, Instructions, Servers, Settings, Skills, Subagents};

/// A path in a project.
struct Row {
    path: &'static str,
    kind: ProjectFileKind,
    /// The agents that are known to read it.
    agents: &'static [Agent],
    reach: Reach,
}

/// In which directories agents read a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// In the working directory and at the top of the project.
    Ends,
    /// Also in the directories between.
    Project,
    /// In every directory above, those of other projects and of the home included.
    Everywhere,
}

const fn here(path: &'static str, kind: ProjectFileKind, agents: &'static [Agent]) -> Row {
    Row { path, kind, agents, reach: Reach::Ends }
}

const fn above(path: &'static str, kind: ProjectFileKind, agents: &'static [Agent]) -> Row {
    Row { path, kind, agents, reach: Reach::Project }
}

const fn everywhere(path: &'static str, kind: ProjectFileKind, agents: &'static [Agent]) -> Row {
    Row { path, kind, agents, reach: Reach::Everywhere }
}

/// What agents read, as seen with the versions that `scripts/real-agents` pins.
const ROWS: &[Row] = &[
    above("CLAUDE.md", Instructions, &[Claude, OpenCode, Copilot]),
    above("CLAUDE.local.md", Instructions, &[Claude]),
    above("AGENTS.md", Instructions, &[Claude, Codex, OpenCode, Goose, Copilot]),
    above("AGENTS.override.md", Instructions, &[Codex]),
    above("GEMINI.md", Instructions, &[Gemini, Copilot]),
    above(".goosehints", Instructions, &[Goose]),
    above(".goosehints.local", Instructions, &[Goose]),
    above(".mcp.json", Servers, &[Claude, Copilot]),
    here(".vscode/mcp.json", Servers, &[Copilot]),
    above("opencode.json", Settings, &[OpenCode]),
    above("opencode.jsonc", Settings, &[OpenCode]),
    here(".config/goose", Settings, &[Goose]),
    here(".github/copilot-instructions.md", Instructions, &[Copilot]),
    here(".github/instructions", Instructions, &[Copilot]),
    above(".github/skills", Skills, &[Copilot]),
    here(".github/prompts", Commands, &[Copilot]),
    above(".github/agents", Subagents, &[Copilot]),
    here(".github/hooks", Hooks, &[Copilot]),
    here(".github/extensions", Hooks, &[Copilot]),
    here(".github/plugin", Hooks, &[Copilot]),
    here(".github/plugins", Hooks, &[Copilot]),
    here(".github/mcp.json", Servers, &[Copilot]),
    here(".github/lsp.json", Servers, &[Copilot]),
    here(".github/copilot", Settings, &[Copilot]),
    here(".github/allowed_models.txt", Settings, &[Copilot]),
    above(".claude/skills", Skills, &[Claude, OpenCode, Goose, Copilot]),
    above(".claude/CLAUDE.md", Instructions, &[Claude, Copilot]),
    above(".claude/AGENTS.md", Instructions, &[Claude]),
    above(".claude/rules", Instructions, &[Claude, Copilot]),
    above(".claude/output-styles", Instructions, &[Claude]),
    above(".claude/commands", Commands, &[Claude, Copilot]),
    above(".claude/workflows", Commands, &[Claude]),
    above(".claude/agents", Subagents, &[Claude, Goose, Copilot]),
    here(".claude/settings.json", Settings, &[Claude, Copilot]),
    here(".claude/settings.local.json", Settings, &[Claude, Copilot]),
    here(".claude/scheduled_tasks.json", Settings, &[Claude]),
    above(".agents/skills", Skills, &[Codex, OpenCode, Gemini, Goose, Copilot]),
    here(".agents/recipes", Commands, &[Goose]),
    here(".agents/checks", Commands, &[Goose]),
    here(".agents/agents", Subagents, &[Goose]),
    here(".agents/plugins", Hooks, &[Codex, Goose]),
    above(".codex/skills", Skills, &[Codex]),
    above(".codex/agents", Subagents, &[Codex]),
    above(".codex/hooks", Hooks, &[Codex]),
    above(".codex/hooks.json", Hooks, &[Codex]),
    above(".codex/config.toml", Settings, &[Codex]),
    above(".codex/rules", Settings, &[Codex]),
    here(".gemini/skills", Skills, &[Gemini]),
    here(".gemini/GEMINI.md", Instructions, &[Gemini]),
    here(".gemini/system.md", Instructions, &[Gemini]),
    here(".gemini/commands", Commands, &[Gemini]),
    here(".gemini/agents", Subagents, &[Gemini]),
    here(".gemini/hooks", Hooks, &[Gemini]),
    here(".gemini/extensions", Hooks, &[Gemini]),
    here(".gemini/settings.json", Settings, &[Gemini]),
    here(".gemini/policies", Settings, &[Gemini]),
    everywhere(".gemini/.env", Settings, &[Gemini]),
    here(".goose/skills", Skills, &[Goose]),
    here(".goose/memory", Instructions, &[Goose]),
    here(".goose/recipes", Commands, &[Goose]),
    here(".goose/agents", Subagents, &[Goose]),
    above(".opencode/skill", Skills, &[OpenCode]),
    above(".opencode/skills", Skills, &[OpenCode]),
    above(".opencode/command", Commands, &[OpenCode]),
    above(".opencode/commands", Commands, &[OpenCode]),
    above(".opencode/agent", Subagents, &[OpenCode]),
    above(".opencode/agents", Subagents, &[OpenCode]),
    above(".opencode/mode", Subagents, &[OpenCode]),
    above(".opencode/modes", Subagents, &[OpenCode]),
    above(".opencode/plugin", Hooks, &[OpenCode]),
    above(".opencode/plugins", Hooks, &[OpenCode]),
    above(".opencode/tool", Hooks, &[OpenCode]),
    above(".opencode/tools", Hooks, &[OpenCode]),
    above(".opencode/opencode.json", Settings, &[OpenCode]),
    above(".opencode/opencode.jsonc", Settings, &[OpenCode]),
    // What others call so is no business of an agent.
    above("CONTEXT.md", Instructions, &[OpenCode]),
];

/// Directories that have nothing but what agents read. They are covered as a whole, for every agent: some read what is another's, and
/// a new version may read more.
const OWN: &[&str] = &[
    ".agents",
    ".claude",
    ".claude-plugin",
    ".codex",
    ".codex-plugin",
    ".copilot",
    ".cursor-plugin",
    ".gemini",
    ".goose",
    ".opencode",
];

/// Names that are not an agent's alone: covered only for an agent that reads them.
const COMMON: &[&str] = &["CONTEXT.md"];

/// How many entries of directories are looked at: to report, and to be sure that all is covered.
const TO_REPORT: usize = 20_000;
const TO_COVER: usize = 2_000_000;

/// A file or directory that an agent reads by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProjectFile {
    /// Its path.
    pub path: PathBuf,
    /// Its kind.
    pub kind: ProjectFileKind,
}

/// The files that an agent reads in a working directory, above it and below it, in addition to [skills](crate::leaks). Very large
/// trees below it are not searched completely.
pub fn project_files(agent: Agent, working_directory: &Path) -> Vec<ProjectFile> {
    let mut files = files_above(agent, working_directory);
    let mut look = |directory: &Path, _: &[String]| {
        files.extend(files_in(agent, directory, |row| row.kind == Instructions && row.reach != Reach::Ends));
    };
    Walk { left: TO_REPORT, look: &mut look }.below(working_directory);
    files
}

/// The same without what is below.
pub(crate) fn files_above(agent: Agent, working_directory: &Path) -> Vec<ProjectFile> {
    let top = top(working_directory);
    let all = working_directory.ancestors().flat_map(|directory| {
        let is_end = directory == working_directory || Some(directory) == top;
        let is_between = match (top, agent) {
            (_, Claude) | (None, OpenCode) => true,
            (Some(top), _) => directory.starts_with(top),
            (None, _) => directory == working_directory,
        };
        files_in(agent, directory, move |row| match row.reach {
            Reach::Ends => is_end,
            Reach::Project => is_between,
            Reach::Everywhere => true,
        })
    });
    all.collect()
}

/// The top of the project that a directory is in: the repository's.
fn top(working_directory: &Path) -> Option<&Path> {
    working_directory.ancestors().find(|directory| directory.join(".git").exists())
}

/// The directory that a project begins in; without a repository the working directory itself.
pub(crate) fn project_of(working_directory: &Path) -> &Path {
    top(working_directory).unwrap_or(working_directory)
}

/// What an agent reads right in a directory, of some rows.
fn files_in(agent: Agent, directory: &Path, is_read: impl Fn(&Row) -> bool) -> Vec<ProjectFile> {
    let rows = ROWS.iter().filter(|row| row.kind != Skills && row.agents.contains(&agent) && is_read(row));
    let files = rows.map(|row| ProjectFile { path: directory.join(row.path), kind: row.kind });
    files.filter(|file| fs::symlink_metadata(&file.path).is_ok()).collect()
}

/// What is covered in a working directory, above it and below it; none where there is too much to look at.
pub(crate) fn to_cover(agent: Agent, working_directory: &Path) -> Option<Vec<PathBuf>> {
    let mut found = Vec::new();
    let names: Vec<Vec<&str>> = covered_rows(agent).map(|path| path.split('/').collect()).collect();
    let mut look = |directory: &Path, entries: &[String]| {
        for parts in &names {
            descend(directory, entries, parts, &mut found);
        }
    };
    // A path that leads through links has other directories above it as well.
    let real = fs::canonicalize(working_directory).ok();
    for start in [Some(working_directory), real.as_deref()].into_iter().flatten() {
        for directory in start.ancestors().skip(1) {
            look(directory, &entries(directory));
        }
    }
    let mut walk = Walk { left: TO_COVER, look: &mut look };
    walk.look_at(working_directory);
    walk.below(working_directory);
    let is_whole = walk.left > 0;
    found.sort();
    found.dedup();
    is_whole.then_some(found)
}

/// The paths that are covered for an agent, in every directory.
fn covered_rows(agent: Agent) -> impl Iterator<Item = &'static str> {
    let is_in_own = |path: &str| OWN.iter().any(|own| Path::new(path).starts_with(own));
    let rows = ROWS.iter().filter(move |row| {
        !is_in_own(row.path) && (!COMMON.contains(&row.path) || row.agents.contains(&agent))
    });
    OWN.iter().copied().chain(rows.map(|row| row.path))
}

/// What a row leads to below a directory, in whatever case it is written.
fn descend(directory: &Path, entries: &[String], row: &[&str], found: &mut Vec<PathBuf>) {
    let [first, rest @ ..] = row else { return };
    for entry in entries.iter().filter(|entry| first.eq_ignore_ascii_case(entry)) {
        let path = directory.join(entry);
        if rest.is_empty() {
            found.push(path);
        } else {
            descend(&path, &self::entries(&path), rest, found);
        }
    }
}

/// What is in a directory, as far as it has names that could be in the table. Of a directory that can be entered but not listed, the
/// names of the table that are there.
fn entries(directory: &Path) -> Vec<String> {
    match fs::read_dir(directory) {
        Ok(entries) => entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect(),
        Err(_) => {
            let names: BTreeSet<&str> = OWN
                .iter()
                .copied()
                .chain(ROWS.iter().flat_map(|row| row.path.split('/')))
                .filter(|name| fs::symlink_metadata(directory.join(name)).is_ok())
                .collect();
            names.into_iter().map(str::to_owned).collect()
        }
    }
}

/// Looks at directories below one, without following links, up to a number of entries.
struct Walk<'a> {
    left: usize,
    look: &'a mut dyn FnMut(&Path, &[String]),
}

impl Walk<'_> {
    fn look_at(&mut self, directory: &Path) {
        (self.look)(directory, &entries(directory));
    }

    /// Every directory below one, but not that one.
    fn below(&mut self, directory: &Path) {
        let mut open = vec![directory.to_owned()];
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
                self.left = self.left.saturating_sub(1);
                if self.left == 0 {
                    return;
                }
                let name = entry.file_name();
                let is_skipped = name == ".git" || OWN.iter().any(|own| name.eq_ignore_ascii_case(own));
                if !is_skipped && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    self.look_at(&entry.path());
                    open.push(entry.path());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row must be reached by what is covered, or an agent that reads it would see it.
    #[test]
    fn every_row_is_covered_for_the_agents_that_read_it() {
        for Row { path, agents, .. } in ROWS {
            for agent in *agents {
                assert!(
                    covered_rows(*agent).any(|covered| Path::new(path).starts_with(covered)),
                    "{path} is not covered for {agent}"
                );
            }
        }
        for agent in Agent::ALL {
            for path in agent.facts().in_workspace {
                assert!(
                    ROWS.iter()
                        .any(|row| row.path == *path && row.kind == Skills && row.agents.contains(&agent)),
                    "{agent} finds skills in {path}, and the table does not say so"
                );
            }
        }
    }
}
