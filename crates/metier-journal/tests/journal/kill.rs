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

use crate::common::{Counting, asked, entry, place};
use metier_journal::{Durability, Journal, Options, Place, Reader, Receipt, Source, verify};

/// Not a test: a writer that goes on until it is killed, and notes what was acknowledged.
#[test]
fn writer() {
    let Some(what) = asked("METIER_WRITER") else { return };
    let [place, notes, number] = what.split('\n').collect::<Vec<_>>()[..] else { return };
    let mut notes = File::options().append(true).create(true).open(notes).unwrap();
    let source = Counting::new(number.parse().unwrap());
    let options = Options::new(Arc::clone(&source) as Arc<dyn Source>);
    let journal = Journal::open(&place.parse::<Place>().unwrap(), options).unwrap();
    for count in 0.. {
        let entry = entry(&*source, number, count);
        let id = entry.id();
        let Receipt::Recorded { sequence, .. } = journal.append(entry).unwrap() else { unreachable!() };
        // One call, so that a note is there or is not.
        notes.write_all(format!("{id} {sequence}\n").as_bytes()).unwrap();
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

    fn start(&mut self) -> Child {
        self.started += 1;
        let (place, number) = (place(&self.directory), self.started);
        let notes = self.directory.join(format!("notes-{number}"));
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "kill::writer", "--nocapture"])
            .env("METIER_WRITER", format!("{place}\n{}\n{number}", notes.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// Lets so many write for a moment, and kills each at a moment of its own.
    fn round(&mut self, count: usize) {
        let mut children: Vec<Child> = (0..count).map(|_| self.start()).collect();
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
        Reader::open(&place)
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
            let notes =
                fs::read_to_string(self.directory.join(format!("notes-{number}"))).unwrap_or_default();
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
    Reader::open(&Place::file(path)).is_ok_and(|mut reader| reader.size().is_ok_and(|size| size > 0))
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

/// The last second may be gone, and no more: what is there is a whole chain.
#[test]
fn batched_writers_leave_a_whole_chain() {
    let directory = tempfile::tempdir().unwrap();
    let source = Counting::new(1);
    let mut options = Options::new(Arc::clone(&source) as Arc<dyn Source>);
    options.durability = Durability::Batched;
    let journal = Journal::open(&place(directory.path()), options).unwrap();
    for number in 0..5000 {
        assert_eq!(journal.append(entry(&*source, "s", number)).unwrap(), Receipt::Queued);
    }
    journal.flush().unwrap();
    // Nothing is closed, as after a kill.
    std::mem::forget(journal);
    let verification = verify(&place(directory.path()), &[]).unwrap();
    assert_eq!((verification.damage, verification.records), (None, 5005));
}
