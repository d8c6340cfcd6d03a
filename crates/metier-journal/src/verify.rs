//! Verification: finds the first record of a journal or an archive that is not as it was written.

use std::fmt;
use std::ops::ControlFlow;

use metier_skill::Digest;
use serde::Serialize;
use uuid::Uuid;

use crate::address::JournalAddress;
use crate::chain;
use crate::checkpoint::Checkpoint;
use crate::error::JournalError;
use crate::event::{ArchivedRecords, Event};
use crate::lines::FoundLine;
use crate::reader::archived;
use crate::record::{FORMAT, RecordRef};
use crate::start::Start;
use crate::store::{Found, Tail, is_checkpoint};

/// The result of verifying a journal or archives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Verification {
    /// The id of the journal.
    pub journal: Option<Uuid>,
    /// The sequence of the first record that was checked. Earlier records are in archives that were not given.
    pub first: u64,
    /// The number of intact records, beginning with `first`.
    pub records: u64,
    /// The Merkle root over all records of the journal up to the last intact one.
    pub root: Digest,
    /// The number of given checkpoints that matched.
    pub checkpoints: usize,
    /// The first damage; `None` if all records are intact.
    pub damage: Option<Damage>,
    /// What was not checked, and the reason.
    pub skipped: Vec<String>,
}

/// Damage of a journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Damage {
    /// The kind of damage.
    pub kind: DamageKind,
    /// The first record that is not as it was written; `None` if the damage is not in a record.
    pub sequence: Option<u64>,
    /// A description for people.
    pub detail: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

/// The kind of damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DamageKind {
    /// A record or its hash was changed.
    Changed,
    /// A record was removed, inserted or moved.
    Misplaced,
    /// A record cannot be read.
    Unreadable,
    /// A checkpoint in the journal does not match the records before it.
    Checkpoint,
    /// There are fewer records than a checkpoint says, or the first records are missing.
    Truncated,
    /// The records are not those of a checkpoint.
    Rewritten,
    /// The journal is not the one of the checkpoint or of the other archives.
    OtherJournal,
    /// A checkpoint is about archived records, and their archives were not given.
    Archived,
    /// Records between two archives, or between an archive and the journal, are missing.
    Missing,
    /// The records are intact, but the file around them is damaged.
    File,
}

/// Verifies a journal, an archive or an export by itself, and that it extends each of these checkpoints.
pub fn verify(address: &JournalAddress, since: &[Checkpoint]) -> Result<Verification, JournalError> {
    chain::verify_archives(&[], Some(address), since)
}

/// Checks records one after the other.
pub(crate) struct Verifier<'a> {
    tail: Tail,
    journal: Option<Uuid>,
    /// Where the records begin, if not with the first one.
    start: Option<Start>,
    /// By size.
    since: Vec<&'a Checkpoint>,
    compared: usize,
    matched: usize,
    /// The number of records that were once noted, and the hash of the last.
    noted: Option<(u64, Digest)>,
    /// The archives that the records mention.
    pub(crate) archives: Vec<ArchivedRecords>,
    pub(crate) damage: Option<Damage>,
    pub(crate) skipped: Vec<String>,
    buffer: Vec<u8>,
}

impl<'a> Verifier<'a> {
    pub(crate) fn new(since: &'a [Checkpoint]) -> Self {
        let mut since: Vec<&Checkpoint> = since.iter().collect();
        since.sort_by_key(|checkpoint| checkpoint.size);
        Self {
            tail: Tail::default(),
            journal: None,
            start: None,
            since,
            compared: 0,
            matched: 0,
            noted: None,
            archives: Vec::new(),
            damage: None,
            skipped: Vec::new(),
            buffer: Vec::new(),
        }
    }

