//! Measures recording, compared with the minimum: plain SQLite inserts, writing the bytes to a file, and
//! hashing them.
//!
//! All in one run, with the programs of a row in turns. `METIER_RECORDS` sets how many records are verified.

#![expect(clippy::print_stdout, reason = "printing is this program's purpose")]
#![expect(clippy::disallowed_methods, reason = "this is where time is measured")]

use std::fs::File;
use std::io::{BufWriter, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, ensure};
use metier_journal::{
    Clock, Durability, Event, Journal, JournalAddress, JournalOptions, JournalReader, PendingRecord,
    RecordContext, Time, Trigger, verify,
};
use metier_skill::{Digest, Tier};
use rusqlite::Connection;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

const ROUNDS: usize = 5;
const WRITERS: usize = 16;
/// Durable appends in a round, of all writers together.
const DURABLE: usize = 3200;
const BATCHED: usize = 200_000;

/// The time, and ids in a row.
struct BenchClock(AtomicU64);

impl Clock for BenchClock {
    fn now(&self) -> Time {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Time::from_micros(i64::try_from(now.as_micros()).unwrap_or(0))
    }

    fn id(&self) -> Uuid {
        Uuid::from_u64_pair(u64::from(std::process::id()), self.0.fetch_add(1, Ordering::Relaxed))
    }
}

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    // What this program starts itself with: one writer of many.
    if let [_, way, path, count] = &arguments[..]
        && let Some(way) = DURABLE_WAYS.iter().find(|one| one.0 == way)
    {
        return (way.1)(Path::new(path), 1, count.parse()?);
    }
    let is_asked = |part: &str| arguments.iter().any(|one| one == part);
    let wanted = |part: &str| is_asked(part) || !PARTS.iter().any(|one| is_asked(one));
    if wanted(PARTS[0]) {
        durable()?;
    }
    if wanted(PARTS[1]) {
        batched()?;
    }
    if wanted(PARTS[2]) {
        verified()?;
    }
    Ok(())
}

/// What can be asked for alone.
const PARTS: [&str; 3] = ["durable", "batched", "verify"];

type Way = (&'static str, fn(&Path, usize, usize) -> anyhow::Result<()>);

const DURABLE_WAYS: [Way; 2] = [("metier", append), ("plain SQLite", insert)];

fn event(number: usize) -> Event {
    let digest = Digest::of(&number.to_le_bytes());
    Event::SkillActivated {
        skill_id: "user/quarterly-report".to_owned(),
        name: "quarterly-report".to_owned(),
        tier: Tier::User,
        skill_md_digest: digest,
        tree_digest: digest,
        trigger: Trigger::Model,
        tokens: 1200,
        duration_us: 240,
        path: None,
    }
}

fn entry(clock: &BenchClock, number: usize) -> anyhow::Result<PendingRecord> {
    Ok(PendingRecord::new(
        clock,
        &RecordContext::session("01990b2e-7a52-7c3e-9a70-3f1f2f5a1c11"),
        &event(number),
    )?)
}

fn journal(path: &Path, durability: Durability) -> anyhow::Result<(Journal, Arc<BenchClock>)> {
    let clock = Arc::new(BenchClock(AtomicU64::new(0)));
    let mut options = JournalOptions::new(Arc::clone(&clock) as Arc<dyn Clock>);
    options.durability = durability;
    Ok((Journal::open(&JournalAddress::file(path), options)?, clock))
}

/// So many threads that append, one record at a time, and wait for each.
fn append(path: &Path, threads: usize, count: usize) -> anyhow::Result<()> {
    let (journal, clock) = journal(path, Durability::Full)?;
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| -> anyhow::Result<()> {
                    for number in 0..count {
                        journal.append(entry(&clock, number)?)?;
                    }
                    Ok(())
                })
            })
            .collect();
        writers.into_iter().try_for_each(|writer| writer.join().ok().context("a writer panicked")?)
    })
}

/// The same with a connection each, a transaction a row, and nothing but the columns.
fn insert(path: &Path, threads: usize, count: usize) -> anyhow::Result<()> {
    let clock = BenchClock(AtomicU64::new(0));
    let connect = || -> anyhow::Result<Connection> {
        let connection = Connection::open(path)?;
        connection.busy_timeout(Duration::from_mins(1))?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.execute_batch("CREATE TABLE IF NOT EXISTS record(sequence INTEGER PRIMARY KEY, id TEXT, time TEXT, session TEXT, event TEXT, hash BLOB)")?;
        Ok(connection)
    };
    connect()?;
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| -> anyhow::Result<()> {
                    let connection = connect()?;
                    let mut insert = connection.prepare(
                        "INSERT INTO record(id, time, session, event, hash) VALUES(?1, ?2, ?3, ?4, ?5)",
                    )?;
                    for number in 0..count {
                        let event = serde_json::to_string(&event(number))?;
                        let hash = Digest::of(b"");
                        let (id, time) = (clock.id().to_string(), clock.now().to_string());
                        insert.execute((
                            id,
                            time,
                            "01990b2e-7a52-7c3e-9a70-3f1f2f5a1c11",
                            event,
                            hash.as_bytes(),
                        ))?;
                    }
                    Ok(())
                })
            })
            .collect();
        writers.into_iter().try_for_each(|writer| writer.join().ok().context("a writer panicked")?)
    })
}

