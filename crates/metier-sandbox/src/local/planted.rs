//! Files that other programs obey, made by a script where there were none: moved aside before anything obeys them.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, ResolveFlags};

use crate::SandboxError;
use crate::executor::Planted;
use crate::profile::Profile;

/// The protected paths of a profile that were not there before a run. Those that were are read-only inside.
#[derive(Debug)]
pub(super) struct Protected {
    absent: Vec<(OwnedFd, PathBuf, PathBuf)>,
    /// Those that were there, in any of the directories.
    pub(super) present: Vec<PathBuf>,
}

impl Protected {
    /// Looks at what there is, beneath a handle on each writable directory.
    pub(super) fn look(profile: &Profile) -> Result<Self, SandboxError> {
        let (mut absent, mut present) = (Vec::new(), Vec::new());
        for place in &profile.writable {
            let at = |source: io::Error| SandboxError::Path { path: place.path().to_owned(), source };
            let directory = open(CWD, place.path(), ResolveFlags::NO_SYMLINKS)
                .map_err(|_| SandboxError::Swapped { path: place.path().to_owned() })?;
            let directory = File::from(directory);
            if !place.is(&directory.metadata().map_err(at)?) {
                return Err(SandboxError::Swapped { path: place.path().to_owned() });
            }
            let directory = OwnedFd::from(directory);
            for path in &profile.protected {
                if exists(&directory, path) {
                    present.push(path.clone());
                    continue;
                }
                // A whole new `.git` is more than one file: it is told, and left.
                let is_new = path.starts_with(".git") && !exists(&directory, Path::new(".git"));
                let path = if is_new { Path::new(".git") } else { path };
                let known =
                    |(_, base, one): &(OwnedFd, PathBuf, PathBuf)| base == place.path() && one == path;
                if !absent.iter().any(known) {
                    let handle = directory.try_clone().map_err(at)?;
                    absent.push((handle, place.path().to_owned(), path.to_owned()));
                }
            }
        }
        Ok(Self { absent, present })
    }

    /// Moves what is new out of the way, and says what it was.
    pub(super) fn set_aside_new(self) -> Vec<Planted> {
        let new = self.absent.into_iter().filter(|(directory, _, path)| exists(directory, path));
        new.map(|(directory, base, path)| {
            let moved_to = if path == Path::new(".git") { None } else { set_aside(&directory, &path) };
            Planted { path: base.join(&path), moved_to: moved_to.map(|moved| base.join(moved)) }
        })
        .collect()
    }
}

fn open(directory: impl std::os::fd::AsFd, path: &Path, resolve: ResolveFlags) -> io::Result<OwnedFd> {
    let resolve = resolve | ResolveFlags::NO_MAGICLINKS;
    Ok(rustix::fs::openat2(directory, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve)?)
}

/// The directory that a path is in, without going through links.
fn parent(directory: &OwnedFd, path: &Path) -> io::Result<OwnedFd> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    open(directory, parent, ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH)
}

fn exists(directory: &OwnedFd, path: &Path) -> bool {
    let Some(name) = path.file_name() else { return false };
    let is_there = |parent: &OwnedFd| rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).is_ok();
    if path.as_os_str() == name {
        return is_there(directory);
    }
    parent(directory, path).is_ok_and(|parent| is_there(&parent))
}

fn set_aside(directory: &OwnedFd, path: &Path) -> Option<PathBuf> {
    let parent = parent(directory, path).ok()?;
    let name = path.file_name()?;
    (0..100).find_map(|number| {
        let mut new = name.to_owned();
        new.push(if number == 0 { ".set-aside".to_owned() } else { format!(".set-aside-{number}") });
        rustix::fs::renameat_with(&parent, name, &parent, &new, RenameFlags::NOREPLACE).ok()?;
        Some(path.with_file_name(new))
    })
}
