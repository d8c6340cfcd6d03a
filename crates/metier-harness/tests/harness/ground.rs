//! A place for one test: a session with a journal and a store, and directories for homes and skills.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use metier_catalog::{CatalogOptions, Root, Scanner, Scope};
use metier_harness::{AgentEvent, AgentEventKind, AgentSetup};
use metier_home::{Agent, HostVariables};
use metier_journal::{Journal, JournalAddress, JournalOptions, JournalReader, Record, RecordQuery};
use metier_policy::{Anchors, Policy, PolicySettings};
use metier_prompt::{Prompt, Rendering, Section};
use metier_sandbox::Local;
use metier_session::{Recording, ReplayReport, Session, SessionOptions, replay};
use metier_skill::Tier;
use metier_store::Store;
use serde_json::Value;
use tempfile::TempDir;

use crate::clock::TestClock;
use crate::launcher::launcher;
use crate::scripted::ScriptedAgent;

pub(crate) struct Ground {
    place: TempDir,
    clock: Arc<TestClock>,
    journal: Mutex<Option<Arc<Journal>>>,
}

impl Ground {
    pub(crate) fn new() -> Self {
        let place = tempfile::Builder::new().prefix("metier-harness-test-").tempdir().unwrap();
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for directory in ["homes", "skills", "host"] {
            fs::create_dir(place.path().join(directory)).unwrap();
        }
        Self { place, clock: TestClock::new(0), journal: Mutex::default() }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.place.path().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// A skill on the disk, with some more lines of frontmatter; its directory.
    pub(crate) fn skill(&self, name: &str, frontmatter: &str, body: &str) -> PathBuf {
        let text = format!("---\nname: {name}\ndescription: Use when testing.\n{frontmatter}---\n\n{body}\n");
        self.write(&format!("skills/{name}/SKILL.md"), &text);
        self.path(&format!("skills/{name}"))
    }

    pub(crate) fn setup(&self) -> AgentSetup {
        let env = [("PATH", "/usr/bin:/bin".to_owned()), ("ANTHROPIC_API_KEY", "sk-test".to_owned())];
        let mut host = HostVariables::new(env.map(|(name, value)| (name.to_owned(), value)).into());
        host.home = Some(self.path("host"));
        let executor = Local::with_launcher(launcher());
        AgentSetup::new(Agent::ClaudeCode, host, self.path("homes"), executor)
    }

    /// An agent that is this script.
    pub(crate) fn agent(&self, script: &str) -> ScriptedAgent {
        ScriptedAgent::new(self.setup(), script)
    }

    /// An agent that is ready, reads the prompt, does this, and goes on with prompts until there are no more.
    pub(crate) fn answering(&self, script: &str) -> ScriptedAgent {
        self.agent(&format!("ready\nread -r prompt\n{script}\ncat >/dev/null"))
    }

    pub(crate) fn journal(&self) -> Arc<Journal> {
        let mut journal = self.journal.lock().unwrap();
        let open = || {
            let options = JournalOptions::new(Arc::clone(&self.clock) as _);
            Arc::new(Journal::open(&self.address(), options).unwrap())
        };
        Arc::clone(journal.get_or_insert_with(open))
    }

    fn address(&self) -> JournalAddress {
        JournalAddress::file(self.path("journal.db"))
    }

    pub(crate) fn options(&self) -> SessionOptions {
        let roots = vec![Root::new(self.path("skills"), Tier::User, Scope::User)];
        let catalog = Scanner::new(CatalogOptions::new(roots)).scan(SystemTime::UNIX_EPOCH);
        let anchors = Anchors::new(self.path("work"), self.path("host"));
        let recording = Recording::Journal(self.journal());
        let mut options = SessionOptions::new(catalog, anchors, recording, Arc::clone(&self.clock) as _);
        options.store = Some(self.store());
        options
    }

    pub(crate) fn store(&self) -> Store {
        Store::new(self.path("store")).batched()
    }

    pub(crate) fn session(&self) -> Session {
        Session::with_id(self.options(), "s1").unwrap()
    }

    pub(crate) fn records(&self) -> Vec<Record> {
        JournalReader::open(&self.address()).unwrap().query(&RecordQuery::default()).unwrap()
    }

    /// The recorded events of one kind.
    pub(crate) fn recorded(&self, kind: &str) -> Vec<Value> {
        let events = self.records().into_iter().map(|record| record.event);
        events.filter(|event| event["kind"] == kind).collect()
    }

    pub(crate) fn replay(&self) -> ReplayReport {
        let mut reader = JournalReader::open(&self.address()).unwrap();
        replay(&mut reader, &self.store(), &RecordQuery::default()).unwrap()
    }

    /// What is left of homes and workspaces.
    pub(crate) fn left(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path("homes")).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }
}

/// A prompt of one section.
pub(crate) fn prompt(body: &str) -> Rendering {
    let prompt = Prompt::builder("tests", "one").section(Section::new("task", "Task").body(body));
    prompt.build().unwrap().rendering()
}

/// Whether a process is there and not only waited for.
pub(crate) fn is_alive(pid: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    status.is_ok_and(|status| !status.contains(") Z "))
}

/// The names of events, with the text of those that have one.
pub(crate) fn story(events: &[AgentEvent]) -> Vec<String> {
    let line = |event: &AgentEvent| match &event.kind {
        AgentEventKind::Text { text } | AgentEventKind::Notice { text } => text.clone(),
        kind => serde_json::to_value(kind).unwrap()["type"].as_str().unwrap().to_owned(),
    };
    events.iter().map(line).collect()
}

/// A policy that denies calls by a rule.
pub(crate) fn denying(rule: &str) -> Policy {
    let mut settings = PolicySettings::default();
    settings.deny = vec![rule.to_owned()];
    Policy::new(None, &[("tests", &settings)]).unwrap()
}
