//! Packs one skill into a reproducible archive: the same skill always gives the same bytes.
//!
//! Everything that could vary is fixed: the order of files (bytewise), times (the earliest that the format supports),
//! permissions (0644, or 0755 for executable files), owners (none), the originating system, and the compression
//! (`miniz_oxide` at one level, which gives the same result on every processor). The archive has one folder at its
//! root, with the skill's name, and in it the skill's files. Directories have no entries of their own.
//!
//! Files that [`crate::unpack`] would refuse are an error, and files that it would skip are skipped.

mod tar;
mod zip;

use std::io;

use metier_skill::{
    Digest, Folder, Manifest, ManifestFile, Origin, Rules, SkillError, SkillName, read, validate_skill_name,
};

use crate::StoreError;
use crate::archive::{ArchiveFormat, ArchiveLimits, SkippedEntry, name, skipped_reason};

/// The compression level: nearly as small as the best level, in a third of the time.
const LEVEL: u8 = 6;

/// A skill packed as an archive.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PackedSkill {
    /// The archive.
    pub bytes: Vec<u8>,
    /// The skill's name, which is also the name of its folder.
    pub name: SkillName,
    /// The digest of the archive's content. It equals the directory's digest unless files were skipped.
    pub digest: Digest,
    /// The files of the directory that are not in the archive.
    pub skipped: Vec<SkippedEntry>,
}

/// A file to be packed.
struct PackedFile {
    /// With the skill's folder.
    path: String,
    is_executable: bool,
    bytes: Vec<u8>,
}

/// Packs a valid skill.
///
/// The folder in the archive has the skill's name, even if the directory has another one. Links, special files and
/// version-control directories are not packed.
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
    // An archive with a very high compression ratio would be refused as a bomb, so it is stored uncompressed.
    let (mut bytes, mut checked) = written(&files, format, LEVEL, folder)?;
    if matches!(checked, Err(StoreError::Archive(ref error)) if error.code() == "archive-ratio") {
        (bytes, checked) = written(&files, format, 0, folder)?;
    }
    checked?;
    Ok(PackedSkill { bytes, name, digest, skipped })
}

/// The archive, and the result of unpacking it as a check.
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

/// The skill's name, for which a folder with that name is valid.
fn name_of(folder: &Folder, skill_md: &[u8], rules: &Rules) -> Result<SkillName, StoreError> {
    let invalid = |diagnostics| SkillError::Validation { path: folder.path().to_owned(), diagnostics };
    // The first pass reads the name. An invalid name is replaced by the nearest valid one.
    let first = read(skill_md, Origin::directory(""), rules);
    let Some(skill) = first.skill else { return Err(invalid(first.diagnostics).into()) };
    let name = if validate_skill_name(&skill.name).is_ok() { &skill.name } else { skill.id.as_str() };
    let skill = read(skill_md, Origin::directory(name), rules).into_valid().map_err(invalid)?;
    Ok(skill.id)
}

/// Why a file is not packed; `None` if it is.
fn reason(file: &ManifestFile) -> Option<SkippedEntry> {
    let path = file.path.to_str()?;
    Some(SkippedEntry { path: path.to_owned(), reason: skipped_reason(path, false)? })
}

/// A file with its path in the archive; an error if the path is not allowed there.
fn in_folder(name: &SkillName, file: &ManifestFile, bytes: Vec<u8>) -> Result<PackedFile, StoreError> {
    use std::os::unix::ffi::OsStrExt as _;
    let path = [name.as_str().as_bytes(), b"/", file.path.as_os_str().as_bytes()].concat();
    let path = name::check(&path, ArchiveLimits::default().depth)?.to_owned();
    Ok(PackedFile { path, is_executable: file.executable, bytes })
}
