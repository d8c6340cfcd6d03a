//! One skill as an archive: the same bytes for the same skill, whoever packs it, where and when.
//!
//! Everything that could differ is fixed: the order of files (of their bytes), times (the first that the format can
//! have), permissions (0644, and 0755 for what its owner may run), owners (none), the system that an archive is from, and
//! how it is compressed (by `miniz_oxide` at one level; it does the same on every processor). At the root there is one
//! folder, named by the skill's name, and in it the skill's files; directories have no entries of their own.
//!
//! What [`crate::unpack`] would refuse is not packed, and what it would leave out is left out.

mod tar;
mod zip;

use std::io;

use metier_skill::{
    Digest, Folder, Manifest, ManifestFile, Origin, Rules, SkillError, SkillName, read, validate_skill_name,
};

use crate::StoreError;
use crate::archive::{ArchiveFormat, ArchiveLimits, SkippedEntry, name, skipped_reason};

/// How much work compression is: nearly as small as the most, and a third of the time.
const LEVEL: u8 = 6;

/// A skill as an archive.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PackedSkill {
    /// The archive.
    pub bytes: Vec<u8>,
    /// The skill's name, which its folder has.
    pub name: SkillName,
    /// The digest of what is in the archive; the directory's own, unless something was left out.
    pub digest: Digest,
    /// What is in the directory and not in the archive, by its path there.
    pub skipped: Vec<SkippedEntry>,
}

/// A file on its way into an archive.
struct PackedFile {
    /// With the skill's folder.
    path: String,
    is_executable: bool,
    bytes: Vec<u8>,
}

/// Packs a skill that keeps the rules.
///
/// The folder is named by the skill's name; that the directory has another is no matter. Links, special files and
/// version-control directories are no part of a skill.
///
/// ```no_run
/// use metier_skill::{Folder, Rules};
/// use metier_store::{ArchiveFormat, pack};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let packed = pack(&Folder::open("skills/tidy-up".as_ref())?, &Rules::standard(), ArchiveFormat::Zip)?;
/// std::fs::write("tidy-up.skill", packed.bytes)?;
/// # Ok(())
/// # }
/// ```
pub fn pack(folder: &Folder, rules: &Rules, format: ArchiveFormat) -> Result<PackedSkill, StoreError> {
    let mut files = Vec::new();
    let captured = folder.capture(&rules.limits, |file, bytes| {
        files.push((file.clone(), bytes.to_vec()));
        Ok(())
    })?;
    let name = name_of(folder, &captured.skill_md, rules)?;
    let mut skipped = Vec::new();
    files.retain(|(file, _)| match reason(file) {
        Some(entry) => {
            skipped.push(entry);
            false
        }
        None => true,
    });
    files.sort_by(|(a, _), (b, _)| a.path.as_os_str().cmp(b.path.as_os_str()));
    let digest = Manifest::new(files.iter().map(|(file, _)| file.clone()).collect()).digest();
    let files: Vec<PackedFile> =
        files.into_iter().map(|(file, bytes)| in_folder(&name, &file, bytes)).collect::<Result<_, _>>()?;
    // What compresses too well would be taken for a bomb, and is packed as it is.
    let (mut bytes, mut checked) = written(&files, format, LEVEL, folder)?;
    if matches!(checked, Err(StoreError::Archive(ref error)) if error.code() == "archive-ratio") {
        (bytes, checked) = written(&files, format, 0, folder)?;
    }
    checked?;
    Ok(PackedSkill { bytes, name, digest, skipped })
}

/// The archive, and whether it can be unpacked: what nobody else could is found by whoever packs it.
fn written(
    files: &[PackedFile],
    format: ArchiveFormat,
    level: u8,
    folder: &Folder,
) -> Result<(Vec<u8>, Result<(), StoreError>), StoreError> {
    let bytes = match format {
        ArchiveFormat::Zip => zip::write(files, level),
        ArchiveFormat::Tar => tar::write(files),
        ArchiveFormat::TarGz => tar::write(files).map(|archive| tar::compress(&archive, level)),
    };
    let bytes = bytes.ok_or_else(|| {
        let source = io::ErrorKind::FileTooLarge.into();
        SkillError::Io { path: folder.path().to_owned(), source }
    })?;
    let checked = crate::unpack(&bytes, &ArchiveLimits::default(), &|_| Ok(()));
    Ok((bytes, checked.map(drop)))
}

/// The name of the skill, which is valid in a folder of that name.
fn name_of(folder: &Folder, skill_md: &[u8], rules: &Rules) -> Result<SkillName, StoreError> {
    let invalid = |diagnostics| SkillError::Validation { path: folder.path().to_owned(), diagnostics };
    // The first reading is for the name; where that breaks the rule, the nearest one that does not.
    let first = read(skill_md, Origin::directory(""), rules);
    let Some(skill) = first.skill else { return Err(invalid(first.diagnostics).into()) };
    let name = if validate_skill_name(&skill.name).is_ok() { &skill.name } else { skill.id.as_str() };
    let skill = read(skill_md, Origin::directory(name), rules).into_valid().map_err(invalid)?;
    Ok(skill.id)
}

/// Why a file is not packed.
fn reason(file: &ManifestFile) -> Option<SkippedEntry> {
    let path = file.path.to_str()?;
    Some(SkippedEntry { path: path.to_owned(), reason: skipped_reason(path, false)? })
}

/// A file with its path in the archive, if it may have that.
fn in_folder(name: &SkillName, file: &ManifestFile, bytes: Vec<u8>) -> Result<PackedFile, StoreError> {
    use std::os::unix::ffi::OsStrExt as _;
    let path = [name.as_str().as_bytes(), b"/", file.path.as_os_str().as_bytes()].concat();
    let path = name::check(&path, ArchiveLimits::default().depth)?.to_owned();
    Ok(PackedFile { path, is_executable: file.executable, bytes })
}
