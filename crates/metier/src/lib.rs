//! The runtime for Agent Skills as a library: discover skills, show them to a model, load them, run their scripts in a
//! sandbox and record what happened.
//!
//! ```standalone_crate
//! # #[cfg(all(feature = "session", feature = "search"))]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # metier::launch_if_asked();
//! # if !std::env::args().any(|word| word == "--in-a-home-of-its-own") { return in_a_home_of_its_own(); }
//! use metier::{Approve, Metier};
//! use serde_json::json;
//!
//! let metier = Metier::open()?;                       // the usual places and settings
//! // or: Metier::builder().root("skills").journal("audit.db").build()?
//! for skill in metier.catalog()?.for_models() { println!("{}: {}", skill.name(), skill.description()); }
//! let list = metier.catalog()?.skill_list().budget(2_000).task("fill in a form").render();
//!
//! let mut session = metier.session().approver(Approve::ask_terminal()).start()?;
//! let text = session.activate("pdf")?.content;
//! let report = session.script("pdf", "scripts/fill.py").arg("form.pdf").run()?;
//!
//! let tools = session.tools();                        // name, description, JSON schema: for any model API
//! let answer = session.dispatch("load_skill", json!({ "skill_name": "pdf" }))?;
//! # assert!(list.text.contains("pdf"));
//! # assert!(text.contains("Run scripts/fill.py"), "{text}");
//! # assert_eq!(report.run.stdout.text(), "filled form.pdf\n");
//! # assert_eq!(tools.len(), 4);
//! # assert!(answer.text.contains("pdf"));
//! # Ok(session.end()?)
//! # }
//! # #[cfg(not(all(feature = "session", feature = "search")))]
//! # fn main() {}
//! # /// Runs this program again in a new home with one skill, whose scripts a setting allows.
//! # fn in_a_home_of_its_own() -> Result<(), Box<dyn std::error::Error>> {
//! #     let home = tempfile::tempdir()?;
//! #     let skill = home.path().join(".agents/skills/pdf");
//! #     let settings = home.path().join(".config/metier");
//! #     for directory in [&skill.join("scripts"), &settings, &home.path().join("work")] { std::fs::create_dir_all(directory)?; }
//! #     let text = "---\nname: pdf\ndescription: Use when a PDF form is to be filled in.\n---\nRun scripts/fill.py.\n";
//! #     std::fs::write(skill.join("SKILL.md"), text)?;
//! #     std::fs::write(skill.join("scripts/fill.py"), "#!/usr/bin/env python3\nimport sys\nprint('filled', sys.argv[1])\n")?;
//! #     std::fs::write(settings.join("config.toml"), "[[policy.rules]]\ntier = \"user\"\nscripts = \"allow\"\n")?;
//! #     let path = std::env::var_os("PATH").unwrap_or_default();
//! #     let status = std::process::Command::new(std::env::current_exe()?).arg("--in-a-home-of-its-own")
//! #         .env_clear().env("HOME", home.path()).env("PATH", path).current_dir(home.path().join("work")).status()?;
//! #     if status.success() { Ok(()) } else { Err("the program failed".into()) }
//! # }
//! ```
//!
//! # Features
//!
//! By default no feature is enabled. A program that only lists skills compiles no database, no async runtime
//! and no TLS.
//!
//! | feature | adds |
//! |---|---|
//! | `session` | [`Metier::session`]: activating, reading, running in the sandbox, the journal on SQLite |
//! | `search` | ranking by a task, in skill lists and in `list_skills` |
//! | `store` | installing skills from directories, archives and git |
//! | `home` | mounting and linking skills for agents |
//! | `harness` | agents in temporary homes, and prompts that run on them |
//! | `openai` | prompts that run on model servers with an API like `OpenAI`'s |
//! | `mcp` | serving skills to MCP clients |
//! | `postgres` | journals on a PostgreSQL server |
//! | `otel` | traces and metrics over OTLP |
//!
//! # Scripts
//!
//! The sandbox starts a small launcher. Call [`launch_if_asked`] first in `main`, and your program is its own
//! launcher. Otherwise [`Metier`] uses `metier-launcher` or `metier`, beside your program or in `PATH`.
//!
//! # Which type do I need?
//!
//! | type | use it |
//! |---|---|
//! | [`Metier`] | to start: it loads settings and the environment, and creates everything else |
//! | [`MetierBuilder`] | to change the default roots, journal or environment |
//! | [`Environment`] | to use a home and working directory that differ from the process's, as in tests and services |
//! | [`Settings`] | to show the effective settings and the origin of each |
//! | [`HostError`] | as the error of everything that [`Metier`] does |
//! | [`Coded`] | to tell errors apart by a stable code, and to show a hint |
//! | [`HostCatalog`] | to list skills; it dereferences to [`Catalog`] and renders skill lists |
//! | [`SkillListBuilder`] | to put the list of skills into a prompt within a budget |
//! | [`Catalog`] | as one immutable snapshot of every skill that was found |
//! | [`Entry`] | for one skill of a catalog: its content, location and state |
//! | [`Listing`] | for what a model may see of one skill |
//! | [`SkillId`] | to identify a skill by tier and name |
//! | [`State`] | to see whether a skill is on, name-only, user-only or off |
//! | [`Problem`] | to show why a skill could not be used |
//! | [`Root`] | to scan a directory of your own choice |
//! | [`Scanner`] | to scan again and again, with an index |
//! | [`Watcher`] | to be notified when skills change |
//! | [`Tier`] | for how far a skill is trusted |
//! | [`Skill`] | to read or write one `SKILL.md` |
//! | [`Location`] | to find and validate a skill at a path |
//! | [`Reading`] | for a skill and its diagnostics |
//! | [`Diagnostic`] | for one finding: code, severity, position, fix |
//! | [`Severity`] | to filter findings |
//! | [`Rules`] | to validate strictly or leniently |
//! | [`Profile`] | to choose one of the three sets of rules |
//! | [`Digest`] | to compare content |
//! | [`SkillError`] | as the error of operations on one skill |
//! | [`SkillList`] | to render a list from your own names and descriptions |
//! | [`RenderedList`] | for the text of a list and what was left out |
//! | [`Prompt`] | to build a prompt from sections that a model opens on demand |
//! | [`Section`] | for one part of a prompt |
//! | [`Tool`] | to add your own tool to a section |
//! | [`ToolRules`] | for a skill's `allowed-tools` |
//! | [`Policy`] | to decide requests without a session |
//! | [`Guard`] | to decide tool calls without a session |
//! | [`ToolCall`] | for a tool call to decide |
//! | [`Decision`] | for a verdict with its reasons |
//! | [`Verdict`] | to see whether something is allowed, asked or denied |
//! | [`Approve`] | for ready-made approvers: at the terminal, by a function, once, never |
//! | [`Approver`] | to ask the user in your own way |
//! | [`Question`] | for an approval question |
//! | [`Answer`] | for the answer to an approval question |
//! | [`Session`] | for one conversation: activate, read, run, decide tool calls |
//! | [`SessionBuilder`] | to start a session with an approver, an id, a budget |
//! | [`SessionError`] | as the error of everything that a session does |
//! | [`Activation`] | for a skill that was loaded: its text and digests |
//! | [`Resource`] | for a file of a skill |
//! | [`ScriptRun`] | to run a script with arguments, input and limits |
//! | [`ScriptReport`] | for a script's exit code, output and changed files |
//! | [`SkillTool`] | to describe the four skill tools to a model API |
//! | [`SkillToolAnswer`] | for the result of one of these tools |
//! | [`SkillToolError`] | for the error of such a call, in words for the model |
//! | [`Budget`] | to limit tokens and time |
//! | [`Event`] | for what a session records |
//! | [`Clock`] | to fix times and ids in tests |
//! | [`SystemClock`] | for the system clock |
//! | [`Executor`] | to run scripts in your own sandbox |
//! | [`Network`] | to choose which network destinations a script may reach |

