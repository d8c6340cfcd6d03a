//! The file gateway: documents are files beneath a directory, and their versions are the digests of their contents.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use metier_skill::Digest;
use rustix::fs::{CWD, Mode, OFlags, RenameFlags, fsync, openat, renameat_with};
use rustix::io::Errno;

use super::beneath::{Blocked, Documents, Entry, Missing, check_name, identity};
use super::state::{Record, State, Step};
use super::{
    DocumentFailure, DocumentVersion, FailureReason, MutationEnvelope, MutationError, MutationGateway,
    MutationLimits, MutationOutcome, RejectCode,
};

type Check = dyn Fn(&str, Option<&[u8]>) -> Result<(), String> + Send + Sync;

/// Documents that are files beneath a directory.
///
/// **Concurrency.** Gateways with the same state directory, in this process or others, wait for each other at a lock in
/// it. Applied and conflicting requests are remembered there, one small file for each; if the host removes old files,
/// those requests are no longer guaranteed to be applied only once. Scripts must have no access to the state directory
/// or the documents.
///
/// **Atomicity.** New contents are staged in the state directory, on the same file system, and synced. Then a record of
/// the change is written. Then each document and its staged content are exchanged atomically (`RENAME_EXCHANGE`), so
/// that nothing is overwritten. Finally, the record becomes that of the outcome. The next gateway that is opened, or
/// the next request, completes a change that was interrupted after its record was written, and discards one that was
/// interrupted before. A change that cannot be completed is undone.
///
/// **Readers.** Each document is complete at any time, with the old or the new content. A reader that looks between two
/// steps may see some documents old and some new, and may see one that is undone later. After a power loss or `kill
/// -9`, that lasts until the next gateway opens.
///
/// **Changes by hand.** A change without the gateway is noticed even between check and exchange: the content that was
/// taken out is checked again, and if it is not the base version, it is put back and the answer is a conflict. Two
/// cases remain: a program that writes to the old file through a descriptor opened earlier, after that second check,
/// writes to a file that is removed; and a document that is only a precondition is checked once, at the start.
///
/// **Metadata.** A new content gets the permissions of the file that it replaces, and its owner and group if the
/// process may set them; no set-id bits, extended attributes or other hard links. A new document has `0644` less the
/// umask, and the group of the process. Missing parent directories are created, and stay if the change is not made.
pub struct FileGateway {
    documents: Documents,
    state: State,
    state_path: PathBuf,
    limits: MutationLimits,
    check: Option<Box<Check>>,
}

impl fmt::Debug for FileGateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileGateway").field("state", &self.state_path).finish_non_exhaustive()
    }
}

/// Why a change was not made.
enum Stopped {
    /// A document was changed by hand in the meantime; everything is undone.
    Conflict(DocumentFailure),
    /// It failed; everything is undone.
    Failed(io::Error),
    /// It failed and was not undone, or it is not certain that it is on the disk.
    Open(io::Error),
}

impl FileGateway {
    /// Opens a gateway for the documents beneath a directory, with a state directory, which is created if needed. The
    /// state directory may be inside the documents, is then not one of them, and must be on the same file system. An
    /// interrupted change is completed or undone.
    pub fn open(
        directory: impl AsRef<Path>,
        state_directory: impl AsRef<Path>,
    ) -> Result<Self, MutationError> {
        let (directory, state_path) = (directory.as_ref(), state_directory.as_ref());
        let of_documents =
            |source: io::Error| MutationError::Directory { path: directory.to_owned(), source };
        let of_state = |source: io::Error| MutationError::State { path: state_path.to_owned(), source };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root =
            openat(CWD, directory, flags, Mode::empty()).map_err(|error| of_documents(error.into()))?;
        let state = State::open(state_path).map_err(of_state)?;
        let here = identity(&root).map_err(of_documents)?;
        let mut own = Vec::new();
        for directory in state.directories() {
            own.push(identity(directory).map_err(of_state)?);
        }
        if own.contains(&here) {
            return Err(MutationError::SamePlace { path: directory.to_owned() });
        }
        if own.iter().any(|own| own.0 != here.0) {
            return Err(MutationError::FileSystem {
                directory: directory.to_owned(),
                state: state_path.to_owned(),
            });
        }
        let documents = Documents::new(root, own[0]);
        let state_path = state_path.to_owned();
        let gateway = Self { documents, state, state_path, limits: MutationLimits::default(), check: None };
        let held = gateway.state.lock().map_err(|source| gateway.of_state(source))?;
        gateway.recover()?;
        drop(held);
        Ok(gateway)
    }

