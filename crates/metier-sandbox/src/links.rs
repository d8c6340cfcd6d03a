//! Paths and links: the target of a path, and opening paths without links.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

/// The target of a path, resolved part by part like the kernel does: links are followed before a `..` after them. Parts
/// that do not exist yet are kept. `None` if it cannot be determined.
pub fn leads_to(path: &Path) -> Option<PathBuf> {
    resolve(path, Unreachable::Unclear).ok()
}

/// How parts of a path without access are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unreachable {
    /// They may be links: an error.
    Unclear,
    /// They are kept as written, for paths that this process uses in that form or not at all.
    Kept,
}

/// The target of a path, and the links on the way.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Resolved {
    pub(crate) path: PathBuf,
    /// Each by its own path, without links in it.
    pub(crate) links: Vec<PathBuf>,
}

/// The target of a path, as in [`leads_to`], or why it cannot be determined.
pub(crate) fn resolve(path: &Path, unreachable: Unreachable) -> io::Result<PathBuf> {
    resolve_telling(path, unreachable, |_| {})
}

/// The same, with the links that were followed.
pub(crate) fn resolve_links(path: &Path, unreachable: Unreachable) -> io::Result<Resolved> {
    let mut links = Vec::new();
    let path = resolve_telling(path, unreachable, |link| links.push(link))?;
    Ok(Resolved { path, links })
}

/// The same; also reports every link on the way, even if the path does not exist.
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
    // How many of the last parts do not exist. Nothing below them exists, so nothing is looked up.
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
                            // Such a part may be a link, so its parent is unknown.
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

/// Whether nothing can be opened at a path whose lookup failed: it does not exist, a parent is a file, or its last part
/// is too long for a name. If the path as a whole is too long, nothing is known: it can be opened from a directory on
/// the way.
fn is_missing(error: &io::Error, name: &OsStr) -> bool {
    const LONGEST_NAME: usize = 255;
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => true,
        io::ErrorKind::InvalidFilename => name.len() > LONGEST_NAME,
        _ => false,
    }
}

/// Opens a path that must not contain links. The handle gives no access to the content.
#[cfg(target_os = "linux")]
pub(crate) fn open_without_links(path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    use rustix::fs::ResolveFlags;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(CWD, path, flags | OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve)
}

/// The same for kernels that cannot do it in one step: part by part, each beneath the handle of the one before.
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
