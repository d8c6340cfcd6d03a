//! Notes about the runs in a work directory: which files other programs loaded before the first of them, and which runs
//! have not ended.
//!
//! With a directory for notes, this works across processes, and after one was killed. A note is a file there, with a
//! lock file beside it; a run is a file that stays locked as long as metier or the launcher of the run is alive. A note
//! is written to a temporary file and renamed, so it is never incomplete. Without a directory, the notes cover the runs
//! of this process.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::{AtFlags, FlockOperation, StatxFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::armed::Made;
use super::survey::{Lists, Survey};
use crate::SandboxError;
use crate::executor::PlantedItem;
use crate::plan::Raw;
use crate::stopwatch::Stopwatch;

/// How long another process may hold a note.
const PATIENCE: Duration = Duration::from_secs(30);
/// The delay before another try.
const PAUSE: Duration = Duration::from_millis(2);
/// The first line of note files, with the number of the format.
const VERSION: u8 = 3;
/// The prefix of files for runs.
const RUN: &str = "run-";
/// The suffixes of a note's lock file and of its temporary file.
const LOCK: &str = ".lock";
const NEW: &str = ".new";

/// Why a note is not available.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoteError {
    /// Its content is invalid.
    #[error(transparent)]
    Unreadable(SandboxError),
    /// A system error.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<NoteError> for io::Error {
    fn from(error: NoteError) -> Self {
        match error {
            NoteError::Unreadable(error) => Self::new(io::ErrorKind::InvalidData, error),
            NoteError::Io(error) => error,
        }
    }
}

/// The result of examining a note, and whether it could be written again.
#[derive(Debug)]
pub(super) struct Looked<T> {
    pub(super) value: T,
    pub(super) written: io::Result<()>,
}

/// A directory as the kernel identifies it: device and inode.
pub(super) type Key = (u64, u64);

/// A time by the clock of file systems: seconds and nanoseconds.
pub(super) type Moment = (i64, i64);

/// The identity of a directory. The kernel reuses device and inode numbers, so the creation time counts as well; if the
/// file system does not record it, the path.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) key: Key,
    born: Option<Moment>,
    path: PathBuf,
}

impl Known {
    pub(super) fn new(key: Key, directory: &OwnedFd, path: &Path) -> Self {
        let stat = rustix::fs::statx(directory, "", AtFlags::EMPTY_PATH, StatxFlags::BTIME).ok();
        let stat = stat.filter(|stat| stat.stx_mask & StatxFlags::BTIME.bits() != 0);
        let born = stat.map(|stat| (stat.stx_btime.tv_sec, i64::from(stat.stx_btime.tv_nsec)));
        Self { key, born, path: path.to_owned() }
    }

    /// Whether a note is about exactly this directory.
    pub(super) fn is_of(&self, note: &Note) -> bool {
        let is_at = || note.work.as_ref().is_none_or(|work| work.path() == self.path);
        self.born == note.born && (self.born.is_some() || is_at())
    }
}

/// What is noted about one work directory.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
pub(super) struct Note {
    /// The path of the directory.
    pub(super) work: Option<Raw>,
    /// When the directory was created, if known.
    born: Option<Moment>,
    /// The loaded files before the first of the runs.
    pub(super) before: Survey,
    /// The paths of profiles that are examined.
    pub(super) listed: Vec<Raw>,
    /// The paths that repositories named before the first of the runs.
    pub(super) named: Vec<Raw>,
    /// The paths that the user's git configuration named for every repository.
    pub(super) of_each: Vec<Raw>,
    /// The runs that have not reported their end.
    pub(super) runs: BTreeSet<String>,
    /// Whether there was ever more than one at a time.
    pub(super) overlapped: bool,
    /// Findings that could not be reported yet.
    pub(super) unreported: Vec<PlantedItem>,
    /// Repositories that runs have created. Only this is kept when all runs have ended.
    pub(super) made: Vec<Made>,
}

impl Note {
    /// The paths that are examined.
    pub(super) fn lists(&self) -> Lists {
        let paths = |all: &[Raw]| all.iter().map(|path| path.path().to_owned()).collect();
        Lists { listed: paths(&self.listed), named: paths(&self.named), of_each: paths(&self.of_each) }
    }

