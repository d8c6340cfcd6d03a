//! Archiving: the oldest records of a journal are written to files that anyone can verify, and then removed from it.
//!
//! The order of the steps keeps every record in the archive, in the journal or in both, whatever fails: write the archive,
//! sync it, read it back and verify it, give it its name, sync the directory, and only then remove the records and record
//! that, in one transaction. The next run completes what an interrupted one left.

use std::fs::{self, DirBuilder, File};
use std::io::{self, BufWriter, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use metier_skill::Digest;
use rustix::fs::FlockOperation;
use rustix::io::Errno;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::error::JournalError;
use crate::event::{ArchivedRecords, Event};
use crate::gzip::Compress;
use crate::journal::Journal;
use crate::lines::Lines;
use crate::reader::JournalReader;
use crate::record::{PendingRecord, RecordContext, Time};
use crate::start::Start;
use crate::store::Store;
use crate::verify::Verifier;

/// Which records to archive, and where. See [`Journal::archive`].
#[derive(Debug, Clone)]
pub struct ArchiveRequest {
    /// The directory for the archives; created if it does not exist.
    pub directory: PathBuf,
    /// Records from before this time are archived, up to the first one that is not.
    pub before: Time,
    /// Write one archive for each month (UTC), and only for complete months.
    pub by_month: bool,
    /// Who archives; recorded in the journal.
    pub context: RecordContext,
}

/// Records that one archive would have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PlannedArchive {
    /// The sequence of the first record.
    pub first: u64,
    /// The number of records.
    pub records: u64,
    /// The time of the first record.
    pub oldest: Time,
    /// The time of the last record.
    pub newest: Time,
    /// The month, if there is one archive for each.
    pub month: Option<String>,
}

/// What archiving did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ArchiveReport {
    /// The archives that were written, or completed after an interruption, oldest first.
    pub archives: Vec<ArchivedRecords>,
    /// Why unused space was not returned to the file system, if it was not. New records use it.
    pub not_shrunk: Option<String>,
}

impl PlannedArchive {
    const fn end(&self) -> u64 {
        self.first + self.records
    }
}

impl JournalReader {
    /// The archives that [`Journal::archive`] would write: the records from before a time, up to the first one that is not.
    /// With `by_month` one for each complete month.
    pub fn plan_archives(
        &mut self,
        before: Time,
        by_month: bool,
    ) -> Result<Vec<PlannedArchive>, JournalError> {
        self.plan(before, by_month, u64::MAX)
    }

    /// The same, of the records before `limit`.
    fn plan(
        &mut self,
        before: Time,
        by_month: bool,
        limit: u64,
    ) -> Result<Vec<PlannedArchive>, JournalError> {
        let before = if by_month { before.month_start() } else { before };
        let (mut plans, mut wrong) = (Vec::<PlannedArchive>::new(), None);
        self.each(|row, _| {
            let Some(time) = Time::parse(row.time) else {
                wrong = Some(row.sequence);
                return ControlFlow::Break(());
            };
            if time >= before || row.sequence >= limit {
                return ControlFlow::Break(());
            }
            let month = by_month.then(|| time.month());
            match plans.last_mut() {
                // Clocks differ, so a record can be from an earlier month than the one before it.
                Some(plan) if month <= plan.month => {
                    plan.records += 1;
                    plan.newest = time;
                }
                _ => plans.push(PlannedArchive {
                    first: row.sequence,
                    records: 1,
                    oldest: time,
                    newest: time,
                    month,
                }),
            }
            ControlFlow::Continue(())
        })?;
        match wrong {
            Some(sequence) => {
                Err(JournalError::Record { sequence, reason: "its time is invalid".to_owned() })
            }
            None => Ok(plans),
        }
    }

    /// The time of the oldest record that is here.
    pub fn oldest(&mut self) -> Result<Option<Time>, JournalError> {
        let mut oldest = None;
        self.each(|row, _| {
            oldest = Time::parse(row.time);
            ControlFlow::Break(())
        })?;
        Ok(oldest)
    }
}

impl Journal {
    /// Moves the oldest records into archives. Each archive is written, synced, read back and verified before its records
    /// are removed from the journal; a record of the kind `journal.archived` says so. Other processes can go on writing.
    ///
    /// If it is interrupted or fails, every record is in an archive, in the journal or in both; call it again to complete it.
    /// Only journals in files can be archived.
    pub fn archive(&self, request: &ArchiveRequest) -> Result<ArchiveReport, JournalError> {
        let Some(place) = self.file() else {
            return Err(JournalError::NoArchives { place: self.address().to_string() });
        };
        // The last checkpoint must not be about records that are in archives by then.
        let size = self.settle()?;
        let plan = |reader: &mut JournalReader| reader.plan(request.before, request.by_month, size);
        let mut reader = JournalReader::open(self.address())?;
        let mut report = ArchiveReport::default();
        let Some(last) = plan(&mut reader)?.pop() else { return Ok(report) };
        let target = Target::open(&request.directory, reader.journal()?)?;
        while let Some(archive) = target.unfinished(reader.start()?.as_ref(), last.end())? {
            report.archives.push(self.finish(archive, request)?);
        }
        for plan in plan(&mut reader)? {
            let archive = target.write(&mut reader, &plan, place)?;
            report.archives.push(self.finish(archive, request)?);
        }
        if !report.archives.is_empty() {
            report.not_shrunk = self.shrink().err().map(|error| error.to_string());
        }
        Ok(report)
    }

