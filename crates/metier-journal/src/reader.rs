//! Reading a journal or an archive: queries, exports, checkpoints and proofs. Nothing here writes to it.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io::{self, BufRead, Write};
use std::ops::ControlFlow;

use metier_skill::Digest;
use uuid::Uuid;

use crate::address::JournalAddress;
use crate::checkpoint::{Checkpoint, Consistency, Inclusion, journal_of};
use crate::error::JournalError;
use crate::event::{ArchivedRecords, Event};
use crate::lines;
use crate::merkle::Leaves;
use crate::query::RecordQuery;
use crate::record::{NOTHING, Record, RecordRef, Time};
use crate::start::Start;
use crate::stats::JournalStats;
use crate::store::Store;
use crate::verify::{DamageKind, Verification, Verifier};

/// Reads the records of a journal, an archive or an export.
pub struct JournalReader {
    store: Box<dyn Store>,
}

impl fmt::Debug for JournalReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JournalReader").finish_non_exhaustive()
    }
}

impl JournalReader {
    /// Opens a journal, an archive or an export; it is an error if there is none at this address.
    pub fn open(address: &JournalAddress) -> Result<Self, JournalError> {
        Ok(Self { store: address.open_to_read()? })
    }

    /// The number of records ever written, those in archives included.
    pub fn size(&mut self) -> Result<u64, JournalError> {
        self.store.size()
    }

    /// The sequence of the first record that is here; earlier ones are in archives.
    pub fn first(&mut self) -> Result<u64, JournalError> {
        Ok(self.start()?.map_or(0, |start| start.size()))
    }

    /// Where the records begin, if earlier ones are in archives.
    pub(crate) fn start(&mut self) -> Result<Option<Start>, JournalError> {
        self.store.start()
    }

    /// The id of the journal.
    pub fn journal(&mut self) -> Result<Uuid, JournalError> {
        let unnamed = || JournalError::Damaged { reason: "its first record does not identify it".to_owned() };
        journal_of(&mut *self.store)?.ok_or_else(unnamed)
    }

