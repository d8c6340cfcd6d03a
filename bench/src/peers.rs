//! Other tools for skills: a table of how to call each of them for each task.
//!
//! `scripts/bench-catalog` installs them. A missing tool is skipped with a message.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

/// A task for a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Print its version.
    Start,
    /// Find all skills and print only their number.
    Count,
    /// List all skills.
    List,
    /// Write the part of a prompt that lists all skills.
    Prompt,
    /// Search for skills by words.
    Search,
}

/// One way to call a tool. In arguments, `{skills}`, `{above}`, `{home}` and `{query}` stand for the directory
/// of skills, its parent, the tool's own home directory and the query.
#[derive(Debug)]
pub struct Call {
    /// The task.
    pub task: Task,
    /// The program, relative to the directory with all tools.
    pub program: &'static str,
    /// Its arguments.
    pub args: &'static [&'static str],
    /// Whether later calls are faster because of data that this call stores.
    pub has_index: bool,
}

/// A tool that searches over MCP.
#[derive(Debug)]
pub struct Server {
    /// The program, relative to the directory with all tools.
    pub program: &'static str,
    /// Its arguments, as in [`Call`].
    pub args: &'static [&'static str],
    /// The name of the search tool. Its argument is `query`.
    pub tool: &'static str,
    /// Further arguments that give the best results.
    pub settings: &'static [(&'static str, f64)],
}

impl Server {
    /// The arguments of the tool for a query.
    pub fn arguments(&self, query: &str) -> Value {
        let settings = self.settings.iter().map(|&(key, value)| (key.to_owned(), json!(value)));
        std::iter::once(("query".to_owned(), json!(query))).chain(settings).collect()
    }
}

/// A tool.
#[derive(Debug)]
pub struct Peer {
    /// Its name.
    pub name: &'static str,
    /// The version that is installed.
    pub version: &'static str,
    /// How to call it.
    pub calls: &'static [Call],
    /// How to send it many queries.
    pub server: Option<Server>,
}

/// The locations for a call. The project is the parent of `above`.
#[derive(Debug)]
pub struct Place<'a> {
    /// The directory with all tools.
    pub peers: &'a Path,
    /// The project, with the skills in `.claude/skills`.
    pub project: &'a Path,
    /// The tool's own home directory.
    pub home: &'a Path,
    /// The query.
    pub query: &'a str,
}

impl Place<'_> {
    /// The directory of skills.
    pub fn skills(&self) -> PathBuf {
        self.project.join(".claude/skills")
    }

    /// A command that runs in the project: offline, without output, with the tool's own home.
    pub fn command(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(self.peers.join(program));
        let above = self.project.join(".claude");
        for arg in args {
            let arg = arg
                .replace("{skills}", &self.skills().to_string_lossy())
                .replace("{above}", &above.to_string_lossy())
                .replace("{home}", &self.home.to_string_lossy())
                .replace("{query}", self.query);
            command.arg(arg);
        }
        // Programs written for Node find the right version beside them.
        let node = self.peers.join("npm/node_modules/.bin");
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", node.display());
        command.current_dir(self.project).env("HOME", self.home).env("PATH", path);
        command.env("XDG_CACHE_HOME", self.home.join(".cache")).env("NO_COLOR", "1");
        command.env("DISABLE_TELEMETRY", "1").env("DO_NOT_TRACK", "1").env("RUST_LOG", "off");
        // `skrills` caches results for a time without checking; here for up to an hour.
        command.env("SKRILLS_CACHE_PATH", self.home.join("skrills.json"));
        command.env("SKRILLS_CACHE_TTL_MS", "3600000");
        command
    }
}

/// `skillport` can only search in its server; this calls the same functions in the same order, once. It exits
/// immediately, because its database sometimes crashes on exit.
const SKILLPORT_SEARCH: &str = "import os, sys
from pathlib import Path
from skillport.shared.config import Config
from skillport.modules.indexing import build_index, should_reindex
from skillport.modules.skills import search_skills
config = Config(skills_dir=Path(sys.argv[1]))
if should_reindex(config=config).need:
    build_index(config=config, force=False)
for skill in search_skills(sys.argv[2], limit=10, config=config).skills:
    print(skill.id, skill.name)
