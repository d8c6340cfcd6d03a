//! The index: a cache on disk of what is known about a root.
//!
//! An index that is missing, truncated, damaged, of another version, for another root or for other rules is
//! ignored. The file is never modified; it is replaced by renaming.
//!
//! ```text
//! magic, 16 bytes ┊ length and checksum of the head ┊ head ┊ chunk ┊ chunk ┊ …
//! ```
//!
//! The head contains the purpose, the folders, and the length and checksum of each chunk of records. Chunks can
//! be decoded in parallel.

use std::fs;
use std::hash::Hasher as _;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use metier_skill::{Digest, Rules};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

use crate::CatalogError;
use crate::scan::{Bounds, Folder, Record, Survey};
use crate::stamp::Moment;

/// Changes with the layout of anything below. The purpose also contains the crate's version, because rules
/// change with it.
const MAGIC: &[u8; 16] = b"metier-index-04\n";

/// Larger files were not written by metier.
const SIZE_MAX: u64 = 1 << 30;

/// The number of records in a chunk.
const CHUNK: usize = 512;

/// Temporary files older than this were left behind by a process that was killed.
const ABANDONED: Duration = Duration::from_mins(10);

/// The index file of one root, and its expected purpose.
#[derive(Debug, Clone)]
pub(crate) struct IndexFile {
    path: PathBuf,
    purpose: String,
}

#[derive(Serialize, Deserialize)]
struct Head {
    purpose: String,
    when: Moment,
    folders: Vec<Folder>,
    chunks: Vec<Chunk>,
}

#[derive(Serialize, Deserialize)]
struct Chunk {
    length: usize,
    checksum: u64,
}

impl IndexFile {
    /// The index in `directory` of one root under these rules.
    pub(crate) fn new(directory: &Path, root: &Path, rules: &Rules, bounds: Bounds) -> Self {
        // Rules and bounds decide what is found, so an index made under others cannot be used. The same holds
        // for the name of a root that is itself a skill, which is the name of the directory that it links to.
        let real = fs::canonicalize(root).unwrap_or_default();
        let purpose = format!("{} {} {rules:?} {bounds:?}", env!("CARGO_PKG_VERSION"), real.display());
        // One file per root: an index for other rules replaces it instead of accumulating.
        let name = Digest::of(root.as_os_str().as_bytes()).hex();
        Self { path: directory.join(&name[..32]).with_extension("index"), purpose }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Loads the index if it is valid.
    pub(crate) fn load(&self) -> Option<Survey> {
        let size = fs::metadata(&self.path).ok()?.len();
        if size > SIZE_MAX {
            return None;
        }
        self.decode(&fs::read(&self.path).ok()?)
    }

    fn decode(&self, bytes: &[u8]) -> Option<Survey> {
        let rest = bytes.strip_prefix(MAGIC)?;
        let (length, rest) = rest.split_first_chunk()?;
        let (checksum, rest) = rest.split_first_chunk()?;
        let (head, mut rest) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        if hash(head) != u64::from_le_bytes(*checksum) {
            return None;
        }
        let head: Head = postcard::from_bytes(head).ok()?;
        if head.purpose != self.purpose {
            return None;
        }
        let mut chunks = Vec::with_capacity(head.chunks.len());
        for chunk in &head.chunks {
            let (bytes, after) = rest.split_at_checked(chunk.length)?;
            chunks.push((bytes, chunk.checksum));
            rest = after;
        }
        let decoded: Option<Vec<Vec<Arc<Record>>>> = chunks
            .into_par_iter()
            .map(|(bytes, checksum)| {
                (hash(bytes) == checksum).then(|| postcard::from_bytes(bytes).ok()).flatten()
            })
            .collect();
        let records: Vec<Arc<Record>> = decoded?.into_iter().flatten().collect();
        (rest.is_empty()).then_some(Survey { when: head.when, records, folders: head.folders })
    }

    /// The pieces of the file, in order.
    fn encode(&self, survey: &Survey) -> Option<Vec<Vec<u8>>> {
        let chunks: Option<Vec<Vec<u8>>> =
            survey.records.par_chunks(CHUNK).map(|chunk| postcard::to_stdvec(chunk).ok()).collect();
        let chunks = chunks?;
        let head = Head {
            purpose: self.purpose.clone(),
            when: survey.when,
            folders: survey.folders.clone(),
            chunks: chunks.iter().map(|chunk| Chunk { length: chunk.len(), checksum: hash(chunk) }).collect(),
        };
        let head = postcard::to_stdvec(&head).ok()?;
        let mut beginning = MAGIC.to_vec();
        beginning.extend((head.len() as u64).to_le_bytes());
        beginning.extend(hash(&head).to_le_bytes());
        let pieces = [beginning, head].into_iter().chain(chunks);
        Some(pieces.collect())
    }

    /// Replaces the index. `now` is needed to find files that other processes left behind.
    pub(crate) fn save(&self, survey: &Survey, now: SystemTime) -> Result<(), CatalogError> {
        let Some(directory) = self.path.parent() else { return Ok(()) };
        let Some(pieces) = self.encode(survey) else { return Ok(()) };
        let write = || -> io::Result<()> {
            fs::create_dir_all(directory)?;
            sweep(directory, now);
            // No sync: after a power failure the checksums do not match and the index is rebuilt.
            let mut file = tempfile::Builder::new().suffix(".tmp").tempfile_in(directory)?;
            for piece in &pieces {
                file.write_all(piece)?;
            }
            file.persist(&self.path).map(drop).map_err(|error| error.error)
        };
        write().map_err(CatalogError::write(&self.path))
    }
}

/// Removes temporary files of killed processes.
fn sweep(directory: &Path, now: SystemTime) {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.path().extension().is_some_and(|ending| ending == "tmp")) {
        let modified = entry.metadata().and_then(|meta| meta.modified());
        let age = modified.ok().and_then(|modified| now.duration_since(modified).ok());
        if age.is_some_and(|age| age > ABANDONED) {
            // Another process may remove the same files.
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hash = XxHash3_64::with_seed(0);
    hash.write(bytes);
    hash.finish()
}
