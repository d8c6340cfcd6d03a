//! A session, a real agent and the fake model that it asks; and that nothing of them is left afterwards.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use metier_catalog::{CatalogOptions, Scanner};
use metier_fake_model::{Server, Step};
use metier_harness::{Acp, AgentSetup, ClaudeCode, Codex, EvaluationBuilder, Harness, evaluate};
use metier_home::Agent;
use metier_journal::{Journal, JournalAddress, JournalOptions, JournalReader, RecordQuery};
use metier_policy::Anchors;
use metier_prompt::{Prompt, PromptBuilder, Rendering, Section};
use metier_sandbox::Local;
use metier_session::{Budget, Recording, ReplayReport, Session, SessionOptions, replay};
use metier_store::Store;
use serde_json::Value;

use crate::clock::TestClock;
use crate::command::metier;
use crate::driver;
use crate::rig::{Rig, WORK};

/// A session, and a model that an agent asks.
pub(crate) struct Asking<'a> {
    rig: &'a Rig,
    pub(crate) server: Server,
    pub(crate) harness: Box<dyn Harness>,
    pub(crate) session: Session,
}

impl<'a> Asking<'a> {
    /// Nothing where metier, which starts the agent, is not built.
    pub(crate) fn new(rig: &'a Rig, steps: Vec<Step>) -> Option<Self> {
        Self::start(rig, steps, None, |_| {})
    }

    pub(crate) fn within(rig: &'a Rig, steps: Vec<Step>, budget: Budget) -> Option<Self> {
        Self::start(rig, steps, Some(budget), |_| {})
    }

    /// With an agent that is set up as usual, and then in another way.
    pub(crate) fn set_up(
        rig: &'a Rig,
        steps: Vec<Step>,
        change: impl FnOnce(&mut AgentSetup),
    ) -> Option<Self> {
        Self::start(rig, steps, None, change)
    }

    fn start(
        rig: &'a Rig,
        steps: Vec<Step>,
        budget: Option<Budget>,
        change: impl FnOnce(&mut AgentSetup),
    ) -> Option<Self> {
        let metier = metier(rig)?;
        let server = Server::start(steps).unwrap();
        let mut setup = setup(rig, &server.url(), &metier);
        change(&mut setup);
        let harness = harness(rig, &server.url(), setup);
        Some(Self { rig, server, harness, session: session(&rig.path(""), budget) })
    }

    pub(crate) fn recorded(&self, kind: &str) -> Vec<Value> {
        recorded(&self.rig.path(""), kind)
    }

    /// What comes of the records when they are replayed.
    pub(crate) fn replay(&self) -> ReplayReport {
        let mut reader = JournalReader::open(&address(&self.rig.path(""))).unwrap();
        replay(&mut reader, &Store::new(self.rig.path("store")), &RecordQuery::default()).unwrap()
    }

    /// Whether the model was told a word.
    pub(crate) fn saw(&self, word: &str) -> bool {
        self.server.requests().iter().any(|request| request.contains(word))
    }

    /// No home, no process and no socket: only this test is in its network namespace. And the records replay.
    pub(crate) fn assert_nothing_is_left(&self) {
        let homes = self.rig.path("homes");
        let left: Vec<_> =
            fs::read_dir(homes).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
        assert!(left.is_empty(), "{left:?}");
        let left: Vec<String> = others().iter().map(|pid| command_of(*pid)).collect();
        assert!(left.is_empty(), "{left:?}");
        let sockets = sockets(&self.rig.path(""));
        assert!(sockets.is_empty(), "{sockets:?}");
        assert_eq!(self.replay().divergence, None);
    }
}

/// A session with a journal and a store in a directory.
pub(crate) fn session(place: &Path, budget: Option<Budget>) -> Session {
    let clock = TestClock::new(0);
    let journal = Journal::open(&address(place), JournalOptions::new(Arc::clone(&clock) as _)).unwrap();
    let catalog = Scanner::new(CatalogOptions::new(Vec::new())).scan(SystemTime::UNIX_EPOCH);
    let anchors = Anchors::new(place.join(WORK), place.join("host"));
    let mut options = SessionOptions::new(catalog, anchors, Recording::Journal(Arc::new(journal)), clock);
    options.store = Some(Store::new(place.join("store")));
    options.budget = budget;
    Session::with_id(options, "s1").unwrap()
}

fn address(place: &Path) -> JournalAddress {
    JournalAddress::file(place.join("journal.db"))
}

/// The recorded events of a kind.
pub(crate) fn recorded(place: &Path, kind: &str) -> Vec<Value> {
    let records = JournalReader::open(&address(place)).unwrap().query(&RecordQuery::default()).unwrap();
    records.into_iter().map(|record| record.event).filter(|event| event["kind"] == kind).collect()
}

/// The agent's program in a home, with the fake model's address in its environment.
fn setup(rig: &Rig, url: &str, metier: &Path) -> AgentSetup {
    let mut setup =
        AgentSetup::new(rig.agent, driver::host(rig, url), rig.path("homes"), Local::with_launcher(metier));
    let program = driver::program(rig.agent, &rig.agents);
    if program.extension().is_some_and(|ending| ending == "js") {
        setup.program = "node".into();
        setup.leading = vec![program.into()];
    } else {
        setup.program = program;
    }
    setup.home.isolation.sandbox.is_enabled = false;
    setup.home.isolation.env = driver::wishes(rig, url);
    setup.working = Some(rig.work());
    setup
}

/// The agent, pointed at the fake model.
fn harness(rig: &Rig, url: &str, setup: AgentSetup) -> Box<dyn Harness> {
    match rig.agent {
        Agent::ClaudeCode => Box::new(ClaudeCode::new(setup)),
        Agent::Codex => {
            let provider = driver::codex_provider(url).into_iter();
            Box::new(
                provider.fold(Codex::new(setup), |codex, text| codex.argument(format!("--config={text}"))),
            )
        }
        Agent::Gemini => Box::new(Acp::new(setup).unwrap().argument("--model=gemini-2.5-flash")),
        _ => Box::new(Acp::new(setup).unwrap()),
    }
}

pub(crate) fn builder(text: &str) -> PromptBuilder {
    Prompt::builder("tests", "asked").section(Section::new("task", "Task").body(text))
}

pub(crate) fn rendering(prompt: PromptBuilder) -> Rendering {
    prompt.build().unwrap().rendering()
}

pub(crate) fn asked(harness: &dyn Harness, rendering: Rendering) -> EvaluationBuilder<'_> {
    // An agent that hangs must not hang the tests.
    evaluate(harness, rendering).deadline(Duration::from_secs(100))
}

/// All processes of the network namespace but this one.
pub(crate) fn others() -> BTreeSet<u32> {
    let namespace = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/net")).ok();
    let own = namespace("self").unwrap();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_other =
        |pid: &u32| *pid != std::process::id() && namespace(&pid.to_string()).as_ref() == Some(&own);
    pids.filter(is_other).collect()
}

fn command_of(pid: u32) -> String {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    format!("{pid} {}", String::from_utf8_lossy(&words).replace('\0', " "))
}

/// Unix sockets that are bound to a path, and those that are left as files below a directory.
fn sockets(directory: &Path) -> Vec<PathBuf> {
    let bound = fs::read_to_string("/proc/net/unix").unwrap();
    let bound = bound.lines().skip(1).filter_map(|line| line.split_whitespace().nth(7));
    let mut found: Vec<PathBuf> = bound.map(PathBuf::from).collect();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                directories.push(entry.path());
            } else if kind.is_socket() {
                found.push(entry.path());
            }
        }
    }
    found
}
