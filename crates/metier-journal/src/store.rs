//! What a place for records must be able to do, and how records are tied together on their way into one.

use std::ops::ControlFlow;

use metier_skill::Digest;

use crate::error::JournalError;
use crate::event::Event;
use crate::merkle::Frontier;
use crate::record::{Clock, FORMAT, NOTHING, PendingRecord, RecordRef, Time, canonical};

/// Every record whose place, counted from one, is a multiple of this is a checkpoint: who adds to a journal need not read more than this many
/// records to know its Merkle root.
pub(crate) const INTERVAL: u64 = 1024;

/// Whether the record at this place is a checkpoint.
pub(crate) const fn is_checkpoint(sequence: u64) -> bool {
    (sequence + 1).is_multiple_of(INTERVAL)
}

/// A place for records.
pub(crate) trait Store: Send {
    /// Adds the rows that `make` makes from the end of the journal, all or none; they are on the disk when it returns.
    ///
    /// Nobody else adds anything in between. After a failure that left nothing behind, `make` may be called again. If it makes nothing, nothing happens.
    fn append(&mut self, make: &mut dyn FnMut(&mut Tail) -> Vec<NewRow>)
    -> Result<Vec<NewRow>, JournalError>;

    /// Hands out rows in order, from a place on, until told to stop. A row that cannot be read is a reason, and the last one.
    fn read(
        &mut self,
        from: u64,
        each: &mut dyn FnMut(Found<'_>) -> ControlFlow<()>,
    ) -> Result<(), JournalError>;

    /// How many records there are.
    fn size(&mut self) -> Result<u64, JournalError>;

    /// Whether something could be added now, before something is done that has to be recorded.
    fn ready(&mut self) -> Result<(), JournalError>;

    /// The end of the journal when this store last added something.
    fn tail(&self) -> &Tail;

    /// Checks the storage below the records.
    fn inspect(&mut self) -> Result<Inspection, JournalError>;
}

/// A row, or why there is none.
pub(crate) type Found<'a> = Result<RecordRef<'a>, String>;

/// What a check of the storage below the records found.
#[derive(Debug, Default)]
pub(crate) struct Inspection {
    /// What is wrong, if anything is.
    pub(crate) damage: Option<String>,
    /// What was not checked, and why.
    pub(crate) skipped: Option<String>,
}

/// A row that is to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NewRow {
    pub(crate) sequence: u64,
    pub(crate) id: String,
    pub(crate) time: String,
    pub(crate) session: Option<String>,
    pub(crate) event: String,
    pub(crate) hash: Digest,
    /// Whether it is the journal's own: nobody asked for it.
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

/// The end of a journal: all that is needed to add to it.
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

    /// What ties these entries to the end of the journal, which then is theirs.
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

    /// A record of the journal's own, at the time of the one that brought it about.
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

    /// Another record is the last.
    pub(crate) fn follow(&mut self, hash: Digest) {
        self.frontier.push(hash);
        self.hash = hash;
    }
}

/// For stores, which learn here what others have added.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
impl Tail {
    /// Where reading must begin to know the end of a journal of `size` records: after what is known, or at the last checkpoint.
    pub(crate) fn behind(&self, size: u64) -> u64 {
        let checkpoint = (size / INTERVAL * INTERVAL).saturating_sub(1);
        self.size().max(checkpoint)
    }

    /// Takes the next record, or a checkpoint further on.
    pub(crate) fn catch_up(&mut self, row: &RecordRef<'_>) -> Result<(), JournalError> {
        if row.sequence != self.size() {
            let checkpoint = match row.to_event() {
                Some(Event::JournalCheckpoint { size, nodes, .. }) if size == row.sequence => {
                    Frontier::from_parts(size, nodes)
                }
                _ => None,
            };
            let Some(frontier) = checkpoint.filter(|_| row.sequence > self.size()) else {
                let reason = format!("record {} stands where record {} should", row.sequence, self.size());
                return Err(JournalError::Damaged { reason });
            };
            self.frontier = frontier;
        }
        self.follow(row.hash);
        Ok(())
    }

    /// Whether this can be the end of a journal of `size` records whose last has this hash, as far as is known here.
    pub(crate) fn check(&self, size: u64, hash: &Digest) -> Result<(), JournalError> {
        if size < self.size() {
            let reason = format!("it had {} records and now has {size}", self.size());
            return Err(JournalError::Damaged { reason });
        }
        if size == self.size() && *hash != self.hash {
            let reason =
                format!("its last record, {}, is not the one that was written", size.saturating_sub(1));
            return Err(JournalError::Damaged { reason });
        }
        Ok(())
    }
}
