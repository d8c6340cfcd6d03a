//! The files of one skill on disk, listed in a fixed order and within limits. Links and special files are
//! reported, not followed.

use std::borrow::Cow;
use std::ffi::{CStr, OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, FileType, Mode, Stat, openat, readlinkat, statat};

use crate::disk::{
    DIRECTORY, READ, VCS_DIRECTORIES, list, open_beneath, open_directory, open_regular, read_all, regular,
};
use crate::error::SkillError;
use crate::{Limits, SymlinkPolicy};

/// All files of one skill.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Tree {
    /// The skill's directory.
    pub root: PathBuf,
    /// Regular files, in byte order of their paths.
    pub files: Vec<TreeFile>,
    /// Entries that were skipped, in byte order of their paths.
    pub skipped: Vec<SkippedFile>,
    /// The limits that were exceeded. `files` may then be incomplete.
    pub exceeded: Vec<ExceededLimit>,
    /// The handle of the directory that files are opened relative to. Its path may point elsewhere after the
    /// listing.
    base: Arc<OwnedFd>,
    /// The path of that directory, if a file's `source` is relative to it.
    base_path: Option<PathBuf>,
}

/// A regular file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TreeFile {
    /// Relative to the skill's directory.
    pub path: PathBuf,
    /// Bytes of content.
    pub size: u64,
    /// Whether the owner may execute it.
    pub executable: bool,
    /// Metadata from when the file was listed.
    pub stamp: FileStamp,
    /// The file's path relative to the base, if it differs from `path`: for single-file skills and followed
    /// links.
    source: Option<PathBuf>,
}

/// Metadata that shows, without reading a file, whether it is still the one that was listed. Times are in
/// nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct FileStamp {
    /// The inode number.
    pub inode: u64,
    /// The content's last modification time.
    pub modified: i64,
    /// The last change of content or metadata. Unlike the modification time, it cannot be set by programs.
    pub changed: i64,
}

impl FileStamp {
    fn of(stat: &Stat) -> Self {
        Self {
            inode: stat.st_ino,
            modified: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
            changed: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
        }
    }
}

/// The field types differ between systems.
fn nanoseconds(seconds: impl TryInto<i64>, nanoseconds: impl TryInto<i64>) -> i64 {
    let seconds = seconds.try_into().unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds.try_into().unwrap_or(0))
}

/// A skipped entry of a skill's directory.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkippedFile {
    /// Relative to the skill's directory.
    pub path: PathBuf,
    /// Why it was skipped.
    pub reason: SkipReason,
}

/// Why an entry was skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SkipReason {
    /// A symbolic link.
    Link,
    /// A symbolic link that points outside the skill.
    LinkOutside,
    /// A socket, pipe or device.
    Special,
    /// A version-control directory.
    VersionControl,
    /// A file or directory that cannot be read.
    Unreadable,
    /// A file or directory that was removed or replaced after it was listed.
    Changing,
}

impl SkipReason {
    /// Why an entry that was just listed could not be opened.
    fn of(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::Changing,
            _ if is_link_error(error) => Self::Changing,
            _ => Self::Unreadable,
        }
    }
}

/// A limit that a skill exceeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ExceededLimit {
    /// More bytes than [`Limits::skill_bytes`].
    Bytes,
    /// More files and directories than [`Limits::entries`].
    Entries,
    /// Deeper directories than [`Limits::depth`].
    Depth,
}

impl Tree {
    /// Lists the files below a directory.
    pub fn of_directory(root: &Path, limits: &Limits, symlinks: SymlinkPolicy) -> Result<Self, SkillError> {
        let directory = open_directory(CWD, root).map_err(SkillError::io(root))?;
        Self::below(directory, root, None, limits, symlinks)
    }

    /// Lists the files below an open directory. The name of one file in it may already be known.
    pub(crate) fn below(
        directory: OwnedFd,
        root: &Path,
        known: Option<(&str, Stat)>,
        limits: &Limits,
        symlinks: SymlinkPolicy,
    ) -> Result<Self, SkillError> {
        let base = directory.try_clone().map_err(SkillError::io(root))?;
        let mut walk = Walk { known, ..Walk::new(base, root, limits, symlinks) };
        walk.directory(directory, Path::new(""), 0).map_err(SkillError::io(root))?;
        Ok(walk.finish())
    }

