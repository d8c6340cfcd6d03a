//! Moves a file of a work directory to a name that no program loads, even if a script has made that difficult.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, OFlags, RenameFlags};
use rustix::io::Errno;

use super::beneath::{open, open_up};
use super::survey::parent;

/// The first link in a path, if any: nothing behind it can be opened beneath the work directory. Directories that a
/// script has closed are opened.
pub(super) fn link_on_the_way(work: &OwnedFd, path: &Path) -> Option<PathBuf> {
    let mut above = open(work, Path::new(""), OFlags::PATH).ok()?;
    let mut way = PathBuf::new();
    for part in path.parent()? {
        way.push(part);
        let next = match open(&above, Path::new(part), OFlags::PATH) {
            Err(Errno::ACCESS) => {
                open_up(&above)?;
                open(&above, Path::new(part), OFlags::PATH)
            }
            other => other,
        };
        match next {
            Ok(next) => above = next,
            Err(Errno::LOOP) => return Some(way),
            Err(_) => return None,
        }
    }
    None
}

/// Like [`set_aside`], for a link. If something else has taken its place meanwhile, that is put back.
pub(super) fn set_link_aside(work: &OwnedFd, path: &Path) -> Option<PathBuf> {
    let moved = set_aside(work, path)?;
    let parent = parent(work, path).ok()?;
    let (old, new) = (path.file_name()?, moved.file_name()?);
    if rustix::fs::readlinkat(&parent, new, Vec::new()).is_ok() {
        return Some(moved);
    }
    // If its name was taken in the meantime, it stays at the new name, and that is reported.
    rename(&parent, new, old).is_err().then_some(moved)
}

/// Renames it to a name that no program loads, and returns that name.
pub(super) fn set_aside(work: &OwnedFd, path: &Path) -> Option<PathBuf> {
    let parent = parent(work, path).ok()?;
    let name = path.file_name()?;
    for attempt in 0..8 {
        let mut new = name.to_owned();
        new.push(".set-aside");
        if attempt > 0 {
            let mut random = [0; 4];
            rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty()).ok()?;
            new.push(format!("-{:08x}", u32::from_ne_bytes(random)));
        }
        match rename(&parent, name, &new) {
            Ok(()) => return Some(path.with_file_name(new)),
            Err(Errno::ACCESS | Errno::PERM) => open_up(&parent)?,
            Err(_) => {}
        }
    }
    None
}

/// Renames an entry of a directory, unless the new name exists.
fn rename(directory: &OwnedFd, old: &OsStr, new: &OsStr) -> Result<(), Errno> {
    match rustix::fs::renameat_with(directory, old, directory, new, RenameFlags::NOREPLACE) {
        // Some file systems cannot guarantee that. A file that is created under the name in between is overwritten.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            match rustix::fs::statat(directory, new, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => rustix::fs::renameat(directory, old, directory, new),
                Err(error) => Err(error),
                Ok(_) => Err(Errno::EXIST),
            }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open_work(path: &Path) -> OwnedFd {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::open(path, flags, rustix::fs::Mode::empty()).unwrap()
    }

    #[test]
    fn only_a_link_is_moved_where_one_was_expected() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        std::fs::create_dir_all(at("real/below")).unwrap();
        std::os::unix::fs::symlink("real", at("link")).unwrap();
        let work = open_work(place.path());
        assert_eq!(link_on_the_way(&work, Path::new("link/below")).as_deref(), Some(Path::new("link")));
        assert_eq!(link_on_the_way(&work, Path::new("real/below")), None);
        assert_eq!(set_link_aside(&work, Path::new("link")).as_deref(), Some(Path::new("link.set-aside")));
        assert_eq!(set_link_aside(&work, Path::new("real")), None);
        assert!(at("real/below").is_dir() && !at("real.set-aside").exists());
    }
}
