//! Changing files of a person: whole or not at all, through symlinks, with their owner and permissions, and only if no other
//! program has changed them meanwhile.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::fchown;

use super::error::GuardInstallError;
use crate::error::HostError;
use crate::settings::read_regular;

/// No settings file of a person is longer.
const MOST: u64 = 16 << 20;
/// Temporary files have such names, so that the next change finds what a killed one left.
const PREFIX: &str = ".metier-guard-";

/// Where a file really is: symlinks are followed, and must stay in `inside` if it is given.
pub(super) fn real_path(path: &Path, inside: Option<&Path>) -> Result<PathBuf, HostError> {
    let mut existing = path;
    while existing.symlink_metadata().is_err() {
        existing = existing.parent().unwrap_or(Path::new("/"));
    }
    let rest = path.strip_prefix(existing).unwrap_or(Path::new(""));
    let real = match existing.canonicalize() {
        Ok(real) if rest.as_os_str().is_empty() => real,
        Ok(real) => real.join(rest),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(GuardInstallError::Dangling { path: existing.to_owned() }.into());
        }
        Err(error) => return Err(HostError::read(path, error)),
    };
    let base = inside.map(|inside| inside.canonicalize().map_err(|error| HostError::read(inside, error)));
    if base.transpose()?.is_some_and(|base| !real.starts_with(base)) {
        return Err(GuardInstallError::LeadsOutside { path: path.to_owned(), target: real }.into());
    }
    Ok(real)
}

/// The content of a file; `None` if it does not exist.
pub(super) fn read(path: &Path) -> Result<Option<String>, HostError> {
    // Replacing a device would be the end of it.
    if path.metadata().is_ok_and(|meta| !meta.is_file()) {
        return Err(HostError::read(path, io::Error::other("it is not a regular file")));
    }
    match read_regular(path, MOST) {
        Ok(text) => Ok(Some(text)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound) => Ok(None),
        Err(error) => Err(HostError::read(path, error)),
    }
}

/// The directories on the way to a file that do not exist, the outer ones first.
pub(super) fn missing_directories(path: &Path) -> Vec<PathBuf> {
    let missing = path.ancestors().skip(1).take_while(|directory| directory.symlink_metadata().is_err());
    let mut missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
    missing.reverse();
    missing
}

/// Puts a text in the place of what a file had, `None` if it did not exist. Its directory is created.
pub(super) fn write(path: &Path, before: Option<&str>, after: &str) -> Result<(), HostError> {
    let failed = |source| HostError::write(path, source);
    let directory = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(directory).map_err(failed)?;
    remove_leftovers(directory);
    let mode = fs::Permissions::from_mode(0o666);
    let mut file = tempfile::Builder::new()
        .prefix(PREFIX)
        .permissions(mode)
        .tempfile_in(directory)
        .map_err(|error| failed(error.kind().into()))?;
    file.write_all(after.as_bytes()).map_err(failed)?;
    if before.is_some() {
        keep_owner(path, file.as_file())?;
    }
    file.as_file().sync_all().map_err(failed)?;
    if read(path)?.as_deref() != before {
        return Err(GuardInstallError::ChangedMeanwhile { path: path.to_owned() }.into());
    }
    let put = match before {
        Some(_) => file.persist(path),
        None => file.persist_noclobber(path),
    };
    put.map_err(|error| failed(error.error.kind().into()))?;
    File::open(directory).and_then(|directory| directory.sync_all()).map_err(failed)
}

/// Gives a new file the owner and the permissions of the one that it replaces.
fn keep_owner(path: &Path, new: &File) -> Result<(), HostError> {
    let failed = |source| HostError::write(path, source);
    let (old, made) = (path.metadata().map_err(failed)?, new.metadata().map_err(failed)?);
    if old.nlink() > 1 {
        return Err(GuardInstallError::HardLinks { path: path.to_owned() }.into());
    }
    if (made.uid(), made.gid()) != (old.uid(), old.gid()) {
        let (user, group) = (rustix::fs::Uid::from_raw(old.uid()), rustix::fs::Gid::from_raw(old.gid()));
        fchown(new, Some(user), Some(group)).map_err(|error| failed(error.into()))?;
    }
    new.set_permissions(old.permissions()).map_err(failed)
}

/// Removes what a command that was killed left. The caller holds the lock, so no other command uses it.
pub(super) fn remove_leftovers(directory: &Path) {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes())) {
        // What cannot be removed does no harm.
        let _ = fs::remove_file(entry.path());
    }
}

/// Removes a file, if it is there.
pub(super) fn remove(path: &Path) -> Result<(), HostError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(HostError::Io { action: "remove", path: path.to_owned(), source: error })
        }
        _ => Ok(()),
    }
}

/// Removes a directory, unless it is gone or something is in it.
pub(super) fn remove_empty(directory: &Path) -> Result<(), HostError> {
    use io::ErrorKind::{DirectoryNotEmpty, NotADirectory, NotFound};
    match fs::remove_dir(directory) {
        Err(error) if !matches!(error.kind(), NotFound | DirectoryNotEmpty | NotADirectory) => {
            Err(HostError::Io { action: "remove", path: directory.to_owned(), source: error })
        }
        _ => Ok(()),
    }
}
