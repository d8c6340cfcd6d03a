//! The file gateway's own directory: its lock, what it is about to do, what it replaced, and what became of each request.
//!
//! `staged` has contents on their way in or out, `pending` is the record of a change that is being made, and becomes the one in `outcomes` in the same
//! step that ends it. What must survive a loss of power is synced before anything depends on it.

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
/// Where a record is written before it has its place. No slot has this name.
const DRAFT: &str = "record";
const NEW: OFlags =
    OFlags::WRONLY.union(OFlags::CREATE).union(OFlags::EXCL).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// What becomes, or became, of a request.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) request_id: String,
    /// The digest of what was asked for.
    pub(super) content: Digest,
    pub(super) outcome: MutationOutcome,
    /// The inode of the documents' directory, so that nothing is completed in another one.
    pub(super) directory: u64,
    pub(super) steps: Vec<Step>,
}

/// A document and a slot of `staged`, which change their contents with each other. Before, the slot has the new version; afterwards, the base.
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
    /// Makes what is not there, for nobody else to look at.
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

    /// Waits until no other gateway, in this process or another, is at work. Whatever ends the process lets go of it.
    pub(super) fn lock(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // Opened each time, so that threads wait for each other as well.
        let file = openat(&self.directory, "lock", flags, Mode::from_raw_mode(0o600))?;
        loop {
            match flock(&file, FlockOperation::LockExclusive) {
                Ok(()) => return Ok(file),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Puts a new content into a slot. It gets what can be kept of the file that it replaces: permissions, and the owner if we may. No set-id bits, which
    /// writing takes away as well.
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

    /// What is in a slot.
    pub(super) fn slot(&self, step: &Step) -> io::Result<Option<DocumentVersion>> {
        Ok(Entry::read(&self.staged, &step.slot)?.version())
    }

    /// The change that is being made, or was when somebody was interrupted.
    pub(super) fn pending(&self) -> io::Result<Option<Record>> {
        read(&self.directory, PENDING)
    }

    /// From here on the change is made, whatever happens, unless it is withdrawn.
    pub(super) fn announce(&self, record: &Record) -> io::Result<()> {
        self.write(record, &self.directory, PENDING)
    }

    /// The change is made, and this is its outcome.
    pub(super) fn commit(&self, record: &Record) -> io::Result<()> {
        Ok(renameat(&self.directory, PENDING, &self.outcomes, name_of(&record.request_id))?)
    }

    /// The outcome, once it has its place, is on the disk as well. Until then nothing is cleared.
    pub(super) fn sync_outcome(&self) -> io::Result<()> {
        fsync(&self.outcomes)?;
        Ok(fsync(&self.directory)?)
    }

    /// The change is not made: every document is what it was.
    pub(super) fn withdraw(&self) -> io::Result<()> {
        match unlinkat(&self.directory, PENDING, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        // Or it would be made after all, when the power is back.
        fsync(&self.directory)?;
        self.clear()
    }

    /// Removes what is staged, once it is certain that no change depends on it.
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

    /// What became of a request.
    pub(super) fn remembered(&self, request_id: &str) -> io::Result<Option<Record>> {
        read(&self.outcomes, &name_of(request_id))
    }

    /// Remembers what became of a request for which nothing was changed.
    pub(super) fn remember(&self, record: &Record) -> io::Result<()> {
        self.write(record, &self.outcomes, &name_of(&record.request_id))
    }

    /// The record is there afterwards, whole, or is not.
    fn write(&self, record: &Record, directory: &OwnedFd, name: &str) -> io::Result<()> {
        self.stage(DRAFT, &serde_json::to_vec(record)?, None)?;
        fsync(&self.staged)?;
        renameat(&self.staged, DRAFT, directory, name)?;
        Ok(fsync(directory)?)
    }
}

/// Request ids can be anything, and names of files cannot.
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
    let wrong = |error| io::Error::new(io::ErrorKind::InvalidData, format!("`{name}` is no record: {error}"));
    serde_json::from_slice(&text).map(Some).map_err(wrong)
}