    /// The same without following links, and with the content of each file as it was read during the listing.
    pub(crate) fn read_below(
        directory: OwnedFd,
        root: &Path,
        limits: &Limits,
        take: &mut Take<'_>,
    ) -> Result<Self, SkillError> {
        let base = directory.try_clone().map_err(SkillError::io(root))?;
        let mut walk = Walk { take: Some(take), ..Walk::new(base, root, limits, SymlinkPolicy::Skip) };
        walk.directory(directory, Path::new(""), 0).map_err(SkillError::io(root))?;
        match walk.failed.take() {
            Some(error) => Err(error),
            None => Ok(walk.finish()),
        }
    }

    /// A single Markdown file, treated as a directory that contains only a `SKILL.md`.
    ///
    /// The user named this path, so links are followed.
    pub fn of_file(path: &Path, limits: &Limits) -> Result<Self, SkillError> {
        let real = fs::canonicalize(path).map_err(SkillError::io(path))?;
        let (Some(above), Some(name)) = (real.parent(), real.file_name()) else {
            return Err(SkillError::Io { path: path.to_owned(), source: io::ErrorKind::IsADirectory.into() });
        };
        let base = open_directory(CWD, above).map_err(SkillError::io(path))?;
        let stat = statat(&base, name, AtFlags::SYMLINK_NOFOLLOW).map_err(io::Error::from);
        let stat = stat.map_err(SkillError::io(path))?;
        let file = TreeFile::new(PathBuf::from("SKILL.md"), &stat, Some(name.into()));
        let exceeded = if file.size > limits.skill_bytes { vec![ExceededLimit::Bytes] } else { Vec::new() };
        let root = path.parent().unwrap_or(Path::new("")).to_owned();
        let (base, base_path) = (Arc::new(base), Some(above.to_owned()));
        Ok(Self { root, files: vec![file], skipped: Vec::new(), exceeded, base, base_path })
    }

    /// Returns an error if the skill exceeds a limit.
    pub fn within(&self, limits: &Limits) -> Result<(), SkillError> {
        let what = match self.exceeded.first() {
            None => return Ok(()),
            Some(ExceededLimit::Bytes) => format!("more than {} bytes", limits.skill_bytes),
            Some(ExceededLimit::Entries) => {
                format!("more than {} files and directories", limits.entries)
            }
            Some(ExceededLimit::Depth) => {
                format!("directories nested more than {} levels deep", limits.depth)
            }
        };
        Err(SkillError::Limit { path: self.root.clone(), what })
    }

    /// Returns an error if a file could not be read or changed, so that the listing is incomplete.
    pub(crate) fn readable(&self) -> Result<(), SkillError> {
        for skipped in &self.skipped {
            let path = || self.root.join(&skipped.path);
            match skipped.reason {
                SkipReason::Unreadable => {
                    let source = io::ErrorKind::PermissionDenied.into();
                    return Err(SkillError::Io { path: path(), source });
                }
                SkipReason::Changing => return Err(SkillError::Changing { path: path() }),
                _ => {}
            }
        }
        Ok(())
    }

    /// Where the file's content was when it was listed, for messages. Use [`Tree::open`] to read it.
    pub fn path_of(&self, file: &TreeFile) -> PathBuf {
        match (&file.source, &self.base_path) {
            (Some(source), Some(base)) => base.join(source),
            _ => self.root.join(&file.path),
        }
    }

    /// Opens a file relative to the listed directory. Fails if a directory on the way has become a link.
    pub fn open(&self, file: &TreeFile) -> Result<File, SkillError> {
        let path = file.source.as_ref().unwrap_or(&file.path);
        let opened = open_beneath(self.base.as_fd(), path, READ).and_then(regular);
        opened.map(|(file, _)| file).map_err(|source| match SkipReason::of(&source) {
            SkipReason::Changing => SkillError::Changing { path: self.path_of(file) },
            _ => SkillError::Io { path: self.path_of(file), source },
        })
    }

    /// Reads a file as [`Tree::open`] opens it; `None` if it has more than `most` bytes now.
    pub fn read(&self, file: &TreeFile, most: u64) -> Result<Option<Vec<u8>>, SkillError> {
        let mut bytes = Vec::new();
        // A file may grow while it is being read.
        let read = self.open(file)?.take(most.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|source| SkillError::Io { path: self.path_of(file), source })?;
        Ok(Some(bytes).filter(|bytes| bytes.len() as u64 <= most))
    }