pub use metier_catalog as catalog;
#[cfg(feature = "harness")]
pub use metier_harness as harness;
#[cfg(feature = "home")]
pub use metier_home as home;
pub use metier_host as host;
#[cfg(feature = "session")]
pub use metier_journal as journal;
#[cfg(feature = "mcp")]
pub use metier_mcp as mcp;
pub use metier_policy as policy;
pub use metier_prompt as prompt;
#[cfg(feature = "session")]
pub use metier_sandbox as sandbox;
#[cfg(feature = "store")]
pub use metier_scan as scan;
#[cfg(feature = "search")]
pub use metier_search as search;
#[cfg(feature = "session")]
pub use metier_session as session;
pub use metier_skill as skill;
#[cfg(feature = "session")]
pub use metier_store as store;

pub use metier_catalog::{Catalog, Entry, Listing, Problem, Root, Scanner, SkillId, State, Watcher};
pub use metier_host::{
    Approve, Environment, HostCatalog, HostError, Metier, MetierBuilder, Settings, SkillListBuilder,
};
#[cfg(feature = "session")]
pub use metier_host::{SessionBuilder, SystemClock};
#[cfg(feature = "session")]
pub use metier_journal::{Clock, Event};
pub use metier_policy::{Answer, Approver, Decision, Guard, Policy, Question, ToolCall, Verdict};
pub use metier_prompt::{Prompt, RenderedList, Section, SkillList, Tool};
#[cfg(feature = "session")]
pub use metier_sandbox::{Executor, Network, launch_if_asked};
#[cfg(feature = "session")]
pub use metier_session::{
    Activation, Budget, Resource, ScriptReport, ScriptRun, Session, SessionError, SkillTool, SkillToolAnswer,
    SkillToolError,
};
pub use metier_skill::{
    Coded, Diagnostic, Digest, Location, Profile, Reading, Rules, Severity, Skill, SkillError, Tier,
    ToolRules,
};

/// Runs the examples in the guides as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/prompt.md")]
struct PromptGuide;

/// The same.
#[cfg(all(doctest, feature = "session", feature = "search"))]
#[doc = include_str!("../../../docs/agent.md")]
struct AgentGuide;
