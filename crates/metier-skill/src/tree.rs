//! The files of one skill on disk: found in a fixed order, within limits, with links and oddities reported
//! instead of followed.

use std::borrow::Cow;
use std::ffi::CStr;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, DirEntry, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::path::Arg;

use crate::error::SkillError;
use crate::{Limits, SymlinkPolicy};

/// Directories of version-control systems. They are no part of a skill, wherever they lie.
pub const VCS_DIRECTORIES: [&str; 4] = [".git", ".hg", ".jj", ".svn"];

/// Every file of one skill.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Tree {
    /// The skill's directory.
    pub root: PathBuf,
    /// Regular files, in byte order of their paths.
    pub files: Vec<TreeFile>,
    /// What was left out, in byte order of the paths.
    pub skipped: Vec<Skipped>,
    /// The limits that were passed. What lies beyond them may be missing from `files`.
    pub exceeded: Vec<Exceeded>,
}

/// A regular file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TreeFile {
    /// Relative to the skill's directory.
    pub path: PathBuf,
    /// Bytes of content.
    pub size: u64,
    /// Whether its owner may run it.
    pub executable: bool,
    /// Where the content is, where that is not `path`: a single-file skill, or a link that is followed.
    source: Option<PathBuf>,
}

/// Something in a skill's directory that is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skipped {
    /// Relative to the skill's directory.
    pub path: PathBuf,
    /// Why.
    pub reason: SkipReason,
}

/// Why something is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SkipReason {
    /// A symbolic link.
    Link,
    /// A symbolic link that leads out of the skill.
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
    /// Why what was just listed cannot be had.
    fn of(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::Changing,
            _ if is_link_error(error) => Self::Changing,
            _ => Self::Unreadable,
        }
    }
}

/// A limit that a skill passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Exceeded {
    /// More bytes than [`Limits::skill_bytes`].
    Bytes,
    /// More files and directories than [`Limits::entries`].
    Entries,
    /// Deeper directories than [`Limits::depth`].
    Depth,
}

impl Tree {
    /// The files below a directory.
    pub fn of_directory(root: &Path, limits: &Limits, symlinks: SymlinkPolicy) -> Result<Self, SkillError> {
        let directory = open_directory(CWD, root).map_err(SkillError::io(root))?;
        Self::below(directory, root, None, limits, symlinks)
    }

    /// The files below a directory that is open already. One file in it may be known by its name.
    pub(crate) fn below(
        directory: OwnedFd,
        root: &Path,
        known: Option<(&str, Stat)>,
        limits: &Limits,
        symlinks: SymlinkPolicy,
    ) -> Result<Self, SkillError> {
        let mut walk = Walk { known, ..Walk::new(root, limits, symlinks) };
        walk.directory(directory, Path::new(""), 0).map_err(SkillError::io(root))?;
        Ok(walk.finish())
    }

    /// The same without links, and with the content of each file as it was found on the way.
    pub(crate) fn read_below(
        directory: OwnedFd,
        root: &Path,
        limits: &Limits,
        take: &mut Take<'_>,
    ) -> Result<Self, SkillError> {
        let mut walk = Walk { take: Some(take), ..Walk::new(root, limits, SymlinkPolicy::Skip) };
        walk.directory(directory, Path::new(""), 0).map_err(SkillError::io(root))?;
        match walk.failed.take() {
            Some(error) => Err(error),
            None => Ok(walk.finish()),
        }
    }

    /// A markdown file that stands for a directory with just a `SKILL.md`.
    ///
    /// The path was given, so a link there is meant.
    pub fn of_file(path: &Path, limits: &Limits) -> Result<Self, SkillError> {
        let source = fs::canonicalize(path).map_err(SkillError::io(path))?;
        let stat =
            statat(CWD, &source, AtFlags::empty()).map_err(io::Error::from).map_err(SkillError::io(path))?;
        let file = TreeFile::new(PathBuf::from("SKILL.md"), &stat, Some(source));
        let exceeded = if file.size > limits.skill_bytes { vec![Exceeded::Bytes] } else { Vec::new() };
        let root = path.parent().unwrap_or(Path::new("")).to_owned();
        Ok(Self { root, files: vec![file], skipped: Vec::new(), exceeded })
    }