    /// The target of a skipped link as written in the link; `None` if it is no longer a link.
    pub fn link_target(&self, skipped: &SkippedFile) -> Option<PathBuf> {
        let (above, name) = (skipped.path.parent()?, skipped.path.file_name()?);
        let target = if above.as_os_str().is_empty() {
            readlinkat(&self.base, name, Vec::new())
        } else {
            readlinkat(open_beneath(self.base.as_fd(), above, DIRECTORY).ok()?, name, Vec::new())
        };
        Some(OsString::from_vec(target.ok()?.into_bytes()).into())
    }
}

impl TreeFile {
    fn new(path: PathBuf, stat: &Stat, source: Option<PathBuf>) -> Self {
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        Self { path, size, executable: is_executable(stat), stamp: FileStamp::of(stat), source }
    }

    /// Whether the content is elsewhere in the skill, behind a followed link.
    pub fn is_linked(&self) -> bool {
        self.source.is_some()
    }

    /// The path as bytes, with `/` as separator.
    pub fn path_bytes(&self) -> &[u8] {
        self.path.as_os_str().as_bytes()
    }

    /// The path as text, with `/` as separator. Bytes that are not UTF-8 are replaced.
    pub fn path_text(&self) -> Cow<'_, str> {
        self.path.to_string_lossy()
    }
}

/// Receives a file with its content.
type Take<'a> = dyn FnMut(&TreeFile, Vec<u8>) -> io::Result<()> + 'a;

struct Walk<'a> {
    tree: Tree,
    /// A file directly below the root whose metadata is already known.
    known: Option<(&'a str, Stat)>,
    limits: &'a Limits,
    symlinks: SymlinkPolicy,
    entries: usize,
    bytes: u64,
    /// Receives the content of every file, if requested.
    take: Option<&'a mut Take<'a>>,
    /// The error of that callback.
    failed: Option<SkillError>,
}

impl<'a> Walk<'a> {
    fn new(base: OwnedFd, root: &Path, limits: &'a Limits, symlinks: SymlinkPolicy) -> Self {
        let tree = Tree {
            root: root.to_owned(),
            files: Vec::new(),
            skipped: Vec::new(),
            exceeded: Vec::new(),
            base: Arc::new(base),
            base_path: None,
        };
        Self { tree, known: None, limits, symlinks, entries: 0, bytes: 0, take: None, failed: None }
    }

    fn finish(self) -> Tree {
        let mut tree = self.tree;
        tree.files.sort_by(|a, b| a.path_bytes().cmp(b.path_bytes()));
        tree.skipped.sort_by(|a, b| a.path.as_os_str().cmp(b.path.as_os_str()));
        tree
    }

    fn directory(&mut self, directory: OwnedFd, relative: &Path, depth: usize) -> io::Result<()> {
        list(directory, |at, name, kind| {
            self.entries += 1;
            if self.entries > self.limits.entries {
                self.exceed(ExceededLimit::Entries);
                return ControlFlow::Break(());
            }
            let path = relative.join(OsStr::from_bytes(name.to_bytes()));
            self.entry(at, name, kind, path, depth);
            ControlFlow::Continue(())
        })
    }

    fn entry(&mut self, at: BorrowedFd<'_>, name: &CStr, kind: FileType, path: PathBuf, depth: usize) {
        let stat = || statat(at, name, AtFlags::SYMLINK_NOFOLLOW);
        match kind {
            FileType::RegularFile if self.take.is_some() => self.read(at, name, path),
            FileType::RegularFile => match self
                .known
                .filter(|(known, _)| path.as_os_str() == *known)
                .map_or_else(stat, |(_, stat)| Ok(stat))
            {
                Ok(stat) => self.file(TreeFile::new(path, &stat, None)),
                Err(error) => self.skip(path, SkipReason::of(&error.into())),
            },
            FileType::Symlink => self.link(path),
            FileType::Directory if VCS_DIRECTORIES.iter().any(|vcs| name.to_bytes() == vcs.as_bytes()) => {
                self.skip(path, SkipReason::VersionControl);
            }
            FileType::Directory if depth >= self.limits.depth => self.exceed(ExceededLimit::Depth),
            FileType::Directory => {
                let inner = openat(at, name, DIRECTORY, Mode::empty()).map_err(io::Error::from);
                let inner = inner.and_then(|inner| self.directory(inner, &path, depth + 1));
                if let Err(error) = inner {
                    self.skip(path, SkipReason::of(&error));
                }
            }
            _ => self.skip(path, SkipReason::Special),
        }
    }

