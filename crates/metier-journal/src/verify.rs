//! Is a journal what was written? Finds the first record that is not.

use std::fmt;
use std::ops::ControlFlow;

use metier_skill::Digest;
use serde::Serialize;
use uuid::Uuid;

use crate::address::JournalAddress;
use crate::checkpoint::Checkpoint;
use crate::error::JournalError;
use crate::event::Event;
use crate::record::{FORMAT, RecordRef};
use crate::store::{Found, Inspection, Tail, is_checkpoint};

/// What verifying a journal brought.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Verification {
    /// Which journal it is.
    pub journal: Option<Uuid>,
    /// How many records are whole, from the first.
    pub records: u64,
    /// The Merkle root over these.
    pub root: Digest,
    /// How many of the given checkpoints they were compared with.
    pub checkpoints: usize,
    /// What is wrong, if anything is.
    pub damage: Option<Damage>,
    /// What could not be looked at, and why.
    pub skipped: Vec<String>,
}

/// What is wrong with a journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Damage {
    /// What sort of damage.
    pub kind: DamageKind,
    /// The first record that is not as it was written; none, if it is not in a record.
    pub sequence: Option<u64>,
    /// More on it.
    pub detail: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

/// What sort of damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DamageKind {
    /// A record or its hash was changed.
    Changed,
    /// A record is not where it should be: one was removed, inserted or moved.
    Misplaced,
    /// A record cannot be read.
    Unreadable,
    /// A checkpoint in the journal does not fit the records before it.
    Checkpoint,
    /// There are fewer records than a checkpoint says.
    Truncated,
    /// The records are not those that a checkpoint is over.
    Rewritten,
    /// It is another journal than the checkpoint's.
    OtherJournal,
    /// The records are whole, and the structure of the file around them is not.
    File,
}

/// Verifies the journal at a place, and that it extends each of these checkpoints.
pub fn verify(address: &JournalAddress, since: &[Checkpoint]) -> Result<Verification, JournalError> {
    let mut verifier = Verifier::new(since);
    verifier.noted = address.noted();
    let mut store = match address.open_to_read() {
        // Where there was something once, nothing is not a beginning.
        Err(JournalError::NotFound { .. }) if !since.is_empty() || verifier.noted.is_some() => {
            return Ok(verifier.finish());
        }
        Err(JournalError::NotAJournal { path, reason }) => {
            let detail = format!("`{}` cannot be read: {reason}", path.display());
            let _ = verifier.damage(DamageKind::Unreadable, Some(0), detail);
            return Ok(verifier.finish());
        }
        other => other?,
    };
    store.read(0, &mut |found| verifier.take(found))?;
    let mut verification = verifier.finish();
    let Inspection { damage, skipped } = store.inspect()?;
    verification.skipped.extend(skipped);
    if let Some(detail) = damage {
        let damage = Damage { kind: DamageKind::File, sequence: None, detail };
        verification.damage.get_or_insert(damage);
    }
    Ok(verification)
}

/// Takes records one after the other.
pub(crate) struct Verifier<'a> {
    tail: Tail,
    journal: Option<Uuid>,
    /// By size.
    since: Vec<&'a Checkpoint>,
    compared: usize,
    /// How many records there once were, and the hash of the last.
    noted: Option<(u64, Digest)>,
    damage: Option<Damage>,
    buffer: Vec<u8>,
}

impl<'a> Verifier<'a> {
    pub(crate) fn new(since: &'a [Checkpoint]) -> Self {
        let mut since: Vec<&Checkpoint> = since.iter().collect();
        since.sort_by_key(|checkpoint| checkpoint.size);
        Self {
            tail: Tail::default(),
            journal: None,
            since,
            compared: 0,
            noted: None,
            damage: None,
            buffer: Vec::new(),
        }
    }

    pub(crate) fn damage(
        &mut self,
        kind: DamageKind,
        sequence: Option<u64>,
        detail: String,
    ) -> ControlFlow<()> {
        self.damage.get_or_insert(Damage { kind, sequence, detail });
        ControlFlow::Break(())
    }

