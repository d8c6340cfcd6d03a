//! What a store of records must do, and how new records are linked to the end of a journal.

use std::ops::ControlFlow;

use metier_skill::Digest;

use crate::error::JournalError;
use crate::event::Event;
use crate::merkle::Frontier;
use crate::record::{Clock, FORMAT, NOTHING, PendingRecord, RecordRef, Time, canonical};
use crate::start::Start;

/// Every record whose number, counted from one, is a multiple of this is a checkpoint. A writer therefore reads at most this
/// many records to learn the Merkle root.
pub(crate) const INTERVAL: u64 = 1024;

/// Whether the record with this sequence is a checkpoint.
pub(crate) const fn is_checkpoint(sequence: u64) -> bool {
    (sequence + 1).is_multiple_of(INTERVAL)
}

/// A store of records.
pub(crate) trait Store: Send {
    /// Adds the rows that `make` links to the end of the journal, all or none. They are durable when it returns.
    ///
    /// No other writer adds anything in between. After a failure that left nothing behind, `make` may be called again. If
    /// `make` returns no rows, nothing is written.
    fn append(&mut self, make: &mut dyn FnMut(&mut Tail) -> Vec<NewRow>)
    -> Result<Vec<NewRow>, JournalError>;

    /// Passes on where the journal begins, then its rows in order from `from` on, until told to stop. Both are from one
    /// snapshot. A row that cannot be read is a reason, and the last one.
    fn read(
        &mut self,
        from: u64,
        begin: &mut dyn FnMut(Option<&Start>),
        each: &mut dyn FnMut(Found<'_>) -> ControlFlow<()>,
    ) -> Result<(), JournalError>;

    /// The number of records ever written, those in archives included.
    fn size(&mut self) -> Result<u64, JournalError>;

    /// Whether something could be added now. Call it before an action that has to be recorded.
    fn ready(&mut self) -> Result<(), JournalError>;

    /// The end of the journal when this store last added something.
    fn tail(&self) -> &Tail;

    /// Checks the storage below the records.
    fn inspect(&mut self) -> Result<Inspection, JournalError>;

    /// Whether this is a journal that can be written to, and not a file of lines.
    fn is_live(&self) -> bool {
        true
    }

    /// Adds the rows that `make` links to the end and removes all records before `start`, in one transaction. Fails and
    /// changes nothing unless the journal begins at `from` and reaches `start` through the records that were archived.
    fn cut(
        &mut self,
        from: u64,
        start: &Start,
        make: &mut dyn FnMut(&mut Tail) -> Vec<NewRow>,
    ) -> Result<Vec<NewRow>, JournalError>;

    /// Returns unused space to the file system; an error changes nothing.
    fn shrink(&mut self) -> Result<(), JournalError> {
        Ok(())
    }

    /// Where the journal begins, if its oldest records are in archives.
    fn start(&mut self) -> Result<Option<Start>, JournalError> {
        let mut found = None;
        self.read(0, &mut |start| found = start.cloned(), &mut |_| ControlFlow::Break(()))?;
        Ok(found)
    }
}

/// A row, or the reason why it cannot be read.
pub(crate) type Found<'a> = Result<RecordRef<'a>, String>;

/// What a check of the storage below the records found.
#[derive(Debug, Default)]
pub(crate) struct Inspection {
    /// The damage, if there is any.
    pub(crate) damage: Option<String>,
    /// What was not checked, and the reason.
    pub(crate) skipped: Option<String>,
}

/// A row to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NewRow {
    pub(crate) sequence: u64,
    pub(crate) id: String,
    pub(crate) time: String,
    pub(crate) session: Option<String>,
    pub(crate) event: String,
    pub(crate) hash: Digest,
    /// Whether the journal adds it by itself, without a request.
    pub(crate) is_own: bool,
}

impl NewRow {
    pub(crate) fn as_row(&self) -> RecordRef<'_> {
        RecordRef {
            sequence: self.sequence,
            id: &self.id,
            time: &self.time,
            session: self.session.as_deref(),
            event: &self.event,
            hash: self.hash,
        }
    }
}

/// The end of a journal: everything that is needed to add to it.
#[derive(Debug, Clone)]
pub(crate) struct Tail {
    frontier: Frontier,
    hash: Digest,
}

impl Default for Tail {
    fn default() -> Self {
        Self { frontier: Frontier::default(), hash: NOTHING }
    }
}

