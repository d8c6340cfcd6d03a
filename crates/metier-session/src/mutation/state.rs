//! The file gateway's own directory: its lock, the pending change, the replaced contents, and the outcome of each
//! request.
//!
//! `staged` has contents on their way in or out. `pending` is the record of the change in progress; it becomes a file
//! in `outcomes` in the step that ends the change. Everything that must survive a power loss is synced before anything
//! depends on it.

use std::fs::{DirBuilder, File};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use metier_skill::Digest;
use rustix::fs::{
    AtFlags, CWD, Dir, FlockOperation, Mode, OFlags, Stat, fchmod, fchown, flock, fsync, mkdirat, openat,
    renameat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::{Gid, Uid};
use serde::{Deserialize, Serialize};

use super::beneath::Entry;
use super::{DocumentVersion, MutationOutcome};

const PENDING: &str = "pending";
/// The temporary name of a record. No slot has this name.
const DRAFT: &str = "record";
const NEW: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The record of a request: in progress or finished.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) request_id: String,
    /// The digest of the request.
    pub(super) content: Digest,
    pub(super) outcome: MutationOutcome,
    /// The inode of the documents' directory, so that a change is not completed in another one.
    pub(super) directory: u64,
    pub(super) steps: Vec<Step>,
}

/// A document and a slot of `staged` that are exchanged. Before, the slot has the new version; afterwards, the base
/// version.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Step {
    pub(super) target: String,
    pub(super) slot: String,
    pub(super) base: DocumentVersion,
    pub(super) new: DocumentVersion,
}

/// The directory, held open.
#[derive(Debug)]
pub(super) struct State {
    directory: OwnedFd,
    pub(super) staged: OwnedFd,
    outcomes: OwnedFd,
}

impl State {
    /// Creates missing directories, private to the user.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = openat(CWD, path, flags, Mode::empty())?;
        let inside = |name: &str| {
            match mkdirat(&directory, name, Mode::from_raw_mode(0o700)) {
                Ok(()) => fsync(&directory)?,
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
            openat(&directory, name, flags | OFlags::NOFOLLOW, Mode::empty())
        };
        let (staged, outcomes) = (inside("staged")?, inside("outcomes")?);
        Ok(Self { directory, staged, outcomes })
    }

    /// All of its directories.
    pub(super) const fn directories(&self) -> [&OwnedFd; 3] {
        [&self.directory, &self.staged, &self.outcomes]
    }

    /// Waits until no other gateway, in this process or another, is working. The lock is released when the process
    /// ends.
    pub(super) fn lock(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // Opened each time, so that threads also wait for each other.
        let file = openat(&self.directory, "lock", flags, Mode::from_raw_mode(0o600))?;
        loop {
            match flock(&file, FlockOperation::LockExclusive) {
                Ok(()) => return Ok(file),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Puts a new content into a slot. It gets the permissions of the file that it replaces, and its owner if possible,
    /// but no set-id bits.
    pub(super) fn stage(&self, slot: &str, content: &[u8], replaced: Option<&Stat>) -> io::Result<()> {
        let mode = Mode::from_raw_mode(if replaced.is_some() { 0o600 } else { 0o644 });
        let mut file = File::from(openat(&self.staged, slot, NEW, mode)?);
        file.write_all(content)?;
        if let Some(stat) = replaced {
            let (owner, group) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
            let _ = fchown(&file, Some(owner), Some(group));
            fchmod(&file, Mode::from_raw_mode(stat.st_mode & 0o777))?;
        }
        file.sync_all()
    }

    /// The content of a slot.
    pub(super) fn slot(&self, step: &Step) -> io::Result<Option<DocumentVersion>> {
        Ok(Entry::read(&self.staged, &step.slot)?.version())
    }

    /// The change in progress, or the interrupted one.
    pub(super) fn pending(&self) -> io::Result<Option<Record>> {
        read(&self.directory, PENDING)
    }

    /// Records the change. From here on it will be made, unless it is withdrawn.
    pub(super) fn announce(&self, record: &Record) -> io::Result<()> {
        self.write(record, &self.directory, PENDING)
    }

    /// The change is made, and this is its outcome.
    pub(super) fn commit(&self, record: &Record) -> io::Result<()> {
        Ok(renameat(&self.directory, PENDING, &self.outcomes, name_of(&record.request_id))?)
    }

    /// Syncs the outcome to the disk. Nothing is removed before that.
    pub(super) fn sync_outcome(&self) -> io::Result<()> {
        fsync(&self.outcomes)?;
        Ok(fsync(&self.directory)?)
    }

    /// Withdraws the change: every document is unchanged.
    pub(super) fn withdraw(&self) -> io::Result<()> {
        match unlinkat(&self.directory, PENDING, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        // Otherwise it would be made after a power loss.
        fsync(&self.directory)?;
        self.clear()
    }

    /// Removes staged contents, once no change depends on them.
    pub(super) fn clear(&self) -> io::Result<()> {
        let mut is_certain = false;
        for entry in Dir::read_from(&self.staged)? {
            let entry = entry?;
            if matches!(entry.file_name().to_bytes(), b"." | b"..") {
                continue;
            }
            if !is_certain {
                self.sync_outcome()?;
                is_certain = true;
            }
            unlinkat(&self.staged, entry.file_name(), AtFlags::empty())?;
        }
        Ok(())
    }

    /// The outcome of a request.
    pub(super) fn remembered(&self, request_id: &str) -> io::Result<Option<Record>> {
        read(&self.outcomes, &name_of(request_id))
    }

    /// Stores the outcome of a request that changed nothing.
    pub(super) fn remember(&self, record: &Record) -> io::Result<()> {
        self.write(record, &self.outcomes, &name_of(&record.request_id))
    }

    /// Writes the record atomically.
    fn write(&self, record: &Record, directory: &OwnedFd, name: &str) -> io::Result<()> {
        self.stage(DRAFT, &serde_json::to_vec(record)?, None)?;
        fsync(&self.staged)?;
        renameat(&self.staged, DRAFT, directory, name)?;
        Ok(fsync(directory)?)
    }
}

/// Request ids can contain characters that file names cannot.
fn name_of(request_id: &str) -> String {
    Digest::of(request_id.as_bytes()).hex()
}

fn read(at: impl AsFd, name: &str) -> io::Result<Option<Record>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = match openat(at, name, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(None),
        file => File::from(file?),
    };
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    let wrong = |error| {
        io::Error::new(io::ErrorKind::InvalidData, format!("`{name}` is not a valid record: {error}"))
    };
    serde_json::from_slice(&text).map(Some).map_err(wrong)
}
