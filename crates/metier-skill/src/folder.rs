//! A skill's directory as an open handle. Files are read relative to it, even if its path points elsewhere by
//! now.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, openat};

use crate::disk::{DIRECTORY, is_plain, open_beneath, open_directory, read_beneath};
use crate::error::SkillError;
use crate::location::SKILL_FILES;
use crate::manifest::{Manifest, ManifestFile};
use crate::tree::{SkippedFile, Tree};
use crate::{Digest, Limits};

/// An open handle of a skill's directory.
#[derive(Debug)]
pub struct Folder {
    handle: OwnedFd,
    path: PathBuf,
}

/// A whole skill whose files were each read once.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CapturedSkill {
    /// All files.
    pub manifest: Manifest,
    /// The bytes of its `SKILL.md`.
    pub skill_md: Vec<u8>,
    /// Entries of the directory that do not belong to the skill.
    pub skipped: Vec<SkippedFile>,
}

impl CapturedSkill {
    /// A skill that was not read from a directory.
    pub const fn new(manifest: Manifest, skill_md: Vec<u8>) -> Self {
        Self { manifest, skill_md, skipped: Vec::new() }
    }
}

impl Folder {
    /// Opens the directory at a path that the user named. Links are followed.
    pub fn open(path: &Path) -> Result<Self, SkillError> {
        let handle = open_directory(CWD, path).map_err(SkillError::io(path))?;
        Ok(Self { handle, path: path.to_owned() })
    }

    /// Opens a directory at or below another one. No component of `relative` may be a link.
    pub fn open_below(root: &Path, relative: &Path) -> Result<Self, SkillError> {
        // Most paths have no links at all, which one system call can check.
        let path = root.join(relative);
        if let Some(handle) = is_plain(relative).then(|| open_without_links(&path)).flatten() {
            return Ok(Self { handle, path });
        }
        let above = open_directory(CWD, root).map_err(SkillError::io(root))?;
        if relative.as_os_str().is_empty() {
            return Ok(Self { handle: above, path });
        }
        let handle = open_beneath(above.as_fd(), relative, DIRECTORY).map_err(SkillError::io(&path))?;
        Ok(Self { handle, path })
    }

    /// The path at which it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads a regular file of the skill, up to `most` bytes, without following links or blocking.
    pub fn read(&self, path: &Path, most: u64) -> io::Result<Vec<u8>> {
        read_beneath(self.handle.as_fd(), path, most).map(|(bytes, _)| bytes)
    }

    /// Reads the whole skill, each file once, and passes each file with its bytes to `take`. The manifest's
    /// digest is the digest of these bytes, even if the directory changes meanwhile.
    pub fn capture(
        &self,
        limits: &Limits,
        mut take: impl FnMut(&ManifestFile, &[u8]) -> io::Result<()>,
    ) -> Result<CapturedSkill, SkillError> {
        let mut skill_mds = [None, None];
        let (manifest, skipped) = self.read_all(limits, |file, bytes| {
            take(file, &bytes)?;
            if let Some(at) = SKILL_FILES.iter().position(|name| file.path == Path::new(name)) {
                skill_mds[at] = Some(bytes);
            }
            Ok(())
        })?;
        let skill_md = skill_mds.into_iter().flatten().next();
        let skill_md =
            skill_md.ok_or_else(|| SkillError::NotFound { path: self.path.join(SKILL_FILES[0]) })?;
        Ok(CapturedSkill { manifest, skill_md, skipped })
    }

    /// The manifest of the directory, whether or not it contains a `SKILL.md`. Each file is read once; an
    /// unreadable file is an error.
    pub fn manifest(&self, limits: &Limits) -> Result<Manifest, SkillError> {
        self.read_all(limits, |_, _| Ok(())).map(|(manifest, _)| manifest)
    }

    fn read_all(
        &self,
        limits: &Limits,
        mut take: impl FnMut(&ManifestFile, Vec<u8>) -> io::Result<()>,
    ) -> Result<(Manifest, Vec<SkippedFile>), SkillError> {
        // Opened again instead of duplicated: concurrent listings must not share a position.
        let listed = openat(&self.handle, ".", DIRECTORY, Mode::empty()).map_err(io::Error::from);
        let listed = listed.map_err(SkillError::io(&self.path))?;
        let mut files = Vec::new();
        let tree = Tree::read_below(listed, &self.path, limits, &mut |file, bytes| {
            let found = ManifestFile::new(&file.path, file.executable, Digest::of(&bytes));
            take(&found, bytes)?;
            files.push(found);
            Ok(())
        })?;
        tree.within(limits)?;
        tree.readable()?;
        Ok((Manifest::new(files), tree.skipped))
    }
}

/// Opens a directory if no component of its path is a link, where the system can check that.
#[cfg(target_os = "linux")]
fn open_without_links(path: &Path) -> Option<OwnedFd> {
    let resolve = rustix::fs::ResolveFlags::NO_SYMLINKS;
    rustix::fs::openat2(CWD, path, DIRECTORY, Mode::empty(), resolve).ok()
}

#[cfg(not(target_os = "linux"))]
const fn open_without_links(_: &Path) -> Option<OwnedFd> {
    None
}