    /// Sets the limits of envelopes.
    #[must_use]
    pub const fn with_limits(mut self, limits: MutationLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Calls the host's check for each new content or deletion before anything else. What it rejects is
    /// [`RejectCode::Unprocessable`].
    #[must_use]
    pub fn with_check(
        mut self,
        check: impl Fn(&str, Option<&[u8]>) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.check = Some(Box::new(check));
        self
    }

    fn of_state(&self, source: io::Error) -> MutationError {
        MutationError::State { path: self.state_path.clone(), source }
    }

    /// Completes or undoes an interrupted change. Needs the lock.
    fn recover(&self) -> Result<(), MutationError> {
        let stuck = |source| MutationError::Interrupted { path: self.state_path.clone(), source };
        if let Some(record) = self.state.pending().map_err(|source| self.of_state(source))? {
            if self.documents.identity().map_err(stuck)?.1 != record.directory {
                return Err(stuck(io::Error::other("it was made in another directory")));
            }
            if let Err(Stopped::Open(error)) = self.finish(&record) {
                return Err(stuck(error));
            }
        }
        self.state.clear().map_err(|source| self.of_state(source))
    }

    /// The answer. An `Err` is an early answer.
    fn answer(&self, envelope: &MutationEnvelope) -> Result<MutationOutcome, MutationOutcome> {
        envelope.check(&self.limits)?;
        envelope.targets().try_for_each(check_name)?;
        check_directories(envelope)?;
        // The host's code runs without the lock, but after the check for earlier requests.
        let objection = self.objection(envelope);
        // Until earlier requests are checked, another process may have applied it.
        let _held = self.state.lock().map_err(not_known)?;
        self.recover().map_err(unavailable)?;
        let record = Record {
            request_id: envelope.request_id.clone(),
            content: envelope.digest(),
            outcome: applied(envelope),
            directory: self.documents.identity().map_err(not_known)?.1,
            steps: Vec::new(),
        };
        if let Some(found) = self.state.remembered(&envelope.request_id).map_err(not_known)? {
            return repeated(found, record.content);
        }
        objection.map_or(Ok(()), Err)?;
        let current = self.look(envelope)?;
        let failures = failures(envelope, &current);
        match failures.is_empty() {
            false => self.conflict(envelope, record, failures),
            true if envelope.dry_run => Ok(record.outcome),
            true => self.change(envelope, record, &current),
        }
    }

    fn objection(&self, envelope: &MutationEnvelope) -> Option<MutationOutcome> {
        let check = self.check.as_ref()?;
        envelope.changes.iter().find_map(|change| {
            let reason = check(&change.target, change.payload.as_deref()).err()?;
            Some(MutationOutcome::rejected(
                RejectCode::Unprocessable,
                format!("`{}`: {reason}", change.target),
            ))
        })
    }

    /// The current version of every named document.
    fn look<'a>(&self, envelope: &'a MutationEnvelope) -> Result<BTreeMap<&'a str, Entry>, MutationOutcome> {
        let mut current = BTreeMap::new();
        for target in envelope.targets() {
            if !current.contains_key(target) {
                current.insert(target, self.documents.read(target)?);
            }
        }
        Ok(current)
    }

    /// Remembers a conflict, so that a repeated request is not applied after its sender was told that it failed.
    fn conflict(
        &self,
        envelope: &MutationEnvelope,
        record: Record,
        failures: Vec<DocumentFailure>,
    ) -> Result<MutationOutcome, MutationOutcome> {
        let outcome = MutationOutcome::Conflict { failures };
        if !envelope.dry_run {
            let record = Record { outcome: outcome.clone(), steps: Vec::new(), ..record };
            self.state.remember(&record).map_err(nothing_changed)?;
        }
        Ok(outcome)
    }

    /// Makes the changes, after all checks have passed.
    fn change(
        &self,
        envelope: &MutationEnvelope,
        mut record: Record,
        current: &BTreeMap<&str, Entry>,
    ) -> Result<MutationOutcome, MutationOutcome> {
        let staged = self.stage(envelope, current).and_then(|steps| {
            record.steps = steps;
            Ok(self.state.announce(&record)?)
        });
        if let Err(error) = staged {
            self.state.withdraw().map_err(not_known)?;
            return Err(error.into());
        }
        match self.finish(&record) {
            Ok(()) => {
                // The next request removes what is left.
                let _ = self.state.clear();
                Ok(record.outcome)
            }
            Err(Stopped::Conflict(failure)) => self.conflict(envelope, record, vec![failure]),
            Err(Stopped::Failed(error)) => Err(nothing_changed(error)),
            Err(Stopped::Open(error)) => Err(not_known(error)),
        }
    }

    /// Stages every new content. A change without a difference is skipped.
    fn stage(
        &self,
        envelope: &MutationEnvelope,
        current: &BTreeMap<&str, Entry>,
    ) -> Result<Vec<Step>, Blocked> {
        let mut steps = Vec::new();
        for (index, change) in envelope.changes.iter().enumerate() {
            let (target, payload) = (&change.target, change.payload.as_deref());
            let (base, new) =
                (change.base_version.unwrap_or(DocumentVersion::Absent), DocumentVersion::of(payload));
            if base == new {
                continue;
            }
            let slot = index.to_string();
            if let Some(payload) = payload {
                let replaced = match current.get(target.as_str()) {
                    Some(Entry::File { stat, .. }) => Some(stat),
                    _ => None,
                };
                self.documents.parent(target, Missing::Make)?;
                self.state.stage(&slot, payload, replaced)?;
            }
            steps.push(Step { target: target.clone(), slot, base, new });
        }
        Ok(steps)
    }

    /// Makes every step of a recorded change, and its outcome, or none.
    fn finish(&self, record: &Record) -> Result<(), Stopped> {
        let stopped = match self.forward(record) {
            Ok(()) => return self.state.sync_outcome().map_err(Stopped::Open),
            Err(stopped) => stopped,
        };
        let undone = record.steps.iter().rev().try_for_each(|step| self.step_back(step));
        undone
            .and_then(|()| self.sync(record))
            .and_then(|()| self.state.withdraw())
            .map_err(Stopped::Open)?;
        Err(stopped)
    }

    fn forward(&self, record: &Record) -> Result<(), Stopped> {
        for step in &record.steps {
            if let Some(failure) = self.step(step).map_err(Stopped::Failed)? {
                return Err(Stopped::Conflict(failure));
            }
        }
        self.sync(record).and_then(|()| self.state.commit(record)).map_err(Stopped::Failed)
    }

    /// Makes a step, unless it is already made. The content that it takes out must be the base version.
    fn step(&self, step: &Step) -> io::Result<Option<DocumentFailure>> {
        let failure =
            |reason, current| Some(DocumentFailure { target: step.target.clone(), reason, current });
        if self.state.slot(step)? == Some(step.new) {
            match self.exchange(step, step.base, step.new) {
                Ok(true) => {}
                Ok(false) => return Err(Errno::NOENT.into()),
                Err(Errno::NOENT) => {
                    return Ok(failure(FailureReason::Missing, Some(DocumentVersion::Absent)));
                }
                Err(Errno::EXIST) => {
                    let found = self.documents.read(&step.target).ok();
                    return Ok(failure(FailureReason::Exists, found.and_then(|found| found.version())));
                }
                Err(Errno::INVAL) => {
                    return Err(io::Error::other("the file system cannot exchange two files atomically"));
                }
                Err(error) => return Err(error.into()),
            }
        }
        let taken = self.state.slot(step)?;
        Ok(if taken == Some(step.base) { None } else { failure(FailureReason::DigestMismatch, taken) })
    }

    /// Undoes a step, if it was made. A change by hand since then wins.
    fn step_back(&self, step: &Step) -> io::Result<()> {
        if self.state.slot(step)? == Some(step.new) {
            return Ok(());
        }
        match self.exchange(step, step.new, step.base) {
            Ok(true) if self.state.slot(step)? != Some(step.new) => {
                self.exchange(step, step.base, step.new)?;
            }
            Ok(_) | Err(Errno::NOENT | Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Exchanges a document with the content of its slot, atomically. False if its directory does not exist.
    fn exchange(&self, step: &Step, here: DocumentVersion, staged: DocumentVersion) -> Result<bool, Errno> {
        let parent = self.documents.parent(&step.target, Missing::Leave);
        let (directory, name) = match parent {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(false),
            Err(Blocked::Rejected(..)) => return Err(Errno::LOOP),
            Err(Blocked::Io(error)) => return Err(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
        };
        let (slot, slots) = (&*step.slot, &self.state.staged);
        match (here, staged) {
            (DocumentVersion::Absent, _) => {
                renameat_with(slots, slot, &directory, name, RenameFlags::NOREPLACE)
            }
            (_, DocumentVersion::Absent) => {
                renameat_with(&directory, name, slots, slot, RenameFlags::NOREPLACE)
            }
            _ => renameat_with(slots, slot, &directory, name, RenameFlags::EXCHANGE),
        }?;
        Ok(true)
    }

    /// Syncs the directories of documents and slots to the disk.
    fn sync(&self, record: &Record) -> io::Result<()> {
        for step in &record.steps {
            match self.documents.parent(&step.target, Missing::Leave) {
                Ok(Some((directory, _))) => fsync(directory)?,
                Ok(None) | Err(Blocked::Rejected(..)) => {}
                Err(Blocked::Io(error)) => return Err(error),
            }
        }
        Ok(fsync(&self.state.staged)?)
    }
}

impl MutationGateway for FileGateway {
    fn submit(&self, envelope: &MutationEnvelope) -> MutationOutcome {
        self.answer(envelope).unwrap_or_else(|early| early)
    }
}

/// A document cannot be a directory of another one in the same envelope.
fn check_directories(envelope: &MutationEnvelope) -> Result<(), MutationOutcome> {
    let names: Vec<&str> = envelope.changes.iter().map(|change| change.target.as_str()).collect();
    let is_below =
        |name: &str, other: &str| name.strip_prefix(other).is_some_and(|rest| rest.starts_with('/'));
    match names.iter().find(|name| names.iter().any(|other| is_below(name, other))) {
        Some(name) => {
            let reason = format!("`{name}` is beneath another document");
            Err(MutationOutcome::rejected(RejectCode::DuplicateTarget, reason))
        }
        None => Ok(()),
    }
}

/// Every base version and precondition that does not hold.
fn failures(envelope: &MutationEnvelope, current: &BTreeMap<&str, Entry>) -> Vec<DocumentFailure> {
    let bases = envelope.changes.iter().map(|change| (&change.target, change.base_version));
    let conditions = envelope
        .preconditions
        .iter()
        .map(|each| (&each.target_id, Some(DocumentVersion::Digest(each.expected))));
    let mut failures = Vec::new();
    for (target, expected) in bases.chain(conditions) {
        let found = current.get(target.as_str()).and_then(Entry::version);
        let reason = match (expected, found) {
            (expected, found) if expected.is_some() && expected == found => continue,
            (_, Some(DocumentVersion::Absent)) => FailureReason::Missing,
            (Some(DocumentVersion::Absent), _) => FailureReason::Exists,
            _ => FailureReason::DigestMismatch,
        };
        let failure = DocumentFailure { target: target.clone(), reason, current: found };
        if !failures.contains(&failure) {
            failures.push(failure);
        }
    }
    failures
}

fn applied(envelope: &MutationEnvelope) -> MutationOutcome {
    let version = |payload: &Option<Vec<u8>>| DocumentVersion::of(payload.as_deref());
    let changes = envelope.changes.iter();
    let versions = changes.map(|change| (change.target.clone(), version(&change.payload))).collect();
    MutationOutcome::Applied { versions, dry_run: envelope.dry_run, repeated: false }
}

/// The answer to a request that was answered before.
fn repeated(found: Record, content: Digest) -> Result<MutationOutcome, MutationOutcome> {
    if found.content != content {
        let reason = "this request id was already used for another envelope; use a new one";
        return Err(MutationOutcome::rejected(RejectCode::RequestIdReused, reason));
    }
    Ok(match found.outcome {
        MutationOutcome::Applied { versions, dry_run, .. } => {
            MutationOutcome::Applied { versions, dry_run, repeated: true }
        }
        other => other,
    })
}

#[expect(clippy::needless_pass_by_value, reason = "it is passed to `map_err`")]
fn nothing_changed(error: io::Error) -> MutationOutcome {
    MutationOutcome::Unavailable { reason: format!("{error}; nothing was changed") }
}

#[expect(clippy::needless_pass_by_value, reason = "it is passed to `map_err`")]
fn not_known(error: io::Error) -> MutationOutcome {
    let reason = format!("{error}; send the envelope again to find out whether it was applied");
    MutationOutcome::Unavailable { reason }
}

#[expect(clippy::needless_pass_by_value, reason = "it is passed to `map_err`")]
fn unavailable(error: MutationError) -> MutationOutcome {
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    MutationOutcome::Unavailable { reason: format!("{error}{cause}") }
}
