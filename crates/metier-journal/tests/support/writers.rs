//! Many processes that write to one stream while its server is killed, again and again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use metier_journal::{
    Event, JournalAddress, JournalReader, PendingRecord, Receipt, RecordContext, RecordQuery, verify,
};
use rustix::process::Signal;

use crate::behaviours::open;
use crate::clock::TestClock;
use crate::common::asked;
use crate::server::{Server, wait_for};

const WRITERS: usize = 16;
const RECORDS: usize = 150;
const KILLS: usize = 8;
/// So many writers are killed as well, in the middle of something.
const KILLED: usize = 3;

/// Starts a writer: this program once more.
fn start(place: &str, number: usize, directory: &Path) -> Child {
    let what = format!("{place}\n{number}\n{}", directory.join(number.to_string()).display());
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "writer", "--ignored", "--nocapture", "--test-threads=1"])
        .env("METIER_WRITER", what)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// What a writer does: a record, then a line that says so, and so on.
pub(crate) fn write() {
    let Some(what) = asked("METIER_WRITER") else { return };
    let [place, number, path] = what.split('\n').collect::<Vec<_>>().try_into().unwrap();
    let place: JournalAddress = place.parse().unwrap();
    let clock = TestClock::new(u64::from(std::process::id()));
    let journal = open(&place, u64::from(std::process::id()) << 32);
    let mut acknowledged = File::create(path).unwrap();
    // Who is to be killed writes until then, however fast it is.
    let is_killed = number.parse::<usize>().unwrap() < KILLED;
    for count in 0..if is_killed { usize::MAX } else { RECORDS } {
        let name = format!("{number}-{count}");
        let event = Event::SkillDeactivated { name: name.clone() };
        let receipt = journal
            .append(PendingRecord::new(&*clock, &RecordContext::session("writers"), &event).unwrap())
            .unwrap();
        let Receipt::Recorded { sequence, hash } = receipt else { panic!("{receipt:?}") };
        acknowledged.write_all(format!("{name} {sequence} {hash}\n").as_bytes()).unwrap();
    }
    journal.close().unwrap();
}

/// All lines of all writers, as long as they are whole.
fn acknowledged(directory: &Path) -> Vec<(String, u64, String)> {
    let mut all = Vec::new();
    for number in 0..WRITERS {
        let text = fs::read_to_string(directory.join(number.to_string())).unwrap_or_default();
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        for line in whole.lines() {
            let [name, sequence, hash] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
            all.push((name.to_owned(), sequence.parse().unwrap(), hash.to_owned()));
        }
    }
    all
}

/// Kills the server several times while all write; then everything that was acknowledged is there, once.
pub(crate) fn outlive(mut server: Server) {
    let directory = tempfile::tempdir().unwrap();
    let url = server.url("admin", "postgres", "stream=shared");
    // Nobody made the tables, so all of them try.
    let mut writers: Vec<Child> = (0..WRITERS).map(|number| start(&url, number, directory.path())).collect();
    let mut at = Vec::new();
    for kill in 0..KILLS {
        let enough = (kill + 1) * WRITERS * RECORDS / (KILLS + 2);
        wait_for("records", || acknowledged(directory.path()).len() >= enough);
        server.end(if kill % 2 == 0 { Signal::KILL } else { Signal::QUIT });
        at.push(acknowledged(directory.path()).len());
        if let Some(writer) = writers[..KILLED].get_mut(kill) {
            writer.kill().unwrap();
        }
        server.run();
    }
    for (number, writer) in writers.iter_mut().enumerate() {
        let status = writer.wait().unwrap();
        assert_eq!(status.success(), number >= KILLED, "writer {number}: {status}");
    }
    check(&server.place("shared"), &acknowledged(directory.path()), &at);
}

fn check(place: &JournalAddress, acknowledged: &[(String, u64, String)], at: &[usize]) {
    let verification = verify(place, &[]).unwrap();
    assert_eq!(verification.damage, None);
    let query = RecordQuery { session: Some("writers".to_owned()), ..RecordQuery::default() };
    let found = JournalReader::open(place).unwrap().query(&query).unwrap();
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for record in &found {
        *times.entry(record.event["name"].as_str().unwrap()).or_default() += 1;
    }
    let doubled: Vec<_> = times.iter().filter(|(_, times)| **times > 1).collect();
    assert!(doubled.is_empty(), "there more than once: {doubled:?}");
    let by_place: BTreeMap<u64, _> = found.iter().map(|record| (record.sequence, record)).collect();
    for (name, sequence, hash) in acknowledged {
        let record = by_place.get(sequence).unwrap_or_else(|| panic!("{name} was acknowledged and is gone"));
        assert_eq!((record.event["name"].as_str(), &record.hash.to_string()), (Some(&**name), hash));
    }
    // Only who was killed may have written what it could not acknowledge, and that is one record.
    let names: BTreeSet<&str> = acknowledged.iter().map(|(name, ..)| name.as_str()).collect();
    let silent: Vec<_> = times.keys().filter(|name| !names.contains(*name)).collect();
    assert!(silent.len() <= KILLED, "written and never acknowledged: {silent:?}");
    println!(
        "writers: {WRITERS} processes, {KILLED} killed; server killed {KILLS} times, at {at:?}; {} acknowledged, {} in the \
         journal of {} records, {} written without an answer, 0 lost, 0 doubled",
        acknowledged.len(),
        found.len(),
        verification.records,
        silent.len()
    );
}
