//! The way to the disk for everything that reads skills: beneath a directory that is held open, through no link, without
//! waiting for a pipe, and all of a file even where reading is interrupted. [`remove_all`] removes directories.

mod removal;

pub use removal::remove_all;

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, openat};
use rustix::io::Errno;
use rustix::path::Arg;

pub(crate) const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Whether a path neither leads up nor begins elsewhere.
pub(crate) fn is_plain(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_)))
}

/// Opens what is beneath a directory, one part of the path after the other, none of them a link. Paths that lead up or begin
/// elsewhere are refused. Works on every Unix; `openat2` does the same in one call on Linux.
pub fn open_beneath(at: BorrowedFd<'_>, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    if !is_plain(path) || path.as_os_str().is_empty() {
        return Err(Errno::LOOP.into());
    }
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

/// Opens a regular file, and says what the system knows of it: never through a link, and never waiting for the writer of a
/// pipe.
pub(crate) fn open_regular(at: impl AsFd, path: impl Arg) -> io::Result<(File, Stat)> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    regular(openat(at, path, flags, Mode::empty())?)
}

/// What was opened, if it is a regular file.
pub(crate) fn regular(opened: OwnedFd) -> io::Result<(File, Stat)> {
    let stat = fstat(&opened)?;
    if FileType::from_raw_mode(stat.st_mode).is_file() {
        Ok((File::from(opened), stat))
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
    }
}

/// Reads a regular file of at most `most` bytes that was opened already, with what the system said of it before the first
/// byte was read.
pub fn read_opened(opened: OwnedFd, most: u64) -> io::Result<(Vec<u8>, Stat)> {
    let (file, stat) = regular(opened)?;
    let size = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
    if size > most { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok((read_all(file, size)?, stat)) }
}

/// The bytes of a file, as many as it had when it was opened; what is appended meanwhile is for the next reading.
pub(crate) fn read_all(mut file: impl Read, size: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match read_some(&mut file, rest)? {
            0 => break,
            count => filled += count,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// Reads some bytes. On network and user-space file systems a signal can interrupt that, which is not an error.
pub(crate) fn read_some(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match file.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Digest;

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
        let file = || Interrupted { rest: b"some bytes", is_next: false };
        assert_eq!(read_all(file(), 10).unwrap(), b"some bytes");
        assert_eq!(Digest::of_reader(file(), &mut [0; 4]).unwrap(), Digest::of(b"some bytes"));
    }
}
