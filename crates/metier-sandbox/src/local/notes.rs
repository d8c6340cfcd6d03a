//! What is remembered of the runs in a work directory: what other programs obeyed there before the first of them, and which
//! of them have not ended.
//!
//! With a directory for notes this holds across processes, and after one was killed: a note is a file there, with a file beside
//! it that is locked while the note is looked at; a run is a file that stays locked for as long as metier or the launcher of
//! the run is alive. A note is written beside its place and renamed, so that it is never half of one. Without a directory it
//! holds for the runs of this process.

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

/// How long another process may look at a note.
const PATIENCE: Duration = Duration::from_secs(30);
/// Before another try.
const PAUSE: Duration = Duration::from_millis(2);
/// What files of notes begin with; another number for another form.
const VERSION: u8 = 3;
/// How files for runs are called.
const RUN: &str = "run-";
/// What is added to a note's name for the file that is locked, and for one that is being written.
const LOCK: &str = ".lock";
const NEW: &str = ".new";

/// Why a note cannot be had.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoteError {
    /// Its content is not a note.
    #[error(transparent)]
    Unreadable(SandboxError),
    /// The system does not allow it.
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

/// What came of looking at a note, and whether it could be written again.
#[derive(Debug)]
pub(super) struct Looked<T> {
    pub(super) value: T,
    pub(super) written: io::Result<()>,
}

/// A directory as the kernel knows it: device and inode.
pub(super) type Key = (u64, u64);

/// A moment by the clock that file systems use: seconds and nanoseconds.
pub(super) type Moment = (i64, i64);

/// A directory as it is known again. The kernel gives device and inode to another one when it is gone, so when it was made
/// counts as well; where the file system does not say that, its path.
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

    /// Whether a note is about this very directory.
    pub(super) fn is_of(&self, note: &Note) -> bool {
        let is_at = || note.work.as_ref().is_none_or(|work| work.path() == self.path);
        self.born == note.born && (self.born.is_some() || is_at())
    }
}

/// What is remembered of one work directory.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
pub(super) struct Note {
    /// Where the directory is.
    pub(super) work: Option<Raw>,
    /// When the directory was made, where that is known.
    born: Option<Moment>,
    /// What was obeyed before the first of the runs.
    pub(super) before: Survey,
    /// The paths of profiles that are looked at.
    pub(super) listed: Vec<Raw>,
    /// The paths that repositories named before the first of the runs.
    pub(super) named: Vec<Raw>,
    /// The paths that the person's configuration of git named for every repository.
    pub(super) of_each: Vec<Raw>,
    /// The runs that have not said that they ended.
    pub(super) runs: BTreeSet<String>,
    /// Whether there was ever more than one at a time.
    pub(super) overlapped: bool,
    /// What was found when nobody could be told.
    pub(super) unreported: Vec<PlantedItem>,
    /// Repositories that runs have made. This alone is remembered when all of them have ended.
    pub(super) made: Vec<Made>,
}

impl Note {
    /// The paths that are looked at.
    pub(super) fn lists(&self) -> Lists {
        let paths = |all: &[Raw]| all.iter().map(|path| path.path().to_owned()).collect();
        Lists { listed: paths(&self.listed), named: paths(&self.named), of_each: paths(&self.of_each) }
    }

    /// Forgets what matters only while something runs, and says whether anything is left to remember.
    fn is_needed(&mut self) -> bool {
        if self.runs.is_empty() {
            self.before = Survey::default();
            (self.listed, self.named, self.of_each) = Default::default();
        }
        !self.runs.is_empty() || !self.unreported.is_empty() || !self.made.is_empty()
    }

    /// What a file says; `None` if it is not a note.
    fn parse(bytes: &[u8]) -> Option<Self> {
        bytes.strip_prefix(&[VERSION]).and_then(|rest| postcard::from_bytes(rest).ok())
    }

    fn to_bytes(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![VERSION];
        bytes.extend(postcard::to_stdvec(self).map_err(io::Error::other)?);
        Ok(bytes)
    }
}

/// Where notes are kept.
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

/// A run that has begun. It is over when this is dropped and the launcher has ended.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) name: String,
    /// Locked; the launcher gets it too.
    pub(super) file: Option<File>,
    path: Option<PathBuf>,
}

