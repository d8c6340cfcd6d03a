//! Archives: nothing is lost on the way into them, and they verify alone, together and with the journal.
//!
//! `METIER_ARCHIVED` says how many records are archived by month.

use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

use metier_journal::{
    ArchiveReport, ArchiveRequest, Checkpoint, Clock, Damage, DamageKind, Durability, Journal,
    JournalAddress, JournalError, JournalOptions, JournalReader, RecordContext, RecordQuery, Time,
    Verification, verify, verify_archives, verify_export,
};
use metier_skill::Coded as _;
use uuid::Uuid;

use crate::common::{asked, entry, place};
use crate::small_disk::in_small_file_system;

/// A clock that runs fast, from the beginning of 2026.
pub(crate) struct FastClock {
    now: AtomicI64,
    step: i64,
    number: u64,
}

const BEGIN: i64 = 1_767_225_600_000_000;
const DAY: i64 = 86_400_000_000;

impl FastClock {
    /// So many records a day.
    pub(crate) fn new(number: u64, a_day: i64) -> Arc<Self> {
        Arc::new(Self { now: AtomicI64::new(BEGIN), step: DAY / a_day, number })
    }
}

impl Clock for FastClock {
    fn now(&self) -> Time {
        Time::from_micros(self.now.fetch_add(self.step, Ordering::Relaxed))
    }

    fn id(&self) -> Uuid {
        let tick = self.now.fetch_add(1, Ordering::Relaxed);
        Uuid::from_u128(u128::from(self.number) << 80 | 7 << 76 | 2 << 62 | u128::from(tick.cast_unsigned()))
    }
}

pub(crate) fn open(directory: &Path, clock: &Arc<FastClock>, durability: Durability) -> Journal {
    let mut options = JournalOptions::new(Arc::clone(clock) as Arc<dyn Clock>);
    options.remember = Some(directory.join("checkpoint.json"));
    options.durability = durability;
    Journal::open(&place(directory), options).unwrap()
}

/// A journal with so many records of this many a day.
pub(crate) fn filled(directory: &Path, count: u64, a_day: i64) -> (Journal, Arc<FastClock>) {
    let clock = FastClock::new(1, a_day);
    let journal = open(directory, &clock, Durability::Batched);
    for number in 0..count {
        journal.append(entry(&*clock, &format!("session-{}", number / 10), number)).unwrap();
    }
    journal.close().unwrap();
    (open(directory, &clock, Durability::Full), clock)
}

pub(crate) fn request(directory: &Path, before: &str, by_month: bool) -> ArchiveRequest {
    ArchiveRequest {
        directory: directory.join("archives"),
        before: Time::parse(before).unwrap(),
        by_month,
        context: RecordContext::default(),
    }
}

/// Every archive in the directory, in no useful order.
pub(crate) fn archives(directory: &Path) -> Vec<PathBuf> {
    let found = fs::read_dir(directory.join("archives")).into_iter().flatten();
    let mut paths: Vec<PathBuf> = found.map(|entry| entry.unwrap().path()).collect();
    paths.sort_by_key(|path| std::cmp::Reverse(path.clone()));
    paths
}

/// The id of every record here, by its sequence.
pub(crate) fn ids(address: &JournalAddress) -> Vec<(u64, String)> {
    let mut ids = Vec::new();
    let mut reader = JournalReader::open(address).unwrap();
    reader
        .each(|row, _| {
            ids.push((row.sequence, row.id.to_owned()));
            ControlFlow::Continue(())
        })
        .unwrap();
    ids
}

fn intact(found: &Verification) {
    assert_eq!(found.damage, None, "{found:?}");
}

fn together(directory: &Path) -> Verification {
    let remembered = Checkpoint::read(&directory.join("checkpoint.json")).unwrap();
    verify_archives(&archives(directory), Some(&place(directory)), &[remembered]).unwrap()
}

