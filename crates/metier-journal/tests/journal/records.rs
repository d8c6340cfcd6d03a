//! Records come back as they went in, in one order.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use metier_journal::{
    Clock, Journal, JournalAddress, JournalError, JournalOptions, JournalReader, Observer, RecordQuery,
    RecordRef, Time, verify,
};
use metier_skill::Coded as _;
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::clock::TestClock;
use crate::common::{entry, filled, place};

#[test]
fn what_is_appended_is_there_and_verifies() {
    let directory = tempfile::tempdir().unwrap();
    let place = filled(directory.path(), 3000);
    let verification = verify(&place, &[]).unwrap();
    assert_eq!(verification.damage, None);
    assert_eq!(verification.skipped, Vec::<String>::new());
    // The first, and two checkpoints.
    assert_eq!(verification.records, 3003);
    let mut reader = JournalReader::open(&place).unwrap();
    let stats = reader.stats(&RecordQuery::default()).unwrap();
    assert_eq!((stats.records, stats.sessions, stats.skills.len()), (3003, 3, 4));
}

/// A source of ids that panics at its second, which is that of the first record.
struct Panicking(AtomicUsize);

impl Clock for Panicking {
    fn now(&self) -> Time {
        Time::from_micros(0)
    }

    fn id(&self) -> uuid::Uuid {
        let count = self.0.fetch_add(1, Ordering::Relaxed);
        assert!(count != 1, "on purpose");
        uuid::Uuid::from_u128(count as u128)
    }
}

impl Observer for Panicking {
    fn recorded(&self, row: &RecordRef<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
        assert!(row.sequence != 3, "on purpose");
    }
}

/// What the host brings in does not take others down with it.
#[test]
fn a_clock_and_an_observer_that_panic() {
    let directory = tempfile::tempdir().unwrap();
    let observer = Arc::new(Panicking(AtomicUsize::new(0)));
    let mut options = JournalOptions::new(Arc::new(Panicking(AtomicUsize::new(0))));
    options.observer = Some(Arc::clone(&observer) as Arc<dyn Observer>);
    let journal = Journal::open(&place(directory.path()), options).unwrap();
    let clock = TestClock::new(1);
    let failed = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (journal, clock, failed) = (&journal, &clock, &failed);
            scope.spawn(move || {
                for number in 0..5 {
                    let result = journal.append(entry(&**clock, &format!("{thread}"), number));
                    failed.fetch_add(usize::from(result.is_err()), Ordering::Relaxed);
                }
            });
        }
    });
    let failed = failed.into_inner();
    assert!((1..=8).contains(&failed), "{failed}: those of the first step, and no others");
    let verification = verify(&place(directory.path()), &[]).unwrap();
    assert_eq!((verification.damage, verification.records), (None, 41 - failed as u64));
    assert!(observer.0.load(Ordering::Relaxed) > 3);
}

