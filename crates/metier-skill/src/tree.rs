//! The files of one skill on disk: found in a fixed order, within limits, with links and oddities reported
//! instead of followed.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

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
        let tree =
            Self { root: root.to_owned(), files: Vec::new(), skipped: Vec::new(), exceeded: Vec::new() };
        let mut walk = Walk { tree, limits, symlinks, real_root: None, entries: 0, bytes: 0 };
        walk.directory(Path::new(""), 0).map_err(SkillError::io(root))?;
        let mut tree = walk.tree;
        tree.files.sort_by_cached_key(TreeFile::path_bytes);
        tree.skipped.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    /// A markdown file that stands for a directory with just a `SKILL.md`.
    pub fn of_file(path: &Path) -> Result<Self, SkillError> {
        let meta = fs::metadata(path).map_err(SkillError::io(path))?;
        let file = TreeFile {
            path: PathBuf::from("SKILL.md"),
            size: meta.len(),
            executable: is_executable(&meta),
            source: Some(path.to_owned()),
        };
        let root = path.parent().unwrap_or(Path::new("")).to_owned();
        Ok(Self { root, files: vec![file], skipped: Vec::new(), exceeded: Vec::new() })
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

    /// Where a file's content is.
    pub fn path_of(&self, file: &TreeFile) -> PathBuf {
        file.source.clone().unwrap_or_else(|| self.root.join(&file.path))
    }

    /// Opens a file to read.
    pub fn open(&self, file: &TreeFile) -> Result<File, SkillError> {
        let path = self.path_of(file);
        open_regular(&path).map_err(SkillError::io(path))
    }
}

impl TreeFile {
    /// The path as bytes, with `/` between its parts on every platform.
    pub fn path_bytes(&self) -> Vec<u8> {
        #[cfg(unix)]
        {
            use std::os::unix::ffi::OsStrExt as _;
            self.path.as_os_str().as_bytes().to_vec()
        }
        #[cfg(not(unix))]
        {
            self.path.to_string_lossy().replace('\\', "/").into_bytes()
        }
    }

    /// The path as text, with `/` between its parts; bytes that are not UTF-8 are replaced.
    pub fn path_text(&self) -> String {
        String::from_utf8_lossy(&self.path_bytes()).into_owned()
    }
}

struct Walk<'a> {
    tree: Tree,
    limits: &'a Limits,
    symlinks: SymlinkPolicy,
    real_root: Option<PathBuf>,
    entries: usize,
    bytes: u64,
}

impl Walk<'_> {
    fn directory(&mut self, relative: &Path, depth: usize) -> io::Result<()> {
        for entry in fs::read_dir(self.tree.root.join(relative))? {
            let entry = entry?;
            self.entries += 1;
            if self.entries > self.limits.entries {
                self.exceed(Exceeded::Entries);
                return Ok(());
            }
            self.entry(&entry, relative.join(entry.file_name()), depth)?;
        }
        Ok(())
    }

    fn entry(&mut self, entry: &fs::DirEntry, path: PathBuf, depth: usize) -> io::Result<()> {
        let kind = entry.file_type()?;
        if kind.is_file() {
            match entry.metadata() {
                Ok(meta) => self.file(path, &meta, None),
                Err(_) => self.skip(path, SkipReason::Unreadable),
            }
        } else if kind.is_symlink() {
            self.link(path);
        } else if kind.is_dir() {
            let version_control = VCS_DIRECTORIES.iter().any(|name| entry.file_name() == *name);
            if version_control {
                self.skip(path, SkipReason::VersionControl);
            } else if depth >= self.limits.depth {
                self.exceed(Exceeded::Depth);
            } else if self.directory(&path, depth + 1).is_err() {
                self.skip(path, SkipReason::Unreadable);
            }
        } else {
            self.skip(path, SkipReason::Special);
        }
        Ok(())
    }

    fn file(&mut self, path: PathBuf, meta: &fs::Metadata, source: Option<PathBuf>) {
        self.bytes = self.bytes.saturating_add(meta.len());
        if self.bytes > self.limits.skill_bytes {
            self.exceed(Exceeded::Bytes);
        }
        self.tree.files.push(TreeFile { path, size: meta.len(), executable: is_executable(meta), source });
    }

    fn link(&mut self, path: PathBuf) {
        let target = fs::canonicalize(self.tree.root.join(&path));
        let inside = target.as_ref().is_ok_and(|target| self.is_inside(target));
        match (target, inside, self.symlinks) {
            (Ok(target), true, SymlinkPolicy::FollowWithinRoot) => match fs::metadata(&target) {
                Ok(meta) if meta.is_file() => self.file(path, &meta, Some(target)),
                _ => self.skip(path, SkipReason::Link),
            },
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

/// Whether the owner may run it. Windows has no such bit, so there nothing is.
fn is_executable(meta: &fs::Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        meta.mode() & 0o100 != 0
    }
    #[cfg(not(unix))]
    {
        let _ = meta;
        false
    }
}

/// Opens a regular file: never through a link, and never waiting for the writer of a pipe.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    }
    let file = options.open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
    }
}

/// Whether opening failed because the path is a symbolic link.
pub(crate) fn is_link_error(error: &io::Error) -> bool {
    #[cfg(unix)]
    {
        error.raw_os_error() == Some(libc::ELOOP)
    }
    #[cfg(not(unix))]
    {
        let _ = error;
        false
    }
}

/// Whether there is anything at the path, a broken link too.
pub(crate) fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}
