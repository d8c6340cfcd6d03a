//! The file beside a journal at which writers wait for each other. It also has a note of how far the journal went, so that what vanishes from SQLite's
//! own log is missed: SQLite takes a log that was damaged in the middle for one that ends there.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;

use metier_skill::Digest;
use rustix::fs::FlockOperation;

/// The size in twenty digits, the last hash, and the digest of both, with blanks between them.
const LENGTH: usize = 20 + 1 + 71 + 1 + 71 + 1;

/// The file, opened.
#[derive(Debug, Clone)]
pub(super) struct Lock(Arc<File>);

impl Lock {
    /// For writers; made if it is not there.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(Arc::new(super::private(path)?)))
    }

    /// For who only waits and reads.
    pub(super) fn open_to_read(path: &Path) -> Option<Self> {
        let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
        is_file.then(|| File::open(path).ok()).flatten().map(|file| Self(Arc::new(file)))
    }

    /// Waits until nobody else has it.
    pub(super) fn hold(&self) -> io::Result<Held> {
        loop {
            match rustix::fs::flock(&self.0, FlockOperation::LockExclusive) {
                Ok(()) => return Ok(Held(Arc::clone(&self.0))),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Notes how far the journal goes, after it does. It is not synced: a crash of the machine may leave an older note, never a newer one.
    pub(super) fn note(&self, size: u64, hash: &Digest) {
        let text = format!("{size:020} {hash}");
        let sum = Digest::of(text.as_bytes());
        // Without it, less is noticed later; what was to be recorded is.
        let _ = self.0.write_all_at(format!("{text} {sum}\n").as_bytes(), 0);
    }

    /// The note, if it is whole.
    pub(super) fn noted(&self) -> Option<(u64, Digest)> {
        let mut bytes = [0; LENGTH];
        self.0.read_exact_at(&mut bytes, 0).ok()?;
        let text = std::str::from_utf8(&bytes).ok()?.strip_suffix('\n')?;
        let (text, sum) = text.rsplit_once(' ')?;
        let (size, hash) = text.split_once(' ')?;
        (sum == Digest::of(text.as_bytes()).to_string()).then_some((size.parse().ok()?, hash.parse().ok()?))
    }
}

/// A lock that is held until this is dropped, whatever ends the process.
pub(super) struct Held(Arc<File>);

impl Drop for Held {
    fn drop(&mut self) {
        let _ = rustix::fs::flock(&self.0, FlockOperation::Unlock);
    }
}