    /// Reads a file that was just listed once, and passes it on.
    fn read(&mut self, directory: BorrowedFd<'_>, name: &CStr, path: PathBuf) {
        if self.failed.is_some() || self.bytes > self.limits.skill_bytes {
            return;
        }
        let most = self.limits.skill_bytes.saturating_sub(self.bytes);
        let read = open_regular(directory, name).and_then(|(file, stat)| {
            let size = u64::try_from(stat.st_size).unwrap_or(0);
            // Bytes over the limit are counted, but not read.
            Ok((stat, if size > most { Vec::new() } else { read_all(file, size)? }))
        });
        match read {
            Ok((stat, bytes)) => {
                let is_read = u64::try_from(stat.st_size).unwrap_or(0) <= most;
                let file = TreeFile::new(path, &stat, None);
                if let Some(take) = self.take.as_mut().filter(|_| is_read)
                    && let Err(source) = take(&file, bytes)
                {
                    self.failed = Some(SkillError::Io { path: self.tree.root.join(&file.path), source });
                }
                self.file(file);
            }
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                self.skip(path, SkipReason::Unreadable);
            }
            // It was a file when it was listed.
            Err(_) => self.failed = Some(SkillError::Changing { path: self.tree.root.join(path) }),
        }
    }

    fn file(&mut self, file: TreeFile) {
        self.bytes = self.bytes.saturating_add(file.size);
        if self.bytes > self.limits.skill_bytes {
            self.exceed(ExceededLimit::Bytes);
        }
        self.tree.files.push(file);
    }

    fn link(&mut self, path: PathBuf) {
        let Ok(target) = fs::canonicalize(self.tree.root.join(&path)) else {
            return self.skip(path, SkipReason::Link);
        };
        match (self.inside(&target), self.symlinks) {
            (None, _) => self.skip(path, SkipReason::LinkOutside),
            (Some(inside), SymlinkPolicy::FollowWithinRoot) => {
                match open_beneath(self.tree.base.as_fd(), &inside, READ).and_then(regular) {
                    Ok((_, stat)) => self.file(TreeFile::new(path, &stat, Some(inside))),
                    Err(_) => self.skip(path, SkipReason::Link),
                }
            }
            (Some(_), _) => self.skip(path, SkipReason::Link),
        }
    }

    /// The path without links relative to the root, if it is below the root.
    fn inside(&mut self, target: &Path) -> Option<PathBuf> {
        if self.tree.base_path.is_none() {
            self.tree.base_path = fs::canonicalize(&self.tree.root).ok();
        }
        target.strip_prefix(self.tree.base_path.as_ref()?).ok().map(Path::to_owned)
    }

    fn skip(&mut self, path: PathBuf, reason: SkipReason) {
        self.tree.skipped.push(SkippedFile { path, reason });
    }

    fn exceed(&mut self, limit: ExceededLimit) {
        if !self.tree.exceeded.contains(&limit) {
            self.tree.exceeded.push(limit);
        }
    }
}

/// Whether the owner may execute a file.
pub(crate) fn is_executable(stat: &Stat) -> bool {
    Mode::from_raw_mode(stat.st_mode).contains(Mode::XUSR)
}

/// Whether opening failed because the path is a symbolic link.
pub(crate) fn is_link_error(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

/// Whether anything exists at the path, including a broken link.
pub(crate) fn exists(path: &Path) -> bool {
    statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Permissions do not keep the administrator out, so this is tried with what a listing without them says.
    #[test]
    fn what_cannot_be_read_leaves_no_digest() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("SKILL.md"), "x").unwrap();
        let tree = Tree::of_directory(place.path(), &Limits::default(), SymlinkPolicy::Skip).unwrap();
        let with = |error: io::Error| {
            let mut tree = tree.clone();
            tree.skipped.push(SkippedFile { path: "locked".into(), reason: SkipReason::of(&error) });
            tree.readable().unwrap_err()
        };
        assert!(tree.readable().is_ok());
        let error = with(rustix::io::Errno::ACCESS.into());
        assert!(
            matches!(&error, SkillError::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied)
        );
        for changing in [rustix::io::Errno::NOENT, rustix::io::Errno::NOTDIR, rustix::io::Errno::LOOP] {
            assert!(matches!(with(changing.into()), SkillError::Changing { .. }));
        }
    }
}
