//! Checks for every entry of any format: its name, conflicts with other names, its size, and whether it is skipped.

use metier_skill::VCS_DIRECTORIES;

use super::collisions::Names;
use super::error::{ArchiveError, EntryProblem};
use super::{ArchiveFormat, ArchiveLimits, UnpackedArchive, name};

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChangeKind {
    File,
    Folder,
}

/// An entry that was skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkippedEntry {
    /// Its path in the archive.
    pub path: String,
    /// Why it was skipped.
    pub reason: SkippedReason,
}

/// Why an entry was skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SkippedReason {
    /// A file that macOS adds to archives and directories.
    MacOs,
    /// A file in a version-control directory.
    VersionControl,
}

/// Why a file or directory is skipped; `None` if it is part of a skill.
pub(crate) fn skipped_reason(path: &str, is_folder: bool) -> Option<SkippedReason> {
    let last = path.rsplit('/').next().unwrap_or(path);
    if path.split('/').next() == Some("__MACOSX") || last == ".DS_Store" || last.starts_with("._") {
        return Some(SkippedReason::MacOs);
    }
    // Only directories: a regular file with such a name is kept. On some systems `.GIT` is `.git`.
    let mut folders = path.split('/').rev().skip(usize::from(!is_folder));
    let is_known = |part: &str| VCS_DIRECTORIES.iter().any(|known| part.eq_ignore_ascii_case(known));
    folders.any(is_known).then_some(SkippedReason::VersionControl)
}

/// Checks entries one after the other, and counts them.
#[derive(Debug)]
pub(super) struct Intake<'a> {
    limits: &'a ArchiveLimits,
    names: Names,
    total: u64,
    unpacked: UnpackedArchive,
}

impl<'a> Intake<'a> {
    pub(super) fn new(limits: &'a ArchiveLimits, format: ArchiveFormat) -> Self {
        let unpacked = UnpackedArchive { format, files: Vec::new(), bytes: 0, skipped: Vec::new() };
        Self { limits, names: Names::default(), total: 0, unpacked }
    }

    /// The path of an entry, and whether it is passed to the writer. The path of a directory has no trailing `/`.
    pub(super) fn admit<'n>(
        &mut self,
        raw: &'n [u8],
        kind: ChangeKind,
        size: u64,
    ) -> Result<(&'n str, bool), ArchiveError> {
        let path = name::check(raw, self.limits.depth)?;
        let is_folder = kind == ChangeKind::Folder;
        if is_folder && size > 0 {
            return Err(ArchiveError::entry(raw, EntryProblem::FolderWithData));
        }
        self.names.add(path, is_folder).map_err(|problem| ArchiveError::name(raw, problem))?;
        if self.names.len() > self.limits.entries {
            return Err(ArchiveError::TooManyEntries { limit: self.limits.entries });
        }
        if size > self.limits.file_bytes {
            let limit = self.limits.file_bytes;
            return Err(ArchiveError::entry(raw, EntryProblem::TooLarge { limit }));
        }
        self.total = self.total.saturating_add(size);
        if self.total > self.limits.total_bytes {
            return Err(ArchiveError::UnpacksTooLarge { limit: self.limits.total_bytes });
        }
        let skipped = skipped_reason(path, is_folder);
        if let Some(reason) = skipped {
            self.unpacked.skipped.push(SkippedEntry { path: path.to_owned(), reason });
        } else if !is_folder {
            self.unpacked.bytes += size;
            self.unpacked.files.push(path.to_owned());
        }
        Ok((path, skipped.is_none() && !is_folder))
    }

    /// The size of all files so far, in bytes.
    pub(super) const fn total(&self) -> u64 {
        self.total
    }

    pub(super) fn finish(self) -> UnpackedArchive {
        self.unpacked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_put_there_is_left_out() {
        let reason = |path| skipped_reason(path, false);
        for path in ["__MACOSX/a/._x", "a/.DS_Store", "._a", "a/b/._c.md"] {
            assert_eq!(reason(path), Some(SkippedReason::MacOs), "{path}");
        }
        for path in ["a/.git/config", "a/.jj/x/y", ".svn/x", "a/.GIT/config", ".Git/hooks/x", ".sVn/x"] {
            assert_eq!(reason(path), Some(SkippedReason::VersionControl), "{path}");
        }
        for path in ["a/.git", "a/.gitignore", "a/_x", "a/__MACOSX/x", "a/.DS_Store.md"] {
            assert_eq!(reason(path), None, "{path}");
        }
        assert_eq!(skipped_reason("a/.git", true), Some(SkippedReason::VersionControl));
    }
}