    /// Where the next record belongs.
    pub(crate) const fn next(&self) -> u64 {
        self.tail.size()
    }

    /// The hash that the next record follows.
    pub(crate) const fn previous(&self) -> Digest {
        self.tail.hash()
    }

    pub(crate) fn take(&mut self, found: Found<'_>) -> ControlFlow<()> {
        let next = self.next();
        let row = match found {
            Ok(row) => row,
            Err(reason) => {
                return self.damage(
                    DamageKind::Unreadable,
                    Some(next),
                    format!("record {next} cannot be read: {reason}"),
                );
            }
        };
        if row.sequence != next {
            let detail = format!("record {} stands where record {next} should", row.sequence);
            return self.damage(DamageKind::Misplaced, Some(next), detail);
        }
        if row.expected_hash(&self.tail.hash(), &mut self.buffer) != row.hash {
            let detail =
                format!("record {next} does not have the hash of its content and of the record before it");
            return self.damage(DamageKind::Changed, Some(next), detail);
        }
        if next == 0 || is_checkpoint(next) {
            self.own(&row)?;
        }
        self.tail.follow(row.hash);
        if self.noted.is_some_and(|(size, hash)| size == self.next() && hash != row.hash) {
            let detail = format!(
                "record {next} is not the one that was noted when it was written: some were rewritten"
            );
            return self.damage(DamageKind::Rewritten, None, detail);
        }
        self.compare()
    }

    /// The records that the journal itself writes, at places that are known.
    fn own(&mut self, row: &RecordRef<'_>) -> ControlFlow<()> {
        let next = row.sequence;
        match row.to_event() {
            Some(Event::JournalCreated { journal, format }) if next == 0 && format == FORMAT => {
                self.journal = Some(journal);
                ControlFlow::Continue(())
            }
            Some(Event::JournalCheckpoint { size, root, nodes })
                if next > 0 && size == next && root == self.tail.root() && nodes == self.tail.nodes() =>
            {
                ControlFlow::Continue(())
            }
            _ => {
                let what = if next == 0 {
                    "does not say which journal this is"
                } else {
                    "is no checkpoint of what is before it"
                };
                self.damage(DamageKind::Checkpoint, Some(next), format!("record {next} {what}"))
            }
        }
    }

    /// Compares with the checkpoints of this size.
    fn compare(&mut self) -> ControlFlow<()> {
        while let Some(checkpoint) = self.since.get(self.compared).filter(|one| one.size == self.next()) {
            let size = checkpoint.size;
            if self.journal != Some(checkpoint.journal) {
                let detail =
                    format!("the checkpoint at {size} is of another journal, {}", checkpoint.journal);
                return self.damage(DamageKind::OtherJournal, None, detail);
            }
            if self.tail.root() != checkpoint.root {
                let detail =
                    format!("the first {size} records are not those of the checkpoint: some were rewritten");
                return self.damage(DamageKind::Rewritten, None, detail);
            }
            self.compared += 1;
        }
        ControlFlow::Continue(())
    }

    pub(crate) fn finish(mut self) -> Verification {
        let next = self.next();
        if let Some((size, _)) = self.noted.filter(|(size, _)| *size > next) {
            let detail = format!(
                "there were {size} records and now are {next}: record {next} and those after it are gone"
            );
            let _ = self.damage(DamageKind::Truncated, Some(next), detail);
        }
        if self.damage.is_none()
            && let Some(checkpoint) = self.since.get(self.compared)
        {
            let (size, next) = (checkpoint.size, self.next());
            if size == 0 {
                let _ = self.damage(
                    DamageKind::Rewritten,
                    None,
                    "a checkpoint over no records says nothing".to_owned(),
                );
            } else {
                let detail = format!(
                    "the checkpoint has {size} records, the journal {next}: record {next} and those after it are gone"
                );
                let _ = self.damage(DamageKind::Truncated, Some(next), detail);
            }
        }
        Verification {
            journal: self.journal,
            records: self.next(),
            root: self.tail.root(),
            checkpoints: self.compared,
            damage: self.damage,
            skipped: Vec::new(),
        }
    }
}
