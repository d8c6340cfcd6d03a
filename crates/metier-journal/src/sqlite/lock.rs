//! The file beside a journal at which writers wait for each other. It also has a note of how far the journal went, so that what vanishes from SQLite's
//! own log is missed: SQLite takes a log that was damaged in the middle for one that ends there.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use metier_skill::Digest;
use rustix::fs::FlockOperation;

use crate::error::JournalError;

/// The size in twenty digits, the last hash, and the digest of both, separated by spaces.
const LENGTH: usize = 20 + 1 + 71 + 1 + 71 + 1;

/// The file, opened.
#[derive(Debug, Clone)]
pub(super) struct Lock {
    file: Arc<File>,
    path: PathBuf,
    /// How long to wait for another writer.
    patience: Duration,
}

impl Lock {
    /// Opens the file for writers. Creates it if it does not exist.
    pub(super) fn open(path: &Path, patience: Duration) -> io::Result<Self> {
        Ok(Self { file: Arc::new(super::private(path)?), path: path.to_owned(), patience })
    }

    /// For who only waits and reads.
    pub(super) fn open_to_read(path: &Path, patience: Duration) -> Option<Self> {
        let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
        let file = is_file.then(|| File::open(path).ok()).flatten()?;
        Some(Self { file: Arc::new(file), path: path.to_owned(), patience })
    }

    /// Waits for its turn, as long as there is patience. The kernel keeps the queue: of many who wait, none asks again and again.
    pub(super) fn hold(&self, journal: &Path, doing: &'static str) -> Result<Held, JournalError> {
        let failed = |error: io::Error| JournalError::of_file(journal, doing, &error);
        // Opened anew, it is a place in the queue of its own, given up when it is closed.
        let mine = File::open(format!("/proc/self/fd/{}", self.file.as_raw_fd()));
        let mine = mine.or_else(|_| File::open(&self.path)).map_err(failed)?;
        match rustix::fs::flock(&mine, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Held { _file: mine }),
            Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => {}
            Err(error) => return Err(failed(error.into())),
        }
        match wait(mine, self.patience).map_err(failed)? {
            Some(file) => Ok(Held { _file: file }),
            None => Err(JournalError::Busy {
                path: journal.to_owned(),
                seconds: self.patience.as_secs(),
                holder: self.holder().unwrap_or_else(|| "another process".to_owned()),
            }),
        }
    }

    /// Who has it, as the kernel says: a process and what it is doing.
    fn holder(&self) -> Option<String> {
        let meta = self.file.metadata().ok()?;
        let (major, minor) = (rustix::fs::major(meta.dev()), rustix::fs::minor(meta.dev()));
        let file = format!("{major:02x}:{minor:02x}:{}", meta.ino());
        let holds = |line: &str| {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            // Whoever waits has `->` before the kind.
            let is_it = fields.get(1) == Some(&"FLOCK") && fields.get(5) == Some(&file.as_str());
            is_it.then(|| fields[4].parse::<u32>().ok()).flatten()
        };
        // The list is read in pieces; a line can fall between two of them while other locks come and go.
        let process = (0..10).find_map(|_| {
            let locks = fs::read_to_string("/proc/locks").ok()?;
            locks.lines().find_map(holds)
        })?;
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("").trim();
        let state = if field("State:").starts_with('T') { ", which is stopped" } else { "" };
        match field("Name:") {
            "" => Some(format!("process {process}")),
            name => Some(format!("process {process} ({name}){state}")),
        }
    }

    /// Notes how far the journal goes, after it does. It is not synced: a crash of the machine may leave an older note, never a newer one.
    pub(super) fn note(&self, size: u64, hash: &Digest) {
        let text = format!("{size:020} {hash}");
        let sum = Digest::of(text.as_bytes());
        // Without it, less is noticed later; what was to be recorded is.
        let _ = self.file.write_all_at(format!("{text} {sum}\n").as_bytes(), 0);
    }

    /// The note, if it is whole.
    pub(super) fn noted(&self) -> Option<(u64, Digest)> {
        let mut bytes = [0; LENGTH];
        self.file.read_exact_at(&mut bytes, 0).ok()?;
        let text = std::str::from_utf8(&bytes).ok()?.strip_suffix('\n')?;
        let (text, sum) = text.rsplit_once(' ')?;
        let (size, hash) = text.split_once(' ')?;
        (sum == Digest::of(text.as_bytes()).to_string()).then_some((size.parse().ok()?, hash.parse().ok()?))
    }
}

/// The most threads of a process that wait for locks.
const WAITERS: usize = 16;
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// Waits for a lock on a file; `None` if it is not available in time.
fn wait(file: File, patience: Duration) -> io::Result<Option<File>> {
    // A thread that nobody waits for any more stays until the holder goes on, so that there must not be one for each attempt.
    if WAITING.fetch_add(1, Ordering::Relaxed) >= WAITERS {
        WAITING.fetch_sub(1, Ordering::Relaxed);
        std::thread::sleep(patience);
        return match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(file)),
            Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        };
    }
    let (sender, receiver) = mpsc::channel();
    // A call that waits cannot be given a time; whoever waits for it can. Left alone, it closes what it gets.
    let waiting = std::thread::Builder::new().name("journal-lock".into());
    let started = waiting.spawn(move || {
        let locked = loop {
            match rustix::fs::flock(&file, FlockOperation::LockExclusive) {
                Err(rustix::io::Errno::INTR) => {}
                other => break other.map(|()| file),
            }
        };
        WAITING.fetch_sub(1, Ordering::Relaxed);
        drop(sender.send(locked));
    });
    if let Err(error) = started {
        WAITING.fetch_sub(1, Ordering::Relaxed);
        return Err(error);
    }
    receiver.recv_timeout(patience).ok().transpose().map_err(Into::into)
}

/// A lock that is held until this is dropped, whatever ends the process.
#[derive(Debug)]
pub(super) struct Held {
    _file: File,
}