#[test]
fn records_are_archived_by_month_and_verify_alone_and_together() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    // Some 25 a day: more than one checkpoint, four months.
    let (journal, clock) = filled(directory, 2800, 25);
    let before = ids(&place(directory));
    let old =
        JournalReader::open(&place(directory)).unwrap().checkpoint(Time::from_micros(0)).unwrap().unwrap();
    // The middle of a month: only complete months are archived.
    let ArchiveReport { archives: written, not_shrunk, .. } =
        journal.archive(&request(directory, "2026-04-15", true)).unwrap();
    assert_eq!((written.len(), not_shrunk), (3, None));
    for (archive, month) in written.iter().zip(["2026-01", "2026-02", "2026-03"]) {
        assert!(archive.path.ends_with(&format!("-{month}.jsonl.gz")), "{archive:?}");
        assert!(
            archive.oldest.to_string().starts_with(month) && archive.newest.to_string().starts_with(month)
        );
        let alone = verify(&JournalAddress::file(&archive.path), &[]).unwrap();
        intact(&alone);
        assert_eq!((alone.first, alone.records, alone.root), (archive.first, archive.records, archive.root));
    }
    let first = written.last().map(|last| last.first + last.records).unwrap();
    let live = verify(&place(directory), std::slice::from_ref(&old)).unwrap();
    intact(&live);
    assert_eq!((live.first, live.checkpoints), (first, 1));
    // In three archives and the journal is what was in the journal before, and three records about it.
    let mut after: Vec<_> = written.iter().flat_map(|one| ids(&JournalAddress::file(&one.path))).collect();
    after.extend(ids(&place(directory)));
    assert_eq!(after.len(), before.len() + 3);
    assert_eq!(after[..before.len()], before);
    let all = together(directory);
    intact(&all);
    assert_eq!((all.first, all.records, all.checkpoints), (0, before.len() as u64 + 3, 1));
    assert_eq!(JournalReader::open(&place(directory)).unwrap().archives().unwrap(), written);
    // It goes on, and nothing is left to archive.
    for number in 0..2000 {
        journal.append(entry(&*clock, "more", number)).unwrap();
    }
    assert_eq!(journal.archive(&request(directory, "2026-04-30", true)).unwrap().archives, []);
    journal.close().unwrap();
    intact(&together(directory));
    intact(&verify(&place(directory), &[]).unwrap());
}

#[test]
fn everything_can_be_archived_again_and_again() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let (mut journal, clock) = filled(directory, 5, 10);
    // Archives of very few records, and some with a checkpoint of the journal at their very edge.
    for count in [1, 1008, 1, 1, 1, 3, 1, 1023, 1, 1, 30] {
        for number in 0..count {
            journal.append(entry(&*clock, "s", number)).unwrap();
        }
        let report = journal.archive(&request(directory, "2999-01-01", false)).unwrap();
        assert_eq!(report.archives.len(), 1);
        let live = verify(&place(directory), &[]).unwrap();
        intact(&live);
        assert!(live.records <= 2, "{live:?}");
        intact(&together(directory));
        journal.close().unwrap();
        journal = open(directory, &clock, Durability::Full);
    }
    let all = together(directory);
    assert_eq!(all.first, 0);
    assert_eq!(all.records, JournalReader::open(&place(directory)).unwrap().size().unwrap());
}

#[test]
fn an_archive_is_read_as_the_journal_was() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let (journal, _) = filled(directory, 1500, 25);
    let query = RecordQuery { skill: Some("pdf".to_owned()), ..RecordQuery::default() };
    let mut before = JournalReader::open(&place(directory)).unwrap();
    let records = before.query(&RecordQuery::default()).unwrap();
    let (about, stats) = (before.query(&query).unwrap(), before.stats(&query).unwrap());
    let written = journal.archive(&request(directory, "2026-02-10", false)).unwrap().archives;
    let address = JournalAddress::file(&written[0].path);
    let mut archive = JournalReader::open(&address).unwrap();
    let mut live = JournalReader::open(&place(directory)).unwrap();
    let end = written[0].records;
    assert_eq!((archive.first().unwrap(), archive.size().unwrap(), live.first().unwrap()), (0, end, end));
    assert!(end > 900 && end < 1400, "{end}");
    let cut = usize::try_from(end).unwrap();
    assert_eq!(archive.query(&RecordQuery::default()).unwrap(), records[..cut]);
    assert_eq!(live.query(&RecordQuery::default()).unwrap()[..records.len() - cut], records[cut..]);
    for (sequence, record) in (0..).zip(&records).step_by(101) {
        let (here, there) = (archive.record(sequence).unwrap(), live.record(sequence).unwrap());
        assert_eq!((here.is_some(), there.is_some()), (sequence < end, sequence >= end));
        assert_eq!(here.or(there).as_ref(), Some(record));
    }
    let mut found = archive.query(&query).unwrap();
    found.extend(live.query(&query).unwrap());
    assert_eq!(found, about);
    let sum = archive.stats(&query).unwrap().skills["pdf"].activations
        + live.stats(&query).unwrap().skills["pdf"].activations;
    assert_eq!(sum, stats.skills["pdf"].activations);
    // It is never written to.
    assert_eq!(
        Journal::open(&address, JournalOptions::new(FastClock::new(3, 1))).unwrap_err().code(),
        "journal-unreadable"
    );
}

