//! Writes a skill's files below an open directory: never through links, each file once, with digests computed
//! on the way.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, fchmod, mkdirat, openat};
use rustix::io::Errno;

use crate::Digest;
use crate::disk::{DIRECTORY, open_beneath, open_directory};
use crate::manifest::{Manifest, ManifestFile};

/// Writes the files of a skill one by one. Use it wherever a skill is copied.
///
/// ```
/// use std::path::Path;
///
/// let directory = tempfile::tempdir().unwrap();
/// let mut writer = metier_skill::TreeWriter::open(directory.path()).unwrap();
/// writer.make(Path::new("references"), 0o755).unwrap();
/// writer.write(Path::new("references/guide.md"), false, b"# Guide\n", 0o444).unwrap();
/// assert!(directory.path().join("references/guide.md").is_file());
/// assert_eq!(writer.finish().files().len(), 1);
/// ```
#[derive(Debug)]
pub struct TreeWriter {
    top: OwnedFd,
    ignores_umask: bool,
    /// The directories that were created, with their modes.
    directories: BTreeMap<PathBuf, u32>,
    /// The directory of the last written file.
    last: Option<(PathBuf, OwnedFd)>,
    files: Vec<ManifestFile>,
}

impl TreeWriter {
    /// Writes below an existing directory.
    pub fn open(directory: &Path) -> io::Result<Self> {
        let top = open_directory(CWD, directory)?;
        Ok(Self { top, ignores_umask: false, directories: BTreeMap::new(), last: None, files: Vec::new() })
    }

    /// Gives every file and directory exactly the requested mode, regardless of the umask.
    #[must_use]
    pub const fn ignoring_umask(mut self) -> Self {
        self.ignores_umask = true;
        self
    }

    /// Whether a directory was created.
    pub fn has(&self, directory: &Path) -> bool {
        self.directories.contains_key(directory)
    }

    /// Creates a directory by its path in the tree. Its parent must exist. Does nothing if it was already
    /// created.
    pub fn make(&mut self, directory: &Path, mode: u32) -> io::Result<()> {
        if self.has(directory) {
            return Ok(());
        }
        let name = directory.file_name().ok_or(Errno::INVAL)?;
        let ignores_umask = self.ignores_umask;
        let above = self.parent(directory)?;
        mkdirat(above, name, Mode::from_raw_mode(mode))?;
        if ignores_umask {
            fchmod(openat(above, name, DIRECTORY, Mode::empty())?, Mode::from_raw_mode(mode))?;
        }
        self.directories.insert(directory.to_owned(), mode);
        Ok(())
    }

    /// Writes a new file by its path in the tree. Its directory must exist.
    pub fn write(&mut self, path: &Path, executable: bool, bytes: &[u8], mode: u32) -> io::Result<()> {
        let name = path.file_name().ok_or(Errno::INVAL)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let ignores_umask = self.ignores_umask;
        let mut file = File::from(openat(self.parent(path)?, name, flags, Mode::from_raw_mode(mode))?);
        file.write_all(bytes)?;
        if ignores_umask {
            fchmod(&file, Mode::from_raw_mode(mode))?;
        }
        self.files.push(ManifestFile::new(path, executable, Digest::of(bytes)));
        Ok(())
    }

    /// Removes the write permission from the directories that were created.
    pub fn close(&self) -> io::Result<()> {
        for (directory, mode) in self.directories.iter().rev() {
            let opened = open_beneath(self.top.as_fd(), directory, DIRECTORY)?;
            fchmod(opened, Mode::from_raw_mode(mode & 0o555))?;
        }
        Ok(())
    }

    /// The files that were written so far.
    pub fn files(&self) -> &[ManifestFile] {
        &self.files
    }

    /// The manifest of the written files.
    pub fn finish(self) -> Manifest {
        Manifest::new(self.files)
    }

    fn parent(&mut self, path: &Path) -> io::Result<BorrowedFd<'_>> {
        let parent = path.parent().unwrap_or(Path::new(""));
        if parent.as_os_str().is_empty() {
            return Ok(self.top.as_fd());
        }
        let is_last = self.last.as_ref().is_some_and(|(last, _)| last == parent);
        let last = match self.last.take() {
            Some(last) if is_last => last,
            _ => (parent.to_owned(), open_beneath(self.top.as_fd(), parent, DIRECTORY)?),
        };
        Ok(self.last.insert(last).1.as_fd())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn nothing_is_written_through_a_link_or_twice_or_above() {
        let place = tempfile::tempdir().unwrap();
        let [own, other] = ["own", "other"].map(|name| place.path().join(name));
        fs::create_dir(&own).unwrap();
        fs::create_dir(&other).unwrap();
        symlink(&other, own.join("link")).unwrap();
        symlink(other.join("new"), own.join("file")).unwrap();
        let mut writer = TreeWriter::open(&own).unwrap();
        for path in ["link/x", "file", "../x", "none/x", ""] {
            assert!(writer.write(Path::new(path), false, b"x", 0o444).is_err(), "{path}");
        }
        writer.write(Path::new("x"), false, b"x", 0o444).unwrap();
        assert!(writer.write(Path::new("x"), false, b"y", 0o444).is_err());
        assert!(
            writer.make(Path::new("link"), 0o755).is_err() && writer.make(Path::new("../y"), 0o755).is_err()
        );
        assert_eq!(fs::read_dir(&other).unwrap().count(), 0);
        assert_eq!(writer.finish().files().len(), 1);
    }

    #[test]
    fn modes_are_as_asked_for_and_directories_are_closed() {
        let place = tempfile::tempdir().unwrap();
        let mode = |path: &str| fs::metadata(place.path().join(path)).unwrap().permissions().mode() & 0o777;
        let mut writer = TreeWriter::open(place.path()).unwrap().ignoring_umask();
        for directory in ["a", "a/b", "a"] {
            writer.make(Path::new(directory), 0o777).unwrap();
        }
        writer.write(Path::new("a/b/run"), true, b"", 0o777).unwrap();
        assert_eq!((mode("a/b"), mode("a/b/run")), (0o777, 0o777));
        writer.close().unwrap();
        assert_eq!((mode("a"), mode("a/b")), (0o555, 0o555));
    }
}
