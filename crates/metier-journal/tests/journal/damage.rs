//! Every change to a record is found: every flipped bit of its export and of its file, and records that are removed, swapped, inserted,
//! rewritten or cut off. Bits of the file that no record depends on may go unnoticed, and then every record is still read as it was written.
//! `METIER_RECORDS` sets the number of records, and has every bit of their file flipped, those of zero bytes included.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::clock::TestClock;
use crate::common::{asked, entry, event, filled, open, place};
use metier_journal::{
    Checkpoint, DamageKind, JournalAddress, JournalReader, PendingRecord, RecordContext, Time, verify,
    verify_export,
};

fn records() -> u64 {
    // Each kind of event once, after the journal's own record.
    asked("METIER_RECORDS").map_or(6, |text| text.parse().unwrap())
}

/// In memory where there is such a place: the file is written to millions of times.
fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Makes the pages of a file small, so that a few records are on many of them: inner pages, leaves and overflow.
fn shrink_pages(path: &Path) {
    let connection = rusqlite::Connection::open(path).unwrap();
    let shrink = "PRAGMA journal_mode = DELETE; PRAGMA page_size = 512; VACUUM; PRAGMA journal_mode = WAL";
    connection.execute_batch(shrink).unwrap();
    drop(connection);
    assert_eq!(fs::read(path).unwrap()[16..20], [2, 0, 2, 2], "512 bytes, with a log");
}

fn export(place: &JournalAddress) -> Vec<u8> {
    let mut lines = Vec::new();
    JournalReader::open(place).unwrap().export(&mut lines).unwrap().unwrap();
    lines
}

/// Flips bits of each byte, on all processors; those after which `is_found` says no. `bits` are those of a byte, as a mask.
fn flip_each(
    length: usize,
    bits: impl Fn(usize) -> u8 + Sync,
    is_found: impl Fn(usize, u8) -> bool + Sync,
) -> Vec<(usize, u8)> {
    let next = AtomicUsize::new(0);
    let missed = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().unwrap().get() {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= length {
                        return;
                    }
                    for bit in (0..8).map(|bit| 1 << bit).filter(|bit| bits(at) & bit != 0) {
                        if !is_found(at, bit) {
                            missed.lock().unwrap().push((at, bit));
                        }
                    }
                }
            });
        }
    });
    missed.into_inner().unwrap()
}

thread_local! {
    /// A copy of the journal for each thread.
    static COPY: std::cell::OnceCell<(tempfile::TempDir, PathBuf)> = const { std::cell::OnceCell::new() };
}

#[test]
fn every_bit_of_the_file() {
    let directory = scratch();
    let place = filled(directory.path(), records() - 1);
    assert_eq!(verify(&place, &[]).unwrap().records, records());
    bits_of_the_file(&place, "file");
}

/// A journal that says where it begins, with a record about that and two more.
#[test]
fn every_bit_of_the_file_when_records_were_archived() {
    let directory = scratch();
    let place = filled(directory.path(), 20);
    let journal = open(directory.path());
    journal.archive(&crate::archives::request(directory.path(), "2999-01-01", false)).unwrap();
    let clock = TestClock::new(9);
    for number in 0..2 {
        journal.append(entry(&*clock, "s", number)).unwrap();
    }
    journal.close().unwrap();
    let found = verify(&place, &[]).unwrap();
    assert_eq!((found.first, found.records), (21, 3));
    bits_of_the_file(&place, "file after archiving");
}

fn bits_of_the_file(place: &JournalAddress, what: &str) {
    let path = place.as_file().unwrap().to_owned();
    shrink_pages(&path);
    let whole = verify(place, &[]).unwrap();
    assert_eq!(whole.damage, None);
    let bytes = fs::read(&path).unwrap();
    // Most zero bytes are unused; one bit each shows that they are, and takes an eighth of the time.
    let is_all = asked("METIER_RECORDS").is_some();
    let bits = |at: usize| if is_all || bytes[at] != 0 { 0xff } else { 1 << (at % 8) };
    let harmless = AtomicUsize::new(0);
    let missed = flip_each(bytes.len(), bits, |at, bit| {
        COPY.with(|copy| {
            let (_, path) = copy.get_or_init(|| {
                let directory = scratch();
                let path = directory.path().join("journal.db");
                fs::write(&path, &bytes).unwrap();
                (directory, path)
            });
            let file = File::options().write(true).open(path).unwrap();
            file.write_all_at(&[bytes[at] ^ bit], at as u64).unwrap();
            let is_found = match verify(&JournalAddress::file(path), &[]) {
                Ok(found) if found.damage.is_some() => true,
                // The root is over what was read: nothing of any record is different.
                Ok(found) => {
                    harmless.fetch_add(1, Ordering::Relaxed);
                    (found.journal, found.records, found.root) == (whole.journal, whole.records, whole.root)
                }
                // A file that says it is something else is not a journal any more.
                Err(_) => true,
            };
            file.write_all_at(&[bytes[at]], at as u64).unwrap();
            // Verifying writes nothing.
            assert_eq!(fs::metadata(path).unwrap().len(), bytes.len() as u64);
            is_found
        })
    });
    let flipped: u32 = (0..bytes.len()).map(|at| bits(at).count_ones()).sum();
    println!(
        "{what} of {} records: {flipped} bits flipped, {} changed no record, {} not found",
        whole.records,
        harmless.into_inner(),
        missed.len()
    );
    assert_eq!(missed, []);
}

