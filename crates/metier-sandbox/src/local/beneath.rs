//! Opening what lies beneath a work directory: never through links, and also where a script has closed it.

use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// A handle on what is at a path.
pub(super) fn open(work: &OwnedFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(work, path, flags | OFlags::CLOEXEC, Mode::empty(), resolve)
}

/// A directory whose names can be read, or nothing if there is none. Git finds a hook by its name where nobody can list them, so
/// one that is closed is opened up for a moment; an error says that it could still not be looked at.
pub(super) fn directory(work: &OwnedFd, path: &Path) -> Result<Option<OwnedFd>, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let opened = match open(work, path, flags) {
        Err(Errno::ACCESS) => opened_up(&open(work, path, OFlags::PATH | OFlags::DIRECTORY)?, flags),
        other => other,
    };
    match opened {
        Ok(directory) => Ok(Some(directory)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens a directory that is closed to its owner, by opening it up for a moment.
pub(super) fn opened_up(closed: &OwnedFd, flags: OFlags) -> Result<OwnedFd, Errno> {
    let mode = mode_of(closed)?;
    set_mode(closed, mode | Mode::RWXU)?;
    let opened = rustix::fs::openat(closed, ".", flags | OFlags::CLOEXEC, Mode::empty());
    // It may have been closed before, by whoever it belongs to.
    set_mode(closed, mode)?;
    opened
}

/// Gives the owner of a directory the right to change it again.
pub(super) fn open_up(directory: &OwnedFd) -> Option<()> {
    set_mode(directory, mode_of(directory).ok()? | Mode::RWXU).ok()
}

fn mode_of(directory: &OwnedFd) -> Result<Mode, Errno> {
    let stat = rustix::fs::statat(directory, "", AtFlags::EMPTY_PATH)?;
    Ok(Mode::from_raw_mode(stat.st_mode & 0o7777))
}

/// By way of the handle: a directory that cannot be entered has no `.` either.
fn set_mode(directory: &OwnedFd, mode: Mode) -> Result<(), Errno> {
    let path = format!("/proc/self/fd/{}", directory.as_raw_fd());
    match rustix::fs::chmodat(CWD, path, mode, AtFlags::empty()) {
        Err(Errno::NOENT) => rustix::fs::chmodat(directory, ".", mode, AtFlags::empty()),
        other => other,
    }
}
