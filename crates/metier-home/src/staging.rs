//! Directories that are prepared out of sight and become visible in one step, and cleanup of those that dead
//! processes left behind.
//!
//! The name of such a directory, or a file beside it, identifies the process: its number, its start time and
//! the boot of the machine. Later processes remove directories whose process has ended.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use metier_sandbox::{Leftovers, Owner, is_own_directory};
use metier_skill::disk::remove_all;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::error::HomeError;

const PREFIX: &str = ".metier-staging-";

/// A directory that is not visible yet. It is removed unless it becomes visible.
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
                // Its own name has no meaning.
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
            // The permissions of an existing directory are kept.
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

/// Removes a directory that other processes may be reading. It is moved out of sight first, so that it is never
/// seen half removed. An error names the path that still exists.
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
