//! Directories that are made where nobody looks, and become visible in one step; and what dead processes left of such.
//!
//! Whoever makes one says in a file beside it or in its name who they are: a process by its number, when it began, and the boot of
//! the machine. Whoever comes later removes what belongs to nobody any more.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use metier_sandbox::{Leftovers, Owner, is_own_directory};
use metier_skill::disk::remove_all;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::error::HomeError;

const PREFIX: &str = ".metier-staging-";

/// A directory that nobody sees yet. What does not become visible is removed.
#[derive(Debug)]
pub(crate) struct Staging {
    path: PathBuf,
}

impl Staging {
    /// A new one beside a directory, on the same file system. What dead processes left there is removed.
    pub(crate) fn beside(directory: &Path) -> Result<Self, HomeError> {
        let parent = directory.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        fs::create_dir_all(parent).map_err(HomeError::io("make", parent))?;
        Leftovers::remove(leftovers(parent));
        let owner = Owner::own();
        for number in 0..u32::MAX {
            let path = parent.join(format!("{PREFIX}{owner}.{number}"));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self { path }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                // Its own name says nothing to anybody.
                Err(error) => return Err(HomeError::io("make", directory)(error)),
            }
        }
        Err(HomeError::io("make", parent)(io::ErrorKind::AlreadyExists.into()))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// All of it becomes that directory, which must not be there, or be empty.
    pub(crate) fn become_directory(self, directory: &Path) -> Result<(), HomeError> {
        if let Ok(meta) = fs::symlink_metadata(directory).and_then(|_| fs::metadata(directory)) {
            // Who may look into it was somebody's choice.
            let _ = fs::set_permissions(&self.path, Permissions::from_mode(meta.mode() & 0o777));
        }
        match fs::remove_dir(directory) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                return Err(HomeError::Occupied { path: directory.to_owned() });
            }
            Err(error) => return Err(HomeError::io("replace", directory)(error)),
        }
        rename(&self.path, directory)
    }

    /// One entry of it becomes visible.
    pub(crate) fn give(&self, name: &str, target: &Path) -> Result<(), HomeError> {
        rename(&self.path.join(name), target)
    }
}

/// Moves a directory in one step to where nothing is yet.
fn rename(from: &Path, to: &Path) -> Result<(), HomeError> {
    // A directory that cannot be written to cannot be moved either: its `..` changes.
    let mode = fs::metadata(from).map_or(0o755, |meta| meta.permissions().mode());
    let _ = fs::set_permissions(from, Permissions::from_mode(mode | 0o700));
    let renamed = renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE);
    match renamed.map_err(io::Error::from) {
        Ok(()) => {
            let _ = fs::set_permissions(to, Permissions::from_mode(mode));
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(HomeError::Occupied { path: to.to_owned() })
        }
        Err(error) => Err(HomeError::io("make", to)(error)),
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        let _ = remove_all(&self.path);
    }
}

/// Removes a directory that others may look at: first out of sight, so that nobody sees it by half. An error is about the path that
/// is still there.
pub(crate) fn retire(path: &Path) -> Result<(), HomeError> {
    let Some(parent) = path.parent() else { return remove_all(path).map_err(HomeError::io("remove", path)) };
    let owner = Owner::own();
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // Its own name is in it, so that two who end at once do not get into each other's way.
    let unseen = parent.join(format!("{PREFIX}{owner}.{name}"));
    let left = if fs::rename(path, &unseen).is_ok() { &unseen } else { path };
    remove_all(left).map_err(HomeError::io("remove", left))
}

/// Staging directories in a directory whose processes have ended.
pub(crate) fn leftovers(parent: &Path) -> Vec<PathBuf> {
    let mut found =
        Leftovers::find(parent, |name| Owner::parse(name.strip_prefix(PREFIX)?.split_once('.')?.0));
    found.retain(|path| is_own_directory(path));
    found
}