/// How often a run says that it goes on.
pub(super) const BEAT: Duration = Duration::from_secs(1);
/// How long after it last did so it may have gone on: until the next time, and until its processes have ended.
const AFTER_BEAT: i64 = 3;

/// Says in the file of a run that it goes on. When it was killed, this is how that moment is known.
pub(super) fn beat(file: &File) {
    // Without it, what the run leaves is reported and not moved.
    let _ = file.write_at(b".", 0);
}

impl Running {
    /// Leaves it to be found by others as a run that did not end as it should.
    pub(super) fn abandon(mut self) {
        self.path = None;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        lock(&RUNS).remove(&self.name);
        if let Some(path) = &self.path {
            // One that is left is removed by whoever finds that nobody has it locked.
            let _ = fs::remove_file(path);
        }
    }
}

impl Notes {
    /// Begins a run.
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
        // For notes in this process, which the run may have as well.
        lock(&RUNS).insert(name.clone());
        Ok(Running { name, file: Some(file), path: Some(path) })
    }

    /// The notes for a directory that goes with the run or not. Nobody looks at one that goes: its inode is soon another's.
    pub(super) fn for_one(&self, is_temporary: bool) -> Self {
        if is_temporary { Self::Process } else { self.clone() }
    }

    /// The last moment at which a run may have gone on, if it has ended. What is left of it is removed.
    fn ended(&self, name: &str) -> Option<Moment> {
        let Self::Disk(directory) = self else {
            // This process has not ended, so that nobody else had the time to do anything.
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

    /// Looks at the note of a directory and changes it, while nobody else does. The function is told until when those of the
    /// note's runs went on that were killed; they are in the note no more. A note of a directory that is gone does not count.
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

    /// Takes the runs that were killed out of a note, and says until when the last of them went on.
    fn forget_ended(&self, note: &mut Note) -> Option<Moment> {
        let ended = note.runs.iter().filter_map(|run| Some((run.clone(), self.ended(run)?)));
        let ended: BTreeMap<String, Moment> = ended.collect();
        note.runs.retain(|run| !ended.contains_key(run));
        ended.into_values().max()
    }

    /// Whether the note of a directory can be read, if there is one.
    pub(super) fn check(&self, key: Key) -> Result<(), NoteError> {
        let Self::Disk(directory) = self else { return Ok(()) };
        // It is replaced in one step, so that nothing need be locked.
        read(&path_of(directory, key)).map(drop)
    }

    /// The directories that there are notes of.
    pub(super) fn keys(directory: &Path) -> io::Result<Vec<Key>> {
        let entries = match fs::read_dir(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other?,
        };
        let key = |name: &str| {
            // A lock without a note is left by one that was killed as it began.
            let (device, inode) = name.strip_suffix(LOCK).unwrap_or(name).split_once('-')?;
            Some((u64::from_str_radix(device, 16).ok()?, u64::from_str_radix(inode, 16).ok()?))
        };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let keys: BTreeSet<Key> = names.filter_map(|name| key(&name)).collect();
        Ok(keys.into_iter().collect())
    }
}

/// Where the note of a directory is.
fn path_of(directory: &Path, key: Key) -> PathBuf {
    directory.join(format!("{:x}-{:x}", key.0, key.1))
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// The note at a path, if there is one. What is not a note is an error: were it taken for none, what a killed run left would
/// be taken for what was there before.
fn read(path: &Path) -> Result<Option<Note>, NoteError> {
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let unreadable = || NoteError::Unreadable(SandboxError::Note { path: path.to_owned() });
    Note::parse(&bytes).map(Some).ok_or_else(unreadable)
}

/// Writes a file beside its place and puts it there in one step. What a crash of the machine can still damage is found when it
/// is read.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = beside(path, NEW);
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all_at(bytes, 0)?;
    fs::rename(&new, path)
}

/// A note that nobody else looks at, for as long as this is there.
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

    /// Removes the note and everything beside it.
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

/// Opens a file that may be removed by whoever has it locked, and locks it.
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
            let what = format!("another metier process has had `{}` locked for {PATIENCE:?}", path.display());
            return Err(io::Error::new(io::ErrorKind::TimedOut, what));
        }
    }
}
