//! What a journal promises wherever it is kept: each is a function over a place, for one store like for the other.

use metier_journal::{
    Checkpoint, DamageKind, Durability, Journal, JournalAddress, JournalError, JournalOptions, JournalReader,
    PendingRecord, Receipt, RecordContext, RecordQuery, verify, verify_export,
};

use crate::clock::TestClock;
use crate::common::entry;

/// A store under test.
pub(crate) trait Ground: Sync {
    /// A place of this name; there is nothing in it yet.
    fn place(&self, name: &str) -> JournalAddress;

    /// Changes what is stored, behind the journal's back. `{record}` is the table, `{own}` what only the rows of this place are, and `{stream}` the
    /// columns that come before the usual ones.
    fn alter(&self, name: &str, statement: &str);
}

/// A promise, to be kept at the place of this name.
type Behaviour = fn(&dyn Ground, &str);

/// Everything that is promised.
pub(crate) fn all(ground: &dyn Ground) {
    let behaviours: [(&str, Behaviour); 12] = [
        ("recorded", what_is_appended_is_there),
        ("threads", many_threads_share_a_journal),
        ("journals", many_journals_are_open_at_once),
        ("reopened", what_was_closed_goes_on),
        ("checkpoints", one_who_is_behind_catches_up),
        ("batched", what_is_queued_is_written),
        ("large", a_step_may_be_large),
        ("remembered", what_was_cut_off_is_refused),
        ("columns", every_column_counts),
        ("rows", every_row_has_its_place),
        ("before", nothing_hides_before_the_first),
        ("ends", nothing_is_added_to_what_was_changed),
    ];
    for (name, behaviour) in behaviours {
        println!("behaviour: {name}");
        behaviour(ground, name);
    }
}

pub(crate) fn open(place: &JournalAddress, number: u64) -> Journal {
    Journal::open(place, JournalOptions::new(TestClock::new(number))).unwrap()
}

/// Records so many events, several in one step; always the same ones.
pub(crate) fn fill(place: &JournalAddress, count: u64) {
    let options =
        JournalOptions { durability: Durability::Batched, ..JournalOptions::new(TestClock::new(0)) };
    let journal = Journal::open(place, options).unwrap();
    let clock = TestClock::new(1);
    for number in 0..count {
        journal.append(entry(&*clock, &format!("session-{}", number % 3), number)).unwrap();
    }
    journal.close().unwrap();
}

pub(crate) fn exported(place: &JournalAddress) -> Vec<u8> {
    let mut lines = Vec::new();
    JournalReader::open(place).unwrap().export(&mut lines).unwrap().unwrap();
    lines
}

/// It verifies, and has so many records.
pub(crate) fn assert_whole(place: &JournalAddress, records: u64) {
    let verification = verify(place, &[]).unwrap();
    assert_eq!((verification.damage, verification.records), (None, records), "{place}");
}

/// Verifying finds this first.
fn assert_damaged(place: &JournalAddress, kinds: &[DamageKind], sequence: u64, why: &str) {
    let damage = verify(place, &[]).unwrap().damage;
    let damage = damage.unwrap_or_else(|| panic!("{why}: nothing was found"));
    assert!(kinds.contains(&damage.kind) && damage.sequence == Some(sequence), "{why}: {damage:?}");
}

fn what_is_appended_is_there(ground: &dyn Ground, name: &str) {
    let place = ground.place(name);
    assert!(matches!(JournalReader::open(&place), Err(JournalError::NotFound { .. })));
    fill(&place, 3000);
    // The first, and two checkpoints.
    assert_whole(&place, 3003);
    let mut reader = JournalReader::open(&place).unwrap();
    assert_eq!(reader.size().unwrap(), 3003);
    let stats = reader.stats(&RecordQuery::default()).unwrap();
    assert_eq!((stats.records, stats.sessions, stats.skills.len()), (3003, 3, 4));
    let query = RecordQuery { session: Some("session-1".to_owned()), ..RecordQuery::default() };
    assert_eq!(reader.query(&query).unwrap().len(), 1000);
    let lines = exported(&place);
    let verification = verify_export(&mut &*lines, &[]).unwrap();
    assert_eq!((verification.damage, verification.records), (None, 3003));
}

