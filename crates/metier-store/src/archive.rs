//! Archives of skills, read without trust: ZIP (`.zip`, `.skill`), tar and tar.gz.
//!
//! [`unpack`] hands out files and never writes one. What it hands out has a path that is relative, has `/` between its
//! parts, leads nowhere else on any system and is there once; whether that is a *skill* is for [`ArchiveLayout`] and for
//! `metier_skill` to say. An archive that lies in any way it can be caught at is refused whole, by an
//! [`ArchiveError`] with a code of its own; whoever writes must therefore write where nobody looks yet, and throw that away
//! after an error.
//!
//! What is kept of a file is its path, its bytes and whether its owner may run it. Times, owners, groups, other
//! permissions (set-user-id among them), comments and empty directories are dropped: no digest of a skill has them.
//!
//! Not a lie, and left out with a word in [`UnpackedArchive::skipped`]: what macOS adds (`__MACOSX/`, `.DS_Store`, `._name`),
//! because most archives made there have it and nobody put it there; and version-control directories, because they are
//! no part of a skill and no digest would cover them.
//!
//! ZIP structures are read here and not by a crate: those at hand read the list of files and believe it, and hide the
//! rest (duplicates, overlaps, second headers, bytes that belong to nobody), which would have to be read again to be
//! checked. Files may be stored or deflated, as nearly all are. For tar it is the same: what extends a header is merged
//! silently elsewhere.

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

/// Bounds on an archive. All are inclusive.
///
/// They are for archives with ten thousand skills; what one skill may be is in `metier_skill::Limits`, and is checked
/// for each skill when it is there.
///
/// Memory: apart from the archive itself, `file_bytes` for each thread (for tar, once, and 8 MiB), and a few hundred bytes
/// for each entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArchiveLimits {
    /// Bytes of the archive: 1 GiB.
    pub archive_bytes: u64,
    /// Files and directories, those included that only names mention: 500,000. That is fifty for each of ten thousand
    /// skills.
    pub entries: usize,
    /// Bytes of all files: 4 GiB.
    pub total_bytes: u64,
    /// Bytes of one file: 10 MiB, as a whole skill may have.
    pub file_bytes: u64,
    /// How many times larger a file may become, and all of them: 200. Text becomes three to ten times as large, deflate
    /// can do 1,032. The first MiB may be anything.
    pub ratio: u64,
    /// Directories above a file: 32, sixteen in a skill and as many above it.
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

/// What may be anything before a ratio means something: a short file of one letter is no bomb.
const RATIO_FREE: u64 = 1 << 20;

impl ArchiveLimits {
    /// Whether so many bytes are too many to come from so few.
    const fn is_bomb(&self, unpacked: u64, packed: u64) -> bool {
        unpacked > RATIO_FREE && unpacked > packed.saturating_mul(self.ratio)
    }
}

/// A file of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArchiveFile<'a> {
    /// Its path in the archive: relative, with `/` between the parts, safe to join to a directory.
    pub path: &'a str,
    /// Whether its owner may run it.
    pub is_executable: bool,
    /// Its content.
    pub bytes: &'a [u8],
}

/// What was unpacked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnpackedArchive {
    /// What kind of archive it was.
    pub format: ArchiveFormat,
    /// The paths of all files that were handed out, sorted.
    pub files: Vec<String>,
    /// Their bytes in all.
    pub bytes: u64,
    /// What was left out, in the order of the archive.
    pub skipped: Vec<SkippedEntry>,
}

/// Gets each file. It is called from several threads at once, for files in any order, and should not start parallel work
/// with `rayon` itself: a thread that waits for that takes up the next file, and holds two.
pub type FileWriter<'a> = dyn Fn(ArchiveFile<'_>) -> Result<(), StoreError> + Sync + 'a;

/// Hands out every file of an archive, or says why it is refused; files that were handed out before an error are to be
/// thrown away. What kind of archive it is is told by its bytes.
///
/// Of a ZIP archive everything that its headers can tell is checked before the first file is handed out. A tar archive
/// is a stream: its entries are checked one after the other.
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
///     Ok(()) // written to a directory that nobody looks at yet
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
