//! Files and directories below a root, opened by handle and never through a link.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, openat};
use rustix::path::Arg;

/// Opens a directory to list it and to open what is in it. Links are followed: somebody named this one.
pub(crate) fn open_root(path: impl Arg) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(openat(rustix::fs::CWD, path, flags, Mode::empty())?)
}

/// Opens a directory below another one.
pub(crate) fn open_directory(at: impl AsFd, path: impl Arg + Copy) -> io::Result<OwnedFd> {
    open(at, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC)
}

/// A pipe must not make us wait for its writer.
const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// Reads a regular file of at most `most` bytes, with what the system said of it before the first byte was read.
pub(crate) fn read_file(at: impl AsFd, path: impl Arg + Copy, most: u64) -> io::Result<(Vec<u8>, Stat)> {
    read_opened(open(at, path, READ)?, most)
}

/// The same for a path that somebody named: links on the way are followed, the file itself must not be one.
#[cfg(feature = "search")]
pub(crate) fn read_named(path: impl Arg, most: u64) -> io::Result<Vec<u8>> {
    let opened = openat(rustix::fs::CWD, path, READ | OFlags::NOFOLLOW, Mode::empty())?;
    read_opened(opened, most).map(|(bytes, _)| bytes)
}

fn read_opened(opened: OwnedFd, most: u64) -> io::Result<(Vec<u8>, Stat)> {
    let stat = fstat(&opened)?;
    let size = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
    if !FileType::from_raw_mode(stat.st_mode).is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    if size > most {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    // As large as it was when it was opened; what is appended meanwhile is for the next reading.
    let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
    let mut file = File::from(opened);
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read(rest)? {
            0 => break,
            count => filled += count,
        }
    }
    bytes.truncate(filled);
    Ok((bytes, stat))
}

/// Opens a path in which no part is a link.
fn open(at: impl AsFd, path: impl Arg + Copy, flags: OFlags) -> io::Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};
        use rustix::io::Errno;
        match openat2(&at, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            // Kernels before 5.6, and sandboxes that have not heard of the call.
            Err(Errno::NOSYS | Errno::PERM) => {}
            other => return Ok(other?),
        }
    }
    Ok(openat(at, path, flags | OFlags::NOFOLLOW, Mode::empty())?)
}