fn many_threads_share_a_journal(ground: &dyn Ground, name: &str) {
    let place = ground.place(name);
    let journal = open(&place, 0);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let journal = &journal;
            scope.spawn(move || append_each(journal, thread, 50));
        }
    });
    journal.close().unwrap();
    assert_whole(&place, 401);
}

fn many_journals_are_open_at_once(ground: &dyn Ground, name: &str) {
    let place = ground.place(name);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let place = &place;
            scope.spawn(move || {
                let journal = open(place, 100 + thread);
                append_each(&journal, thread, 50);
                journal.close().unwrap();
            });
        }
    });
    assert_whole(&place, 401);
}

fn append_each(journal: &Journal, thread: u64, count: u64) {
    let clock = TestClock::new(1 + thread);
    let mut last = None;
    for number in 0..count {
        let receipt = journal.append(entry(&*clock, &format!("thread-{thread}"), number)).unwrap();
        let Receipt::Recorded { sequence, .. } = receipt else { panic!("{receipt:?}") };
        // What was appended later comes later.
        assert!(last.replace(sequence) < Some(sequence));
    }
}

fn what_was_closed_goes_on(ground: &dyn Ground, name: &str) {
    let place = ground.place(name);
    for number in 0..5 {
        let journal = open(&place, number);
        append_each(&journal, number, 3);
        journal.ready().unwrap();
        journal.close().unwrap();
    }
    assert_whole(&place, 16);
}

fn one_who_is_behind_catches_up(ground: &dyn Ground, name: &str) {
    let place = ground.place(name);
    let behind = open(&place, 50);
    append_each(&behind, 50, 1);
    fill(&place, 2500);
    append_each(&behind, 51, 1);
    fill(&place, 500);
    append_each(&behind, 52, 1);
    // Exactly up to a checkpoint, and one more.
    fill(&place, 4096 - 3006 - 1 - 1);
    append_each(&behind, 53, 2);
    let checkpoint = behind.checkpoint().unwrap().unwrap();
    behind.close().unwrap();
    let verification = verify(&place, std::slice::from_ref(&checkpoint)).unwrap();
    assert_eq!((verification.damage, verification.checkpoints), (None, 1));
    assert_eq!(verification.records, checkpoint.size);
    assert_eq!(verification.root, checkpoint.root);
    let query = RecordQuery { kind: Some("journal.checkpoint".to_owned()), ..RecordQuery::default() };
    let places = JournalReader::open(&place).unwrap().query(&query).unwrap();
    let places: Vec<u64> = places.iter().map(|record| record.sequence).collect();
    assert_eq!(places, [1023, 2047, 3071, 4095]);
}

fn what_is_queued_is_written(ground: &dyn Ground, name: &str) {
    let place = ground.place(name);
    let options =
        JournalOptions { durability: Durability::Batched, ..JournalOptions::new(TestClock::new(0)) };
    let journal = Journal::open(&place, options).unwrap();
    let clock = TestClock::new(1);
    for number in 0..20 {
        let receipt = journal.append(entry(&*clock, "queued", number)).unwrap();
        assert_eq!(receipt, Receipt::Queued);
    }
    journal.flush().unwrap();
    assert_whole(&place, 21);
    journal.append(entry(&*clock, "queued", 20)).unwrap();
    journal.close().unwrap();
    assert_whole(&place, 22);
}

fn a_step_may_be_large(ground: &dyn Ground, name: &str) {
    let place = ground.place(name);
    let options =
        JournalOptions { durability: Durability::Batched, ..JournalOptions::new(TestClock::new(0)) };
    let journal = Journal::open(&place, options).unwrap();
    let clock = TestClock::new(1);
    let text = "x".repeat(250 << 10);
    for number in 0..140 {
        let event = serde_json::json!({"kind": "host.large", "number": number, "text": text});
        journal
            .append(PendingRecord::of_value(&*clock, &RecordContext::session("large"), event).unwrap())
            .unwrap();
    }
    journal.close().unwrap();
    assert_whole(&place, 141);
}

