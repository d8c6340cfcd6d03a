//! Paths and links: where a path leads, and how to open one that has no links in it.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

/// Where a path leads, part by part as the kernel resolves it: links are followed before a `..` after them. Parts that do
/// not exist yet are kept as they are. `None` if that cannot be determined.
pub fn leads_to(path: &Path) -> Option<PathBuf> {
    resolve(path, Unreachable::Unclear).ok()
}

/// What becomes of the parts of a path that this process has no access to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unreachable {
    /// They may be links: it is an error.
    Unclear,
    /// They are kept as they are written, for places that this process uses by that path or not at all.
    Kept,
}

/// Where a path leads, and which links lead there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Resolved {
    pub(crate) path: PathBuf,
    /// Each by its own path, without links in it.
    pub(crate) links: Vec<PathBuf>,
}

/// Where a path leads, as [`leads_to`] says, or why that cannot be determined.
pub(crate) fn resolve(path: &Path, unreachable: Unreachable) -> io::Result<PathBuf> {
    resolve_telling(path, unreachable, |_| {})
}

/// The same, with the links that were followed.
pub(crate) fn resolve_links(path: &Path, unreachable: Unreachable) -> io::Result<Resolved> {
    let mut links = Vec::new();
    let path = resolve_telling(path, unreachable, |link| links.push(link))?;
    Ok(Resolved { path, links })
}

/// The same, and tells of every link on the way, also where it leads nowhere.
pub(crate) fn resolve_telling(
    path: &Path,
    unreachable: Unreachable,
    mut tell: impl FnMut(PathBuf),
) -> io::Result<PathBuf> {
    const MOST_LINKS: usize = 40;
    let mut links = 0;
    let mut open: Vec<PathBuf> =
        path.components().rev().map(|part| PathBuf::from(part.as_os_str())).collect();
    let mut real = PathBuf::from("/");
    // How many of the last parts do not exist. Nothing below them does, so that there is nothing to look up.
    let mut missing = 0_usize;
    while let Some(part) = open.pop() {
        let Some(part) = part.components().next() else { continue };
        match part {
            Component::RootDir => real = PathBuf::from("/"),
            Component::ParentDir => {
                real.pop();
                missing = missing.saturating_sub(1);
            }
            Component::Normal(name) if missing > 0 => {
                real.push(name);
                missing += 1;
            }
            Component::Normal(name) => {
                let next = real.join(name);
                match fs::symlink_metadata(&next) {
                    Ok(meta) if meta.is_symlink() => {
                        links += 1;
                        if links > MOST_LINKS {
                            return Err(Errno::LOOP.into());
                        }
                        let target = fs::read_link(&next)?;
                        tell(next);
                        open.extend(target.components().rev().map(|part| PathBuf::from(part.as_os_str())));
                    }
                    Ok(_) => real = next,
                    Err(error) if is_missing(&error, name) => {
                        real = next;
                        missing = 1;
                    }
                    Err(error)
                        if error.kind() == io::ErrorKind::PermissionDenied
                            && unreachable == Unreachable::Kept
                            // Such a part may be a link, so it is not known what is above it.
                            && !open.iter().any(|part| part == Path::new("..")) =>
                    {
                        real = next;
                    }
                    Err(error) => return Err(error),
                }
            }
            Component::CurDir | Component::Prefix(_) => {}
        }
    }
    Ok(real)
}

/// Whether nothing can be opened at a path that could not be looked up: it does not exist, a file stands where a
/// directory should, or its last part is longer than a name may be. A whole path that is too long says nothing: it can be
/// opened from a directory on the way.
fn is_missing(error: &io::Error, name: &OsStr) -> bool {
    const LONGEST_NAME: usize = 255;
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => true,
        io::ErrorKind::InvalidFilename => name.len() > LONGEST_NAME,
        _ => false,
    }
}

/// Opens a path of which no part may be a link. The handle gives no access to the content.
#[cfg(target_os = "linux")]
pub(crate) fn open_without_links(path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    use rustix::fs::ResolveFlags;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(CWD, path, flags | OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve)
}

/// The same where the kernel cannot do it in one step: part by part, each beneath the handle of the one before.
#[cfg(not(target_os = "linux"))]
pub(crate) fn open_without_links(path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let base = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let start = if path.is_absolute() { Path::new("/") } else { Path::new(".") };
    let mut held = rustix::fs::openat(CWD, start, base | OFlags::DIRECTORY, Mode::empty())?;
    let mut parts = path.components().filter(|part| !matches!(part, Component::RootDir)).peekable();
    while let Some(part) = parts.next() {
        let last = if parts.peek().is_some() { OFlags::DIRECTORY } else { flags };
        held = rustix::fs::openat(&held, part.as_os_str(), base | last, Mode::empty())?;
    }
    Ok(held)
}
