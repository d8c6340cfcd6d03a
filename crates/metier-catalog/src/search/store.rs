//! What a search has prepared, on disk between runs.
//!
//! Each state of a catalog has a directory of its own, named for it, which is made beside and renamed into place:
//! whoever finds it finds it whole, and nobody waits for anybody. A new state begins with the files of the last one,
//! as links, so that only what changed is prepared again.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rayon::iter::ParallelIterator as _;

use crate::CatalogError;
use crate::search::lexical::{Lexical, Reader};
use crate::search::meaning::{Meanings, Row};
use crate::search::{Target, Targets, prepared};

/// The file with the meanings, beside tantivy's.
const MEANINGS: &str = "meanings";

/// What the directory of a state begins with while it is made.
const UNFINISHED: &str = "new-";

/// What nobody renamed into place within this time was left by a process that was killed.
const ABANDONED: Duration = Duration::from_hours(1);

/// So few are prepared sooner than looked up on the disk.
const FEW: usize = 32;

/// Dead documents slow a search down and spoil its counts; beyond this share everything is prepared anew.
const DEAD_MAX: f64 = 0.2;

/// What a search needs, ready.
pub(crate) struct Generation {
    lexical: Lexical,
    meanings: Meanings,
}

/// The same, open for questions.
pub(super) type Prepared = (Reader, Meanings);

/// Everything prepared anew, in memory.
pub(super) fn prepare_in_memory(targets: &Targets<'_>) -> Result<Prepared, CatalogError> {
    let mut generation = Generation { lexical: Lexical::create(None)?, meanings: Meanings::default() };
    generation.update(targets)?;
    Ok((generation.lexical.reader()?, generation.meanings))
}

/// What the directory has for these targets, or else makes it so that it has.
pub(super) fn prepare(directory: &Path, targets: &Targets<'_>) -> Result<Prepared, CatalogError> {
    if targets.all.len() <= FEW {
        return prepare_in_memory(targets);
    }
    let wanted = directory.join(format!("{:016x}", targets.fingerprint()));
    // A disk that is full or read-only, or a process that sweeps, must not keep people from searching.
    match opened(&wanted).or_else(|| make(directory, &wanted, targets).ok()) {
        Some(prepared) => Ok(prepared),
        None => prepare_in_memory(targets),
    }
}

fn opened(directory: &Path) -> Option<Prepared> {
    let Generation { lexical, meanings } = Generation::open(directory)?;
    Some((lexical.reader().ok()?, meanings))
}

fn make(directory: &Path, wanted: &Path, targets: &Targets<'_>) -> Result<Prepared, CatalogError> {
    let write = |source| CatalogError::Write { path: directory.to_owned(), source };
    fs::create_dir_all(directory).map_err(write)?;
    let place = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(directory).map_err(write)?;
    let base = newest(directory).and_then(|last| {
        link_all(&last, place.path()).ok()?;
        Generation::open(place.path()).filter(|base| base.is_worth_keeping(targets))
    });
    let mut generation = match base {
        Some(base) => base,
        None => {
            empty(place.path()).map_err(write)?;
            Generation { lexical: Lexical::create(Some(place.path()))?, meanings: Meanings::default() }
        }
    };
    generation.update(targets)?;
    generation.meanings.save(&place.path().join(MEANINGS)).map_err(write)?;
    let made = place.keep();
    // A damaged one may stand there; or another process was faster, and that one is as good.
    if fs::rename(&made, wanted).is_err() {
        let _ = fs::remove_dir_all(wanted);
        let _ = fs::rename(&made, wanted);
    }
    sweep(directory, wanted);
    opened(wanted).ok_or_else(|| write(io::ErrorKind::NotFound.into()))
}

impl Generation {
    /// What is in a directory, if it is whole.
    fn open(directory: &Path) -> Option<Self> {
        let meanings = Meanings::load(&directory.join(MEANINGS))?;
        let lexical = Lexical::open(directory).ok()?;
        lexical.is_whole().then_some(Self { lexical, meanings })
    }

    /// Whether most of it is still alive with these targets.
    fn is_worth_keeping(&self, targets: &Targets<'_>) -> bool {
        let there = self.meanings.keys();
        let alive = there.intersection(&targets.keys()).count();
        let all = self.lexical.reader().map_or(u64::MAX, |reader| reader.all());
        #[expect(clippy::cast_precision_loss, reason = "numbers of skills are small")]
        let dead = 1.0 - alive as f64 / (all.max(1)) as f64;
        dead <= DEAD_MAX
    }

    /// Adds what is missing and removes what is gone.
    fn update(&mut self, targets: &Targets<'_>) -> Result<(), CatalogError> {
        let there = self.meanings.keys();
        let wanted = targets.keys();
        let missing: Vec<&Target<'_>> =
            targets.all.iter().filter(|target| !there.contains(&target.key)).collect();
        let writer = self.lexical.writer(missing.len())?;
        for gone in there.difference(&wanted) {
            writer.remove(*gone);
        }
        self.meanings.retain(&wanted);
        let added: Result<Vec<(u64, Row)>, tantivy::TantivyError> = prepared(&missing)
            .map(|(key, text)| {
                writer.add(key, &text)?;
                Ok((key, text.meaning))
            })
            .collect();
        for (key, meaning) in added? {
            self.meanings.add(key, meaning);
        }
        writer.commit()?;
        Ok(())
    }
}

/// The state that was made last.
fn newest(directory: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(directory).ok()?.flatten();
    let is_finished = |entry: &fs::DirEntry| !entry.file_name().to_string_lossy().starts_with(UNFINISHED);
    let whole = entries.filter(|entry| is_finished(entry) && entry.path().join(MEANINGS).is_file());
    let newest = whole.max_by_key(|entry| modified(&entry.path()));
    newest.map(|entry| entry.path())
}

/// Links every file of a state into a new place. They are never changed, only added to and removed.
fn link_all(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        // One lock for two would make them wait for each other.
        if entry.path().extension().is_none_or(|ending| ending != "lock") {
            fs::hard_link(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

fn empty(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        fs::remove_file(entry?.path())?;
    }
    Ok(())
}

/// Removes every other state, and what processes that were killed left behind. Those who have one open keep it.
fn sweep(directory: &Path, kept: &Path) {
    // What was made just now tells the time.
    let now = modified(kept);
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let is_unfinished = entry.file_name().to_string_lossy().starts_with(UNFINISHED);
        let age = modified(&entry.path()).and_then(|time| now?.duration_since(time).ok());
        let is_abandoned = age.is_some_and(|age| age > ABANDONED);
        if entry.path() != kept && (!is_unfinished || is_abandoned) {
            // Another process may be sweeping too.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|meta| meta.modified()).ok()
}