#[test]
fn what_is_no_journal() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    std::fs::create_dir(path("directory")).unwrap();
    mknodat(CWD, path("fifo"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    std::fs::write(path("text"), "not a database").unwrap();
    rusqlite::Connection::open(path("other")).unwrap().execute_batch("CREATE TABLE x(y)").unwrap();
    for name in ["directory", "fifo", "text", "other"] {
        let place = JournalAddress::file(path(name));
        let refused = |result: Result<(), JournalError>| {
            let error = result.unwrap_err();
            assert_eq!(error.code(), "journal-unreadable", "{name}: {error}");
        };
        refused(Journal::open(&place, JournalOptions::new(TestClock::new(0))).map(drop));
        refused(JournalReader::open(&place).map(drop));
        assert!(verify(&place, &[]).unwrap().damage.is_some(), "{name}");
    }
    assert_eq!(
        JournalReader::open(&JournalAddress::file(path("none"))).unwrap_err().code(),
        "journal-not-found"
    );
}

/// Somebody who lets the database itself do the forging.
#[test]
fn what_is_added_to_the_database() {
    for statement in [
        "CREATE TRIGGER forget AFTER INSERT ON record BEGIN DELETE FROM record WHERE sequence = new.sequence; END",
        "CREATE INDEX kinds ON record(event)",
        "CREATE VIEW records AS SELECT 1",
        "CREATE TABLE other(x)",
        "ALTER TABLE record ADD COLUMN more TEXT",
    ] {
        let directory = tempfile::tempdir().unwrap();
        let place = filled(directory.path(), 5);
        let connection = rusqlite::Connection::open(place.as_file().unwrap()).unwrap();
        connection.execute_batch(statement).unwrap();
        drop(connection);
        assert!(verify(&place, &[]).unwrap().damage.is_some(), "{statement}");
        let error = Journal::open(&place, JournalOptions::new(TestClock::new(0))).unwrap_err();
        assert_eq!(error.code(), "journal-unreadable", "{statement}: {error}");
    }
}

/// A clock that panics whenever it is asked; entries have times of another.
struct Broken;

impl Clock for Broken {
    fn now(&self) -> Time {
        panic!("on purpose")
    }

    fn id(&self) -> uuid::Uuid {
        uuid::Uuid::nil()
    }
}

#[test]
fn a_clock_that_panics_when_a_checkpoint_is_remembered() {
    let directory = tempfile::tempdir().unwrap();
    for durability in [metier_journal::Durability::Full, metier_journal::Durability::Batched] {
        let mut options = JournalOptions::new(Arc::new(Broken));
        options.durability = durability;
        options.remember = Some(directory.path().join("checkpoint.json"));
        let place = JournalAddress::file(directory.path().join(format!("{durability:?}.db")));
        let journal = Journal::open(&place, options).unwrap();
        let clock = TestClock::new(1);
        for number in 0..1100 {
            // One of them brings the checkpoint; the answer is an error, and there is one.
            let _ = journal.append(entry(&*clock, "s", number));
        }
        let _ = journal.flush();
        // Closing asks for the time as well.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(journal)));
        let found = verify(&place, &[]).unwrap();
        assert_eq!((found.damage, found.records), (None, 1102), "{durability:?}");
    }
}

#[test]
fn a_journal_that_is_removed_while_it_is_written_to() {
    let directory = tempfile::tempdir().unwrap();
    let journal = crate::common::open(directory.path());
    let clock = TestClock::new(1);
    journal.append(entry(&*clock, "s", 0)).unwrap();
    std::fs::remove_file(directory.path().join("journal.db")).unwrap();
    let error = journal.append(entry(&*clock, "s", 1)).unwrap_err();
    assert!(error.to_string().contains("removed or replaced"), "{error}");
    drop(journal);
    // Nor is a new one begun in its place without a word.
    let error = Journal::open(&place(directory.path()), JournalOptions::new(TestClock::new(0))).unwrap_err();
    assert!(error.code() == "journal-damaged" && error.to_string().contains("delete nothing"), "{error}");
}

/// What is somebody else's stays as it is; what is written beside a journal is no other file by another name.
#[test]
fn files_of_others() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    rusqlite::Connection::open(path("other.db")).unwrap().execute_batch("CREATE TABLE x(y)").unwrap();
    let before = std::fs::read(path("other.db")).unwrap();
    Journal::open(&JournalAddress::file(path("other.db")), JournalOptions::new(TestClock::new(0)))
        .unwrap_err();
    assert!(before == std::fs::read(path("other.db")).unwrap());
    assert!(!path("other.db-reserve").exists());
    for ending in ["-lock", "-reserve"] {
        std::fs::write(path("victim"), "mine").unwrap();
        std::os::unix::fs::symlink(path("victim"), path(&format!("k.db{ending}"))).unwrap();
        Journal::open(&JournalAddress::file(path("k.db")), JournalOptions::new(TestClock::new(0)))
            .unwrap_err();
        assert_eq!(std::fs::read_to_string(path("victim")).unwrap(), "mine", "{ending}");
        std::fs::remove_file(path(&format!("k.db{ending}"))).unwrap();
    }
    // Killed before anything was made.
    std::fs::write(path("empty.db"), "").unwrap();
    assert_eq!(
        JournalReader::open(&JournalAddress::file(path("empty.db"))).unwrap_err().code(),
        "journal-not-found"
    );
    Journal::open(&JournalAddress::file(path("empty.db")), JournalOptions::new(TestClock::new(0))).unwrap();
}

#[test]
fn what_nobody_could_read_back_is_refused() {
    use metier_journal::{PendingRecord, RecordContext};
    let nested = |depth: usize| (0..depth).fold(serde_json::json!(1), |inner, _| serde_json::json!([inner]));
    let entry = |data: serde_json::Value| {
        PendingRecord::of_value(
            &*TestClock::new(1),
            &RecordContext::default(),
            serde_json::json!({ "kind": "x", "data": data }),
        )
    };
    for (data, is_taken) in [
        (nested(90), true),
        (nested(130), false),
        (serde_json::json!(1.5), false),
        (serde_json::json!(1_u64 << 53), false),
        (serde_json::json!("x".repeat(300_000)), false),
    ] {
        assert_eq!(entry(data).is_ok(), is_taken);
    }
}
