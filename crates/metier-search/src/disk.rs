//! The way to the disk: regular files of a bounded size.

use std::io;
use std::path::Path;

use metier_skill::disk::read_opened;
use rustix::fs::{CWD, Mode, OFlags, openat};

/// Reads a regular file of at most `most` bytes. Links on the way are followed, the file itself must not be one; a
/// pipe is not waited for.
pub(crate) fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    read_opened(openat(CWD, path, flags, Mode::empty())?, most).map(|(bytes, _)| bytes)
}