sys.stdout.flush()
os._exit(0)";

const fn call(task: Task, program: &'static str, args: &'static [&'static str], has_index: bool) -> Call {
    Call { task, program, args, has_index }
}

/// The tools, in the versions that `scripts/bench-catalog` installs.
pub const PEERS: &[Peer] = &[
    Peer {
        name: "skrills",
        version: "0.8.2",
        calls: &[
            call(Task::Start, "cargo/bin/skrills", &["--version"], false),
            // Its output for agents contains only the number of skills, not a list.
            call(
                Task::Count,
                "cargo/bin/skrills",
                &["sync-agents", "--path", "{home}/AGENTS.md", "--skill-dir", "{skills}"],
                false,
            ),
            call(
                Task::List,
                "cargo/bin/skrills",
                &["analyze", "--format", "json", "--skill-dir", "{skills}"],
                false,
            ),
            call(
                Task::Search,
                "cargo/bin/skrills",
                &["search-skills", "--format", "json", "--skill-dir", "{skills}", "{query}"],
                true,
            ),
        ],
        server: Some(Server {
            program: "cargo/bin/skrills",
            args: &["serve", "--skill-dir", "{skills}"],
            tool: "search-skills-fuzzy",
            // By default it drops results with a similarity below 0.3, which is all results for most queries.
            settings: &[("threshold", 0.0)],
        }),
    },
    Peer {
        name: "skillet",
        version: "0.6.0",
        calls: &[
            call(Task::Start, "cargo/bin/skillet", &["--version"], false),
            call(
                Task::List,
                "cargo/bin/skillet",
                &["search", "*", "--no-suggest", "--repo", "{above}"],
                true,
            ),
            call(
                Task::Search,
                "cargo/bin/skillet",
                &["search", "{query}", "--no-suggest", "--repo", "{above}"],
                true,
            ),
        ],
        server: Some(Server {
            program: "cargo/bin/skillet",
            args: &["serve", "--no-suggest", "--log-level", "error", "--repo", "{skills}"],
            tool: "search_skills",
            settings: &[],
        }),
    },
    Peer {
        name: "skillport",
        version: "1.1.2",
        calls: &[
            call(Task::Start, "py/bin/skillport", &["--version"], false),
            call(
                Task::List,
                "py/bin/skillport",
                &["--skills-dir", "{skills}", "list", "--json", "--limit", "1000"],
                false,
            ),
            call(
                Task::Prompt,
                "py/bin/skillport",
                &["--skills-dir", "{skills}", "doc", "--force", "--replace", "--output", "{home}/AGENTS.md"],
                false,
            ),
            call(Task::Search, "py/bin/python", &["-c", SKILLPORT_SEARCH, "{skills}", "{query}"], true),
        ],
        server: Some(Server {
            program: "py/bin/skillport-mcp",
            args: &["--skills-dir", "{skills}"],
            tool: "search_skills",
            settings: &[],
        }),
    },
    Peer {
        name: "openskills",
        version: "1.5.0",
        calls: &[
            call(Task::Start, "npm/node_modules/.bin/openskills", &["--version"], false),
            call(Task::List, "npm/node_modules/.bin/openskills", &["list"], false),
            call(
                Task::Prompt,
                "npm/node_modules/.bin/openskills",
                &["sync", "--yes", "--output", "{home}/AGENTS.md"],
                false,
            ),
        ],
        server: None,
    },
    Peer {
        name: "skills",
        version: "1.7.4",
        calls: &[
            call(Task::Start, "npm/node_modules/.bin/skills", &["--version"], false),
            call(Task::List, "npm/node_modules/.bin/skills", &["list", "--json"], false),
        ],
        server: None,
    },
];

/// The tools whose programs are all installed, and the names of the others.
pub fn installed(peers: &Path) -> (Vec<&'static Peer>, Vec<&'static str>) {
    let there = |peer: &&Peer| peer.calls.iter().all(|call| peers.join(call.program).exists());
    let (found, missing): (Vec<_>, Vec<_>) = PEERS.iter().partition(there);
    (found, missing.iter().map(|peer| peer.name).collect())
}