/// The same in processes of their own.
fn in_processes(way: &str, path: &Path, count: usize) -> anyhow::Result<()> {
    let start = || Command::new(std::env::current_exe()?).arg(way).arg(path).arg(count.to_string()).spawn();
    let children: Vec<Child> = (0..WRITERS).map(|_| start()).collect::<Result<_, _>>()?;
    for mut child in children {
        ensure!(child.wait()?.success(), "a writer failed");
    }
    Ok(())
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// How often something is done a second.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn rate(count: usize, what: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<f64> {
    let started = Instant::now();
    what()?;
    Ok(count as f64 / started.elapsed().as_secs_f64())
}

fn durable() -> anyhow::Result<()> {
    let setups = [("1 writer", 1), ("16 threads", WRITERS), ("16 processes", 0)];
    let mut rates = vec![vec![Vec::new(); DURABLE_WAYS.len()]; setups.len()];
    for _ in 0..ROUNDS {
        for (setup, (_, threads)) in setups.iter().enumerate() {
            for (index, (name, way)) in DURABLE_WAYS.iter().enumerate() {
                let directory = tempfile::tempdir_in(".")?;
                let path = directory.path().join("journal.db");
                rates[setup][index].push(match threads {
                    0 => {
                        // Made by one: SQLite refuses to change to a write-ahead log while others open the file.
                        way(&path, 1, 0)?;
                        rate(DURABLE, || in_processes(name, &path, DURABLE / WRITERS))?
                    }
                    _ => rate(DURABLE, || way(&path, *threads, DURABLE / threads))?,
                });
            }
        }
    }
    println!("Durable appends per second, median of {ROUNDS} rounds\n");
    println!("| writers | metier | plain SQLite | metier ÷ plain |\n|---|---|---|---|");
    let medians: Vec<Vec<f64>> =
        rates.into_iter().map(|ways| ways.into_iter().map(median).collect()).collect();
    for ((name, _), ways) in setups.iter().zip(&medians) {
        println!("| {name} | {:.0} | {:.0} | {:.2} |", ways[0], ways[1], ways[0] / ways[1]);
    }
    println!("\n16 threads ÷ 1 writer, metier: {:.1}\n", medians[1][0] / medians[0][0]);
    Ok(())
}

/// Appends that answer at once, beside writing the same bytes with a call for each record and one sync at the end.
fn batched() -> anyhow::Result<()> {
    let (mut ours, mut files) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let directory = tempfile::tempdir_in(".")?;
        let path = directory.path().join("journal.db");
        ours.push(rate(BATCHED, || {
            let (journal, clock) = journal(&path, Durability::Batched)?;
            for number in 0..BATCHED {
                journal.append(entry(&clock, number)?)?;
            }
            Ok(journal.close()?)
        })?);
        let mut lines = Vec::new();
        JournalReader::open(&JournalAddress::file(&path))?.export(&mut lines)??;
        let lines: Vec<&[u8]> = lines.split_inclusive(|byte| *byte == b'\n').collect();
        files.push(rate(lines.len(), || {
            let mut file = File::create(directory.path().join("lines"))?;
            lines.iter().try_for_each(|line| file.write_all(line))?;
            Ok(file.sync_all()?)
        })?);
    }
    let (ours, files) = (median(ours), median(files));
    println!("Batched appends per second, {BATCHED} records, all of them on the disk at the end\n");
    println!("| metier, `batched` | the same lines to a file | file ÷ metier |\n|---|---|---|");
    println!("| {ours:.0} | {files:.0} | {:.1} |\n", files / ours);
    Ok(())
}

fn verified() -> anyhow::Result<()> {
    let count: usize = std::env::var("METIER_RECORDS").map_or(Ok(1_000_000), |text| text.parse())?;
    let directory = tempfile::tempdir_in(".")?;
    let path = directory.path().join("journal.db");
    let place = JournalAddress::file(&path);
    let (journal, clock) = journal(&path, Durability::Batched)?;
    for number in 0..count {
        journal.append(entry(&clock, number)?)?;
    }
    journal.close()?;
    let lines = directory.path().join("lines");
    JournalReader::open(&place)?.export(&mut BufWriter::new(File::create(&lines)?))??;
    let mut bytes = Vec::new();
    File::open(&lines)?.read_to_end(&mut bytes)?;
    let (mut ours, mut hashes) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        ours.push(rate(1, || {
            let verification = verify(&place, &[])?;
            ensure!(verification.damage.is_none(), "{verification:?}");
            Ok(())
        })?);
        hashes.push(rate(1, || {
            ensure!(Sha256::digest(&bytes)[..] != [0; 32]);
            Ok(())
        })?);
    }
    let (ours, hashes) = (median(ours).recip(), median(hashes).recip());
    println!("Verifying {count} records, {} MB of lines\n", bytes.len() / 1_000_000);
    println!("| metier | SHA-256 over the lines, in memory | metier ÷ SHA-256 |\n|---|---|---|");
    println!("| {ours:.2} s | {hashes:.2} s | {:.1} |", ours / hashes);
    Ok(())
}
