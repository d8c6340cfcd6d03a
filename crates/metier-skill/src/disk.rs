//! File access for everything that reads skills. Files are opened relative to an open directory, without
//! following links and without blocking on pipes, and are read completely even if a read is interrupted.
//! [`remove_all`] removes directories.

mod removal;

pub use removal::remove_all;

use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;
use rustix::path::Arg;

/// Flags for opening a directory that was found in a listing. Fails if it has become a link.
pub const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Flags for opening a file without following links and without blocking on a pipe.
pub const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// Directories of version-control systems. They never belong to a skill.
pub const VCS_DIRECTORIES: [&str; 4] = [".git", ".hg", ".jj", ".svn"];

/// Directories that other tools generate or install.
const BUILT: [&str; 3] = ["node_modules", "target", ".venv"];

/// Whether a search for skills enters a directory with this name. Version control and directories that other
/// tools generate are skipped. Every search for skills uses this function.
pub fn is_searched(name: &OsStr) -> bool {
    !VCS_DIRECTORIES.iter().chain(&BUILT).any(|skipped| skipped.as_bytes() == name.as_bytes())
}

/// Calls `visit` for each entry of a directory, with the directory's handle, the entry's name and its type,
/// until `visit` breaks.
pub fn list(
    directory: OwnedFd,
    mut visit: impl FnMut(BorrowedFd<'_>, &CStr, FileType) -> ControlFlow<()>,
) -> io::Result<()> {
    let mut directory = Dir::new(directory)?;
    while let Some(entry) = directory.read() {
        let entry = entry?;
        let (at, name) = (directory.fd()?, entry.file_name());
        if name == c"." || name == c".." {
            continue;
        }
        let kind = match entry.file_type() {
            // Some file systems do not report the type of an entry in the listing.
            FileType::Unknown => statat(at, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
            kind => kind,
        };
        if visit(at, name, kind).is_break() {
            break;
        }
    }
    Ok(())
}

/// Opens a directory that the user named. Links are followed.
pub fn open_directory(at: impl AsFd, path: impl Arg) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(openat(at, path, flags, Mode::empty())?)
}

/// Whether a path has only normal components: no `..`, no root.
pub(crate) fn is_plain(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_)))
}

/// Opens a path relative to a directory. No component may be a link. Absolute paths and paths with `..` are
/// refused.
pub fn open_beneath(at: BorrowedFd<'_>, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    if !is_plain(path) || path.as_os_str().is_empty() {
        return Err(Errno::LOOP.into());
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};
        match openat2(at, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            // Kernels before 5.6, and sandboxes that block the call.
            Err(Errno::NOSYS | Errno::PERM) => {}
            other => return Ok(other?),
        }
    }
    open_part_by_part(at, path, flags)
}

/// The same for systems without `openat2`.
fn open_part_by_part(at: BorrowedFd<'_>, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let mut parts = path.components().peekable();
    let mut above: Option<OwnedFd> = None;
    while let Some(part) = parts.next() {
        let here = above.as_ref().map_or(at, AsFd::as_fd);
        if parts.peek().is_none() {
            return Ok(openat(here, part.as_os_str(), flags | OFlags::NOFOLLOW, Mode::empty())?);
        }
        above = Some(openat(here, part.as_os_str(), DIRECTORY, Mode::empty())?);
    }
    Err(Errno::NOENT.into())
}

/// Reads a regular file below a directory, up to `most` bytes. Also returns its metadata from before the first
/// byte was read.
pub fn read_beneath(at: BorrowedFd<'_>, path: &Path, most: u64) -> io::Result<(Vec<u8>, Stat)> {
    read_opened(open_beneath(at, path, READ)?, most)
}

/// Reads a regular file at a path that the user named, up to `most` bytes. Links on the way are followed, but
/// the file itself must not be a link.
pub fn read_named(path: impl Arg, most: u64) -> io::Result<Vec<u8>> {
    read_opened(openat(CWD, path, READ, Mode::empty())?, most).map(|(bytes, _)| bytes)
}

/// Opens a regular file and returns its metadata. Never follows a link and never blocks on a pipe.
pub(crate) fn open_regular(at: impl AsFd, path: impl Arg) -> io::Result<(File, Stat)> {
    regular(openat(at, path, READ, Mode::empty())?)
}

/// Returns the opened file if it is a regular file.
pub(crate) fn regular(opened: OwnedFd) -> io::Result<(File, Stat)> {
    let stat = fstat(&opened)?;
    if FileType::from_raw_mode(stat.st_mode).is_file() {
        Ok((File::from(opened), stat))
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
    }
}

/// Reads an open regular file of up to `most` bytes. Also returns its metadata from before the first byte was
/// read.
pub(crate) fn read_opened(opened: OwnedFd, most: u64) -> io::Result<(Vec<u8>, Stat)> {
    let (file, stat) = regular(opened)?;
    let size = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
    if size > most { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok((read_all(file, size)?, stat)) }
}

/// Reads as many bytes as the file had when it was opened. Data that is appended meanwhile is ignored.
pub(crate) fn read_all(mut file: impl Read, size: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read(rest) {
            Ok(0) => break,
            Ok(count) => filled += count,
            // On network and user-space file systems a signal can interrupt a read. That is not an error.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file on a file system where every other read is interrupted.
    struct Interrupted<'a> {
        rest: &'a [u8],
        is_next: bool,
    }

    impl Read for Interrupted<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.is_next = !self.is_next;
            if self.is_next {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let most = buffer.len().min(3);
            self.rest.read(&mut buffer[..most])
        }
    }

    #[test]
    fn an_interrupted_read_is_tried_again() {
        let file = Interrupted { rest: b"some bytes", is_next: false };
        assert_eq!(read_all(file, 10).unwrap(), b"some bytes");
    }

    #[test]
    fn without_one_call_for_it_no_part_of_a_path_may_be_a_link_either() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(place.path().join("real/inner")).unwrap();
        std::fs::write(place.path().join("real/inner/SKILL.md"), "x").unwrap();
        std::os::unix::fs::symlink("real", place.path().join("link")).unwrap();
        let root = open_directory(CWD, place.path()).unwrap();
        for open in [open_part_by_part, open_beneath] {
            assert!(open(root.as_fd(), Path::new("real/inner/SKILL.md"), READ).is_ok());
            assert!(open(root.as_fd(), Path::new("link/inner/SKILL.md"), READ).is_err());
        }
        for path in ["", ".", "real/../real/inner/SKILL.md", "/etc/hostname"] {
            assert!(open_beneath(root.as_fd(), Path::new(path), READ).is_err(), "{path}");
        }
    }
}
