//! A place with skills, a clock that goes by itself, and short ways to begin a session.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use metier_catalog::{Catalog, CatalogOptions, Root, Scanner, Scope, StateRules};
use metier_journal::{Event, Journal, JournalAddress, JournalOptions, JournalReader, Record, RecordQuery};
use metier_policy::{Anchors, Answer, Approver, Lifetime, Question};
use metier_sandbox::{Local, ReservedPaths, WorkDirectory};
use metier_session::{Recording, ScriptCall, Session, SessionOptions};
use metier_skill::Tier;
use metier_store::Store;
use tempfile::TempDir;

use crate::clock::TestClock;
use crate::launcher::launcher;

/// A directory with skills and a directory to work in; and, elsewhere, a journal, a store and a home.
pub(crate) struct Ground {
    pub(crate) place: TempDir,
    own: TempDir,
    pub(crate) clock: Arc<TestClock>,
    journal: Mutex<Option<Arc<Journal>>>,
}

impl Ground {
    pub(crate) fn new() -> Self {
        let place = tempfile::Builder::new().prefix("metier-test-").tempdir().unwrap();
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for directory in ["skills", "work"] {
            fs::create_dir(place.path().join(directory)).unwrap();
        }
        let own = tempfile::Builder::new().prefix("metier-test-own-").tempdir().unwrap();
        Self { place, own, clock: TestClock::new(0), journal: Mutex::default() }
    }

    /// With one skill, `pdf`, that has a file of each kind.
    pub(crate) fn with_pdf() -> Self {
        let ground = Self::new();
        ground.skill("pdf", "", "Fill in forms.\n");
        ground.write("skills/pdf/references/guide.md", "# Guide\n\nLine three.\n");
        ground.write("skills/pdf/logo.bin", "\0\u{1}\u{2}");
        ground.write("skills/pdf/scripts/hello.sh", "echo \"hello $*\"\n");
        ground
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.place.path().join(path)
    }

    /// What is not among the skills: the journal, the store, the home.
    pub(crate) fn own(&self, path: &str) -> PathBuf {
        self.own.path().join(path)
    }

    /// A directory here for scripts to work in, whatever rules a session has.
    pub(crate) fn work(&self, path: &str) -> WorkDirectory {
        WorkDirectory::open(self.path(path).canonicalize().unwrap(), &ReservedPaths::default()).unwrap()
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A valid skill with some more lines of frontmatter.
    pub(crate) fn skill(&self, name: &str, frontmatter: &str, body: &str) {
        let text =
            format!("---\nname: {name}\ndescription: Use when testing {name}.\n{frontmatter}---\n{body}");
        self.write(&format!("skills/{name}/SKILL.md"), &text);
    }

    pub(crate) fn catalog(&self, tier: Tier) -> Catalog {
        self.catalog_with(tier, StateRules::default())
    }

    pub(crate) fn catalog_with(&self, tier: Tier, states: StateRules) -> Catalog {
        let mut options = CatalogOptions::new(vec![Root::new(self.path("skills"), tier, Scope::User)]);
        options.states = states;
        Scanner::new(options).scan(SystemTime::UNIX_EPOCH)
    }

    pub(crate) fn journal_place(&self) -> JournalAddress {
        JournalAddress::file(self.own("journal.db"))
    }

    pub(crate) fn journal(&self) -> Arc<Journal> {
        let mut journal = self.journal.lock().unwrap();
        let open = || {
            Arc::new(
                Journal::open(&self.journal_place(), JournalOptions::new(Arc::clone(&self.clock) as _))
                    .unwrap(),
            )
        };
        Arc::clone(journal.get_or_insert_with(open))
    }

    pub(crate) fn store(&self) -> Store {
        Store::new(self.own("store")).batched()
    }

    /// Everything there is, recorded and kept.
    pub(crate) fn options(&self, tier: Tier) -> SessionOptions {
        self.options_with(tier, Recording::Journal(self.journal()))
    }

    /// The same, recorded elsewhere.
    pub(crate) fn options_with(&self, tier: Tier, recording: Recording) -> SessionOptions {
        let places = Anchors::new(self.path("work"), self.own("home"));
        let mut options =
            SessionOptions::new(self.catalog(tier), places, recording, Arc::clone(&self.clock) as _);
        options.store = Some(self.store());
        options.executor = Arc::new(Local::with_launcher(launcher()));
        options
    }

    pub(crate) fn session(&self, tier: Tier) -> Session {
        Session::with_id(self.options(tier), "s1").unwrap()
    }

    pub(crate) fn call(&self, skill: &str, script: &str) -> ScriptCall {
        ScriptCall::new(skill, script, self.work("work"))
    }

    pub(crate) fn reader(&self) -> JournalReader {
        JournalReader::open(&self.journal_place()).unwrap()
    }

    pub(crate) fn records(&self) -> Vec<Record> {
        self.reader().query(&RecordQuery::default()).unwrap()
    }

    /// What was recorded, but for what the journal says of itself.
    pub(crate) fn events(&self) -> Vec<Event> {
        let events = self.records().into_iter().map(|record| serde_json::from_value(record.event).unwrap());
        events
            .filter(|event| !matches!(event, Event::JournalCreated { .. } | Event::JournalCheckpoint { .. }))
            .collect()
    }

    pub(crate) fn kinds(&self) -> Vec<String> {
        self.records().iter().map(|record| record.event["kind"].as_str().unwrap().to_owned()).collect()
    }
}

/// Says the same to every question, and counts them.
#[derive(Clone)]
pub(crate) struct Says(pub(crate) bool, pub(crate) Lifetime, pub(crate) Arc<Mutex<Vec<String>>>);

impl Says {
    pub(crate) fn yes() -> Self {
        Self(true, Lifetime::Once, Arc::default())
    }

    pub(crate) fn no() -> Self {
        Self(false, Lifetime::Once, Arc::default())
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.2.lock().unwrap().clone()
    }
}

impl Approver for Says {
    fn ask(&mut self, question: &Question<'_>) -> Answer {
        self.2.lock().unwrap().push(question.sentence());
        if self.0 { Answer::Approve(self.1.clone()) } else { Answer::Refuse(self.1.clone()) }
    }
}

/// What a test that starts itself again asks for, or a person who wants more of it.
#[expect(clippy::disallowed_methods, reason = "a test asks itself by a variable")]
pub(crate) fn asked(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Whether the tests are run by root.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