impl Tail {
    pub(crate) const fn size(&self) -> u64 {
        self.frontier.size()
    }

    pub(crate) const fn hash(&self) -> Digest {
        self.hash
    }

    pub(crate) fn root(&self) -> Digest {
        self.frontier.root()
    }

    pub(crate) fn nodes(&self) -> &[Digest] {
        self.frontier.nodes()
    }

    /// The state after `size` records; `None` if the number of nodes is wrong for the size.
    pub(crate) fn from_parts(size: u64, hash: Digest, nodes: Vec<Digest>) -> Option<Self> {
        Some(Self { frontier: Frontier::from_parts(size, nodes)?, hash })
    }

    pub(crate) const fn frontier(&self) -> &Frontier {
        &self.frontier
    }

    /// Links these entries to the end of the journal; the last of them becomes its end.
    pub(crate) fn extend(&mut self, entries: &[PendingRecord], clock: &dyn Clock) -> Vec<NewRow> {
        let mut rows = Vec::with_capacity(entries.len() + 1);
        if self.size() == 0 {
            let created = Event::JournalCreated { journal: clock.id(), format: FORMAT };
            let time = entries.first().map_or_else(|| clock.now(), |entry| entry.time);
            rows.push(self.own(&created, time, clock));
        }
        for entry in entries {
            let PendingRecord { id, time, session, event } = entry;
            rows.push(self.tie(NewRow {
                sequence: self.size(),
                id: id.to_string(),
                time: time.to_string(),
                session: session.clone(),
                event: event.clone(),
                hash: NOTHING,
                is_own: false,
            }));
            if is_checkpoint(self.size()) {
                let (size, root) = (self.size(), self.root());
                let checkpoint =
                    Event::JournalCheckpoint { size, root, nodes: self.frontier.nodes().to_vec() };
                rows.push(self.own(&checkpoint, entry.time, clock));
            }
        }
        rows
    }

    /// A record of the journal's own, with the time of the record that caused it.
    fn own(&mut self, event: &Event, time: Time, clock: &dyn Clock) -> NewRow {
        self.tie(NewRow {
            sequence: self.size(),
            id: clock.id().to_string(),
            time: time.to_string(),
            session: None,
            event: canonical(&serde_json::to_value(event).unwrap_or_default()),
            hash: NOTHING,
            is_own: true,
        })
    }

    fn tie(&mut self, mut row: NewRow) -> NewRow {
        row.hash = row.as_row().expected_hash(&self.hash, &mut Vec::with_capacity(row.event.len() + 256));
        self.follow(row.hash);
        row
    }

    /// Another record becomes the last.
    pub(crate) fn follow(&mut self, hash: Digest) {
        self.frontier.push(hash);
        self.hash = hash;
    }
}

/// How a store learns what other processes have added.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
impl Tail {
    /// Where to begin reading to learn the end of a journal of `size` records: after what is known, or at the last checkpoint.
    pub(crate) fn behind(&self, size: u64) -> u64 {
        let checkpoint = (size / INTERVAL * INTERVAL).saturating_sub(1);
        self.size().max(checkpoint)
    }

    /// Takes the next record, or a later checkpoint.
    pub(crate) fn catch_up(&mut self, row: &RecordRef<'_>) -> Result<(), JournalError> {
        if row.sequence != self.size() {
            let checkpoint = match row.to_event() {
                Some(Event::JournalCheckpoint { size, nodes, .. }) if size == row.sequence => {
                    Frontier::from_parts(size, nodes)
                }
                _ => None,
            };
            let Some(frontier) = checkpoint.filter(|_| row.sequence > self.size()) else {
                let reason = format!("found record {} in place of record {}", row.sequence, self.size());
                return Err(JournalError::Damaged { reason });
            };
            self.frontier = frontier;
        }
        self.follow(row.hash);
        Ok(())
    }

    /// Whether a journal of `size` records that ends with this hash can be a continuation of this one.
    pub(crate) fn check(&self, size: u64, hash: &Digest) -> Result<(), JournalError> {
        if size < self.size() {
            let reason = format!("the journal had {} records and now has {size}", self.size());
            return Err(JournalError::Damaged { reason });
        }
        if size == self.size() && *hash != self.hash {
            let reason =
                format!("the last record, {}, is not the one that was written", size.saturating_sub(1));
            return Err(JournalError::Damaged { reason });
        }
        Ok(())
    }
}
