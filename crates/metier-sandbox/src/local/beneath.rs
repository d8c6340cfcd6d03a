//! Opens files beneath a work directory: never through links, and also if a script has removed permissions.

use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// A handle on the file at a path.
pub(super) fn open(work: &OwnedFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(work, path, flags | OFlags::CLOEXEC, Mode::empty(), resolve)
}

/// A readable directory, or `None` if it does not exist. Git finds a hook by its name even in a directory that cannot
/// be listed, so permissions are added for a moment; an error means that it still could not be read.
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

/// Opens a directory without owner permissions, by adding them for a moment.
pub(super) fn opened_up(closed: &OwnedFd, flags: OFlags) -> Result<OwnedFd, Errno> {
    let mode = mode_of(closed)?;
    set_mode(closed, mode | Mode::RWXU)?;
    let opened = rustix::fs::openat(closed, ".", flags | OFlags::CLOEXEC, Mode::empty());
    // The owner may have removed the permissions before.
    set_mode(closed, mode)?;
    opened
}

/// Gives the owner of a directory write permission again.
pub(super) fn open_up(directory: &OwnedFd) -> Option<()> {
    set_mode(directory, mode_of(directory).ok()? | Mode::RWXU).ok()
}

fn mode_of(directory: &OwnedFd) -> Result<Mode, Errno> {
    let stat = rustix::fs::statat(directory, "", AtFlags::EMPTY_PATH)?;
    Ok(Mode::from_raw_mode(stat.st_mode & 0o7777))
}

/// Through the handle: a directory that cannot be entered has no `.` either.
fn set_mode(directory: &OwnedFd, mode: Mode) -> Result<(), Errno> {
    let path = format!("/proc/self/fd/{}", directory.as_raw_fd());
    match rustix::fs::chmodat(CWD, path, mode, AtFlags::empty()) {
        Err(Errno::NOENT) => rustix::fs::chmodat(directory, ".", mode, AtFlags::empty()),
        other => other,
    }
}
