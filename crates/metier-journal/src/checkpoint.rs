//! Checkpoints: the size and Merkle root of a journal. A checkpoint that is kept elsewhere reveals later truncation and rewriting.

use std::fs::{self, DirBuilder};
use std::io::{self, Read as _, Write as _};
use std::ops::ControlFlow;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use metier_skill::Digest;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::error::JournalError;
use crate::event::Event;
use crate::merkle;
use crate::record::{Record, Time, canonical};
use crate::store::Store;

/// The longest file that is read as a checkpoint.
const MAX_CHECKPOINT: u64 = 64 << 10;

/// The size and Merkle root of a journal. Keep a copy in a place that cannot be changed by those who can change
/// the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// The id of the journal.
    pub journal: Uuid,
    /// The Merkle root over its first `size` records.
    pub root: Digest,
    /// The number of records.
    pub size: u64,
    /// When it was made; no hash covers this.
    pub time: Time,
}

/// Proof that a record is in the journal of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inclusion {
    /// The record.
    pub record: Record,
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// The hashes that lead from the record to the root.
    pub proof: Vec<Digest>,
}

/// Proof that the journal of one checkpoint extends that of another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Consistency {
    /// The earlier checkpoint.
    pub old: Checkpoint,
    /// The later checkpoint.
    pub new: Checkpoint,
    /// The hashes that lead to both roots.
    pub proof: Vec<Digest>,
}

impl Checkpoint {
    /// The checkpoint over everything that this store has seen; `None` for an empty journal.
    pub(crate) fn of(store: &mut dyn Store, time: Time) -> Result<Option<Self>, JournalError> {
        let (size, root) = (store.tail().size(), store.tail().root());
        Ok(journal_of(store)?.filter(|_| size > 0).map(|journal| Self { journal, root, size, time }))
    }

    /// Reads a checkpoint from a file.
    pub fn read(path: &Path) -> Result<Self, JournalError> {
        let wrong = |reason: String| JournalError::Checkpoint { path: path.to_owned(), reason };
        let read = || {
            if !fs::metadata(path)?.is_file() {
                return Err(io::Error::other("not a regular file"));
            }
            let mut text = Vec::new();
            fs::File::open(path)?.take(MAX_CHECKPOINT).read_to_end(&mut text)?;
            Ok(text)
        };
        let text = read().map_err(|error| wrong(error.to_string()))?;
        serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))
    }

    /// Canonical JSON.
    pub fn to_text(&self) -> String {
        canonical(&serde_json::to_value(self).unwrap_or_default())
    }
}

impl Inclusion {
    /// Whether the proof is valid.
    pub fn holds(&self) -> bool {
        let Checkpoint { size, root, .. } = &self.checkpoint;
        merkle::check_inclusion(&self.record, *size, root, &self.proof)
    }
}

impl Consistency {
    /// Whether the proof is valid.
    pub fn holds(&self) -> bool {
        let (old, new) = (&self.old, &self.new);
        old.journal == new.journal
            && merkle::check_consistency((old.size, &old.root), (new.size, &new.root), &self.proof)
    }
}

/// The id of the journal; `None` if it is empty or its first record does not name one.
pub(crate) fn journal_of(store: &mut dyn Store) -> Result<Option<Uuid>, JournalError> {
    let (mut archived, mut created) = (None, None);
    store.read(0, &mut |start| archived = start.map(|start| start.journal), &mut |found| {
        if let Ok(row) = found
            && row.sequence == 0
            && let Some(Event::JournalCreated { journal, .. }) = row.to_event()
        {
            created = Some(journal);
        }
        ControlFlow::Break(())
    })?;
    Ok(archived.or(created))
}

/// A file outside of the journal that holds its last checkpoint.
#[derive(Debug, Clone)]
pub(crate) struct Remembered {
    path: PathBuf,
}

impl Remembered {
    pub(crate) const fn at(path: PathBuf) -> Self {
        Self { path }
    }

    fn read(&self) -> Result<Option<Checkpoint>, JournalError> {
        if fs::symlink_metadata(&self.path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            return Ok(None);
        }
        Checkpoint::read(&self.path).map(Some)
    }

    /// Whether the journal can still be the one that was remembered. Only [`verify`](crate::verify()) checks every record.
    pub(crate) fn check(&self, store: &mut dyn Store) -> Result<(), JournalError> {
        let Some(checkpoint) = self.read()? else { return Ok(()) };
        let (size, journal) = (store.size()?, journal_of(store)?);
        let path = self.path.display();
        let reason = match () {
            () if journal != Some(checkpoint.journal) => {
                format!(
                    "`{path}` is the checkpoint of another journal; if you moved that journal away, move this file too"
                )
            }
            () if size < checkpoint.size => {
                format!("it has {size} records, but its checkpoint `{path}` has {}", checkpoint.size)
            }
            () => return Ok(()),
        };
        Err(JournalError::Damaged { reason })
    }

    /// Stores a checkpoint, unless a later one of the same journal is stored.
    pub(crate) fn keep(&self, checkpoint: &Checkpoint) -> Result<(), JournalError> {
        if self.read()?.is_some_and(|old| old.journal != checkpoint.journal || old.size >= checkpoint.size) {
            return Ok(());
        }
        self.write(checkpoint).map_err(|error| JournalError::of_file(&self.path, "written", &error))
    }

    /// Replaces the file atomically.
    fn write(&self, checkpoint: &Checkpoint) -> io::Result<()> {
        let directory = self.path.parent().unwrap_or(Path::new("/"));
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        writeln!(file, "{}", checkpoint.to_text())?;
        file.as_file().sync_all()?;
        file.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }
}
