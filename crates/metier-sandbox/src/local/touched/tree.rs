//! The names in a directory tree, and the file at a path: by handle, without links, and on the same file system.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::local::beneath;

/// The maximum number of names, and the maximum depth.
pub(super) const MOST_NAMES: usize = 100_000;
pub(super) const DEEPEST: usize = 100;

/// A name in a directory.
#[derive(Debug, Clone)]
pub(super) struct Name {
    pub(super) name: OsString,
    pub(super) is_directory: bool,
}

/// The files among names.
pub(super) fn files(names: &[Name]) -> impl Iterator<Item = &OsString> {
    names.iter().filter(|name| !name.is_directory).map(|name| &name.name)
}

/// The names in a directory and everything below it.
#[derive(Debug, Default)]
pub(super) struct Listed {
    pub(super) tree: BTreeMap<PathBuf, Vec<Name>>,
    /// Directories that were not listed, or not completely.
    unlisted: BTreeSet<PathBuf>,
}

impl Listed {
    pub(super) fn names(&self, path: &Path) -> &[Name] {
        self.tree.get(path).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether all names are known.
    pub(super) fn is_whole(&self) -> bool {
        self.unlisted.is_empty()
    }

    /// Whether a directory, or a parent, was not listed completely.
    pub(super) fn is_unlisted(&self, path: &Path) -> bool {
        !self.is_whole() && path.ancestors().any(|above| self.unlisted.contains(above))
    }
}

/// How directories are handled that their owner may not list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closed {
    /// They are not listed.
    Unlisted,
    /// Permissions are added for a moment: a script may have removed them to hide the content.
    OpenedUp,
}

/// Lists a directory and everything below it. Each directory is passed to the callback before it is listed.
pub(super) fn walk(
    root: &OwnedFd,
    top: &Path,
    closed: Closed,
    mut each: impl FnMut(&Path, &OwnedFd),
) -> Listed {
    let (mut listed, mut left) = (Listed::default(), MOST_NAMES);
    let mut waiting = vec![(top.to_owned(), 0)];
    while let Some((path, depth)) = waiting.pop() {
        let directory = match to_list(root, &path, closed) {
            Ok(directory) if depth < DEEPEST && left > 0 => directory,
            // Removed, or never existed.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
            _ => {
                listed.unlisted.insert(path);
                continue;
            }
        };
        each(&path, &directory);
        // Through this handle: a closed directory could not be opened again.
        let Ok(listing) = rustix::io::fcntl_dupfd_cloexec(&directory, 0).and_then(Dir::new) else {
            listed.unlisted.insert(path);
            continue;
        };
        let mut names = Vec::new();
        for entry in listing.flatten() {
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            if left == 0 {
                listed.unlisted.insert(path.clone());
                break;
            }
            left -= 1;
            let is_directory = match entry.file_type() {
                FileType::Unknown => rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)
                    .is_ok_and(|it| FileType::from_raw_mode(it.st_mode) == FileType::Directory),
                kind => kind == FileType::Directory,
            };
            if is_directory {
                waiting.push((path.join(name), depth + 1));
            }
            names.push(Name { name: name.to_owned(), is_directory });
        }
        listed.tree.insert(path, names);
    }
    listed
}

fn to_list(root: &OwnedFd, path: &Path, closed: Closed) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK;
    match open(root, path, flags) {
        Err(Errno::ACCESS) if closed == Closed::OpenedUp && path.as_os_str().is_empty() => {
            beneath::opened_up(root, flags)
        }
        Err(Errno::ACCESS) if closed == Closed::OpenedUp => {
            beneath::opened_up(&open(root, path, OFlags::PATH | OFlags::DIRECTORY)?, flags)
        }
        other => other,
    }
}

/// Opens a directory beneath another, without links and on the same file system.
fn open(root: &OwnedFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let resolve = ResolveFlags::BENEATH
        | ResolveFlags::NO_SYMLINKS
        | ResolveFlags::NO_MAGICLINKS
        | ResolveFlags::NO_XDEV;
    rustix::fs::openat2(root, path, flags | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty(), resolve)
}

/// The state of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing.
    Gone,
    /// It exists, and last changed then.
    There { is_directory: bool, changed: (i64, i64) },
    /// It could not be examined.
    Unknown,
}

/// A directory, to examine its entries. That does not need permission to list it.
#[derive(Debug)]
pub(super) struct Parent(Result<OwnedFd, Errno>);

impl Parent {
    pub(super) fn open(root: &OwnedFd, path: &Path) -> Self {
        Self(open(root, path, OFlags::PATH | OFlags::DIRECTORY))
    }

    pub(super) fn state(&self, name: &OsStr) -> State {
        let found = match &self.0 {
            Ok(directory) => rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW),
            Err(error) => Err(*error),
        };
        match found {
            Ok(found) => State::There {
                is_directory: FileType::from_raw_mode(found.st_mode) == FileType::Directory,
                changed: (found.st_ctime, found.st_ctime_nsec.try_into().unwrap_or(0)),
            },
            // A file or a link has replaced a directory.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => State::Gone,
            Err(_) => State::Unknown,
        }
    }
}

/// The state of a path beneath a directory. The directory itself always counts as existing.
pub(super) fn state(root: &OwnedFd, path: &Path) -> State {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => Parent::open(root, parent).state(name),
        _ => State::Unknown,
    }
}