#[test]
fn proofs_need_no_archived_records() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let (journal, _) = filled(directory, 60, 1);
    let now = Time::from_micros(0);
    let mut before = JournalReader::open(&place(directory)).unwrap();
    let old = before.checkpoint(now).unwrap().unwrap();
    journal.archive(&request(directory, "2026-01-20", false)).unwrap();
    let mut live = JournalReader::open(&place(directory)).unwrap();
    let (first, size) = (live.first().unwrap(), live.size().unwrap());
    assert!(first > 10, "{first}");
    for sequence in 0..size {
        let proof = live.prove_inclusion(sequence, now).unwrap();
        assert_eq!(
            proof.map(|proof| proof.holds()),
            (sequence >= first).then_some(true),
            "record {sequence}"
        );
    }
    assert!(live.prove_consistency(old.clone(), now).unwrap().unwrap().holds());
    let earlier = Checkpoint { size: first - 1, ..old };
    assert_eq!(live.prove_consistency(earlier, now).unwrap(), None);
    // The checkpoint of the archive is what the journal was when it ended.
    let mut archive = JournalReader::open(&JournalAddress::file(&archives(directory)[0])).unwrap();
    let then = archive.checkpoint(now).unwrap().unwrap();
    assert_eq!(then.size, first);
    assert!(live.prove_consistency(then.clone(), now).unwrap().unwrap().holds());
    intact(&verify(&place(directory), &[then]).unwrap());
}

#[test]
fn an_export_begins_where_the_journal_does() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let (journal, _) = filled(directory, 1100, 25);
    journal.archive(&request(directory, "2026-01-20", false)).unwrap();
    let mut reader = JournalReader::open(&place(directory)).unwrap();
    let mut lines = Vec::new();
    let count = reader.export(&mut lines).unwrap().unwrap();
    let now = reader.checkpoint(Time::from_micros(0)).unwrap().unwrap();
    let found = verify_export(&mut &lines[..], std::slice::from_ref(&now)).unwrap();
    intact(&found);
    assert_eq!((found.first, found.records, found.root), (reader.first().unwrap(), count, now.root));
    // The line where it begins is as well protected as the others.
    let end = lines.iter().position(|byte| *byte == b'\n').unwrap();
    for at in (0..end).step_by(7) {
        let mut changed = lines.clone();
        changed[at] ^= 1;
        assert_ne!(
            verify_export(&mut &changed[..], std::slice::from_ref(&now)).unwrap().damage,
            None,
            "byte {at}"
        );
    }
    assert_ne!(verify_export(&mut &lines[end + 1..], &[]).unwrap().damage, None);
    // An export is read where it lies, and joins its archive.
    let path = directory.join("live.jsonl");
    fs::write(&path, &lines).unwrap();
    let parts = [path, archives(directory)[0].clone()];
    intact(&verify_archives(&parts, None, &[now]).unwrap());
}

/// What verifying says about archives with the journal, after something was done to them.
fn damage(directory: &Path, paths: &[PathBuf]) -> Option<Damage> {
    verify_archives(paths, Some(&place(directory)), &[]).unwrap().damage
}

