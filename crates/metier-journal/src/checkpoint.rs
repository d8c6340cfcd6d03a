//! What a journal was at some point: its size and Merkle root. Kept outside of it, it shows what was cut off or rewritten since.

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

/// The longest file that is read as one.
const MAX_CHECKPOINT: u64 = 64 << 10;

/// A journal's size and Merkle root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// Which journal.
    pub journal: Uuid,
    /// The Merkle root over its first records.
    pub root: Digest,
    /// How many these are.
    pub size: u64,
    /// When that was.
    pub time: Time,
}

/// That a record is in the journal of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inclusion {
    /// The record.
    pub record: Record,
    /// What it is in.
    pub checkpoint: Checkpoint,
    /// The hashes that lead from one to the other.
    pub proof: Vec<Digest>,
}

/// That the journal of one checkpoint begins with that of another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Consistency {
    /// The one that it begins with.
    pub old: Checkpoint,
    /// The one that it is.
    pub new: Checkpoint,
    /// The hashes that lead from one to the other.
    pub proof: Vec<Digest>,
}

impl Checkpoint {
    /// Of everything that is known of a journal here; nothing, if there is nothing in it.
    pub(crate) fn of(store: &mut dyn Store, time: Time) -> Result<Option<Self>, JournalError> {
        let (size, root) = (store.tail().size(), store.tail().root());
        Ok(journal_of(store)?.filter(|_| size > 0).map(|journal| Self { journal, root, size, time }))
    }

    /// Reads one from a file.
    pub fn read(path: &Path) -> Result<Self, JournalError> {
        let wrong = |reason: String| JournalError::Checkpoint { path: path.to_owned(), reason };
        let read = || {
            if !fs::metadata(path)?.is_file() {
                return Err(io::Error::other("it is not a file"));
            }
            let mut text = Vec::new();
            fs::File::open(path)?.take(MAX_CHECKPOINT).read_to_end(&mut text)?;
            Ok(text)
        };
        let text = read().map_err(|error| wrong(error.to_string()))?;
        serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))
    }

    /// Its one text, as JSON.
    pub fn to_text(&self) -> String {
        canonical(&serde_json::to_value(self).unwrap_or_default())
    }
}

impl Inclusion {
    /// Whether it is true.
    pub fn holds(&self) -> bool {
        let Checkpoint { size, root, .. } = &self.checkpoint;
        merkle::check_inclusion(&self.record, *size, root, &self.proof)
    }
}

impl Consistency {
    /// Whether it is true.
    pub fn holds(&self) -> bool {
        let (old, new) = (&self.old, &self.new);
        old.journal == new.journal
            && merkle::check_consistency((old.size, &old.root), (new.size, &new.root), &self.proof)
    }
}

/// Which journal this is; nothing, if there is no record in it that says so.
pub(crate) fn journal_of(store: &mut dyn Store) -> Result<Option<Uuid>, JournalError> {
    let mut journal = None;
    store.read(0, &mut |found| {
        if let Ok(row) = found
            && row.sequence == 0
            && let Some(Event::JournalCreated { journal: id, .. }) = row.to_event()
        {
            journal = Some(id);
        }
        ControlFlow::Break(())
    })?;
    Ok(journal)
}

/// A file with the last checkpoint of a journal, outside of it.
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

    /// Whether what is remembered can be of this journal. Only [`verify`](crate::verify()) looks at all of it.
    pub(crate) fn check(&self, store: &mut dyn Store) -> Result<(), JournalError> {
        let Some(checkpoint) = self.read()? else { return Ok(()) };
        let (size, journal) = (store.size()?, journal_of(store)?);
        let path = self.path.display();
        let reason = match () {
            () if journal != Some(checkpoint.journal) => {
                format!(
                    "`{path}` remembers another journal; if that was moved away on purpose, move this file as well"
                )
            }
            () if size < checkpoint.size => {
                format!("it has {size} records, and `{path}` remembers {}", checkpoint.size)
            }
            () => return Ok(()),
        };
        Err(JournalError::Damaged { reason })
    }

    /// Remembers a checkpoint, unless a later one of the same journal is remembered.
    pub(crate) fn keep(&self, checkpoint: &Checkpoint) -> Result<(), JournalError> {
        if self.read()?.is_some_and(|old| old.journal != checkpoint.journal || old.size >= checkpoint.size) {
            return Ok(());
        }
        self.write(checkpoint).map_err(|error| JournalError::of_file(&self.path, "written", &error))
    }

    /// Replaces the file, whole or not at all.
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
