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
    verify_archives,
};
use metier_skill::Coded as _;

use crate::archives::{self, FastClock};
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

/// Not a test: archives the records of a journal by month.
#[test]
#[ignore = "started by other tests"]
fn archiver() {
    let Some(what) = asked("METIER_FAULTY") else { return };
    let (directory, notes) = what.split_once('\n').unwrap();
    let directory = Path::new(directory);
    let clock = FastClock::new(9, 1);
    let mut options = JournalOptions::new(clock);
    options.remember = Some(directory.join("checkpoint.json"));
    let archived = Journal::open(&place(directory), options)
        .and_then(|journal| journal.archive(&archives::request(directory, "2026-03-01", true)));
    let said =
        archived.map_or_else(|error| error.code().to_owned(), |report| report.archives.len().to_string());
    fs::write(notes, said).unwrap();
}

/// Every record is in the journal or in an intact archive, whatever the call that failed, and the next run completes it.
#[test]
fn every_call_while_records_are_archived() {
    let directory = tempfile::tempdir().unwrap();
    let shim = shim(directory.path());
    let before = directory.path().join("before");
    fs::create_dir(&before).unwrap();
    drop(archives::filled(&before, 70, 1));
    let records = archives::ids(&place(&before));
    let calls = run("archiver", &shim, Some(&before), "0:x").calls;
    assert!(calls > 20, "{calls} calls: the shim is not there");
    let (mut errors, mut both) = (0, 0);
    for call in 1..=calls {
        for kind in ["k", "K", "e", "f", "s"] {
            let fault = format!("{call}:{kind}");
            let run = run("archiver", &shim, Some(&before), &fault);
            let below = run.below();
            let mut found: Vec<(u64, String)> = Vec::new();
            let is_archive = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "gz");
            for path in archives::archives(&below).into_iter().filter(is_archive) {
                let address = JournalAddress::file(&path);
                assert_eq!(verify(&address, &[]).unwrap().damage, None, "{fault}: {}", path.display());
                found.extend(archives::ids(&address));
            }
            assert_eq!(verify(&place(&below), &[]).unwrap().damage, None, "{fault}");
            found.extend(archives::ids(&place(&below)));
            let twice = found.len();
            found.sort();
            found.dedup();
            both += u64::from(twice > found.len());
            assert_eq!(found[..records.len()], records, "{fault}: lost\n{}", run.notes);
            errors += u64::from(run.notes.contains("journal-"));
            // Again, in a process without faults.
            let journal = open(&below, 8).1.unwrap();
            journal.archive(&archives::request(&below, "2026-03-01", true)).unwrap();
            journal.close().unwrap();
            let paths = archives::archives(&below);
            assert_eq!(paths.len(), 2, "{fault}: {paths:?}");
            let remembered = Checkpoint::read(&below.join("checkpoint.json")).unwrap();
            let all = verify_archives(&paths, Some(&place(&below)), &[remembered]).unwrap();
            assert_eq!((all.first, all.damage), (0, None), "{fault}");
        }
    }
    println!(
        "{calls} calls while archiving, each killed before, after, failed, full, short: {errors} said so, {both} left records in both"
    );
    assert!(errors > 0 && both > 0, "{errors} errors, {both} in both");
}

/// One run of a writer on a copy of a journal, with a fault.
fn run(writer: &str, shim: &Path, before: Option<&Path>, fault: &str) -> Run {
    let directory = tempfile::tempdir().unwrap();
    let below = directory.path().join("below");
    fs::create_dir(&below).unwrap();
    for file in before.into_iter().flat_map(|before| fs::read_dir(before).unwrap()) {
        let file = file.unwrap();
        fs::copy(file.path(), below.join(file.file_name())).unwrap();
    }
    let (notes, log) = (directory.path().join("notes"), directory.path().join("log"));
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("faults::{writer}"), "--ignored", "--nocapture"])
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
    let calls = run("writer", &shim, before, "0:x").calls;
    assert!(calls > 2 * ADDED, "{calls} calls: the shim is not there");
    let (mut outcomes, mut errors) = ([0; 5], 0);
    for call in 1..=calls {
        for (index, kind) in ["k", "K", "e", "f", "s"].into_iter().enumerate() {
            let fault = format!("{call}:{kind}");
            let run = run("writer", &shim, before, &fault);
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
