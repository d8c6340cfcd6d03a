//! Reads untrusted archives of skills: ZIP (`.zip`, `.skill`), tar and tar.gz.
//!
//! [`unpack`] passes files to a callback and writes nothing itself. Every path is relative, uses `/`, stays inside
//! the target directory on every system, and is unique. [`ArchiveLayout`] and `metier_skill` then decide which files
//! are *skills*. An archive with any inconsistency is refused as a whole, with an [`ArchiveError`] that has its own
//! code. Write to a private directory, and delete it after an error.
//!
//! Only a file's path, content and executable bit are kept. Times, owners, groups, other permissions (including
//! set-user-id), comments and empty directories are dropped; no digest of a skill includes them.
//!
//! Two kinds of files are skipped and listed in [`UnpackedArchive::skipped`]: files that macOS adds (`__MACOSX/`,
//! `.DS_Store`, `._name`), which are in most archives made there, and version-control directories, which are not part
//! of a skill and not included in its digest.
//!
//! ZIP structures are parsed here because the available crates trust the list of files and hide everything else
//! (duplicates, overlaps, second headers, unused bytes), so a check would have to parse the file again. Files may be
//! stored or deflated, which covers nearly all archives. For tar, other crates merge extended headers silently.

mod bytes;
pub(crate) mod collisions;
mod entry;
mod error;
mod format;
mod gzip;
mod layout;
pub(crate) mod name;
mod subjects;
mod tar;
mod zip;

pub use entry::{SkippedEntry, SkippedReason};
pub use error::{ArchiveError, EntryProblem, NameProblem};
pub use format::ArchiveFormat;
pub use layout::ArchiveLayout;
pub use subjects::unpack_subjects;

pub(crate) use entry::skipped_reason;

use std::sync::{Mutex, PoisonError};

use metier_skill::{Digest, Manifest, ManifestFile};

use crate::StoreError;

/// Limits for an archive. All are inclusive.
///
/// They allow archives with ten thousand skills. The limits of a single skill are in `metier_skill::Limits`, and are
/// checked for each skill.
///
/// Memory use: besides the archive itself, `file_bytes` per thread (for tar, once, plus 8 MiB), and a few hundred
/// bytes per entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArchiveLimits {
    /// The largest archive in bytes: 1 GiB.
    pub archive_bytes: u64,
    /// The most files and directories, including directories that appear only in paths: 500,000. This is fifty for
    /// each of ten thousand skills.
    pub entries: usize,
    /// The largest total size of all files in bytes: 4 GiB.
    pub total_bytes: u64,
    /// The largest file in bytes: 10 MiB, the limit of a whole skill.
    pub file_bytes: u64,
    /// The highest compression ratio of one file and of all: 200. Text reaches three to ten, deflate at most 1,032.
    /// The first MiB is not limited.
    pub ratio: u64,
    /// The most directories above a file: 32, sixteen in a skill and sixteen above it.
    pub depth: usize,
}

impl Default for ArchiveLimits {
    fn default() -> Self {
        const MIB: u64 = 1 << 20;
        Self {
            archive_bytes: 1_024 * MIB,
            entries: 500_000,
            total_bytes: 4_096 * MIB,
            file_bytes: 10 * MIB,
            ratio: 200,
            depth: 32,
        }
    }
}

/// The size below which the ratio does not count: a short file of one repeated letter is not a bomb.
const RATIO_FREE: u64 = 1 << 20;

impl ArchiveLimits {
    /// Whether the compression ratio is too high.
    const fn is_bomb(&self, unpacked: u64, packed: u64) -> bool {
        unpacked > RATIO_FREE && unpacked > packed.saturating_mul(self.ratio)
    }
}

/// A file in an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArchiveFile<'a> {
    /// Its path in the archive: relative, separated by `/`, and safe to join to a directory.
    pub path: &'a str,
    /// Whether its owner may execute it.
    pub is_executable: bool,
    /// Its content.
    pub bytes: &'a [u8],
}

/// The result of unpacking.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnpackedArchive {
    /// The format of the archive.
    pub format: ArchiveFormat,
    /// The paths of all unpacked files, sorted.
    pub files: Vec<String>,
    /// Their total size in bytes.
    pub bytes: u64,
    /// The skipped entries, in the order of the archive.
    pub skipped: Vec<SkippedEntry>,
}

/// The callback for each file. It is called from several threads, for files in any order. It should not start
/// parallel work with `rayon`: a waiting thread would take the next file and hold two in memory.
pub type FileWriter<'a> = dyn Fn(ArchiveFile<'_>) -> Result<(), StoreError> + Sync + 'a;

/// Unpacks an archive and passes every file to `write`, or returns the reason why it is refused. After an error,
/// discard the files that were passed before. The format is detected by the content.
///
/// For a ZIP archive, all headers are checked before the first file is passed. A tar archive is a stream, so its
/// entries are checked one after the other.
///
/// ```
/// use metier_store::{ArchiveLimits, unpack};
///
/// # fn main() -> Result<(), metier_store::StoreError> {
/// # let archive = {
/// #     let place = tempfile::tempdir().unwrap();
/// #     std::fs::write(place.path().join("SKILL.md"), "---\nname: tidy-up\ndescription: Tidies up.\n---\nTidy up.\n").unwrap();
/// #     let folder = metier_skill::Folder::open(place.path()).unwrap();
/// #     metier_store::pack(&folder, &metier_skill::Rules::standard(), metier_store::ArchiveFormat::Zip)?.bytes
/// # };
/// let unpacked = unpack(&archive, &ArchiveLimits::default(), &|file| {
///     assert_eq!(file.path, "tidy-up/SKILL.md");
///     Ok(()) // write it to a private directory
/// })?;
/// assert_eq!(unpacked.files, ["tidy-up/SKILL.md"]);
/// # Ok(())
/// # }
/// ```
pub fn unpack(
    archive: &[u8],
    limits: &ArchiveLimits,
    write: &FileWriter<'_>,
) -> Result<UnpackedArchive, StoreError> {
    if archive.len() as u64 > limits.archive_bytes {
        return Err(ArchiveError::TooLarge { limit: limits.archive_bytes }.into());
    }
    let mut unpacked = match format::detect(archive)? {
        ArchiveFormat::Zip => zip::unpack(archive, limits, write)?,
        ArchiveFormat::Tar => tar::unpack(&mut tar::Stream::plain(archive), limits, write)?,
        ArchiveFormat::TarGz => tar::unpack(&mut tar::Stream::gzip(archive, limits)?, limits, write)?,
    };
    unpacked.files.sort_unstable();
    if unpacked.files.is_empty() {
        return Err(ArchiveError::Empty.into());
    }
    Ok(unpacked)
}

/// The digest of the only skill in an archive.
pub fn skill_digest(archive: &[u8]) -> Result<Digest, StoreError> {
    let files = Mutex::new(Vec::new());
    let unpacked = unpack(archive, &ArchiveLimits::default(), &|file| {
        let found = (file.path.to_owned(), file.is_executable, Digest::of(file.bytes));
        files.lock().unwrap_or_else(PoisonError::into_inner).push(found);
        Ok(())
    })?;
    let layout = ArchiveLayout::of(unpacked.files.iter().map(String::as_str))?;
    let folder = format!("{}/", layout.only()?);
    let files = files.into_inner().unwrap_or_else(PoisonError::into_inner);
    let files = files.iter().filter_map(|(path, is_executable, digest)| {
        Some(ManifestFile::new(path.strip_prefix(&folder)?, *is_executable, *digest))
    });
    Ok(Manifest::new(files.collect()).digest())
}