#[test]
fn missing_swapped_and_edited_archives_are_found() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let (journal, _) = filled(directory, 1400, 10);
    let written = journal.archive(&request(directory, "2026-05-01", true)).unwrap().archives;
    let paths: Vec<PathBuf> = written.iter().map(|one| one.path.clone().into()).collect();
    assert_eq!(paths.len(), 4);
    let without = |index: usize| {
        let mut rest = paths.clone();
        rest.remove(index);
        rest
    };
    // The order does not matter, and what is at the beginning may have been deleted on purpose: that is told.
    assert_eq!(damage(directory, &archives(directory)), None);
    let rest = verify_archives(&without(0), Some(&place(directory)), &[]).unwrap();
    assert_eq!((rest.damage, rest.first), (None, written[1].first));
    for (missing, archive) in written.iter().enumerate().take(4).skip(1) {
        let found = damage(directory, &without(missing)).unwrap();
        assert_eq!((found.kind, found.sequence), (DamageKind::Missing, Some(archive.first)), "{found}");
    }
    let middle = verify_archives(&[paths[0].clone(), paths[2].clone()], None, &[]).unwrap().damage.unwrap();
    assert_eq!((middle.kind, middle.sequence), (DamageKind::Missing, Some(written[1].first)));
    // One in the place of another.
    let swap = |one: &Path, other: &Path| {
        let (first, second) = (fs::read(one).unwrap(), fs::read(other).unwrap());
        fs::write(one, second).unwrap();
        fs::write(other, first).unwrap();
    };
    swap(&paths[1], &paths[2]);
    assert_eq!(damage(directory, &paths), None, "names do not matter");
    swap(&paths[1], &paths[2]);
    fs::copy(&paths[0], directory.join("kept")).unwrap();
    fs::copy(&paths[1], &paths[0]).unwrap();
    assert!(damage(directory, &paths).is_none_or(|found| found.kind == DamageKind::Missing));
    assert_eq!(verify_archives(&paths, Some(&place(directory)), &[]).unwrap().first, written[1].first);
    fs::copy(directory.join("kept"), &paths[0]).unwrap();
    edited(directory, &paths, &written[1].path);
}

fn edited(directory: &Path, paths: &[PathBuf], path: &str) {
    let good = fs::read(path).unwrap();
    let mut lines = Vec::new();
    JournalReader::open(&JournalAddress::file(path)).unwrap().export(&mut lines).unwrap().unwrap();
    let text = String::from_utf8(lines).unwrap();
    let uncompressed = directory.join("edited.jsonl");
    let mut with = paths.to_vec();
    with[1].clone_from(&uncompressed);
    // The same records in another file are fine; other records are not.
    fs::write(&uncompressed, &text).unwrap();
    assert_eq!(damage(directory, &with), None);
    fs::write(&uncompressed, text.replacen("brand-voice", "brand-v0ice", 1)).unwrap();
    let found = damage(directory, &with).unwrap();
    assert_eq!(found.kind, DamageKind::Changed);
    assert!(found.detail.contains("edited.jsonl"), "{found}");
    // Each changed byte of the file itself.
    for at in (0..good.len()).step_by(good.len() / 60) {
        let mut changed = good.clone();
        changed[at] ^= 0x10;
        fs::write(path, &changed).unwrap();
        assert!(damage(directory, paths).is_some(), "byte {at}");
    }
    for end in [0, 5, good.len() / 2, good.len() - 1] {
        fs::write(path, &good[..end]).unwrap();
        assert!(damage(directory, paths).is_some(), "cut off after {end}");
    }
    fs::write(path, &good).unwrap();
    assert_eq!(damage(directory, paths), None);
    // Of another journal, with records of the same places.
    let other = tempfile::tempdir().unwrap();
    let clock = FastClock::new(2, 10);
    let journal = open(other.path(), &clock, Durability::Batched);
    for number in 0..1400 {
        journal.append(entry(&*clock, "s", number)).unwrap();
    }
    journal.archive(&request(other.path(), "2026-05-01", true)).unwrap();
    with[1].clone_from(&archives(other.path())[2]);
    let found = damage(directory, &with).unwrap();
    assert!(matches!(found.kind, DamageKind::OtherJournal | DamageKind::Missing), "{found}");
}

#[test]
fn records_that_were_removed_without_an_archive_are_missed() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let (journal, _) = filled(directory, 50, 1);
    journal.archive(&request(directory, "2026-01-20", false)).unwrap();
    journal.close().unwrap();
    let file = directory.join("journal.db");
    let good = fs::read(&file).unwrap();
    let run = |sql: &str| {
        fs::write(&file, &good).unwrap();
        let connection = rusqlite::Connection::open(&file).unwrap();
        connection.execute_batch(sql).unwrap();
        drop(connection);
        verify(&place(directory), &[]).unwrap().damage
    };
    assert_eq!(run("SELECT 1"), None);
    assert!(run("DELETE FROM start").is_some());
    assert!(run("UPDATE start SET state = replace(state, ':', ' :')").is_some());
    assert!(run("DELETE FROM record WHERE sequence = (SELECT min(sequence) FROM record)").is_some());
    assert!(run("DELETE FROM record WHERE event LIKE '%journal.archived%'").is_some());
    assert!(run("INSERT INTO record SELECT 3, id, time, session, event, hash FROM record LIMIT 1").is_some());
    // With a state that fits, but no record that says so.
    let mut reader = JournalReader::open(&place(directory)).unwrap();
    let _ = reader.size();
    fs::write(&file, &good).unwrap();
    let found = verify(&place(directory), &[]).unwrap();
    intact(&found);
}

