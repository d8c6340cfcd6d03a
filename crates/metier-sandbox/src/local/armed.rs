//! Repositories below the top of a work directory that a script configures to run commands: which of their files are
//! new, and which repositories a run has created.
//!
//! A user's own repository is never damaged: only new files are moved. A repository that a run created is remembered
//! after the run, so that a later run cannot add commands to it; once a user has changed its settings, it counts as
//! theirs.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use metier_skill::Digest;
use rustix::fs::{AtFlags, OFlags, StatxFlags};
use serde::{Deserialize, Serialize};

use super::notes::Moment;
use super::survey::Seen;
use super::{beneath, git};
use crate::plan::Raw;

/// A repository that a run created, and that was left in place because it runs nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Made {
    path: Raw,
    /// The identity of its directory; another one may take its place.
    inode: u64,
    born: Option<Moment>,
    /// A digest of its settings.
    settings: String,
}

impl Made {
    /// The current state of a repository; `None` if it does not exist.
    pub(super) fn now(work: &OwnedFd, path: &Path) -> Option<Self> {
        let directory = beneath::open(work, path, OFlags::PATH | OFlags::DIRECTORY).ok()?;
        let wanted = StatxFlags::INO | StatxFlags::BTIME;
        let stat = rustix::fs::statx(&directory, "", AtFlags::EMPTY_PATH, wanted).ok()?;
        let has_birth = stat.stx_mask & StatxFlags::BTIME.bits() != 0;
        let born = has_birth.then_some((stat.stx_btime.tv_sec, i64::from(stat.stx_btime.tv_nsec)));
        let settings = format!("{:?}", git::read(work, &path.join("config")));
        let settings = Digest::of(settings.as_bytes()).hex();
        Some(Self { path: path.into(), inode: stat.stx_ino, born, settings })
    }

    pub(super) fn path(&self) -> &Path {
        self.path.path()
    }

    fn is_same_directory(&self, other: &Self) -> bool {
        (self.inode, self.born) == (other.inode, other.born)
    }
}

/// Before the first run: the repositories that are unchanged since the last run.
pub(super) fn unchanged(work: &OwnedFd, made: &mut Vec<Made>) {
    made.retain(|one| Made::now(work, one.path()).as_ref() == Some(one));
}

/// After a run: the current state of the existing repositories.
pub(super) fn remember(work: &OwnedFd, made: &mut Vec<Made>, new: impl Iterator<Item = PathBuf>) {
    let before = std::mem::take(made);
    let still =
        before.iter().filter_map(|old| Made::now(work, old.path()).filter(|now| now.is_same_directory(old)));
    made.extend(still);
    made.extend(new.filter_map(|path| Made::now(work, &path)));
    made.sort_by(|one, other| one.path.cmp(&other.path));
    made.dedup_by(|one, other| one.path == other.path);
}

/// Whether a file that makes git run commands in a repository is new, so that moving it loses nothing of the user's.
/// Files elsewhere that the settings name do not count: a script could name a user's file.
pub(super) fn is_new_file(work: &OwnedFd, repository: &Path, file: &Path, old: &Seen) -> bool {
    let Ok(inside) = file.strip_prefix(repository) else { return false };
    let (Some(name), Some(directory)) = (inside.file_name(), inside.parent()) else { return false };
    let said = git::files_of(old.marks.iter());
    // A file that could not be read before may have been anything.
    if said.contains(file) || file.ancestors().skip(1).any(|above| said.contains(above)) {
        return false;
    }
    let is_in_modules = directory.starts_with("modules");
    let is_of_repository = directory.as_os_str().is_empty() || is_in_modules;
    match name.to_str() {
        Some("config" | "config.worktree") if is_of_repository => !old.files.contains(&Raw::from(file)),
        Some("commondir") if is_of_repository => true,
        // The directory may have existed; a link in its place did not.
        Some("hooks" | "remotes" | "branches") if is_of_repository => git::is_link(work, file),
        _ => ["hooks", "remotes", "branches"]
            .iter()
            .any(|name| directory == Path::new(name) || (is_in_modules && directory.ends_with(name))),
    }
}
