//! Skills in a local archive.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use metier_skill::Digest;

use super::{FetchContext, FetchedSource, SkillSource};
use crate::StoreError;
use crate::archive::{ArchiveError, SkippedEntry, SkippedReason, unpack};
use crate::error::io_error;
use crate::install::SkillSelection;
use crate::signature::read_signature;
use crate::staging::Basket;

/// A local archive as a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveSource {
    path: PathBuf,
}

impl ArchiveSource {
    /// A source for the archive at this path.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }
}

impl SkillSource for ArchiveSource {
    fn name(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }

    fn fetch(
        &self,
        _: &SkillSelection,
        basket: &Basket<'_>,
        fetching: &FetchContext<'_>,
    ) -> Result<FetchedSource, StoreError> {
        let limits = &fetching.limits;
        let bytes = read(&self.path, limits.archive_bytes)?;
        if bytes.len() as u64 > limits.archive_bytes {
            return Err(ArchiveError::TooLarge { limit: limits.archive_bytes }.into());
        }
        (fetching.progress)("unpacking");
        let unpacked = unpack(&bytes, limits, &|file| basket.add(file))?;
        let version_control = |skipped: &&SkippedEntry| skipped.reason == SkippedReason::VersionControl;
        let notes = unpacked.skipped.iter().filter(version_control);
        let notes =
            notes.map(|skipped| format!("skipped {}: it is in a version-control directory", skipped.path));
        Ok(FetchedSource {
            resolved: Some(Digest::of(&bytes).to_string()),
            signature: beside(&self.path)?,
            is_single: true,
            notes: notes.collect(),
            ..FetchedSource::default()
        })
    }
}

fn read(path: &Path, most: u64) -> Result<Vec<u8>, StoreError> {
    let read = || {
        let file = File::open(path)?;
        let size = file.metadata()?.len().min(most);
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
        file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().map_err(io_error("read", path))
}

/// The path of the signature for a file or a directory: its name followed by `.sig`.
pub(super) fn beside(path: &Path) -> Result<Option<String>, StoreError> {
    let Some(name) = path.file_name() else { return Ok(None) };
    let mut name = name.to_owned();
    name.push(".sig");
    read_signature(&path.with_file_name(name))
}
