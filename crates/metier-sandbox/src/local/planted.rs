//! Files that other programs obey, made by a script where there were none: moved aside before anything obeys them.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, RenameFlags, ResolveFlags};
use rustix::io::Errno;

use crate::SandboxError;
use crate::executor::Planted;
use crate::profile::{Place, Profile};

/// The protected paths of a profile, as they were before a run.
#[derive(Debug, Default)]
pub(super) struct Protected {
    /// Those that were there, in any of the directories. They are read-only inside, or refused.
    pub(super) present: Vec<PathBuf>,
    /// Those that were not, or were links to others that are protected.
    watched: Vec<Watched>,
}

/// A path in a writable directory, and what it was.
#[derive(Debug)]
struct Watched {
    directory: Arc<OwnedFd>,
    base: PathBuf,
    path: PathBuf,
    link: Option<OsString>,
}

impl Protected {
    /// Looks at what there is, beneath a handle on each writable directory.
    pub(super) fn look(profile: &Profile) -> Result<Self, SandboxError> {
        let mut all = Self::default();
        for place in &profile.writable {
            let directory = Arc::new(open_place(place)?);
            for path in &profile.protected {
                all.look_at(place, &directory, path, &profile.protected);
            }
        }
        Ok(all)
    }

    fn look_at(&mut self, place: &Place, directory: &Arc<OwnedFd>, path: &Path, protected: &[PathBuf]) {
        let (path, link) = match state(directory, path) {
            // `CLAUDE.md` that leads to `AGENTS.md`: what it leads to is protected.
            State::Link(target) if protected.iter().any(|other| other.as_os_str() == target) => {
                (path, Some(target))
            }
            State::There | State::Link(_) => return self.present.push(path.to_owned()),
            // A whole new `.git` is more than one file: it is told, and left.
            State::Absent
                if path.starts_with(".git")
                    && matches!(state(directory, Path::new(".git")), State::Absent) =>
            {
                (Path::new(".git"), None)
            }
            State::Absent => (path, None),
        };
        if !self.watched.iter().any(|one| one.base == place.path() && one.path == path) {
            let (directory, base) = (Arc::clone(directory), place.path().to_owned());
            self.watched.push(Watched { directory, base, path: path.to_owned(), link });
        }
    }

    /// Moves what is new out of the way, and says what it was.
    pub(super) fn set_aside_new(self) -> Vec<Planted> {
        let new =
            self.watched.into_iter().filter(|one| match (state(&one.directory, &one.path), &one.link) {
                (State::Absent, _) => false,
                (State::Link(now), Some(before)) => now != *before,
                _ => true,
            });
        new.map(|one| {
            let stays = one.path == Path::new(".git");
            let moved = if stays { None } else { set_aside(&one.directory, &one.path) };
            Planted {
                path: one.base.join(&one.path),
                moved_to: moved.map(|moved| one.base.join(moved)),
                stays,
            }
        })
        .collect()
    }
}

/// What is at a path.
enum State {
    Absent,
    There,
    Link(OsString),
}

fn state(directory: &OwnedFd, path: &Path) -> State {
    let Some(name) = path.file_name() else { return State::Absent };
    let parent = match parent(directory, path) {
        Ok(parent) => parent,
        Err(Errno::NOENT) => return State::Absent,
        // Behind a link or a file: that is for whoever protects it to find out.
        Err(_) => return State::There,
    };
    match rustix::fs::readlinkat(&parent, name, Vec::new()) {
        Ok(target) => State::Link(std::os::unix::ffi::OsStringExt::from_vec(target.into_bytes())),
        Err(Errno::NOENT) => State::Absent,
        Err(_) => State::There,
    }
}

/// A handle on a directory, if it is still the one that was chosen.
fn open_place(place: &Place) -> Result<OwnedFd, SandboxError> {
    let swapped = || SandboxError::Swapped { path: place.path().to_owned() };
    let at = |source: io::Error| SandboxError::Path { path: place.path().to_owned(), source };
    let opened = open(CWD, place.path(), ResolveFlags::NO_SYMLINKS).map_err(|error| match error {
        Errno::LOOP | Errno::NOTDIR | Errno::NOENT => swapped(),
        other => at(other.into()),
    });
    let directory = File::from(opened?);
    if !place.is(&directory.metadata().map_err(at)?) {
        return Err(swapped());
    }
    // Whoever may not even enter it cannot say what is in it.
    rustix::fs::accessat(&directory, ".", Access::EXEC_OK, AtFlags::empty())
        .map_err(|error| at(error.into()))?;
    Ok(directory.into())
}

fn open(directory: impl AsFd, path: &Path, resolve: ResolveFlags) -> Result<OwnedFd, Errno> {
    let resolve = resolve | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(directory, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve)
}

/// The directory that a path is in, without going through links.
fn parent(directory: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    open(directory, parent, ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH)
}

/// Renames it to something that nothing obeys, also where the script has made that hard.
fn set_aside(directory: &OwnedFd, path: &Path) -> Option<PathBuf> {
    let parent = parent(directory, path).ok()?;
    let name = path.file_name()?;
    let rename =
        |new: &OsString| rustix::fs::renameat_with(&parent, name, &parent, new, RenameFlags::NOREPLACE);
    for attempt in 0..8 {
        let mut new = name.to_owned();
        new.push(".set-aside");
        if attempt > 0 {
            let mut random = [0; 4];
            rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty()).ok()?;
            new.push(format!("-{:08x}", u32::from_ne_bytes(random)));
        }
        match rename(&new) {
            Ok(()) => return Some(path.with_file_name(new)),
            Err(Errno::ACCESS | Errno::PERM) => open_up(&parent)?,
            Err(_) => {}
        }
    }
    None
}

/// Gives the owner of a directory the right to change it again.
fn open_up(directory: &OwnedFd) -> Option<()> {
    let stat = rustix::fs::statat(directory, "", AtFlags::EMPTY_PATH).ok()?;
    let mode = Mode::from_raw_mode(stat.st_mode & 0o777) | Mode::RWXU;
    rustix::fs::chmodat(directory, ".", mode, AtFlags::empty()).ok()
}
