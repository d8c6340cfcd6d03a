//! Files and directories below a root, opened by handle and never through a link.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use metier_skill::disk::{open_beneath, read_opened};
use rustix::fs::{Mode, OFlags, Stat, openat};
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
    open_part_by_part(at.as_fd(), &path, flags)
}

/// The same where one call cannot tell.
fn open_part_by_part(at: BorrowedFd<'_>, path: &(impl Arg + Copy), flags: OFlags) -> io::Result<OwnedFd> {
    let path = path.into_c_str()?;
    match path.to_bytes() {
        b"." => Ok(openat(at, c".", flags, Mode::empty())?),
        bytes => open_beneath(at, Path::new(OsStr::from_bytes(bytes)), flags),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_one_call_for_it_no_part_of_a_path_may_be_a_link_either() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(place.path().join("real/inner")).unwrap();
        std::fs::write(place.path().join("real/inner/SKILL.md"), "x").unwrap();
        std::os::unix::fs::symlink("real", place.path().join("link")).unwrap();
        let root = open_root(place.path()).unwrap();
        let open = |path: &str| open_part_by_part(root.as_fd(), &path, READ).map(drop);
        assert!(open("real/inner/SKILL.md").is_ok() && open(".").is_ok());
        assert!(open("link/inner/SKILL.md").is_err() && open("real/../real/inner/SKILL.md").is_err());
    }
}
