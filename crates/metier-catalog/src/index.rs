//! The index: what is known of a root, on disk between runs.
//!
//! It is a cache and nothing more. A file that is missing, cut off, damaged, of another version, for another
//! root or for other rules is as good as none; it is replaced as a whole, by renaming, and never changed.
//!
//! ```text
//! magic, 16 bytes ┊ length and checksum of the head ┊ head ┊ chunk ┊ chunk ┊ …
//! ```
//!
//! The head says what the index is for, has the folders, and length and checksum of each chunk of records.
//! Chunks can be read side by side.

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

/// Changes with the layout of anything below. The crate's version stands in the purpose as well, since rules
/// change with it.
const MAGIC: &[u8; 16] = b"metier-index-03\n";

/// Larger files are not ours.
const SIZE_MAX: u64 = 1 << 30;

/// Records of one chunk.
const CHUNK: usize = 512;

/// What nobody renamed into place within this time was left by a process that was killed.
const ABANDONED: Duration = Duration::from_mins(10);

/// Where the index of one root is, and what it must be for.
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
    /// The index in a directory for one root under these rules.
    pub(crate) fn new(directory: &Path, root: &Path, rules: &Rules, bounds: Bounds) -> Self {
        // Rules and bounds decide what is found, so what was found under others is of no use.
        // So does the name of a root that is itself a skill, which is that of the directory it leads to.
        let real = fs::canonicalize(root).unwrap_or_default();
        let purpose = format!("{} {} {rules:?} {bounds:?}", env!("CARGO_PKG_VERSION"), real.display());
        // One file a root: other rules replace it rather than piling up beside it.
        let name = Digest::of(root.as_os_str().as_bytes()).hex();
        Self { path: directory.join(&name[..32]).with_extension("index"), purpose }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What the index says, if it can be believed.
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

    /// The pieces of the file, in their order.
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

    /// Replaces the index. `now` tells what other processes have left lying about.
    pub(crate) fn save(&self, survey: &Survey, now: SystemTime) -> Result<(), CatalogError> {
        let Some(directory) = self.path.parent() else { return Ok(()) };
        let Some(pieces) = self.encode(survey) else { return Ok(()) };
        let write = || -> io::Result<()> {
            fs::create_dir_all(directory)?;
            sweep(directory, now);
            // No sync: after a loss of power the checksums tell, and the index is made again.
            let mut file = tempfile::Builder::new().suffix(".tmp").tempfile_in(directory)?;
            for piece in &pieces {
                file.write_all(piece)?;
            }
            file.persist(&self.path).map(drop).map_err(|error| error.error)
        };
        write().map_err(CatalogError::write(&self.path))
    }
}

/// Removes what killed processes left half written.
fn sweep(directory: &Path, now: SystemTime) {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.path().extension().is_some_and(|ending| ending == "tmp")) {
        let modified = entry.metadata().and_then(|meta| meta.modified());
        let age = modified.ok().and_then(|modified| now.duration_since(modified).ok());
        if age.is_some_and(|age| age > ABANDONED) {
            // Another process may be sweeping too.
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hash = XxHash3_64::with_seed(0);
    hash.write(bytes);
    hash.finish()
}
