//! Writers that are killed at any moment: what was acknowledged is there, once, and the chain verifies.
//!
//! `METIER_KILLS` says how many writers are killed for each number of them at a time.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use crate::clock::TestClock;
use crate::common::{asked, entry, place};
use metier_journal::{
    Clock, Durability, Journal, JournalAddress, JournalOptions, JournalReader, Receipt, RecordQuery, verify,
};
use metier_skill::Coded as _;

/// Not a test: a writer that goes on until it is killed, and notes what was acknowledged.
#[test]
#[ignore = "started by other tests"]
fn writer() {
    let Some(what) = asked("METIER_WRITER") else { return };
    let [place, notes, number, durability] = what.split('\n').collect::<Vec<_>>()[..] else { return };
    let mut notes = File::options().append(true).create(true).open(notes).unwrap();
    let clock = TestClock::new(number.parse().unwrap());
    let mut options = JournalOptions::new(Arc::clone(&clock) as Arc<dyn Clock>);
    if durability == "batched" {
        options.durability = Durability::Batched;
    }
    let journal = Journal::open(&place.parse::<JournalAddress>().unwrap(), options).unwrap();
    for count in 0.. {
        let entry = entry(&*clock, number, count);
        let id = entry.id();
        // One call, so that a note is there or is not.
        let note = match journal.append(entry).unwrap() {
            Receipt::Recorded { sequence, .. } => format!("{id} {sequence}\n"),
            // Not yet on the disk: only the order is noted.
            _ => format!("{id}\n"),
        };
        notes.write_all(note.as_bytes()).unwrap();
    }
}

/// Waits until something is so; a machine on which it never is has a defect to show.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let mut patience = 120_000;
    while !is_so() {
        assert!(patience > 0, "{what} did not happen");
        patience -= 1;
        std::thread::sleep(Duration::from_millis(1));
    }
}

struct Writers {
    directory: PathBuf,
    seed: u64,
    started: u64,
    killed: u64,
}

impl Writers {
    fn random(&mut self, below: u64) -> u64 {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 33) % below
    }

    fn start(&mut self, durability: &str) -> Child {
        self.started += 1;
        let (place, number) = (place(&self.directory), self.started);
        let notes = self.notes(number);
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "kill::writer", "--ignored", "--nocapture"])
            .env("METIER_WRITER", format!("{place}\n{}\n{number}\n{durability}", notes.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    }

    fn notes(&self, number: u64) -> PathBuf {
        self.directory.join(format!("notes-{number}"))
    }

    /// Lets so many write for a moment, and kills each at a moment of its own.
    fn round(&mut self, count: usize) {
        let mut children: Vec<Child> = (0..count).map(|_| self.start("full")).collect();
        if self.killed == 0 {
            // At least once a record is acknowledged before anybody is killed, however slow this machine is.
            let first = self.notes(1);
            until("the first acknowledgement", || fs::metadata(&first).is_ok_and(|meta| meta.len() > 0));
        }
        while !children.is_empty() {
            // Between its start and some hundred records later.
            std::thread::sleep(Duration::from_micros(self.random(60_000)));
            let index = usize::try_from(self.random(children.len() as u64)).unwrap();
            let mut child = children.swap_remove(index);
            child.kill().unwrap();
            assert!(!child.wait().unwrap().success());
            self.killed += 1;
        }
    }

    /// What was acknowledged and is not there as it was; how much was.
    fn check(&self) -> u64 {
        let place = place(&self.directory);
        let verification = verify(&place, &[]).unwrap();
        assert_eq!(verification.damage, None, "after {} kills", self.killed);
        let mut there: BTreeMap<String, u64> = BTreeMap::new();
        JournalReader::open(&place)
            .unwrap()
            .each(|row, _| {
                assert_eq!(
                    there.insert(row.id.to_owned(), row.sequence),
                    None,
                    "record {} twice",
                    row.sequence
                );
                ControlFlow::Continue(())
            })
            .unwrap();
        let mut acknowledged = 0;
        for number in 1..=self.started {
            let notes = fs::read_to_string(self.notes(number)).unwrap_or_default();
            for note in notes.lines() {
                let (id, sequence) = note.split_once(' ').unwrap();
                assert_eq!(there.get(id), Some(&sequence.parse().unwrap()), "acknowledged, and not there");
                acknowledged += 1;
            }
        }
        acknowledged
    }
}

