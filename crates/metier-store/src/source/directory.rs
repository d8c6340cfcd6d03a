//! Skills in a local directory: the directory itself, or its subdirectories.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use metier_catalog::{WalkItem, walk_skills};
use metier_skill::{Folder, Limits, SkipReason, is_skill_directory};

use super::archive::beside;
use super::{FetchContext, FetchedSource, SkillSource, folder_name};
use crate::StoreError;
use crate::archive::{ArchiveError, ArchiveFile, ArchiveLimits, name};
use crate::error::io_error;
use crate::install::SkillSelection;
use crate::staging::Basket;

/// A local directory as a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectorySource {
    path: PathBuf,
}

impl DirectorySource {
    /// A source for the directory at this path.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }
}

impl SkillSource for DirectorySource {
    fn name(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }

    fn fetch(
        &self,
        wanted: &SkillSelection,
        basket: &Basket<'_>,
        fetching: &FetchContext<'_>,
    ) -> Result<FetchedSource, StoreError> {
        let real = fs::canonicalize(&self.path).map_err(io_error("read", &self.path))?;
        let mut fetched = FetchedSource::default();
        if is_skill_directory(&real) {
            let folder = folder_name(&real.to_string_lossy());
            let mut room = Room { limits: fetching.limits, entries: 0, bytes: 0 };
            add(basket, &real, &folder, &mut room, &mut fetched.notes)?;
            fetched.signature = beside(&real)?;
            fetched.folder = Some(folder);
            return Ok(fetched);
        }
        let mut skills = Vec::new();
        for found in walk_skills(&real, &|path| is_skill_directory(path).then(|| path.to_owned())) {
            match found {
                // Only names that are text can be installed.
                WalkItem::Skill(path) => {
                    let below = path.strip_prefix(&real).ok().and_then(Path::to_str);
                    skills.extend(below.map(str::to_owned));
                }
                WalkItem::NotSearched(_, error) => return Err(error.into()),
            }
        }
        fetched.skills.clone_from(&skills);
        let mut room = Room { limits: fetching.limits, entries: 0, bytes: 0 };
        let is_wanted = |folder: &&String| match wanted {
            SkillSelection::At(paths) => paths.contains(folder),
            _ => wanted.has(folder.rsplit('/').next().unwrap_or(folder)),
        };
        for folder in skills.iter().filter(is_wanted) {
            let path = real.join(folder);
            add(basket, &path, folder, &mut room, &mut fetched.notes)?;
            if let Some(signature) = beside(&path)? {
                let path = format!("{folder}.sig");
                basket.add(ArchiveFile { path: &path, is_executable: false, bytes: signature.as_bytes() })?;
            }
        }
        Ok(fetched)
    }
}

/// How much was added so far.
struct Room {
    limits: ArchiveLimits,
    entries: usize,
    bytes: u64,
}

impl Room {
    /// Whether the limits allow one more file.
    fn take(&mut self, bytes: u64) -> Result<(), ArchiveError> {
        (self.entries, self.bytes) = (self.entries + 1, self.bytes.saturating_add(bytes));
        if self.entries > self.limits.entries {
            return Err(ArchiveError::TooManyEntries { limit: self.limits.entries });
        }
        if self.bytes > self.limits.total_bytes {
            return Err(ArchiveError::UnpacksTooLarge { limit: self.limits.total_bytes });
        }
        Ok(())
    }
}

fn add(
    basket: &Basket<'_>,
    path: &Path,
    folder: &str,
    room: &mut Room,
    notes: &mut Vec<String>,
) -> Result<(), StoreError> {
    let limits = Limits::default();
    let mut failed = None;
    let captured = Folder::open(path)?.capture(&limits, |file, bytes| {
        let below = [folder.as_bytes(), b"/", file.path.as_os_str().as_encoded_bytes()].concat();
        let added = room
            .take(bytes.len() as u64)
            .and_then(|()| name::check(&below, usize::MAX - 1))
            .map_err(StoreError::from)
            .and_then(|path| basket.add(ArchiveFile { path, is_executable: file.executable, bytes }));
        added.map_err(|error| {
            failed = Some(error);
            io::Error::other("it cannot be added")
        })
    });
    let captured = match failed {
        Some(error) => return Err(error),
        None => captured?,
    };
    for skipped in &captured.skipped {
        let why = match skipped.reason {
            SkipReason::VersionControl => continue,
            SkipReason::Link | SkipReason::LinkOutside => "it is a link",
            SkipReason::Special => "it is not a regular file",
            _ => "it cannot be read",
        };
        notes.push(format!("skipped {folder}/{}: {why}", skipped.path.display()));
    }
    Ok(())
}
