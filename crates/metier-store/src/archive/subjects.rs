//! Unpacks the skills of an archive into memory, for a scan.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use metier_scan::SubjectFiles;

use super::{ArchiveFile, ArchiveLayout, ArchiveLimits, unpack};
use crate::StoreError;

/// The most bytes that an archive may unpack to in memory.
const PACKED_MAX: u64 = 512 << 20;

/// The skills in an archive, in memory, each with its folder. Files outside of the skills' folders are ignored.
pub fn unpack_subjects(archive: &[u8]) -> Result<Vec<(String, SubjectFiles)>, StoreError> {
    let files: Mutex<BTreeMap<String, (Vec<u8>, bool)>> = Mutex::default();
    let take = |file: ArchiveFile<'_>| {
        let read = (file.bytes.to_vec(), file.is_executable);
        files.lock().unwrap_or_else(PoisonError::into_inner).insert(file.path.to_owned(), read);
        Ok(())
    };
    let limits = ArchiveLimits { total_bytes: PACKED_MAX, ..ArchiveLimits::default() };
    let unpacked = unpack(archive, &limits, &take)?;
    let layout = ArchiveLayout::of(unpacked.files.iter().map(String::as_str))?;
    let mut files = files.into_inner().unwrap_or_else(PoisonError::into_inner);
    let skill = |folder: &String| {
        let below = format!("{folder}/");
        let mut skill = SubjectFiles::new(folder.rsplit('/').next().unwrap_or(folder).to_owned());
        for (path, (bytes, is_executable)) in files.extract_if(.., |path, _| path.starts_with(&below)) {
            skill.add(path[below.len()..].to_owned(), bytes, is_executable);
        }
        (folder.clone(), skill)
    };
    Ok(layout.skills().iter().map(skill).collect())
}
