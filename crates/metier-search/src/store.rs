//! Stores the index on disk between runs.
//!
//! Each state of a catalog has its own file, named after it. Files are written under another name and renamed
//! into place, so other processes only see complete files and do not wait. A new index reuses the last one, so
//! that only skills that changed are read again.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use metier_skill::disk::read_named;

use crate::SearchError;
use crate::build::build;
use crate::index::Index;
use crate::target::Targets;

/// The extension of an index.
const ENDING: &str = "index";

/// The prefix of an index while it is being written.
const UNFINISHED: &str = "new-";

/// Unfinished files older than this were left behind by a process that was killed.
const ABANDONED: Duration = Duration::from_hours(1);

/// For this many skills or fewer, building an index is faster than reading one.
const FEW: usize = 32;

/// Larger files were not written by metier.
const SIZE_MAX: u64 = 1 << 33;

/// The index of these targets: the stored one, or a new one. Also returns why a new one could not be stored,
/// because searching must work with a full or read-only disk.
pub(crate) fn prepare(
    directory: Option<&Path>,
    targets: &Targets<'_>,
) -> Result<(Index, Option<SearchError>), SearchError> {
    let Some(directory) = directory.filter(|_| targets.all.len() > FEW) else {
        return Ok((build(targets, None)?, None));
    };
    let fingerprint = targets.fingerprint();
    let wanted = directory.join(format!("{fingerprint:016x}")).with_extension(ENDING);
    let is_for_these = |index: &Index| index.fingerprint() == fingerprint && index.len() == targets.all.len();
    if let Some(index) = load(&wanted).filter(is_for_these) {
        return Ok((index, None));
    }
    let last = newest(directory).and_then(|path| load(&path));
    let index = build(targets, last.as_ref())?;
    let kept = save(&index, directory, &wanted);
    Ok((index, kept.err().map(|source| SearchError::Write { path: directory.to_owned(), source })))
}

fn load(path: &Path) -> Option<Index> {
    Index::read(read_named(path, SIZE_MAX).ok()?)
}

fn save(index: &Index, directory: &Path, path: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    // No sync: after a power failure the checksum does not match, and the index is rebuilt.
    let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(directory)?;
    file.write_all(index.bytes())?;
    file.persist(path)?;
    sweep(directory, path);
    Ok(())
}

/// The most recent index.
fn newest(directory: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(directory).ok()?.flatten().map(|entry| entry.path());
    let finished = entries.filter(|path| path.extension().is_some_and(|ending| ending == ENDING));
    finished.max_by_key(|path| modified(path))
}

/// Removes all other indexes, and files that killed processes left behind. Files of other programs stay.
fn sweep(directory: &Path, kept: &Path) {
    // The file that was just written gives the current time.
    let now = modified(kept);
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|_| path != kept) else { continue };
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let age = modified(&path).and_then(|time| now?.duration_since(time).ok());
        let is_abandoned = name.starts_with(UNFINISHED) && age.is_some_and(|age| age > ABANDONED);
        let is_index =
            name.strip_suffix(ENDING).and_then(|name| name.strip_suffix('.')).is_some_and(is_state);
        // Another process may remove the same files.
        if is_directory && is_state(name) {
            // Versions before 0.2 stored directories.
            let _ = fs::remove_dir_all(&path);
        } else if !is_directory && (is_index || is_abandoned) {
            let _ = fs::remove_file(&path);
        }
    }
}

/// Whether a file name is that of a catalog's state.
fn is_state(name: &str) -> bool {
    name.len() == 16 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|meta| meta.modified()).ok()
}