    /// The number of records that were once noted beside the journal, and the hash of the last.
    pub(crate) const fn expect(&mut self, noted: Option<(u64, Digest)>) {
        self.noted = noted;
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

    /// The sequence of the next record.
    pub(crate) const fn next(&self) -> u64 {
        self.tail.size()
    }

    /// The sequence of the first record that was checked.
    pub(crate) fn first(&self) -> u64 {
        self.start.as_ref().map_or(0, Start::size)
    }

    /// The number of records that were checked.
    pub(crate) fn count(&self) -> u64 {
        self.next() - self.first()
    }

    /// The state of the journal after the last record that was checked; `None` before the first.
    pub(crate) fn state(&self) -> Option<Start> {
        Some(Start { journal: self.journal?, tail: self.tail.clone() })
    }

    /// Where the records begin: with the first of the journal, or with the state after those in archives.
    pub(crate) fn begin(&mut self, start: Option<&Start>) {
        let Some(start) = start else { return };
        self.journal = Some(start.journal);
        self.tail = start.tail.clone();
        self.start = Some(start.clone());
        let first = start.size();
        if let Some(checkpoint) = self.since.first().filter(|one| (1..first).contains(&one.size)) {
            let detail = format!(
                "the checkpoint over {} records cannot be compared: records before {first} are in archives; \
                 verify the journal together with them",
                checkpoint.size
            );
            let _ = self.damage(DamageKind::Archived, None, detail);
        }
        let _ = self.compare();
    }

    pub(crate) fn take(&mut self, found: Found<'_>) -> ControlFlow<()> {
        if self.damage.is_some() {
            return ControlFlow::Break(());
        }
        let next = self.next();
        let row = match found {
            Ok(row) => row,
            Err(reason) => {
                let detail = format!("record {next} cannot be read: {reason}");
                return self.damage(DamageKind::Unreadable, Some(next), detail);
            }
        };
        if row.sequence != next {
            let detail = format!("found record {} in place of record {next}", row.sequence);
            return self.damage(DamageKind::Misplaced, Some(next), detail);
        }
        if row.expected_hash(&self.tail.hash(), &mut self.buffer) != row.hash {
            let detail =
                format!("the hash of record {next} does not match its content and the record before it");
            return self.damage(DamageKind::Changed, Some(next), detail);
        }
        if next == 0 || is_checkpoint(next) {
            self.own(&row)?;
        }
        self.archives.extend(archived(&row).map(|one| *one));
        self.tail.follow(row.hash);
        self.compare()
    }

    /// The same for a line, which also names the hash of the record before.
    pub(crate) fn take_line(&mut self, found: FoundLine<'_>) -> ControlFlow<()> {
        let next = self.next();
        match found {
            Ok((row, previous)) if row.sequence == next && previous != self.tail.hash() => {
                let detail = format!("record {next} does not follow the record before it");
                self.damage(DamageKind::Misplaced, Some(next), detail)
            }
            other => self.take(other.map(|(row, _)| row)),
        }
    }

    /// The records that the journal itself writes, at fixed places.
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
                    "does not identify the journal"
                } else {
                    "is not a checkpoint of the records before it"
                };
                self.damage(DamageKind::Checkpoint, Some(next), format!("record {next} {what}"))
            }
        }
    }

    /// Compares with what is known about a journal of this size: the note beside it, and checkpoints.
    fn compare(&mut self) -> ControlFlow<()> {
        let (size, hash) = (self.next(), self.tail.hash());
        if self.noted.is_some_and(|noted| noted.0 == size && noted.1 != hash) {
            let detail = format!(
                "record {} is not the one that was noted when it was written; the journal was rewritten",
                size.saturating_sub(1)
            );
            return self.damage(DamageKind::Rewritten, None, detail);
        }
        while let Some(checkpoint) = self.since.get(self.compared).filter(|one| one.size <= size) {
            self.compared += 1;
            if checkpoint.size < size {
                continue;
            }
            if self.journal != Some(checkpoint.journal) {
                let detail = format!(
                    "the checkpoint over {size} records is of another journal, {}",
                    checkpoint.journal
                );
                return self.damage(DamageKind::OtherJournal, None, detail);
            }
            if self.tail.root() != checkpoint.root {
                let detail = format!(
                    "the first {size} records are not those of the checkpoint; the journal was rewritten"
                );
                return self.damage(DamageKind::Rewritten, None, detail);
            }
            self.matched += 1;
        }
        ControlFlow::Continue(())
    }

    /// Whether a record says that everything before the first record was archived.
    pub(crate) fn check_link(&mut self) {
        let Some(start) = &self.start else { return };
        let (first, journal) = (start.size(), start.journal);
        let (hash, root) = (start.tail.hash(), start.tail.root());
        let is_link = |one: &ArchivedRecords| {
            one.journal == journal
                && one.first.checked_add(one.records) == Some(first)
                && one.hash == hash
                && one.root == root
        };
        if !self.archives.iter().any(is_link) {
            let detail =
                format!("the records before {first} are missing, and no record says that they were archived");
            let _ = self.damage(DamageKind::Truncated, Some(0), detail);
        }
    }

    pub(crate) fn finish(mut self) -> Verification {
        let next = self.next();
        if let Some((size, _)) = self.noted.filter(|(size, _)| *size > next) {
            let detail = format!(
                "the journal had {size} records and now has {next}; record {next} and later ones are missing"
            );
            let _ = self.damage(DamageKind::Truncated, Some(next), detail);
        }
        if self.since.first().is_some_and(|checkpoint| checkpoint.size == 0) {
            let detail = "a checkpoint over 0 records proves nothing".to_owned();
            let _ = self.damage(DamageKind::Rewritten, None, detail);
        }
        if self.damage.is_none()
            && let Some(checkpoint) = self.since.get(self.compared)
        {
            let detail = format!(
                "the checkpoint has {} records, the journal {next}; record {next} and later ones are missing",
                checkpoint.size
            );
            let _ = self.damage(DamageKind::Truncated, Some(next), detail);
        }
        Verification {
            journal: self.journal,
            first: self.first(),
            records: self.count(),
            root: self.tail.root(),
            checkpoints: self.matched,
            damage: self.damage,
            skipped: self.skipped,
        }
    }
}