#[test]
fn writers_and_readers_go_on_while_records_are_archived() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let (journal, clock) = filled(directory, 1200, 25);
    // Another that was opened before, and knows another end than what is there later.
    let other = open(directory, &clock, Durability::Full);
    let mut reader = JournalReader::open(&place(directory)).unwrap();
    for number in 0..10 {
        journal.append(entry(&*clock, "s", number)).unwrap();
    }
    journal.archive(&request(directory, "2999-01-01", false)).unwrap();
    other.append(entry(&*clock, "s", 11)).unwrap();
    let first = reader.first().unwrap();
    assert!(first > 1200, "{first}");
    let mut next = first;
    reader
        .each_from(5, |row, previous| {
            assert_eq!(row.sequence, next);
            assert_ne!(previous.to_string(), format!("sha256:{}", "0".repeat(64)));
            next += 1;
            ControlFlow::Continue(())
        })
        .unwrap();
    journal.append(entry(&*clock, "s", 12)).unwrap();
    // Both at once: one is first, and nothing is lost.
    std::thread::scope(|scope| {
        let archiving = scope.spawn(|| journal.archive(&request(directory, "2999-01-01", false)).unwrap());
        for number in 0..200 {
            other.append(entry(&*clock, "t", number)).unwrap();
        }
        archiving.join().unwrap();
    });
    other.close().unwrap();
    journal.close().unwrap();
    let all = together(directory);
    intact(&all);
    assert_eq!((all.first, all.records), (0, 1202 + 10 + 1 + 1 + 1 + 200 + 1));
}

#[test]
fn what_cannot_be_archived_stays() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let (journal, clock) = filled(directory, 40, 1);
    let size = || ids(&place(directory)).len();
    let refused = |request: &ArchiveRequest| {
        let (before, error) = (size(), journal.archive(request).unwrap_err());
        assert_eq!(size(), before, "{error}");
        error
    };
    // Nothing is old enough.
    assert_eq!(journal.archive(&request(directory, "2025-12-01", false)).unwrap().archives, []);
    assert_eq!(journal.archive(&request(directory, "2026-01-31", true)).unwrap().archives, []);
    // The directory is a file.
    fs::write(directory.join("archives"), "mine").unwrap();
    assert_eq!(refused(&request(directory, "2026-01-20", false)).code(), "journal-file");
    fs::remove_file(directory.join("archives")).unwrap();
    // Another process is at it.
    fs::create_dir(directory.join("archives")).unwrap();
    let locked = fs::File::open(directory.join("archives")).unwrap();
    rustix::fs::flock(&locked, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let error = refused(&request(directory, "2026-01-20", false));
    assert!(error.to_string().contains("another process"), "{error}");
    drop(locked);
    // A file with the archive's name that is not it.
    let written = journal.archive(&request(directory, "2026-01-05", false)).unwrap().archives;
    let first = journal_first(directory);
    let name = format!("{}{first:012}-000000000099.jsonl.gz", &written[0].path[..written[0].path.len() - 34]);
    assert!(name.contains("archives/journal-"), "{name}");
    fs::write(&name, "not an archive").unwrap();
    let error = refused(&request(directory, "2026-01-20", false));
    assert!(error.code() == "journal-archive" && error.to_string().contains(&name), "{error}");
    fs::remove_file(&name).unwrap();
    // A record was changed.
    let connection = rusqlite::Connection::open(directory.join("journal.db")).unwrap();
    connection.execute("UPDATE record SET session = 'x' WHERE sequence = ?1", [first + 3]).unwrap();
    let error = refused(&request(directory, "2026-01-20", false));
    assert!(
        matches!(&error, JournalError::Damaged { reason } if reason.contains(&format!("record {}", first + 3))),
        "{error}"
    );
    assert_eq!(archives(directory).len(), 1, "{:?}", archives(directory));
    drop(clock);
}

fn journal_first(directory: &Path) -> u64 {
    JournalReader::open(&place(directory)).unwrap().first().unwrap()
}

