//! A skill's directory, held open: what is read through it is beneath it, whatever its path means by now.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, Stat, fstat, openat};
use rustix::io::Errno;

use crate::error::SkillError;
use crate::location::SKILL_FILES;
use crate::manifest::{Manifest, ManifestFile};
use crate::tree::{Skipped, Tree, open_directory};
use crate::{Digest, Limits, SymlinkPolicy};

/// A skill's directory, held open.
#[derive(Debug)]
pub struct Folder {
    handle: OwnedFd,
    path: PathBuf,
}

/// A whole skill as it was read, once.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Captured {
    /// Every file.
    pub manifest: Manifest,
    /// The bytes of its `SKILL.md`.
    pub skill_md: Vec<u8>,
    /// What is in the directory and no part of the skill.
    pub skipped: Vec<Skipped>,
}

impl Captured {
    /// A skill that was read elsewhere than from a directory.
    pub const fn new(manifest: Manifest, skill_md: Vec<u8>) -> Self {
        Self { manifest, skill_md, skipped: Vec::new() }
    }
}

impl Folder {
    /// The directory at a path that was given, links and all.
    pub fn open(path: &Path) -> Result<Self, SkillError> {
        let handle = open_directory(CWD, path).map_err(SkillError::io(path))?;
        Ok(Self { handle, path: path.to_owned() })
    }

    /// A directory at or below another one, the way there without links.
    pub fn open_below(root: &Path, relative: &Path) -> Result<Self, SkillError> {
        let above = open_directory(CWD, root).map_err(SkillError::io(root))?;
        let path = root.join(relative);
        if relative.as_os_str().is_empty() {
            return Ok(Self { handle: above, path });
        }
        let handle = open_beneath(above.as_fd(), relative, DIRECTORY).map_err(SkillError::io(&path))?;
        Ok(Self { handle, path })
    }

    /// Where it was when it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads a regular file of the skill: through no link, waiting for nobody, and no more than `most` bytes.
    pub fn read(&self, path: &Path, most: u64) -> io::Result<Vec<u8>> {
        let (mut file, stat) = self.open_file(path)?;
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        if size > most {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        // One more, so that a file which has grown is not taken for one that ends here.
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0).saturating_add(1));
        file.by_ref().take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
    }

    fn open_file(&self, path: &Path) -> io::Result<(File, Stat)> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = open_beneath(self.handle.as_fd(), path, flags)?;
        let stat = fstat(&file)?;
        if FileType::from_raw_mode(stat.st_mode).is_file() {
            Ok((File::from(file), stat))
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"))
        }
    }

    /// Reads the whole skill, each file once, and hands out each with its bytes. The digest of the manifest is that of
    /// these very bytes, whoever changes the directory meanwhile.
    pub fn capture(
        &self,
        limits: &Limits,
        mut take: impl FnMut(&ManifestFile, &[u8]) -> io::Result<()>,
    ) -> Result<Captured, SkillError> {
        let listed = openat(&self.handle, ".", DIRECTORY, Mode::empty()).map_err(io::Error::from);
        let listed = listed.map_err(SkillError::io(&self.path))?;
        let tree = Tree::below(listed, &self.path, None, limits, SymlinkPolicy::Skip)?;
        tree.within(limits)?;
        tree.readable()?;
        let skill_file =
            SKILL_FILES.into_iter().find(|name| tree.files.iter().any(|file| file.path == Path::new(name)));
        let skill_file =
            skill_file.ok_or_else(|| SkillError::NotFound { path: self.path.join(SKILL_FILES[0]) })?;
        let (mut files, mut skill_md, mut rest) =
            (Vec::with_capacity(tree.files.len()), Vec::new(), limits.skill_bytes);
        for file in &tree.files {
            let bytes =
                self.read(&file.path, rest).map_err(|error| self.changing(&file.path, error, limits))?;
            rest = rest.saturating_sub(bytes.len() as u64);
            let found = ManifestFile::new(&file.path, file.executable, Digest::of(&bytes));
            take(&found, &bytes)
                .map_err(|source| SkillError::Io { path: self.path.join(&file.path), source })?;
            files.push(found);
            if file.path == Path::new(skill_file) {
                skill_md = bytes;
            }
        }
        Ok(Captured { manifest: Manifest::new(files), skill_md, skipped: tree.skipped })
    }

    /// Why a file that was just listed cannot be read.
    fn changing(&self, path: &Path, error: io::Error, limits: &Limits) -> SkillError {
        let path = self.path.join(path);
        match error.kind() {
            io::ErrorKind::PermissionDenied => SkillError::Io { path, source: error },
            io::ErrorKind::FileTooLarge => SkillError::Limit {
                path: self.path.clone(),
                what: format!("more than {} bytes", limits.skill_bytes),
            },
            _ => SkillError::Changing { path },
        }
    }
}

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens what is beneath a directory, no part of the way a link. Parts that lead up or begin elsewhere are refused.
fn open_beneath(at: BorrowedFd<'_>, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    if !is_plain || path.as_os_str().is_empty() {
        return Err(Errno::LOOP.into());
    }
    let mut parts = path.components().peekable();
    let mut above: Option<OwnedFd> = None;
    while let Some(part) = parts.next() {
        let here = above.as_ref().map_or(at, AsFd::as_fd);
        if parts.peek().is_none() {
            return Ok(openat(here, part.as_os_str(), flags, Mode::empty())?);
        }
        above = Some(openat(here, part.as_os_str(), DIRECTORY, Mode::empty())?);
    }
    Err(Errno::NOENT.into())
}