    /// An error if the skill passes a limit.
    pub fn within(&self, limits: &Limits) -> Result<(), SkillError> {
        let what = match self.exceeded.first() {
            None => return Ok(()),
            Some(Exceeded::Bytes) => format!("more than {} bytes", limits.skill_bytes),
            Some(Exceeded::Entries) => {
                format!("more than {} files and directories", limits.entries)
            }
            Some(Exceeded::Depth) => format!("directories nested more than {} deep", limits.depth),
        };
        Err(SkillError::Limit { path: self.root.clone(), what })
    }

    /// An error if something of the skill cannot be read, or not now, so that nothing whole can be said of it.
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

    /// Where a file's content is.
    pub fn path_of(&self, file: &TreeFile) -> PathBuf {
        file.source.clone().unwrap_or_else(|| self.root.join(&file.path))
    }

    /// Opens a file to read.
    pub fn open(&self, file: &TreeFile) -> Result<File, SkillError> {
        let path = self.path_of(file);
        open_regular(CWD, &path).map(|(file, _)| file).map_err(SkillError::io(path))
    }
}

impl TreeFile {
    fn new(path: PathBuf, stat: &Stat, source: Option<PathBuf>) -> Self {
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        Self { path, size, executable: is_executable(stat), source }
    }

    /// The path as bytes, with `/` between its parts.
    pub fn path_bytes(&self) -> &[u8] {
        self.path.as_os_str().as_bytes()
    }

    /// The path as text, with `/` between its parts; bytes that are not UTF-8 are replaced.
    pub fn path_text(&self) -> Cow<'_, str> {
        self.path.to_string_lossy()
    }
}

/// Gets a file with its content.
type Take<'a> = dyn FnMut(&TreeFile, Vec<u8>) -> io::Result<()> + 'a;

struct Walk<'a> {
    tree: Tree,
    /// A file directly below the root that need not be asked for again.
    known: Option<(&'a str, Stat)>,
    limits: &'a Limits,
    symlinks: SymlinkPolicy,
    real_root: Option<PathBuf>,
    entries: usize,
    bytes: u64,
    /// Gets the content of every file, where that is wanted.
    take: Option<&'a mut Take<'a>>,
    /// What went wrong with that.
    failed: Option<SkillError>,
}

impl<'a> Walk<'a> {
    fn new(root: &Path, limits: &'a Limits, symlinks: SymlinkPolicy) -> Self {
        let tree =
            Tree { root: root.to_owned(), files: Vec::new(), skipped: Vec::new(), exceeded: Vec::new() };
        Self {
            tree,
            known: None,
            limits,
            symlinks,
            real_root: None,
            entries: 0,
            bytes: 0,
            take: None,
            failed: None,
        }
    }

    fn finish(self) -> Tree {
        let mut tree = self.tree;
        tree.files.sort_by(|a, b| a.path_bytes().cmp(b.path_bytes()));
        tree.skipped.sort_by(|a, b| a.path.as_os_str().cmp(b.path.as_os_str()));
        tree
    }

