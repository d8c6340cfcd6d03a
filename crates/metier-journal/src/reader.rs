//! A journal that is read: records that match, lines for others, checkpoints and proofs. Nothing here adds to it.

use std::fmt;
use std::io::{self, BufRead, Write};
use std::ops::ControlFlow;

use metier_skill::Digest;

use crate::address::JournalAddress;
use crate::checkpoint::{Checkpoint, Consistency, Inclusion, journal_of};
use crate::error::JournalError;
use crate::merkle;
use crate::query::RecordQuery;
use crate::record::{Line, NOTHING, Record, RecordRef, Time};
use crate::stats::JournalStats;
use crate::store::Store;
use crate::verify::{DamageKind, Verification, Verifier};

/// A journal to read from.
pub struct JournalReader {
    store: Box<dyn Store>,
}

impl fmt::Debug for JournalReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JournalReader").finish_non_exhaustive()
    }
}

impl JournalReader {
    /// Opens the journal at this place; it is an error if there is none.
    pub fn open(address: &JournalAddress) -> Result<Self, JournalError> {
        Ok(Self { store: address.open_to_read()? })
    }

    /// How many records there are.
    pub fn size(&mut self) -> Result<u64, JournalError> {
        self.store.size()
    }

    /// Hands out every record, in order, with the hash of the one before, until told to stop.
    pub fn each<F>(&mut self, take: F) -> Result<(), JournalError>
    where
        F: FnMut(&RecordRef<'_>, &Digest) -> ControlFlow<()>,
    {
        self.each_from(0, take)
    }

    /// The same, beginning with the record at this place. Without effect where there are fewer records.
    pub fn each_from<F>(&mut self, from: u64, mut take: F) -> Result<(), JournalError>
    where
        F: FnMut(&RecordRef<'_>, &Digest) -> ControlFlow<()>,
    {
        let before = from.saturating_sub(1);
        let (mut previous, mut sequence, mut result) = (NOTHING, before, Ok(()));
        self.store.read(before, &mut |found| match found {
            // Only its hash is needed.
            Ok(row) if row.sequence < from => {
                (previous, sequence) = (row.hash, row.sequence + 1);
                ControlFlow::Continue(())
            }
            Ok(row) => {
                let flow = take(&row, &previous);
                (previous, sequence) = (row.hash, row.sequence + 1);
                flow
            }
            Err(reason) => {
                result = Err(JournalError::Record { sequence, reason });
                ControlFlow::Break(())
            }
        })?;
        result
    }

    /// The record at this place, from 0; nothing, if there are fewer records.
    pub fn record(&mut self, sequence: u64) -> Result<Option<Record>, JournalError> {
        let (mut previous, mut record, mut result) = (NOTHING, None, Ok(()));
        self.store.read(sequence.saturating_sub(1), &mut |found| match found {
            Ok(row) if row.sequence < sequence => {
                previous = row.hash;
                ControlFlow::Continue(())
            }
            Ok(row) => {
                record = (row.sequence == sequence).then(|| Record::of(&row, previous));
                ControlFlow::Break(())
            }
            Err(reason) => {
                result = Err(JournalError::Record { sequence, reason });
                ControlFlow::Break(())
            }
        })?;
        result.map(|()| record)
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

    /// Hands out every record that matches, in order, whatever the limit, until told to stop.
    pub fn each_matching<F>(&mut self, query: &RecordQuery, mut take: F) -> Result<(), JournalError>
    where
        F: FnMut(Record) -> ControlFlow<()>,
    {
        self.each(|row, previous| {
            if query.matches(row) { take(Record::of(row, *previous)) } else { ControlFlow::Continue(()) }
        })
    }

    /// Hands out every record from this place on that matches, in order; the place after the last record that was looked at.
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

    /// The records that match, as a store holds them.
    pub fn each_row_matching<F>(&mut self, query: &RecordQuery, mut take: F) -> Result<(), JournalError>
    where
        F: FnMut(&RecordRef<'_>) -> ControlFlow<()>,
    {
        self.each(|row, _| if query.matches(row) { take(row) } else { ControlFlow::Continue(()) })
    }

    /// What was used how often, of the records that match.
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

    /// Writes every record as a line of canonical JSON; how many.
    pub fn export(&mut self, out: &mut dyn Write) -> Result<io::Result<u64>, JournalError> {
        let (mut count, mut result, mut line) = (0, Ok(()), Vec::new());
        self.each(|row, previous| {
            line.clear();
            row.write_line(previous, &mut line);
            result = out.write_all(&line);
            count += 1;
            if result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok(result.and_then(|()| out.flush()).map(|()| count))
    }

    /// What the journal is now, in a few bytes. Nothing, if it is empty.
    pub fn checkpoint(&mut self, time: Time) -> Result<Option<Checkpoint>, JournalError> {
        let hashes = self.hashes()?;
        self.checkpoint_of(&hashes, time)
    }

    /// That a record is in the journal as it is now; nothing, if there is no such record.
    pub fn prove_inclusion(&mut self, sequence: u64, time: Time) -> Result<Option<Inclusion>, JournalError> {
        let hashes = self.hashes()?;
        let (mut record, mut index) = (None, 0);
        self.each(|row, previous| {
            if row.sequence == sequence {
                record = Some(Record::of(row, *previous));
                return ControlFlow::Break(());
            }
            index += 1;
            ControlFlow::Continue(())
        })?;
        let checkpoint = self.checkpoint_of(&hashes, time)?;
        Ok(record.zip(checkpoint).map(|(record, checkpoint)| Inclusion {
            record,
            checkpoint,
            proof: merkle::prove_inclusion(index, &hashes),
        }))
    }

    /// That the journal as it is now begins with that of a checkpoint. Whether that is true, the proof says: it holds or does not.
    pub fn prove_consistency(
        &mut self,
        old: Checkpoint,
        time: Time,
    ) -> Result<Option<Consistency>, JournalError> {
        let hashes = self.hashes()?;
        let checkpoint = self.checkpoint_of(&hashes, time)?;
        let size = usize::try_from(old.size).ok().filter(|size| (1..=hashes.len()).contains(size));
        Ok(checkpoint.zip(size).map(|(new, size)| Consistency {
            old,
            new,
            proof: merkle::prove_consistency(size, &hashes),
        }))
    }

    fn checkpoint_of(&mut self, hashes: &[Digest], time: Time) -> Result<Option<Checkpoint>, JournalError> {
        let journal = journal_of(&mut *self.store)?;
        let root = merkle::root(hashes);
        Ok(journal.map(|journal| Checkpoint { journal, root, size: hashes.len() as u64, time }))
    }

    fn hashes(&mut self) -> Result<Vec<Digest>, JournalError> {
        let mut hashes = Vec::new();
        self.each(|row, _| {
            hashes.push(row.hash);
            ControlFlow::Continue(())
        })?;
        Ok(hashes)
    }
}

/// The longest line: the longest event with room for the rest.
const MAX_LINE: u64 = 1 << 20;

/// Verifies an exported journal, and that it extends each of these checkpoints.
pub fn verify_export(lines: &mut dyn BufRead, since: &[Checkpoint]) -> io::Result<Verification> {
    let mut verifier = Verifier::new(since);
    let (mut line, mut again) = (Vec::new(), Vec::new());
    loop {
        line.clear();
        if io::Read::take(&mut *lines, MAX_LINE).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let next = verifier.next();
        let parsed = match line.strip_suffix(b"\n") {
            Some(line) => Line::parse(line, &mut again),
            None => Err("its line is cut off or too long".to_owned()),
        };
        let flow = match parsed {
            Ok(parsed) if parsed.as_row().sequence == next && parsed.previous != verifier.previous() => {
                let detail = format!("record {next} follows another record than the one before it");
                verifier.damage(DamageKind::Misplaced, Some(next), detail)
            }
            Ok(parsed) => verifier.take(Ok(parsed.as_row())),
            Err(reason) => verifier.take(Err(reason)),
        };
        if flow.is_break() {
            break;
        }
    }
    if verifier.next() == 0 {
        let _ = verifier.damage(DamageKind::Truncated, Some(0), "there are no records".to_owned());
    }
    Ok(verifier.finish())
}
