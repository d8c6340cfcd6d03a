//! Documents beneath a directory that is held open: each part of a name is opened separately, and never through a link.

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
/// The maximum length of a part of a name, in bytes, in every usual file system.
const PART_MAX: usize = 255;
const NAME_MAX: usize = 4096;

/// An entry of a directory.
#[derive(Debug)]
pub(super) enum Entry {
    Absent,
    File { digest: Digest, stat: Stat },
    Other(FileType),
}

impl Entry {
    /// Reads the entry with a name, without following a link and without blocking.
    pub(super) fn read(at: impl AsFd, name: &str) -> io::Result<Self> {
        // Checked first, because opening a device can have effects.
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

    /// `None` if it is not a document.
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

/// Whether to create the parent directories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    Make,
    Leave,
}

/// Why a document cannot be reached.
#[derive(Debug)]
pub(super) enum Blocked {
    /// Permanently.
    Rejected(RejectCode, String),
    /// Because of a system error, which may be temporary.
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
    /// Device and inode of the gateway's own directory. It may be inside the documents, but is not one of them.
    state: (u64, u64),
}

impl Documents {
    pub(super) const fn new(root: OwnedFd, state: (u64, u64)) -> Self {
        Self { root, state }
    }

    /// The identity of the directory.
    pub(super) fn identity(&self) -> io::Result<(u64, u64)> {
        identity(&self.root)
    }

    /// The directory of a document, and its name there; `None` if the directory does not exist.
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
                let reason = format!("`{target}` is in the gateway's own directory");
                return Err(Blocked::Rejected(RejectCode::BadTarget, reason));
            }
        }
        Ok(Some((directory, name)))
    }

    /// The current version of a document.
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
        FileType::Symlink => Blocked::Rejected(RejectCode::Link, format!("`{target}` contains a link")),
        _ => Blocked::Rejected(
            RejectCode::NotAFile,
            format!("`{target}` is not a regular file, or its parent is not a directory"),
        ),
    }
}

/// Device and inode.
pub(super) fn identity(file: impl AsFd) -> io::Result<(u64, u64)> {
    let stat = fstat(file)?;
    Ok((stat.st_dev, stat.st_ino))
}

/// Whether a name can be that of a document: relative, with plain parts between `/`.
pub(super) fn check_name(target: &str) -> Result<(), MutationOutcome> {
    let is_bad = |part: &str| matches!(part, "" | "." | "..") || part.len() > PART_MAX;
    let reason = match () {
        () if target.chars().any(char::is_control) => "contains control characters",
        () if target.contains('\\') => "contains a backslash, which is a separator on some systems",
        () if target.len() > NAME_MAX => "is too long",
        () if target.split('/').any(is_bad) => "must be a plain relative path",
        () => return Ok(()),
    };
    // Shortened, so that it can be displayed.
    let start: String = target.chars().take(100).collect();
    Err(MutationOutcome::rejected(
        RejectCode::BadTarget,
        format!("the name `{}` {reason}", start.escape_debug()),
    ))
}