fn what_was_cut_off_is_refused(ground: &dyn Ground, name: &str) {
    let place = ground.place(name);
    let directory = tempfile::tempdir().unwrap();
    let remember = directory.path().join("checkpoint");
    let options =
        || JournalOptions { remember: Some(remember.clone()), ..JournalOptions::new(TestClock::new(0)) };
    let journal = Journal::open(&place, options()).unwrap();
    append_each(&journal, 0, 20);
    journal.close().unwrap();
    Journal::open(&place, options()).unwrap().close().unwrap();
    ground.alter(name, "DELETE FROM {record} WHERE sequence >= 17 AND {own}");
    let error = Journal::open(&place, options()).unwrap_err();
    assert!(matches!(&error, JournalError::Damaged { reason } if reason.contains("17")), "{error}");
    let checkpoint = Checkpoint::read(&remember).unwrap();
    let damage = verify(&place, &[checkpoint]).unwrap().damage.unwrap();
    assert_eq!((damage.kind, damage.sequence), (DamageKind::Truncated, Some(17)));
    assert_eq!(verify(&place, &[]).unwrap().records, 17);
}

fn every_column_counts(ground: &dyn Ground, name: &str) {
    let changes = [
        "id = '00000000-0000-0001-0000-000000000000'",
        "time = '2026-09-21T00:00:00.000000Z'",
        "session = NULL",
        "session = 'another'",
        "event = '{\"kind\":\"skill.deactivated\",\"name\":\"another\"}'",
        "event = event || ' '",
        "hash = (SELECT hash FROM {record} WHERE sequence = 4 AND {own})",
    ];
    for (number, change) in changes.iter().enumerate() {
        let name = format!("{name}{number}");
        let place = ground.place(&name);
        fill(&place, 10);
        ground.alter(&name, &format!("UPDATE {{record}} SET {change} WHERE sequence = 5 AND {{own}}"));
        assert_damaged(&place, &[DamageKind::Changed], 5, change);
    }
}

fn every_row_has_its_place(ground: &dyn Ground, name: &str) {
    let misplaced = [DamageKind::Misplaced];
    let changed = [DamageKind::Changed];
    let changes: [(&str, &[DamageKind], u64); 5] = [
        ("DELETE FROM {record} WHERE sequence = 5 AND {own}", &misplaced, 5),
        ("DELETE FROM {record} WHERE sequence = 0 AND {own}", &misplaced, 0),
        (
            "UPDATE {record} SET sequence = sequence + 100 WHERE sequence IN (5, 6) AND {own}; \
             UPDATE {record} SET sequence = 111 - sequence WHERE sequence > 100 AND {own}",
            &changed,
            5,
        ),
        ("UPDATE {record} SET sequence = 50 WHERE sequence = 10 AND {own}", &misplaced, 10),
        // A copy of the last, behind it.
        (&copied(10, 11), &changed, 11),
    ];
    for (number, (change, kinds, sequence)) in changes.iter().enumerate() {
        let name = format!("{name}{number}");
        let place = ground.place(&name);
        fill(&place, 10);
        ground.alter(&name, change);
        assert_damaged(&place, kinds, *sequence, change);
    }
}

/// Adds a row like another.
fn copied(from: i64, to: i64) -> String {
    format!(
        "INSERT INTO {{record}} SELECT {{stream}} {to}, id, time, session, event, hash FROM {{record}} \
         WHERE sequence = {from} AND {{own}}"
    )
}

fn nothing_hides_before_the_first(ground: &dyn Ground, name: &str) {
    let place = ground.place(name);
    fill(&place, 10);
    ground.alter(name, &copied(0, -1));
    // Some see the row, some that the file has more in it than its rows.
    let damage = verify(&place, &[]).unwrap().damage.unwrap();
    assert!(matches!(damage.kind, DamageKind::Unreadable | DamageKind::File), "{damage:?}");
}

fn nothing_is_added_to_what_was_changed(ground: &dyn Ground, name: &str) {
    let changes = [
        "UPDATE {record} SET hash = (SELECT hash FROM {record} WHERE sequence = 4 AND {own}) WHERE sequence = 10 AND {own}",
        "DELETE FROM {record} WHERE sequence = 10 AND {own}",
        "DELETE FROM {record} WHERE {own}",
        "UPDATE {record} SET sequence = 20 WHERE sequence = 10 AND {own}",
    ];
    for (number, change) in changes.iter().enumerate() {
        let name = format!("{name}{number}");
        let place = ground.place(&name);
        let journal = open(&place, 0);
        append_each(&journal, 0, 10);
        ground.alter(&name, change);
        let added = journal.append(entry(&*TestClock::new(7), "after", 0));
        assert!(matches!(added, Err(JournalError::Damaged { .. })), "{change}: {added:?}");
    }
}
