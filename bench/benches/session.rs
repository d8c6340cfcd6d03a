//! Measures activating a skill, compared with only reading and hashing its file.
//!
//! `scripts/bench-session` prints the table of `docs/benchmarks.md`. All candidates run in turns over the same
//! ten thousand skills; each figure is the best of the rounds, which has the least noise.

#![expect(clippy::print_stdout, reason = "the table is the result")]
#![expect(clippy::disallowed_methods, reason = "a benchmark looks at the clock")]

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use metier_bench::{Random, generate, skill_md};
use metier_catalog::{Catalog, CatalogOptions, Root, Scanner, Scope};
use metier_journal::{Clock, Durability, Journal, JournalAddress, JournalOptions, Time};
use metier_policy::Anchors;
use metier_session::{Recording, Session, SessionOptions};
use metier_skill::{Digest, Tier};
use metier_store::Store;

const SKILLS: usize = 10_000;
/// How many skills one conversation uses.
const OF_A_SESSION: usize = 20;
const ROUNDS: usize = 7;

/// The machine's clock, and ids that are counted.
struct BenchClock;

static COUNT: AtomicU64 = AtomicU64::new(0);

impl Clock for BenchClock {
    fn now(&self) -> Time {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Time::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }

    fn id(&self) -> uuid::Uuid {
        uuid::Uuid::from_u128(u128::from(COUNT.fetch_add(1, Ordering::Relaxed)))
    }
}

fn main() -> anyhow::Result<()> {
    let place = tempfile::tempdir()?;
    println!("| | time | against reading and digesting the same files |\n|---|---|---|");
    let alone = place.path().join("alone");
    let mut random = Random::new(7);
    for number in 0..SKILLS {
        let name = format!("skill-{number}");
        fs::create_dir_all(alone.join(&name))?;
        fs::write(alone.join(&name).join("SKILL.md"), skill_md(&name, &[], &mut random))?;
    }
    measure("of a `SKILL.md` alone", &alone, place.path())?;
    let whole = place.path().join("whole");
    generate(&whole, SKILLS, 7)?;
    measure("half of them with references and scripts", &whole, place.path())
}

/// What is measured, and on which files.
struct Ground {
    catalog: Catalog,
    names: Vec<String>,
    /// Every file of each skill.
    files: Vec<Vec<PathBuf>>,
}

fn measure(what: &str, directory: &Path, place: &Path) -> anyhow::Result<()> {
    let options = CatalogOptions::new(vec![Root::new(directory, Tier::User, Scope::User)]);
    let catalog = Scanner::new(options).scan(SystemTime::now());
    let names: Vec<String> = catalog.skills().map(|skill| skill.name().to_owned()).collect();
    let mut files = Vec::new();
    for name in &names {
        let mut of_skill = Vec::new();
        collect(&directory.join(name), &mut of_skill)?;
        files.push(of_skill);
    }
    let bytes: u64 = files.iter().flatten().filter_map(|path| Some(fs::metadata(path).ok()?.len())).sum();
    let ground = Ground { catalog, names, files };
    assert_eq!(ground.names.len(), SKILLS, "every skill is one");
    let journal = Arc::new(journal(&place.join(format!("{}.db", Digest::of(what.as_bytes()).hex())))?);
    let store = Store::new(place.join("store")).batched();
    let first = time(SKILLS, || activate(&ground, &journal, Some(&store)))?;
    let mut best = [Duration::MAX; 4];
    for _ in 0..ROUNDS {
        let runs: [&dyn Fn() -> anyhow::Result<()>; 4] = [
            &|| read_and_digest(&ground),
            &|| activate(&ground, &journal, None),
            &|| activate(&ground, &journal, Some(&store)),
            &|| activate_twice(&ground, &journal),
        ];
        for (run, best) in runs.iter().zip(&mut best) {
            *best = (*best).min(time(SKILLS, run)?);
        }
    }
    let [reading, alone, kept, twice] = best;
    let rows = [
        (
            format!("reading and digesting, {SKILLS} skills {what} ({} bytes each)", bytes / SKILLS as u64),
            reading,
        ),
        ("activation, recorded (`batched`)".to_owned(), alone),
        ("the same, with the skill in the store already".to_owned(), kept),
        ("the same, with the skill put into the store".to_owned(), first),
        ("activating again what is active".to_owned(), twice.saturating_sub(alone)),
    ];
    for (title, time) in rows {
        let ratio = time.as_secs_f64() / reading.as_secs_f64();
        println!("| {title} | {:.1} µs | {ratio:.2}× |", time.as_secs_f64() * 1e6);
    }
    Ok(())
}

fn time(count: usize, run: impl Fn() -> anyhow::Result<()>) -> anyhow::Result<Duration> {
    let start = Instant::now();
    run()?;
    Ok(start.elapsed() / u32::try_from(count)?)
}

fn read_and_digest(ground: &Ground) -> anyhow::Result<()> {
    for path in ground.files.iter().flatten() {
        black_box(Digest::of(&fs::read(path)?));
    }
    Ok(())
}

fn session(ground: &Ground, journal: &Arc<Journal>, store: Option<&Store>) -> anyhow::Result<Session> {
    let recording = Recording::Journal(Arc::clone(journal));
    let mut options =
        SessionOptions::new(ground.catalog.clone(), Anchors::new("/", "/"), recording, Arc::new(BenchClock));
    options.store = store.cloned();
    Ok(Session::start(options)?)
}

fn activate(ground: &Ground, journal: &Arc<Journal>, store: Option<&Store>) -> anyhow::Result<()> {
    for names in ground.names.chunks(OF_A_SESSION) {
        let mut session = session(ground, journal, store)?;
        for name in names {
            black_box(session.activate(name)?);
        }
    }
    Ok(())
}

fn activate_twice(ground: &Ground, journal: &Arc<Journal>) -> anyhow::Result<()> {
    for names in ground.names.chunks(OF_A_SESSION) {
        let mut session = session(ground, journal, None)?;
        for name in names.iter().chain(names) {
            black_box(session.activate(name)?);
        }
    }
    Ok(())
}

fn journal(path: &Path) -> anyhow::Result<Journal> {
    let mut options = JournalOptions::new(Arc::new(BenchClock));
    options.durability = Durability::Batched;
    Ok(Journal::open(&JournalAddress::file(path), options)?)
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