#[test]
fn every_bit_of_the_export() {
    let directory = scratch();
    let bytes = export(&filled(directory.path(), records() - 1));
    assert_eq!(verify_export(&mut &bytes[..], &[]).unwrap().damage, None);
    let lines: Vec<u64> = bytes
        .iter()
        .scan(0, |line, byte| Some(std::mem::replace(line, *line + u64::from(*byte == b'\n'))))
        .collect();
    let missed = flip_each(
        bytes.len(),
        |_| 0xff,
        |at, bit| {
            COPIED.with_borrow_mut(|copy| {
                if copy.is_empty() {
                    copy.clone_from(&bytes);
                }
                copy[at] ^= bit;
                let damage = verify_export(&mut &copy[..], &[]).unwrap().damage;
                copy[at] ^= bit;
                damage.is_some_and(|damage| damage.sequence == Some(lines[at]))
            })
        },
    );
    println!(
        "export of {} records: {} bits flipped, {} not found by their record",
        records(),
        bytes.len() * 8,
        missed.len()
    );
    assert_eq!(missed, []);
}

thread_local! {
    static COPIED: std::cell::RefCell<Vec<u8>> = const { std::cell::RefCell::new(Vec::new()) };
}

/// What is found after the lines of an export were changed.
fn after(lines: &[&[u8]], since: &[Checkpoint]) -> Option<(DamageKind, Option<u64>)> {
    let bytes = lines.concat();
    verify_export(&mut &bytes[..], since).unwrap().damage.map(|damage| (damage.kind, damage.sequence))
}

#[test]
fn lines_that_are_moved() {
    let directory = tempfile::tempdir().unwrap();
    let bytes = export(&filled(directory.path(), 40));
    let whole: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    assert_eq!((whole.len(), after(&whole, &[])), (41, None));
    for at in 0..whole.len() - 1 {
        let sequence = Some(at as u64);
        let mut removed = whole.clone();
        removed.remove(at);
        assert_eq!(after(&removed, &[]), Some((DamageKind::Misplaced, sequence)), "removed {at}");
        let mut swapped = whole.clone();
        swapped.swap(at, at + 1);
        assert_eq!(after(&swapped, &[]), Some((DamageKind::Misplaced, sequence)), "swapped {at}");
        let mut doubled = whole.clone();
        doubled.insert(at, whole[at]);
        assert_eq!(after(&doubled, &[]).map(|damage| damage.1), Some(Some(at as u64 + 1)), "doubled {at}");
    }
}

