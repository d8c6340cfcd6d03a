//! The tools that people use for skills today: a table of how each is called for what it can do.
//!
//! `scripts/bench-catalog` installs them; one that is missing is left out aloud.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

/// What a tool is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// To say its version.
    Start,
    /// To find all skills, and say only how many there are.
    Count,
    /// To list all skills.
    List,
    /// To write the part of a prompt that lists all skills.
    Prompt,
    /// To find skills for some words.
    Search,
}

/// One way to call a tool. In arguments `{skills}`, `{above}`, `{home}` and `{query}` stand for the directory of
/// skills, the one that it is in, a directory of the tool's own, and what is searched.
#[derive(Debug)]
pub struct Call {
    /// What for.
    pub task: Task,
    /// The program, below the directory with all tools.
    pub program: &'static str,
    /// Its arguments.
    pub args: &'static [&'static str],
    /// Whether the next call profits from what this one leaves behind.
    pub has_index: bool,
}

/// A tool that searches over the Model Context Protocol.
#[derive(Debug)]
pub struct Server {
    /// The program, below the directory with all tools.
    pub program: &'static str,
    /// Its arguments, as in [`Call`].
    pub args: &'static [&'static str],
    /// The name of the tool that searches; its argument is `query`.
    pub tool: &'static str,
    /// Further arguments, so that it is at its best.
    pub settings: &'static [(&'static str, f64)],
}

impl Server {
    /// The arguments of the tool for a query.
    pub fn arguments(&self, query: &str) -> Value {
        let settings = self.settings.iter().map(|&(key, value)| (key.to_owned(), json!(value)));
        std::iter::once(("query".to_owned(), json!(query))).chain(settings).collect()
    }
}

/// One tool.
#[derive(Debug)]
pub struct Peer {
    /// Its name.
    pub name: &'static str,
    /// The version that is installed.
    pub version: &'static str,
    /// How it is called.
    pub calls: &'static [Call],
    /// How it is asked many things.
    pub server: Option<Server>,
}

/// Where a tool finds things. The project is the parent of `above`.
#[derive(Debug)]
pub struct Place<'a> {
    /// All tools.
    pub peers: &'a Path,
    /// The project that the skills are in, at `.claude/skills`.
    pub project: &'a Path,
    /// A home directory of the tool's own.
    pub home: &'a Path,
    /// What is searched.
    pub query: &'a str,
}

impl Place<'_> {
    /// The directory that the skills are in.
    pub fn skills(&self) -> PathBuf {
        self.project.join(".claude/skills")
    }

    /// A program with its arguments, in the project, offline, silent, with the tool's own home.
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
        // The programs written for Node find the right one beside them.
        let node = self.peers.join("npm/node_modules/.bin");
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", node.display());
        command.current_dir(self.project).env("HOME", self.home).env("PATH", path);
        command.env("XDG_CACHE_HOME", self.home.join(".cache")).env("NO_COLOR", "1");
        command.env("DISABLE_TELEMETRY", "1").env("DO_NOT_TRACK", "1").env("RUST_LOG", "off");
        // `skrills` trusts what it found before for a time, without looking; here it may do so for an hour.
        command.env("SKRILLS_CACHE_PATH", self.home.join("skrills.json"));
        command.env("SKRILLS_CACHE_TTL_MS", "3600000");
        command
    }
}

/// `skillport` searches in its server only; this calls the same functions in the same order, once. It leaves at
/// once: its database now and then crashes on the way out.
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
            // What it writes for agents has no list of skills, only their number.
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
            // Of itself it leaves out what is less than 0.3 alike, which is all for most questions.
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

/// The tools of which every program is there, and the names of the others.
pub fn installed(peers: &Path) -> (Vec<&'static Peer>, Vec<&'static str>) {
    let there = |peer: &&Peer| peer.calls.iter().all(|call| peers.join(call.program).exists());
    let (found, missing): (Vec<_>, Vec<_>) = PEERS.iter().partition(there);
    (found, missing.iter().map(|peer| peer.name).collect())
}
