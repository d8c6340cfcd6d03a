//! Every call that writes, of a process that opens a journal, adds to it and closes it: killed before it and after it, failing, out of room, cut
//! short. What was acknowledged is there, once; the chain verifies; the next process goes on.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::ops::ControlFlow;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::Arc;

use metier_journal::{
    Checkpoint, Clock, Journal, JournalAddress, JournalOptions, JournalReader, Receipt, verify,
};
use metier_skill::Coded as _;

use crate::clock::TestClock;
use crate::common::{asked, entry, filled, place};

/// So many that the ones that are added have a checkpoint among them.
const BEFORE: u64 = 1018;
const ADDED: u64 = 8;

fn open(directory: &Path, number: u64) -> (Arc<TestClock>, Result<Journal, metier_journal::JournalError>) {
    let clock = TestClock::new(number);
    let mut options = JournalOptions::new(Arc::clone(&clock) as Arc<dyn Clock>);
    options.remember = Some(directory.join("checkpoint.json"));
    (clock, Journal::open(&place(directory), options))
}

/// Not a test: opens a journal, adds to it, closes it, and notes what was acknowledged.
#[test]
#[ignore = "started by other tests"]
fn writer() {
    let Some(what) = asked("METIER_FAULTY") else { return };
    let (directory, notes) = what.split_once('\n').unwrap();
    let mut notes = File::create(notes).unwrap();
    let mut note = |text: String| notes.write_all(text.as_bytes()).unwrap();
    let (clock, journal) = open(Path::new(directory), 7);
    let journal = match journal {
        Ok(journal) => journal,
        Err(error) => return note(format!("open {}\n", error.code())),
    };
    for number in 0..ADDED {
        let entry = entry(&*clock, "faulty", number);
        let id = entry.id();
        match journal.append(entry) {
            Ok(Receipt::Recorded { sequence, .. }) => note(format!("{id} {sequence}\n")),
            Ok(_) => unreachable!(),
            Err(error) => note(format!("append {}\n", error.code())),
        }
    }
    if let Err(error) = journal.close() {
        note(format!("close {}\n", error.code()));
    }
}

/// The shim, compiled.
fn shim(directory: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/faults.c");
    let library = directory.join("faults.so");
    let compiled =
        Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).status();
    assert!(compiled.unwrap().success(), "a C compiler is needed, as it is for SQLite");
    library
}

struct Run {
    directory: tempfile::TempDir,
    status: ExitStatus,
    notes: String,
    calls: u64,
}

/// One run of the writer on a copy of a journal, with a fault.
fn run(shim: &Path, before: Option<&Path>, fault: &str) -> Run {
    let directory = tempfile::tempdir().unwrap();
    let below = directory.path().join("below");
    fs::create_dir(&below).unwrap();
    for file in before.into_iter().flat_map(|before| fs::read_dir(before).unwrap()) {
        let file = file.unwrap();
        fs::copy(file.path(), below.join(file.file_name())).unwrap();
    }
    let (notes, log) = (directory.path().join("notes"), directory.path().join("log"));
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "faults::writer", "--ignored", "--nocapture"])
        .env("METIER_FAULTY", format!("{}\n{}", below.display(), notes.display()))
        .env("METIER_FAULT", fault)
        .env("METIER_FAULT_BELOW", &below)
        .env("METIER_FAULT_LOG", &log)
        .env("LD_PRELOAD", shim)
        .output()
        .unwrap()
        .status;
    let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
    Run { calls: read(&log).parse().unwrap_or(0), notes: read(&notes), directory, status }
}

impl Run {
    fn below(&self) -> PathBuf {
        self.directory.path().join("below")
    }

    /// What holds whatever happened.
    fn check(&self, fault: &str) {
        let below = self.below();
        // The next process goes on, and repairs what there is to repair.
        let (clock, journal) = open(&below, 8);
        let journal = journal.unwrap_or_else(|error| panic!("{fault}: {error}\n{}", self.notes));
        journal.append(entry(&*clock, "next", 1)).unwrap();
        journal.close().unwrap();
        let remembered = Checkpoint::read(&below.join("checkpoint.json")).unwrap();
        let place: JournalAddress = place(&below);
        let verification = verify(&place, &[remembered]).unwrap();
        assert_eq!(verification.damage, None, "{fault}\n{}", self.notes);
        let mut there: BTreeMap<String, u64> = BTreeMap::new();
        let each = |row: &metier_journal::RecordRef<'_>, _: &_| {
            assert_eq!(there.insert(row.id.to_owned(), row.sequence), None, "{fault}: twice");
            ControlFlow::Continue(())
        };
        JournalReader::open(&place).unwrap().each(each).unwrap();
        let acknowledged =
            self.notes.lines().filter_map(|note| note.split_once(' ')).filter(|note| note.0.len() == 36);
        for (id, sequence) in acknowledged {
            assert_eq!(
                there.get(id),
                Some(&sequence.parse().unwrap()),
                "{fault}: acknowledged, and not there"
            );
        }
    }
}

fn every_call(before: Option<&Path>) -> (u64, [u64; 5], u64) {
    let directory = tempfile::tempdir().unwrap();
    let shim = shim(directory.path());
    let calls = run(&shim, before, "0:x").calls;
    assert!(calls > 2 * ADDED, "{calls} calls: the shim is not there");
    let (mut outcomes, mut errors) = ([0; 5], 0);
    for call in 1..=calls {
        for (index, kind) in ["k", "K", "e", "f", "s"].into_iter().enumerate() {
            let fault = format!("{call}:{kind}");
            let run = run(&shim, before, &fault);
            let is_killed = run.status.signal() == Some(9);
            assert_eq!(is_killed, index < 2, "{fault}: {:?}\n{}", run.status, run.notes);
            assert!(is_killed || run.status.success(), "{fault}: {:?}\n{}", run.status, run.notes);
            outcomes[index] += 1;
            errors += u64::from(run.notes.contains("journal-"));
            run.check(&fault);
        }
    }
    (calls, outcomes, errors)
}

#[test]
fn every_call_on_a_journal_that_grows() {
    let directory = tempfile::tempdir().unwrap();
    filled(directory.path(), BEFORE);
    let (calls, outcomes, errors) = every_call(Some(directory.path()));
    println!(
        "{calls} calls: {outcomes:?} killed before, after, failed, full, short; {errors} said so; all records there"
    );
    assert!(errors > 0);
}

#[test]
fn every_call_on_a_new_journal() {
    let (calls, outcomes, errors) = every_call(None);
    println!(
        "{calls} calls: {outcomes:?} killed before, after, failed, full, short; {errors} said so; all records there"
    );
    assert!(errors > 0);
}