    /// Calls `take` with every record, in order, and the hash of the record before it, until told to stop.
    pub fn each<F>(&mut self, take: F) -> Result<(), JournalError>
    where
        F: FnMut(&RecordRef<'_>, &Digest) -> ControlFlow<()>,
    {
        self.each_from(0, take)
    }

    /// Like [`each`](Self::each), but begins with the record that has this sequence. Does nothing if there is none from there on.
    pub fn each_from<F>(&mut self, from: u64, mut take: F) -> Result<(), JournalError>
    where
        F: FnMut(&RecordRef<'_>, &Digest) -> ControlFlow<()>,
    {
        // The record before is read for its hash.
        let before = from.saturating_sub(1);
        let known = Cell::new((NOTHING, before));
        let mut result = Ok(());
        let mut begin = |start: Option<&Start>| {
            if let Some(start) = start.filter(|start| start.size() > before) {
                known.set((start.tail.hash(), start.size()));
            }
        };
        self.store.read(before, &mut begin, &mut |found| match found {
            Ok(row) => {
                let flow =
                    if row.sequence < from { ControlFlow::Continue(()) } else { take(&row, &known.get().0) };
                known.set((row.hash, row.sequence + 1));
                flow
            }
            Err(reason) => {
                result = Err(JournalError::Record { sequence: known.get().1, reason });
                ControlFlow::Break(())
            }
        })?;
        result
    }

    /// The record with this sequence; `None` if it is not here.
    pub fn record(&mut self, sequence: u64) -> Result<Option<Record>, JournalError> {
        let mut record = None;
        self.each_from(sequence, |row, previous| {
            record = (row.sequence == sequence).then(|| Record::of(row, *previous));
            ControlFlow::Break(())
        })?;
        Ok(record)
    }

    /// The records that match, in order. With a limit, the last ones.
    pub fn query(&mut self, query: &RecordQuery) -> Result<Vec<Record>, JournalError> {
        let mut found = std::collections::VecDeque::new();
        self.each_matching(query, |record| {
            found.push_back(record);
            if query.limit.is_some_and(|limit| found.len() > limit) {
                found.pop_front();
            }
            ControlFlow::Continue(())
        })?;
        Ok(found.into())
    }

    /// Calls `take` with every record that matches, in order, regardless of the limit, until told to stop.
    pub fn each_matching<F>(&mut self, query: &RecordQuery, mut take: F) -> Result<(), JournalError>
    where
        F: FnMut(Record) -> ControlFlow<()>,
    {
        self.each(|row, previous| {
            if query.matches(row) { take(Record::of(row, *previous)) } else { ControlFlow::Continue(()) }
        })
    }

    /// Like [`each_matching`](Self::each_matching), but begins with the record that has this sequence. Returns the sequence
    /// after the last record that was examined.
    pub fn each_matching_from<F>(
        &mut self,
        from: u64,
        query: &RecordQuery,
        mut take: F,
    ) -> Result<u64, JournalError>
    where
        F: FnMut(Record) -> ControlFlow<()>,
    {
        let mut next = from;
        self.each_from(from, |row, previous| {
            next = row.sequence + 1;
            if query.matches(row) { take(Record::of(row, *previous)) } else { ControlFlow::Continue(()) }
        })?;
        Ok(next)
    }

    /// Calls `take` with every record that matches, as it is stored.
    pub fn each_row_matching<F>(&mut self, query: &RecordQuery, mut take: F) -> Result<(), JournalError>
    where
        F: FnMut(&RecordRef<'_>) -> ControlFlow<()>,
    {
        self.each(|row, _| if query.matches(row) { take(row) } else { ControlFlow::Continue(()) })
    }

    /// Usage per skill, of the records that match.
    pub fn stats(&mut self, query: &RecordQuery) -> Result<JournalStats, JournalError> {
        let mut stats = JournalStats::default();
        self.each(|row, _| {
            if query.matches(row) {
                stats.add(row);
            }
            ControlFlow::Continue(())
        })?;
        Ok(stats)
    }

    /// The archives that the records here mention, oldest first.
    pub fn archives(&mut self) -> Result<Vec<ArchivedRecords>, JournalError> {
        let mut archives = Vec::new();
        self.each(|row, _| {
            archives.extend(archived(row).map(|one| *one));
            ControlFlow::Continue(())
        })?;
        Ok(archives)
    }

    /// Writes every record as a line of canonical JSON and returns their number. If older records are in archives, the
    /// first line says what came before.
    pub fn export(&mut self, out: &mut dyn Write) -> Result<io::Result<u64>, JournalError> {
        let begin = RefCell::new(None);
        let (mut count, mut written, mut unread, mut line) = (0, Ok(()), Ok(()), Vec::new());
        let mut previous = NOTHING;
        self.store.read(0, &mut |start| *begin.borrow_mut() = start.cloned(), &mut |found| match found {
            Ok(row) => {
                line.clear();
                if let Some(start) = begin.borrow_mut().take() {
                    line.extend_from_slice(start.to_line().as_bytes());
                    line.push(b'\n');
                    previous = start.tail.hash();
                }
                row.write_line(&previous, &mut line);
                previous = row.hash;
                written = out.write_all(&line);
                count += 1;
                if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            }
            Err(reason) => {
                unread = Err(JournalError::Record { sequence: count, reason });
                ControlFlow::Break(())
            }
        })?;
        unread?;
        Ok(written.and_then(|()| out.flush()).map(|()| count))
    }

    /// The checkpoint of the journal as it is now; `None` if it is empty.
    pub fn checkpoint(&mut self, time: Time) -> Result<Option<Checkpoint>, JournalError> {
        let leaves = self.leaves()?;
        self.checkpoint_of(&leaves, time)
    }

    /// Proof that a record is in the journal as it is now; `None` if the record is not here.
    pub fn prove_inclusion(&mut self, sequence: u64, time: Time) -> Result<Option<Inclusion>, JournalError> {
        let leaves = self.leaves()?;
        if !(leaves.first()..leaves.size()).contains(&sequence) {
            return Ok(None);
        }
        let record = self.record(sequence)?;
        let checkpoint = self.checkpoint_of(&leaves, time)?;
        Ok(record.zip(checkpoint).map(|(record, checkpoint)| Inclusion {
            record,
            checkpoint,
            proof: leaves.prove_inclusion(sequence),
        }))
    }

    /// Proof that the journal as it is now extends that of a checkpoint. Call [`Consistency::holds`] to learn whether it
    /// does. `None` if the journal is shorter, or if the checkpoint is about archived records.
    pub fn prove_consistency(
        &mut self,
        old: Checkpoint,
        time: Time,
    ) -> Result<Option<Consistency>, JournalError> {
        let leaves = self.leaves()?;
        if !(leaves.first().max(1)..=leaves.size()).contains(&old.size) {
            return Ok(None);
        }
        let (size, checkpoint) = (old.size, self.checkpoint_of(&leaves, time)?);
        Ok(checkpoint.map(|new| Consistency { old, new, proof: leaves.prove_consistency(size) }))
    }

    fn checkpoint_of(&mut self, leaves: &Leaves, time: Time) -> Result<Option<Checkpoint>, JournalError> {
        let journal = journal_of(&mut *self.store)?;
        Ok(journal.map(|journal| Checkpoint { journal, root: leaves.root(), size: leaves.size(), time }))
    }

    fn leaves(&mut self) -> Result<Leaves, JournalError> {
        let leaves = RefCell::new(Leaves::default());
        let (mut next, mut result) = (0, Ok(()));
        let mut begin = |start: Option<&Start>| {
            if let Some(start) = start {
                leaves.replace(Leaves::after(start.tail.frontier().clone()));
            }
        };
        self.store.read(0, &mut begin, &mut |found| match found {
            Ok(row) => {
                leaves.borrow_mut().push(row.hash);
                next = row.sequence + 1;
                ControlFlow::Continue(())
            }
            Err(reason) => {
                result = Err(JournalError::Record { sequence: next, reason });
                ControlFlow::Break(())
            }
        })?;
        result.map(|()| leaves.into_inner())
    }
}

/// What a record says about an archive, if it is one that says so.
pub(crate) fn archived(row: &RecordRef<'_>) -> Option<Box<ArchivedRecords>> {
    // Few records are, so most are not even parsed.
    if !row.event.contains("\"journal.archived\"") {
        return None;
    }
    match row.to_event() {
        Some(Event::JournalArchived(archived)) => Some(archived),
        _ => None,
    }
}

/// Verifies an export or an archive, and that it extends each of these checkpoints.
pub fn verify_export(lines: &mut dyn BufRead, since: &[Checkpoint]) -> io::Result<Verification> {
    let verifier = RefCell::new(Verifier::new(since));
    let mut begin = |start: Option<&Start>| verifier.borrow_mut().begin(start);
    lines::read(lines, &mut begin, &mut |found| verifier.borrow_mut().take_line(found))?;
    let mut verifier = verifier.into_inner();
    if verifier.count() == 0 {
        let next = verifier.next();
        let _ = verifier.damage(DamageKind::Truncated, Some(next), "there are no records".to_owned());
    }
    Ok(verifier.finish())
}