    /// Removes the records of an archive that is complete and durable, and records that.
    fn finish(&self, archive: Archive, request: &ArchiveRequest) -> Result<ArchivedRecords, JournalError> {
        let Archive { described, start, .. } = archive;
        let event = Event::JournalArchived(Box::new(described.clone()));
        let entry = PendingRecord::new(self.clock(), &request.context, &event)?;
        self.cut(described.first, &start, entry)?;
        Ok(described)
    }
}

/// An archive that is complete and durable, and the state of the journal after it.
struct Archive {
    described: ArchivedRecords,
    begin: Option<Start>,
    start: Start,
}

/// The directory that archives are written to, locked.
struct Target {
    directory: PathBuf,
    /// Locked until it is closed.
    opened: File,
    /// What the name of every archive of this journal begins with.
    prefix: String,
}

const ENDING: &str = ".jsonl.gz";
const PARTIAL: &str = ".partial";

impl Target {
    fn open(directory: &Path, journal: Uuid) -> Result<Self, JournalError> {
        let failed = |error: io::Error| JournalError::of_file(directory, "written", &error);
        let is_new = !directory.exists();
        DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(failed)?;
        // Records name the archive, whatever directory they are read from.
        let directory = &directory.canonicalize().map_err(failed)?;
        if let Some(parent) = directory.parent().filter(|_| is_new) {
            File::open(parent).and_then(|parent| parent.sync_all()).map_err(failed)?;
        }
        let opened = File::open(directory).map_err(failed)?;
        // Not every file system can lock a directory. The journal itself is never archived twice at a time.
        if rustix::fs::flock(&opened, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            let reason = "another process is writing archives to it".to_owned();
            return Err(JournalError::Archive { path: directory.clone(), reason });
        }
        let target = Self { directory: directory.clone(), opened, prefix: prefix_of(journal) };
        target.clean().map_err(failed)?;
        Ok(target)
    }

    /// Removes what interrupted processes left unfinished.
    fn clean(&self) -> io::Result<()> {
        let partial = format!(".{}", self.prefix);
        let is_partial = |name: &&String| name.starts_with(&partial) && name.ends_with(PARTIAL);
        names(&self.directory)?
            .iter()
            .filter(is_partial)
            .try_for_each(|name| fs::remove_file(self.directory.join(name)))
    }

    /// An archive that was completed while its records were not removed: it begins where the journal does.
    fn unfinished(&self, begin: Option<&Start>, end: u64) -> Result<Option<Archive>, JournalError> {
        let first = begin.map_or(0, Start::size);
        let beginning = format!("{}{first:012}-", self.prefix);
        let names =
            names(&self.directory).map_err(|error| JournalError::of_file(&self.directory, "read", &error))?;
        for name in names.iter().filter(|name| name.starts_with(&beginning) && name.ends_with(ENDING)) {
            let path = self.directory.join(name);
            let archive = check(&path)?;
            let is_same = match (begin, &archive.begin) {
                (Some(begin), Some(its)) => begin.is_same(its),
                (begin, its) => begin.is_none() && its.is_none(),
            };
            if !is_same {
                let reason = "it does not begin where the journal does; move it away".to_owned();
                return Err(JournalError::Archive { path, reason });
            }
            if archive.start.size() <= end {
                return Ok(Some(archive));
            }
        }
        Ok(None)
    }

    /// Writes an archive, whole or not at all.
    fn write(
        &self,
        reader: &mut JournalReader,
        plan: &PlannedArchive,
        journal: &Path,
    ) -> Result<Archive, JournalError> {
        let failed = |error: io::Error| JournalError::of_file(&self.directory, "written", &error);
        let month = plan.month.as_ref().map(|month| format!("-{month}")).unwrap_or_default();
        let name = format!("{}{:012}-{:012}{month}{ENDING}", self.prefix, plan.first, plan.end() - 1);
        let path = self.directory.join(&name);
        let prefix = format!(".{name}-");
        let file = tempfile::Builder::new().prefix(&prefix).suffix(PARTIAL).tempfile_in(&self.directory);
        let mut file = file.map_err(failed)?;
        let (bytes, digest, start) = copy(reader, plan, file.as_file_mut(), journal)?.map_err(failed)?;
        file.as_file().sync_all().map_err(failed)?;
        let written = check(file.path())?;
        if !written.start.is_same(&start)
            || (written.described.bytes, written.described.digest) != (bytes, digest)
        {
            let reason = "what was read back is not what was written; the disk may be failing".to_owned();
            return Err(JournalError::Archive { path, reason });
        }
        file.persist_noclobber(&path).map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => {
                let reason = "it already exists, with other records; move it away".to_owned();
                JournalError::Archive { path: path.clone(), reason }
            }
            _ => failed(error.error),
        })?;
        self.opened.sync_all().map_err(failed)?;
        let described = ArchivedRecords { path: path.display().to_string(), ..written.described };
        Ok(Archive { described, ..written })
    }
}