    fn directory(&mut self, directory: OwnedFd, relative: &Path, depth: usize) -> io::Result<()> {
        let mut directory = Dir::new(directory)?;
        while let Some(entry) = directory.read() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            self.entries += 1;
            if self.entries > self.limits.entries {
                self.exceed(Exceeded::Entries);
                return Ok(());
            }
            let path = relative.join(std::ffi::OsStr::from_bytes(name));
            self.entry(&directory, &entry, path, depth)?;
        }
        Ok(())
    }

    fn entry(&mut self, directory: &Dir, entry: &DirEntry, path: PathBuf, depth: usize) -> io::Result<()> {
        let (fd, name) = (directory.fd()?, entry.file_name());
        let stat = || statat(fd, name, AtFlags::SYMLINK_NOFOLLOW);
        // Some file systems do not say in the directory what an entry is.
        let kind = match entry.file_type() {
            FileType::Unknown => {
                stat().map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
            }
            kind => kind,
        };
        match kind {
            FileType::RegularFile if self.take.is_some() => self.read(fd, name, path),
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
            FileType::Directory if depth >= self.limits.depth => self.exceed(Exceeded::Depth),
            FileType::Directory => {
                let inner = open_inner(fd, name).and_then(|inner| self.directory(inner, &path, depth + 1));
                if let Err(error) = inner {
                    self.skip(path, SkipReason::of(&error));
                }
            }
            _ => self.skip(path, SkipReason::Special),
        }
        Ok(())
    }

    /// Reads a file that was just listed, once, and hands it on.
    fn read(&mut self, directory: BorrowedFd<'_>, name: &CStr, path: PathBuf) {
        if self.failed.is_some() || self.bytes > self.limits.skill_bytes {
            return;
        }
        let most = self.limits.skill_bytes.saturating_sub(self.bytes);
        let read = open_regular(directory, name).and_then(|(file, stat)| {
            let size = u64::try_from(stat.st_size).unwrap_or(0);
            // What is too much is counted, and not read.
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
            // It was a file a moment ago.
            Err(_) => self.failed = Some(SkillError::Changing { path: self.tree.root.join(path) }),
        }
    }

    fn file(&mut self, file: TreeFile) {
        self.bytes = self.bytes.saturating_add(file.size);
        if self.bytes > self.limits.skill_bytes {
            self.exceed(Exceeded::Bytes);
        }
        self.tree.files.push(file);
    }

    fn link(&mut self, path: PathBuf) {
        let target = fs::canonicalize(self.tree.root.join(&path));
        let inside = target.as_ref().is_ok_and(|target| self.is_inside(target));
        match (target, inside, self.symlinks) {
            (Ok(target), true, SymlinkPolicy::FollowWithinRoot) => {
                match statat(CWD, &target, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) if FileType::from_raw_mode(stat.st_mode).is_file() => {
                        self.file(TreeFile::new(path, &stat, Some(target)));
                    }
                    _ => self.skip(path, SkipReason::Link),
                }
            }
            (Ok(_), false, _) => self.skip(path, SkipReason::LinkOutside),
            _ => self.skip(path, SkipReason::Link),
        }
    }

    fn is_inside(&mut self, target: &Path) -> bool {
        if self.real_root.is_none() {
            self.real_root = fs::canonicalize(&self.tree.root).ok();
        }
        self.real_root.as_ref().is_some_and(|root| target.starts_with(root))
    }

    fn skip(&mut self, path: PathBuf, reason: SkipReason) {
        self.tree.skipped.push(Skipped { path, reason });
    }

    fn exceed(&mut self, limit: Exceeded) {
        if !self.tree.exceeded.contains(&limit) {
            self.tree.exceeded.push(limit);
        }
    }
}

/// Whether a file's owner may run it.
fn is_executable(stat: &Stat) -> bool {
    Mode::from_raw_mode(stat.st_mode).contains(Mode::XUSR)
}

/// Opens a directory to list it and to open what is in it.
pub(crate) fn open_directory(at: impl AsFd, path: impl Arg) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(openat(at, path, flags, Mode::empty())?)
}

/// Opens a directory inside a skill: not if it has become a link since it was listed.
fn open_inner(at: impl AsFd, name: impl Arg) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(at, name, flags, Mode::empty())?)
}

/// Opens a regular file, and says what the system knows of it: never through a link, and never waiting for the writer of a
/// pipe.
pub(crate) fn open_regular(at: impl AsFd, path: impl Arg) -> io::Result<(File, Stat)> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(at, path, flags, Mode::empty())?;
    let stat = fstat(&file)?;
    if FileType::from_raw_mode(stat.st_mode).is_file() {
        Ok((File::from(file), stat))
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
    }
}

/// The bytes of a file, as many as it had when it was opened; what is appended meanwhile is for the next reading.
pub(crate) fn read_all(mut file: File, size: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read(rest) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// Whether opening failed because the path is a symbolic link.
pub(crate) fn is_link_error(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

/// Whether there is anything at the path, a broken link too.
pub(crate) fn exists(path: &Path) -> bool {
    statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).is_ok()
}