/// Statements on the file of a journal, and the first record that is not as it was.
#[test]
fn rows_that_are_changed() {
    let statements = [
        ("DELETE FROM record WHERE sequence = 20", 20),
        ("DELETE FROM record WHERE sequence = 0", 0),
        (
            "DELETE FROM record WHERE sequence = 20; UPDATE record SET sequence = sequence - 1 WHERE sequence > 20",
            20,
        ),
        ("UPDATE record SET time = '2026-01-01T00:00:00.000000Z' WHERE sequence = 5", 5),
        ("UPDATE record SET session = NULL WHERE sequence = 6", 6),
        ("UPDATE record SET session = 'other' WHERE sequence = 0", 0),
        ("UPDATE record SET id = upper(id) || 'x' WHERE sequence = 7", 7),
        ("UPDATE record SET event = replace(event, 'pdf', 'pdg') WHERE sequence = 1", 1),
        ("UPDATE record SET event = event || ' ' WHERE sequence = 8", 8),
        ("UPDATE record SET hash = zeroblob(32) WHERE sequence = 9", 9),
        ("UPDATE record SET hash = (SELECT hash FROM record WHERE sequence = 11) WHERE sequence = 10", 10),
        ("UPDATE record SET sequence = -1 WHERE sequence = 12", 12),
        (
            "UPDATE record SET sequence = 1000 WHERE sequence = 13; UPDATE record SET sequence = 13 WHERE sequence = 14; UPDATE record SET sequence = 14 WHERE sequence = 1000",
            13,
        ),
        (
            "UPDATE record SET sequence = sequence + 100 WHERE sequence >= 15; INSERT INTO record SELECT 15, id, time, session, event, hash FROM record WHERE sequence = 3; UPDATE record SET sequence = sequence - 99 WHERE sequence >= 115",
            15,
        ),
        ("INSERT INTO record SELECT 41, id, time, session, event, hash FROM record WHERE sequence = 40", 41),
    ];
    for (statement, first) in statements {
        let directory = tempfile::tempdir().unwrap();
        let place = filled(directory.path(), 40);
        let connection = rusqlite::Connection::open(place.as_file().unwrap()).unwrap();
        connection.execute_batch(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
        drop(connection);
        let damage = verify(&place, &[]).unwrap().damage.unwrap_or_else(|| panic!("not found: {statement}"));
        assert_eq!(damage.sequence, Some(first), "{statement}: {damage}");
    }
}

/// The checkpoint of a journal as it is.
fn checkpoint(place: &JournalAddress) -> Checkpoint {
    JournalReader::open(place).unwrap().checkpoint(Time::from_micros(0)).unwrap().unwrap()
}

#[test]
fn what_is_cut_off_is_found_against_a_checkpoint() {
    let directory = tempfile::tempdir().unwrap();
    let place = filled(directory.path(), 40);
    let checkpoint = checkpoint(&place);
    let bytes = export(&place);
    let whole: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    assert_eq!(after(&whole, std::slice::from_ref(&checkpoint)), None);
    for size in 1..whole.len() {
        assert_eq!(after(&whole[..size], &[]), None, "a hash chain alone cannot see it");
        let found = after(&whole[..size], std::slice::from_ref(&checkpoint));
        assert_eq!(found, Some((DamageKind::Truncated, Some(size as u64))));
    }
    rusqlite::Connection::open(place.as_file().unwrap())
        .unwrap()
        .execute_batch("DELETE FROM record WHERE sequence >= 30")
        .unwrap();
    let damage = verify(&place, &[checkpoint]).unwrap().damage.unwrap();
    assert_eq!((damage.kind, damage.sequence), (DamageKind::Truncated, Some(30)));
}

/// Somebody who writes the whole journal anew, with hashes that fit.
#[test]
fn what_is_rewritten_is_found_against_a_checkpoint() {
    let directory = tempfile::tempdir().unwrap();
    let checkpoint = checkpoint(&filled(directory.path(), 40));
    let forged = tempfile::tempdir().unwrap();
    let journal = open(forged.path());
    let clock = TestClock::new(1);
    for number in 0..60 {
        // All but one as they were.
        let event = if number == 17 { event(18) } else { event(number) };
        let context = RecordContext::session(format!("session-{}", number % 3));
        journal.append(PendingRecord::new(&*clock, &context, &event).unwrap()).unwrap();
    }
    journal.close().unwrap();
    let forged = place(forged.path());
    assert_eq!(verify(&forged, &[]).unwrap().damage, None, "a hash chain alone cannot see it");
    let damage = verify(&forged, std::slice::from_ref(&checkpoint)).unwrap().damage.unwrap();
    assert_eq!(damage.kind, DamageKind::Rewritten);
    let other = Checkpoint { journal: uuid::Uuid::from_u128(7), ..checkpoint };
    assert_eq!(verify(&forged, &[other]).unwrap().damage.unwrap().kind, DamageKind::OtherJournal);
}

/// What a killed writer leaves: SQLite takes a log that is damaged in the middle for one that ends there.
#[test]
fn bits_of_the_log() {
    let directory = scratch();
    let journal = open(directory.path());
    let clock = TestClock::new(1);
    for number in 0..30 {
        journal.append(entry(&*clock, "s", number)).unwrap();
    }
    let files = ["journal.db", "journal.db-wal", "journal.db-lock"];
    let left: Vec<Vec<u8>> =
        files.iter().map(|file| fs::read(directory.path().join(file)).unwrap()).collect();
    let log = left[1].len();
    assert!(log > 100_000);
    let (mut found, mut harmless) = (0, 0);
    for at in (0..log).step_by(211) {
        let copy = scratch();
        for (file, bytes) in files.iter().zip(&left) {
            fs::write(copy.path().join(file), bytes).unwrap();
        }
        let file = File::options().write(true).open(copy.path().join(files[1])).unwrap();
        file.write_all_at(&[left[1][at] ^ (1 << (at % 8))], at as u64).unwrap();
        let verification = verify(&place(copy.path()), &[]).unwrap();
        match verification.damage {
            Some(damage) => {
                assert_eq!(
                    (damage.kind, damage.sequence),
                    (DamageKind::Truncated, Some(verification.records))
                );
                found += 1;
            }
            None => {
                assert_eq!(verification.records, 31, "byte {at}");
                harmless += 1;
            }
        }
    }
    println!("log of 31 records: {found} bits found, {harmless} after which every record was there");
    assert!(found > 10 * harmless);
}
