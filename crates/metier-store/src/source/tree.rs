//! The files of a download in memory, until it is known which of them are skills.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use metier_skill::{Digest, Origin, Rules, SKILL_FILES, SkillName, read};

use crate::StoreError;
use crate::archive::{ArchiveFile, ArchiveLimits, SkippedReason, unpack};
use crate::staging::Basket;

/// The most bytes that a download may unpack to.
const UNPACKED_MAX: u64 = 256 << 20;

/// Files by their checked paths.
#[derive(Debug, Default)]
pub(super) struct FileTree {
    files: BTreeMap<String, (bool, Vec<u8>)>,
    /// Notes for the user.
    pub(super) notes: Vec<String>,
}

impl FileTree {
    /// The files of an archive.
    pub(super) fn unpacked(archive: &[u8], limits: &ArchiveLimits) -> Result<Self, StoreError> {
        let files: Mutex<BTreeMap<String, (bool, Vec<u8>)>> = Mutex::default();
        let take = |file: ArchiveFile<'_>| {
            let content = (file.is_executable, file.bytes.to_vec());
            files.lock().unwrap_or_else(PoisonError::into_inner).insert(file.path.to_owned(), content);
            Ok(())
        };
        let limits = ArchiveLimits { total_bytes: limits.total_bytes.min(UNPACKED_MAX), ..*limits };
        let unpacked = unpack(archive, &limits, &take)?;
        let skipped =
            unpacked.skipped.iter().filter(|skipped| skipped.reason == SkippedReason::VersionControl);
        let notes =
            skipped.map(|skipped| format!("skipped {}: it is in a version-control directory", skipped.path));
        let notes = notes.collect();
        Ok(Self { files: files.into_inner().unwrap_or_else(PoisonError::into_inner), notes })
    }

    /// One file.
    pub(super) fn of_file(path: &str, bytes: Vec<u8>) -> Self {
        Self { files: BTreeMap::from([(path.to_owned(), (false, bytes))]), notes: Vec::new() }
    }

    /// How many bytes the files have.
    pub(super) fn bytes(&self) -> u64 {
        self.files.values().map(|(_, bytes)| bytes.len() as u64).sum()
    }

    /// Adds a file whose path is checked.
    pub(super) fn add(&mut self, path: String, bytes: Vec<u8>) {
        self.files.insert(path, (false, bytes));
    }

    /// The name in the `SKILL.md` at the root, if there is one. The error is what is wrong with it.
    pub(super) fn root_skill(&self) -> Result<Option<String>, String> {
        let Some((_, bytes)) = SKILL_FILES.iter().find_map(|file| self.files.get(*file)) else {
            return Ok(None);
        };
        let reading = read(bytes.clone(), Origin::directory("skill"), &Rules::lenient());
        let name = reading.skill.map(|skill| skill.name.clone());
        let name = name.filter(|name| SkillName::new(name.as_str()).is_ok());
        name.map(Some).ok_or_else(|| "its `SKILL.md` has no valid name".to_owned())
    }

    /// Puts the files into a basket, below a folder.
    pub(super) fn put(&self, basket: &Basket<'_>, folder: Option<&str>) -> Result<(), StoreError> {
        for (path, (is_executable, bytes)) in &self.files {
            let path = folder.map_or_else(|| path.clone(), |folder| format!("{folder}/{path}"));
            basket.add(ArchiveFile { path: &path, is_executable: *is_executable, bytes })?;
        }
        Ok(())
    }
}

/// Checks that bytes have a digest.
pub(super) fn check_digest(url: &str, bytes: &[u8], expected: &Digest) -> Result<(), StoreError> {
    let found = Digest::of(bytes);
    if found == *expected {
        return Ok(());
    }
    Err(StoreError::WrongDigest { url: url.to_owned(), expected: *expected, found })
}
