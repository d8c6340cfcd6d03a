//! A disk that is full, a directory that is read-only: said before something is done, and nothing is recorded by half.
//!
//! Each test runs again in a mount namespace of its own, on a small file system in memory.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use metier_journal::{Journal, JournalError, JournalOptions, JournalReader, RecordQuery, verify};
use metier_skill::Coded as _;

use crate::clock::TestClock;
use crate::common::{entry, place};
use crate::small_disk::in_small_file_system;

fn journal(directory: &Path) -> Result<Journal, JournalError> {
    Journal::open(&place(directory), JournalOptions::new(TestClock::new(1)))
}

/// Takes all the room there is.
fn fill(path: &Path) {
    let mut file = File::create(path).unwrap();
    for size in [1 << 16, 1 << 12, 1] {
        while file.write_all(&vec![1; size]).is_ok() {}
    }
}

fn size(directory: &Path) -> u64 {
    JournalReader::open(&place(directory)).unwrap().size().unwrap()
}

#[test]
fn a_full_disk() {
    let Some(small) = in_small_file_system("full::a_full_disk", 8) else { return };
    let clock = TestClock::new(1);
    let journal = journal(&small).unwrap();
    journal.append(entry(&*clock, "s", 0)).unwrap();
    let ballast = small.join("ballast");
    fill(&ballast);
    // Room was kept for what is being done right now, and for no more.
    journal.ready().unwrap();
    let (mut number, mut recorded) = (1, 2);
    loop {
        match journal.append(entry(&*clock, "s", number)) {
            Ok(_) => recorded += 1,
            Err(error) => {
                assert_eq!(error.code(), "journal-full", "{error}");
                break;
            }
        }
        number += 1;
        if let Err(error) = journal.ready() {
            assert_eq!(error.code(), "journal-full", "{error}");
            assert!(
                error.to_string().contains("the disk is full")
                    && error.to_string().contains("free some space")
            );
            fill(&small.join("more"));
        }
    }
    assert!(recorded > 2, "what was done when the disk was full was not recorded");
    assert_eq!(journal.ready().unwrap_err().code(), "journal-full");
    assert_eq!((size(&small), verify(&place(&small), &[]).unwrap().damage), (recorded, None));
    // With room again, it goes on.
    fs::remove_file(&ballast).unwrap();
    journal.ready().unwrap();
    journal.append(entry(&*clock, "s", number)).unwrap();
    journal.close().unwrap();
    let verification = verify(&place(&small), &[]).unwrap();
    assert_eq!((verification.records, verification.damage), (recorded + 1, None));
}

#[test]
fn no_room_to_begin() {
    let Some(small) = in_small_file_system("full::no_room_to_begin", 8) else { return };
    fill(&small.join("ballast"));
    assert_eq!(journal(&small).unwrap_err().code(), "journal-full");
    fs::remove_file(small.join("ballast")).unwrap();
    journal(&small).unwrap().append(entry(&*TestClock::new(1), "s", 0)).unwrap();
}

#[test]
fn a_file_system_that_becomes_read_only() {
    let Some(small) = in_small_file_system("full::a_file_system_that_becomes_read_only", 8) else { return };
    let clock = TestClock::new(1);
    let first = journal(&small).unwrap();
    first.append(entry(&*clock, "s", 0)).unwrap();
    first.close().unwrap();
    let remount = |how: &str| {
        let status = Command::new("mount").args(["-o", how]).arg(&small).status().unwrap();
        assert!(status.success());
    };
    remount("remount,ro");
    let error = journal(&small).unwrap_err();
    assert_eq!(error.code(), "journal-read-only", "{error}");
    assert!(error.to_string().contains("make it writable"), "{error}");
    // What was recorded can still be read.
    assert_eq!(JournalReader::open(&place(&small)).unwrap().query(&RecordQuery::default()).unwrap().len(), 2);
    assert_eq!(verify(&place(&small), &[]).unwrap().damage, None);
    remount("remount,rw");
    let second = journal(&small).unwrap();
    second.ready().unwrap();
    second.append(entry(&*clock, "s", 1)).unwrap();
    assert_eq!(size(&small), 3);
}

/// As an ordinary user, for whom permissions hold.
#[test]
fn a_directory_that_may_not_be_written_to() {
    use std::os::unix::fs::PermissionsExt as _;
    if rustix::process::geteuid().is_root() {
        // Nothing is read-only for root; the test above is for it.
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o500)).unwrap();
    let error = journal(directory.path()).unwrap_err();
    assert_eq!(error.code(), "journal-read-only", "{error}");
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o700)).unwrap();
}

/// Each of many was promised room for what it does.
#[test]
fn a_disk_that_becomes_full_for_many_at_once() {
    let Some(small) = in_small_file_system("full::a_disk_that_becomes_full_for_many_at_once", 8) else {
        return;
    };
    let journal = journal(&small).unwrap();
    let clock = TestClock::new(1);
    journal.append(entry(&*clock, "s", 0)).unwrap();
    journal.ready().unwrap();
    fill(&small.join("ballast"));
    let recorded = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                let long = serde_json::json!({ "kind": "x", "text": "x".repeat(60_000) });
                let entry = metier_journal::PendingRecord::of_value(
                    &*clock,
                    &metier_journal::RecordContext::default(),
                    long,
                )
                .unwrap();
                let result = journal.append(entry);
                recorded.fetch_add(usize::from(result.is_ok()), std::sync::atomic::Ordering::Relaxed);
            });
        }
    });
    let recorded = recorded.into_inner();
    assert!(recorded > 5, "{recorded}");
    let found = verify(&place(&small), &[]).unwrap();
    assert_eq!((found.damage, found.records), (None, 2 + recorded as u64));
}

/// SQLite needs room even to open a journal, and says nothing of it.
#[test]
fn a_journal_on_a_full_disk_is_not_to_blame() {
    let Some(small) = in_small_file_system("full::a_journal_on_a_full_disk_is_not_to_blame", 8) else {
        return;
    };
    let first = journal(&small).unwrap();
    first.append(entry(&*TestClock::new(1), "s", 0)).unwrap();
    first.close().unwrap();
    fill(&small.join("ballast"));
    let error = journal(&small).unwrap_err();
    assert_eq!(error.code(), "journal-full", "{error}");
    // What was recorded can still be read.
    assert_eq!(size(&small), 2);
}