    /// Removes what matters only during a run, and returns whether anything is left to keep.
    fn is_needed(&mut self) -> bool {
        if self.runs.is_empty() {
            self.before = Survey::default();
            (self.listed, self.named, self.of_each) = Default::default();
        }
        !self.runs.is_empty() || !self.unreported.is_empty() || !self.made.is_empty()
    }

    /// Parses a file; `None` if it is not a note.
    fn parse(bytes: &[u8]) -> Option<Self> {
        bytes.strip_prefix(&[VERSION]).and_then(|rest| postcard::from_bytes(rest).ok())
    }

    fn to_bytes(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![VERSION];
        bytes.extend(postcard::to_stdvec(self).map_err(io::Error::other)?);
        Ok(bytes)
    }
}

/// Where notes are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Notes {
    /// In this process.
    Process,
    /// In a directory.
    Disk(PathBuf),
}

static NOTES: Mutex<BTreeMap<Key, Note>> = Mutex::new(BTreeMap::new());
static RUNS: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A started run. It ends when this value is dropped and the launcher has exited.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) name: String,
    /// Locked; the launcher gets it too.
    pub(super) file: Option<File>,
    path: Option<PathBuf>,
}

/// How often a run updates its file.
pub(super) const BEAT: Duration = Duration::from_secs(1);
/// How long after its last update a run may have continued: until the next update, and until its processes have ended.
const AFTER_BEAT: i64 = 3;

/// Updates the file of a run. If the run is killed, this shows when.
pub(super) fn beat(file: &File) {
    // Without it, files that the run leaves are reported and not moved.
    let _ = file.write_at(b".", 0);
}

impl Running {
    /// Leaves the run's file, so that others find it as a run that did not end properly.
    pub(super) fn abandon(mut self) {
        self.path = None;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        lock(&RUNS).remove(&self.name);
        if let Some(path) = &self.path {
            // A remaining file is removed by the process that finds it unlocked.
            let _ = fs::remove_file(path);
        }
    }
}

impl Notes {
    /// Starts a run.
    pub(super) fn begin(&self) -> io::Result<Running> {
        let Self::Disk(directory) = self else {
            static COUNT: AtomicU64 = AtomicU64::new(0);
            let name = COUNT.fetch_add(1, Ordering::Relaxed).to_string();
            lock(&RUNS).insert(name.clone());
            return Ok(Running { name, file: None, path: None });
        };
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let mut random = [0; 8];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())?;
        let name = format!("{RUN}{:016x}", u64::from_ne_bytes(random));
        let path = directory.join(&name);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        // For notes in this process, which the run may use as well.
        lock(&RUNS).insert(name.clone());
        Ok(Running { name, file: Some(file), path: Some(path) })
    }

    /// The notes for a directory, depending on whether it is temporary. Nothing is noted for a temporary one, because
    /// its inode is soon reused.
    pub(super) fn for_one(&self, is_temporary: bool) -> Self {
        if is_temporary { Self::Process } else { self.clone() }
    }

    /// The last time at which a run may have continued, if it has ended. Its file is removed.
    fn ended(&self, name: &str) -> Option<Moment> {
        let Self::Disk(directory) = self else {
            // This process has not ended, so no other process can have done anything.
            return (!lock(&RUNS).contains(name)).then_some((i64::MAX, 0));
        };
        let path = directory.join(name);
        let Ok(file) = File::open(&path) else { return Some((i64::MIN, 0)) };
        if rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK) {
            return None;
        }
        let last = file.metadata().map_or((i64::MIN, 0), |file| (file.mtime(), file.mtime_nsec()));
        let _ = fs::remove_file(&path);
        Some((last.0.saturating_add(AFTER_BEAT), last.1))
    }

    /// Reads and changes the note of a directory under its lock. The function gets the time until which killed runs of
    /// the note continued; they are removed from the note. A note of a deleted directory does not count.
    pub(super) fn with<T>(
        &self,
        known: &Known,
        change: impl FnOnce(&mut Note, Option<Moment>) -> T,
    ) -> Result<Looked<T>, NoteError> {
        self.with_any(known.key, |note, mut killed| {
            if !known.is_of(note) {
                (*note, killed) = (Note::default(), None);
            }
            note.born = known.born;
            change(note, killed)
        })
    }

    /// The same, whichever directory the note is about.
    pub(super) fn with_any<T>(
        &self,
        key: Key,
        change: impl FnOnce(&mut Note, Option<Moment>) -> T,
    ) -> Result<Looked<T>, NoteError> {
        let Self::Disk(directory) = self else {
            let mut notes = lock(&NOTES);
            let note = notes.entry(key).or_default();
            let killed = self.forget_ended(note);
            let value = change(note, killed);
            if !note.is_needed() {
                notes.remove(&key);
            }
            return Ok(Looked { value, written: Ok(()) });
        };
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let path = path_of(directory, key);
        let locked = Locked::new(&path)?;
        let mut note = read(&path)?.unwrap_or_default();
        let killed = self.forget_ended(&mut note);
        let value = change(&mut note, killed);
        let written = if note.is_needed() {
            note.to_bytes().and_then(|bytes| replace(&path, &bytes))
        } else {
            locked.remove_all(&path)
        };
        Ok(Looked { value, written })
    }

    /// Removes killed runs from a note, and returns until when the last of them continued.
    fn forget_ended(&self, note: &mut Note) -> Option<Moment> {
        let ended = note.runs.iter().filter_map(|run| Some((run.clone(), self.ended(run)?)));
        let ended: BTreeMap<String, Moment> = ended.collect();
        note.runs.retain(|run| !ended.contains_key(run));
        ended.into_values().max()
    }

    /// Whether the note of a directory is readable, if there is one.
    pub(super) fn check(&self, key: Key) -> Result<(), NoteError> {
        let Self::Disk(directory) = self else { return Ok(()) };
        // It is replaced atomically, so no lock is needed.
        read(&path_of(directory, key)).map(drop)
    }

    /// The directories that have notes.
    pub(super) fn keys(directory: &Path) -> io::Result<Vec<Key>> {
        let entries = match fs::read_dir(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other?,
        };
        let key = |name: &str| {
            // A lock without a note was left by a process that was killed at its start.
            let (device, inode) = name.strip_suffix(LOCK).unwrap_or(name).split_once('-')?;
            Some((u64::from_str_radix(device, 16).ok()?, u64::from_str_radix(inode, 16).ok()?))
        };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let keys: BTreeSet<Key> = names.filter_map(|name| key(&name)).collect();
        Ok(keys.into_iter().collect())
    }
}