/// What the names of all archives of a journal begin with.
fn prefix_of(journal: Uuid) -> String {
    let id = journal.simple().to_string();
    // The end of an id is random; its beginning is a time.
    format!("journal-{}-", id.get(24..).unwrap_or(&id))
}

fn names(directory: &Path) -> io::Result<Vec<String>> {
    let names = fs::read_dir(directory)?.map(|entry| Ok(entry?.file_name().into_string().ok()));
    Ok(names.collect::<io::Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// The archives of a journal in a directory, by their names, oldest first.
pub fn archives_in(directory: &Path, journal: Uuid) -> Result<Vec<PathBuf>, JournalError> {
    let prefix = prefix_of(journal);
    let mut names = names(directory).map_err(|error| JournalError::of_file(directory, "read", &error))?;
    names.retain(|name| name.starts_with(&prefix) && name.ends_with(ENDING));
    names.sort();
    Ok(names.into_iter().map(|name| directory.join(name)).collect())
}

/// Copies the records of a plan into a file, verifying each: the size and digest of the file, and the state after them.
fn copy(
    reader: &mut JournalReader,
    plan: &PlannedArchive,
    file: &mut File,
    journal: &Path,
) -> Result<io::Result<(u64, Digest, Start)>, JournalError> {
    let mut out = match Compress::new(BufWriter::new(Digesting { file, hash: Sha256::new(), bytes: 0 })) {
        Ok(out) => out,
        Err(error) => return Ok(Err(error)),
    };
    let (mut line, mut written) = (Vec::new(), Ok(()));
    let mut verifier = Verifier::new(&[]);
    let begin = reader.start()?;
    verifier.begin(begin.as_ref());
    if let Some(begin) = begin {
        written = writeln!(out, "{}", begin.to_line());
    }
    reader.each_from(plan.first, |row, previous| {
        if verifier.take(Ok(*row)).is_break() {
            return ControlFlow::Break(());
        }
        line.clear();
        row.write_line(previous, &mut line);
        if written.is_ok() {
            written = out.write_all(&line);
        }
        let is_last = written.is_err() || row.sequence + 1 == plan.end();
        if is_last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    if let Some(damage) = &verifier.damage {
        return Err(JournalError::Damaged { reason: damage.detail.clone() });
    }
    let finish = || {
        written?;
        let inner = out.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok((inner.bytes, Digest::from_bytes(inner.hash.finalize().into())))
    };
    let (bytes, digest) = match finish() {
        Ok(done) => done,
        Err(error) => return Ok(Err(error)),
    };
    match verifier.state().filter(|state| state.size() == plan.end()) {
        Some(state) => Ok(Ok((bytes, digest, state))),
        None => Err(JournalError::Moved { place: journal.display().to_string() }),
    }
}

/// A file that is written to, with its digest so far.
struct Digesting<'a> {
    file: &'a mut File,
    hash: Sha256,
    bytes: u64,
}

impl Write for Digesting<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.hash.update(bytes.get(..count).unwrap_or_default());
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Reads an archive and verifies every record of it.
fn check(path: &Path) -> Result<Archive, JournalError> {
    let failed = |error: io::Error| JournalError::of_file(path, "read", &error);
    let wrong = |reason: String| JournalError::Archive { path: path.to_owned(), reason };
    let mut lines = Lines::open(path);
    let begin = lines.start()?;
    let (mut verifier, mut times) = (Verifier::new(&[]), None);
    verifier.begin(begin.as_ref());
    lines.read(0, &mut |_| {}, &mut |found| {
        let time = found.as_ref().ok().and_then(|row| Time::parse(row.time));
        let flow = verifier.take(found);
        times = time.map(|time| (times.map_or(time, |(oldest, _)| oldest), time));
        flow
    })?;
    if let Some(damage) = &verifier.damage {
        return Err(wrong(format!("it is damaged: {}", damage.detail)));
    }
    let (digest, bytes) = (crate::chain::digest_of_compressed(path), path.metadata());
    let (state, (oldest, newest)) =
        verifier.state().zip(times).ok_or_else(|| wrong("it has no records".to_owned()))?;
    let described = ArchivedRecords {
        journal: state.journal,
        path: path.display().to_string(),
        digest: digest.map_err(failed)?.ok_or_else(|| wrong("it is not compressed".to_owned()))?,
        bytes: bytes.map_err(failed)?.len(),
        first: verifier.first(),
        records: verifier.count(),
        previous: begin.as_ref().map_or(crate::record::NOTHING, |begin| begin.tail.hash()),
        hash: state.tail.hash(),
        root: state.tail.root(),
        oldest,
        newest,
    };
    Ok(Archive { described, begin, start: state })
}