/// Takes all the room there is.
fn fill(path: &Path) {
    use std::io::Write as _;
    let mut file = fs::File::create(path).unwrap();
    for size in [1 << 16, 1 << 12, 1] {
        while file.write_all(&vec![1; size]).is_ok() {}
    }
}

#[test]
fn a_full_disk() {
    let Some(small) = in_small_file_system("archives::a_full_disk", 16) else { return };
    let elsewhere = tempfile::tempdir().unwrap();
    for (journal_directory, archive_directory) in
        [(small.join("a"), elsewhere.path().join("a")), (elsewhere.path().join("b"), small.join("b"))]
    {
        fs::create_dir(&journal_directory).unwrap();
        let (journal, _) = filled(&journal_directory, 3000, 100);
        let before = ids(&place(&journal_directory));
        let mut request = request(&journal_directory, "2026-01-25", false);
        request.directory.clone_from(&archive_directory);
        fs::create_dir(&archive_directory).unwrap();
        fill(&small.join("ballast"));
        let error = journal.archive(&request).unwrap_err();
        assert_eq!(error.code(), "journal-full", "{error}");
        assert_eq!(ids(&place(&journal_directory)), before);
        // With room again, it is completed.
        fs::remove_file(small.join("ballast")).unwrap();
        let report = journal.archive(&request).unwrap();
        assert_eq!(report.archives.len(), 1);
        let left: Vec<_> = fs::read_dir(&archive_directory).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
        let path = PathBuf::from(&report.archives[0].path);
        let all = verify_archives(&[path], Some(&place(&journal_directory)), &[]).unwrap();
        intact(&all);
        assert_eq!((all.first, all.records), (0, before.len() as u64 + 1));
        drop(journal);
        fs::remove_dir_all(&journal_directory).unwrap();
    }
}

/// What the files below a directory take up, in bytes.
fn disk(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().map(Result::unwrap);
    entries
        .map(|entry| match entry.metadata().unwrap() {
            meta if meta.is_dir() => disk(&entry.path()),
            meta => meta.blocks() * 512,
        })
        .sum()
}

/// A year of records, by month. With as many as asked for, a table of sizes and times.
#[test]
fn a_year_by_month() {
    let count: u64 = asked("METIER_ARCHIVED").map_or(4000, |text| text.parse().unwrap());
    let below = asked("METIER_ARCHIVED_IN");
    let directory = below.map_or_else(tempfile::tempdir, tempfile::tempdir_in).unwrap();
    let directory = directory.path();
    // The clock also counts ids, by a microsecond each.
    let (journal, _) = filled(directory, count, i64::try_from(count).unwrap() / 365 + 1);
    let live = || disk(directory) - disk(&directory.join("archives"));
    let (before, records) = (live(), ids(&place(directory)).len() as u64);
    let newest = JournalReader::open(&place(directory)).unwrap().oldest().unwrap();
    assert!(newest.unwrap().to_string().starts_with("2026-01-01T00:00:00.0000"), "{newest:?}");
    let time = |what: &mut dyn FnMut()| {
        #[expect(clippy::disallowed_methods, reason = "the times of a large run are printed, not tested")]
        let started = Instant::now();
        what();
        started.elapsed().as_secs_f64()
    };
    let mut report = ArchiveReport::default();
    let archiving = time(&mut || report = journal.archive(&request(directory, "2026-12-01", true)).unwrap());
    assert_eq!((report.archives.len(), report.not_shrunk), (11, None));
    let paths = archives(directory);
    let alone = time(&mut || {
        for path in &paths {
            intact(&verify(&JournalAddress::file(path), &[]).unwrap());
        }
    });
    let mut all = None;
    let with = time(&mut || all = Some(together(directory)));
    let all = all.unwrap();
    intact(&all);
    assert_eq!((all.first, all.records), (0, records + 11));
    let kept = time(&mut || intact(&verify(&place(directory), &[]).unwrap()));
    let (after, archived) = (live(), disk(&directory.join("archives")));
    assert!(after < before, "{after} of {before}");
    println!(
        "{records} records, {} archives: journal {} -> {} KiB, archives {} KiB; archived in {archiving:.1} s, verified: archives alone {alone:.1} s, journal alone {kept:.1} s, together {with:.1} s",
        report.archives.len(),
        before >> 10,
        after >> 10,
        archived >> 10,
    );
}
