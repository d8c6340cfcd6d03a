//! Documents beneath a directory that is held open: every part of a name is opened on its own, and never through a link.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, OwnedFd};

use metier_skill::Digest;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, fsync, mkdirat, openat, statat};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use super::{DocumentVersion, MutationOutcome, RejectCode};

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// The longest part of a name, in bytes, in every usual file system.
const PART_MAX: usize = 255;
const NAME_MAX: usize = 4096;

/// Something that has a name in a directory.
#[derive(Debug)]
pub(super) enum Entry {
    Absent,
    File { digest: Digest, stat: Stat },
    Other(FileType),
}

impl Entry {
    /// Reads what there is under a name, without following a link and without waiting for anybody.
    pub(super) fn read(at: impl AsFd, name: &str) -> io::Result<Self> {
        // Looked at first, because opening a device can do something.
        let found = match statat(&at, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(Self::Absent),
            found => FileType::from_raw_mode(found?.st_mode),
        };
        if found != FileType::RegularFile {
            return Ok(Self::Other(found));
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat(at, name, flags, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(Self::Absent),
            Err(Errno::LOOP) => return Ok(Self::Other(FileType::Symlink)),
            file => file?,
        };
        let stat = fstat(&file)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok(Self::File { digest: digest_of(file.into())?, stat }),
            other => Ok(Self::Other(other)),
        }
    }

    /// Nothing for what is no document.
    pub(super) const fn version(&self) -> Option<DocumentVersion> {
        match self {
            Self::Absent => Some(DocumentVersion::Absent),
            Self::File { digest, .. } => Some(DocumentVersion::Digest(*digest)),
            Self::Other(_) => None,
        }
    }
}

fn digest_of(mut file: File) -> io::Result<Digest> {
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; 64 << 10]);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(Digest::from_bytes(hash.finalize().into())),
            Ok(count) => hash.update(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Whether to make the directories on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    Make,
    Leave,
}

/// What keeps a document from being reached.
#[derive(Debug)]
pub(super) enum Blocked {
    /// It never can be.
    Rejected(RejectCode, String),
    /// The system says so, for now.
    Io(io::Error),
}

impl<E: Into<io::Error>> From<E> for Blocked {
    fn from(error: E) -> Self {
        Self::Io(error.into())
    }
}

impl From<Blocked> for MutationOutcome {
    fn from(blocked: Blocked) -> Self {
        match blocked {
            Blocked::Rejected(code, reason) => Self::Rejected { code, reason },
            Blocked::Io(error) => Self::Unavailable { reason: format!("{error}; nothing was changed") },
        }
    }
}

/// A directory of documents.
#[derive(Debug)]
pub(super) struct Documents {
    root: OwnedFd,
    /// Device and inode of the gateway's own directory, which may be among the documents and is none of them.
    state: (u64, u64),
}

impl Documents {
    pub(super) const fn new(root: OwnedFd, state: (u64, u64)) -> Self {
        Self { root, state }
    }

    /// Which directory this is.
    pub(super) fn identity(&self) -> io::Result<(u64, u64)> {
        identity(&self.root)
    }

    /// The directory that a document is in, and its name there; nothing if there is no such directory.
    pub(super) fn parent<'a>(
        &self,
        target: &'a str,
        missing: Missing,
    ) -> Result<Option<(OwnedFd, &'a str)>, Blocked> {
        let (way, name) = target.rsplit_once('/').map_or((None, target), |(way, name)| (Some(way), name));
        let mut directory = self.root.try_clone()?;
        for part in way.into_iter().flat_map(|way| way.split('/')) {
            directory = match openat(&directory, part, DIRECTORY, Mode::empty()) {
                Ok(next) => next,
                Err(Errno::NOENT) if missing == Missing::Leave => return Ok(None),
                Err(Errno::NOENT) => {
                    mkdirat(&directory, part, Mode::from_raw_mode(0o755))?;
                    fsync(&directory)?;
                    openat(&directory, part, DIRECTORY, Mode::empty())?
                }
                Err(Errno::NOTDIR | Errno::LOOP) => {
                    let stat = statat(&directory, part, AtFlags::SYMLINK_NOFOLLOW)?;
                    return Err(other_than(target, FileType::from_raw_mode(stat.st_mode)));
                }
                Err(error) => return Err(error.into()),
            };
            if identity(&directory)? == self.state {
                let reason = format!("`{target}` is in the directory of the gateway itself");
                return Err(Blocked::Rejected(RejectCode::BadTarget, reason));
            }
        }
        Ok(Some((directory, name)))
    }

    /// What a document is now.
    pub(super) fn read(&self, target: &str) -> Result<Entry, Blocked> {
        let Some((directory, name)) = self.parent(target, Missing::Leave)? else { return Ok(Entry::Absent) };
        match Entry::read(directory, name)? {
            Entry::Other(found) => Err(other_than(target, found)),
            entry => Ok(entry),
        }
    }
}

fn other_than(target: &str, found: FileType) -> Blocked {
    match found {
        FileType::Symlink => Blocked::Rejected(RejectCode::Link, format!("`{target}` leads through a link")),
        _ => Blocked::Rejected(RejectCode::NotAFile, format!("`{target}` is no file in directories")),
    }
}

/// Device and inode.
pub(super) fn identity(file: impl AsFd) -> io::Result<(u64, u64)> {
    let stat = fstat(file)?;
    Ok((stat.st_dev, stat.st_ino))
}

/// Whether a name can be that of a document: parts with `/` between them, each plain.
pub(super) fn check_name(target: &str) -> Result<(), MutationOutcome> {
    let is_bad = |part: &str| matches!(part, "" | "." | "..") || part.len() > PART_MAX;
    let reason = match () {
        () if target.chars().any(char::is_control) => "has control characters",
        () if target.contains('\\') => "has a backslash, which is a separator for some",
        () if target.len() > NAME_MAX => "is too long",
        () if target.split('/').any(is_bad) => "is not relative and plain",
        () => return Ok(()),
    };
    // Short enough to be read, whatever it is.
    let start: String = target.chars().take(100).collect();
    Err(MutationOutcome::rejected(
        RejectCode::BadTarget,
        format!("the name `{}` {reason}", start.escape_debug()),
    ))
}