#[expect(clippy::print_stdout, reason = "a person who asks for more kills wants to see how many they were")]
fn kills(count: usize) {
    let wanted: u64 = asked("METIER_KILLS").map_or(34, |text| text.parse().unwrap());
    let (mut killed, mut acknowledged, mut seed) = (0, 0, 42 + count as u64);
    while killed < wanted {
        let directory = tempfile::tempdir().unwrap();
        let mut writers = Writers { directory: directory.path().to_owned(), seed, started: 0, killed: 0 };
        let mut last = 0;
        // A new journal now and then, so that its beginning is met as well.
        while writers.killed < 64 && killed + writers.killed < wanted {
            writers.round(count);
            if place(directory.path()).as_file().is_some_and(has_table) {
                last = writers.check();
            }
        }
        (killed, acknowledged, seed) = (killed + writers.killed, acknowledged + last, writers.seed);
    }
    println!(
        "{count} writers at a time: {killed} killed, {acknowledged} records acknowledged, all there once, chain whole each time"
    );
    assert!(acknowledged > 0);
}

/// Whether the first writer came so far as to make a journal.
fn has_table(path: &Path) -> bool {
    JournalReader::open(&JournalAddress::file(path))
        .is_ok_and(|mut reader| reader.size().is_ok_and(|size| size > 0))
}

#[test]
fn one_writer_at_a_time() {
    kills(1);
}

#[test]
fn four_writers_at_a_time() {
    kills(4);
}

#[test]
fn sixteen_writers_at_a_time() {
    kills(16);
}

/// What a killed writer had not written yet is gone. What is there is a whole chain: its first records, each once, in their order.
#[test]
fn batched_writers_leave_a_whole_chain() {
    let directory = tempfile::tempdir().unwrap();
    let mut writers = Writers { directory: directory.path().to_owned(), seed: 7, started: 0, killed: 0 };
    let place = place(directory.path());
    let size = || JournalReader::open(&place).and_then(|mut reader| reader.size()).unwrap_or(0);
    for round in 1..=5 {
        let before = size();
        let mut child = writers.start("batched");
        // Nobody flushes: the journal's own thread writes.
        until("a record written in the background", || size() > before + 1);
        std::thread::sleep(Duration::from_micros(writers.random(30_000)));
        child.kill().unwrap();
        assert!(!child.wait().unwrap().success());
        let verification = verify(&place, &[]).unwrap();
        assert_eq!(verification.damage, None, "after {round} kills");
        assert_first_records_in_order(&place, &writers.notes(round), &round.to_string());
    }
}

/// Of the records that a writer queued, the journal has the first ones, in the order in which they were queued.
fn assert_first_records_in_order(place: &JournalAddress, notes: &Path, session: &str) {
    let query = RecordQuery { session: Some(session.to_owned()), ..RecordQuery::default() };
    let there = JournalReader::open(place).unwrap().query(&query).unwrap();
    let there: Vec<String> = there.iter().map(|record| record.id.clone()).collect();
    let queued = fs::read_to_string(notes).unwrap();
    let queued: Vec<&str> = queued.lines().collect();
    // The last may have been written before it was noted.
    let both = there.len().min(queued.len());
    assert!(both > 0 && there.len() <= queued.len() + 1, "{} of {}", there.len(), queued.len());
    assert_eq!(there[..both], queued[..both]);
}

/// A writer that was stopped in the middle keeps others waiting for a while, and they say who it is.
#[test]
fn whoever_holds_the_lock_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let clock = TestClock::new(1);
    let mut options = JournalOptions::new(Arc::clone(&clock) as Arc<dyn Clock>);
    options.patience = Duration::from_millis(50);
    let journal = Journal::open(&place(directory.path()), options).unwrap();
    journal.append(entry(&*clock, "s", 1)).unwrap();
    let other = File::open(directory.path().join("journal.db-lock")).unwrap();
    other.lock().unwrap();
    let error = journal.append(entry(&*clock, "s", 2)).unwrap_err();
    assert_eq!(error.code(), "journal-busy");
    let holder = format!("process {} (", std::process::id());
    assert!(error.to_string().contains(&holder), "{error}");
    // Whoever gave up is not in the way afterwards.
    drop(other);
    journal.append(entry(&*clock, "s", 3)).unwrap();
    drop(journal);
    let sessions = RecordQuery { session: Some("s".to_owned()), ..RecordQuery::default() };
    assert_eq!(JournalReader::open(&place(directory.path())).unwrap().query(&sessions).unwrap().len(), 2);
}