/// The path of the note of a directory.
fn path_of(directory: &Path, key: Key) -> PathBuf {
    directory.join(format!("{:x}-{:x}", key.0, key.1))
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// The note at a path, if there is one. An invalid note is an error: if it were ignored, files that a killed run left
/// would count as existing before.
fn read(path: &Path) -> Result<Option<Note>, NoteError> {
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let unreadable = || NoteError::Unreadable(SandboxError::Note { path: path.to_owned() });
    Note::parse(&bytes).map(Some).ok_or_else(unreadable)
}

/// Writes a temporary file and renames it. Damage by a crash of the machine is detected when it is read.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = beside(path, NEW);
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all_at(bytes, 0)?;
    fs::rename(&new, path)
}

/// A note that is locked as long as this value exists.
struct Locked {
    /// Locked until it is closed.
    _file: File,
    path: PathBuf,
}

impl Locked {
    fn new(note: &Path) -> io::Result<Self> {
        let path = beside(note, LOCK);
        Ok(Self { _file: open_locked(&path)?, path })
    }

    /// Removes the note and its other files.
    fn remove_all(&self, note: &Path) -> io::Result<()> {
        for path in [note, &beside(note, NEW), &self.path] {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Opens and locks a file that the holder of the lock may remove.
fn open_locked(path: &Path) -> io::Result<File> {
    let begun = Stopwatch::start();
    loop {
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(false).mode(0o600).open(path)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                let (locked, there) = (file.metadata()?, fs::metadata(path));
                if there.is_ok_and(|there| (there.dev(), there.ino()) == (locked.dev(), locked.ino())) {
                    return Ok(file);
                }
            }
            Err(Errno::WOULDBLOCK | Errno::INTR) => std::thread::sleep(PAUSE),
            Err(error) => return Err(error.into()),
        }
        if begun.elapsed() > PATIENCE {
            let what = format!("another metier process has locked `{}` for {PATIENCE:?}", path.display());
            return Err(io::Error::new(io::ErrorKind::TimedOut, what));
        }
    }
}
