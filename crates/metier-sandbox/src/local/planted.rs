//! Files that scripts leave and other programs load: found after each run, moved away before a program loads them, and
//! reported. `settle.rs` compares and decides; this module knows when, and for which runs.
//!
//! The comparison is with the state before the first of all overlapping runs, not before this one; [`Notes`] store it.
//! So it does not matter which of several runs created a file, or whether metier was killed: the next check finds that
//! it is new.

mod settle;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, Mode as FileMode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::git::At;
use super::led::led;
use super::notes::{Key, Known, Moment, Note, NoteError, Notes, Running};
use super::survey::{Kind, Seen, survey};
use super::{armed, launch, named};
use crate::executor::{PlantedBy, PlantedItem};
use crate::plan::{Mode, Raw};
use crate::profile::{PinnedPath, SandboxProfile};
use crate::{SandboxError, UnsettledRuns, WorkDirectory};

/// The work directories of a run, from before it starts until its files have been handled.
#[derive(Debug)]
pub(super) struct Watch {
    places: Vec<Watched>,
    running: Running,
    /// Paths at the top of any of the directories that existed before. They are read-only inside, or refused.
    pub(super) present: Vec<PathBuf>,
    /// Files that earlier runs left.
    found: Vec<PlantedItem>,
}

#[derive(Debug)]
struct Watched {
    directory: OwnedFd,
    base: PathBuf,
    known: Known,
    notes: Notes,
}

impl Watch {
    /// Examines each writable directory beneath a handle, and handles files that killed runs left there.
    pub(super) fn begin(profile: &SandboxProfile, mode: Mode, notes: &Notes) -> Result<Self, SandboxError> {
        let is_temporary = profile.writable.iter().all(WorkDirectory::is_temporary);
        let running = notes.for_one(is_temporary).begin().map_err(|error| cannot_note(error.into()))?;
        let mut watch = Self { places: Vec::new(), running, present: Vec::new(), found: Vec::new() };
        for work in &profile.writable {
            if let Err(error) = watch.add(profile, work, mode, notes) {
                // The run that should report it does not start.
                keep_unreported(profile, notes, watch.found);
                return Err(error);
            }
        }
        Ok(watch)
    }

    /// The same for one directory.
    fn add(
        &mut self,
        profile: &SandboxProfile,
        work: &WorkDirectory,
        mode: Mode,
        notes: &Notes,
    ) -> Result<(), SandboxError> {
        let listed: BTreeSet<PathBuf> = profile.protected_in(work).into_iter().collect();
        let one = Watched::new(work.place(), notes.for_one(work.is_temporary()))?;
        let begun = one.notes.with(&one.known, |note, killed| {
            let begun = one.begin(note, killed, &listed, work, mode);
            note.runs.insert(self.running.name.clone());
            begun
        });
        let begun = begun.map_err(cannot_note)?;
        let (present, found) = begun.value;
        self.found.extend(found);
        begun.written.map_err(|error| cannot_note(error.into()))?;
        self.present.extend(present);
        self.places.push(one);
        Ok(())
    }

    /// Whether files of an earlier run were found, and may have been moved.
    pub(super) const fn has_moved(&self) -> bool {
        !self.found.is_empty()
    }

    /// The descriptors that mark this run as active for as long as they are open.
    pub(super) const fn held(&self) -> Option<&File> {
        self.running.file.as_ref()
    }

    /// Handles the new files after the script has ended, and reports them.
    pub(super) fn end(self) -> Vec<PlantedItem> {
        let Self { places, running, mut found, present: _ } = self;
        for one in &places {
            let settled = one.notes.with(&one.known, |note, killed| {
                note.runs.remove(&running.name);
                let is_alone = !note.overlapped && killed.is_none() && note.runs.is_empty();
                let by = if is_alone { PlantedBy::ThisRun } else { PlantedBy::OverlappingRun };
                one.settle(note, by, None)
            });
            // If the note is not available or writable, this run stays in it, and the next check treats it as killed.
            // The files that were found have been handled, and are reported in any case.
            found.extend(settled.map(|settled| settled.value).unwrap_or_default());
        }
        found.sort_by(PlantedItem::by_urgency);
        found
    }

    /// Leaves the check to the next run, because processes of this one may still be running.
    pub(super) fn abandon(mut self) -> Vec<PlantedItem> {
        self.running.abandon();
        self.found.sort_by(PlantedItem::by_urgency);
        self.found
    }
}

impl Watched {
    fn new(place: &PinnedPath, notes: Notes) -> Result<Self, SandboxError> {
        let (directory, base) = (open_place(place)?, place.path().to_owned());
        let known = Known::new(place.identity(), &directory, &base);
        Ok(Self { directory, base, known, notes })
    }

    fn at(&self) -> At<'_> {
        At { work: &self.directory, base: &self.base }
    }

    /// The state for a run that starts now; and findings that are still to be reported.
    fn begin(
        &self,
        note: &mut Note,
        killed: Option<Moment>,
        listed: &BTreeSet<PathBuf>,
        work: &WorkDirectory,
        mode: Mode,
    ) -> (Vec<PathBuf>, Vec<PlantedItem>) {
        let interrupted = killed.filter(|_| note.runs.is_empty());
        let is_interrupted = interrupted.is_some();
        if is_interrupted {
            let planted = self.settle(note, PlantedBy::InterruptedRun, interrupted);
            note.unreported.extend(planted);
        }
        let is_first = note.runs.is_empty() && !is_interrupted;
        note.overlapped = !is_first && !is_interrupted;
        let mut lists = note.lists();
        lists.listed.extend(listed.iter().cloned());
        if is_first {
            (lists.named, lists.of_each) = named::named(&self.base, work.homes(), work.git_configs());
            let led = led(self.at(), &lists.protected());
            lists.named.extend(led.into_keys());
            armed::unchanged(&self.directory, &mut note.made);
        }
        let now = survey(self.at(), &lists, &|_, _| mode == Mode::Full);
        let before = if is_first { now } else { still_there(&note.before.clone().into(), &now) };
        let is_at_top = |seen: &Seen| matches!(seen.kind, Kind::Listed | Kind::Named | Kind::OfBare);
        let is_file = |path: &Path, seen: &Seen| seen.kind == Kind::GitFile && path == Path::new(".git");
        let present = before.iter().filter(|(path, seen)| is_at_top(seen) || is_file(path, seen));
        let present = present.map(|(path, _)| path.clone()).collect();
        note.work = Some(self.base.as_path().into());
        let raw = |paths: &BTreeSet<PathBuf>| paths.iter().map(|path| Raw::from(path.as_path())).collect();
        (note.listed, note.named) = (raw(&lists.listed), raw(&lists.named));
        note.of_each = raw(&lists.of_each);
        note.before = before.into();
        (present, std::mem::take(&mut note.unreported))
    }
}

/// What existed before and still does.
fn still_there(before: &BTreeMap<PathBuf, Seen>, now: &BTreeMap<PathBuf, Seen>) -> BTreeMap<PathBuf, Seen> {
    let both = before.iter().filter_map(|(path, old)| {
        let new = now.get(path).filter(|new| new.kind == old.kind)?;
        // If it is not read-only for this run, its content must be known.
        let seen = if old.kept && !new.kept { new } else { old };
        Some((path.clone(), seen.clone()))
    });
    both.collect()
}

/// Handles files that killed runs left, wherever notes show such runs, and reports them.
///
/// `directory` is the one passed to [`Local::with_notes`](crate::Local::with_notes). Directories with active runs are
/// skipped. A note that cannot be read is an error that names it, before anything is moved.
pub fn settle_notes(directory: &Path) -> io::Result<Vec<UnsettledRuns>> {
    let notes = Notes::Disk(directory.to_owned());
    let keys = Notes::keys(directory)?;
    for key in &keys {
        notes.check(*key)?;
    }
    let (mut all, mut failed) = (Vec::new(), None);
    for key in keys {
        match notes.with_any(key, |note, killed| settle_one(&notes, key, note, killed)) {
            // A note that could not be written again leads to the same result next time.
            Ok(settled) => all.extend(settled.value.filter(|one| !one.planted.is_empty())),
            Err(error) => failed = Some(error),
        }
    }
    match failed {
        Some(error) if all.is_empty() => Err(error.into()),
        // Files that were moved must be reported; the error will occur again.
        _ => Ok(all),
    }
}

fn settle_one(notes: &Notes, key: Key, note: &mut Note, killed: Option<Moment>) -> Option<UnsettledRuns> {
    if !note.runs.is_empty() {
        return None;
    }
    let Some(work) = note.work.as_ref().map(|work| work.path().to_owned()) else {
        *note = Note::default();
        return None;
    };
    let mut planted = std::mem::take(&mut note.unreported);
    let place = PinnedPath::pin(&work).ok().filter(|place| place.identity() == key);
    let one = place.and_then(|place| Watched::new(&place, notes.clone()).ok());
    match (one.filter(|one| one.known.is_of(note)), killed) {
        (Some(one), Some(_)) => planted.extend(one.settle(note, PlantedBy::InterruptedRun, killed)),
        (Some(one), None) => armed::unchanged(&one.directory, &mut note.made),
        // It has moved or is gone, so nothing can be done about it.
        (None, _) => note.made.clear(),
    }
    planted.sort_by(PlantedItem::by_urgency);
    Some(UnsettledRuns { work, planted })
}

/// Why nothing runs if it cannot be noted.
fn cannot_note(error: NoteError) -> SandboxError {
    match error {
        NoteError::Unreadable(error) => error,
        NoteError::Io(error) => {
            launch("recording which files other programs load in the work directory", error)
        }
    }
}

/// Stores findings for the next run to report, because this one cannot.
pub(super) fn keep_unreported(profile: &SandboxProfile, notes: &Notes, planted: Vec<PlantedItem>) {
    let lasts = |work: &&WorkDirectory| !work.is_temporary() && !planted.is_empty();
    let Some(work) = profile.writable.iter().find(lasts) else { return };
    // The files were handled; only the report is lost.
    let Ok(one) = Watched::new(work.place(), notes.clone()) else { return };
    let _ = notes.with(&one.known, |note, _| {
        note.work.get_or_insert_with(|| one.base.as_path().into());
        note.unreported.extend(planted);
    });
}

/// A handle on a directory, if it is still the chosen one.
fn open_place(place: &PinnedPath) -> Result<OwnedFd, SandboxError> {
    let swapped = || SandboxError::Swapped { path: place.path().to_owned() };
    let at = |source: io::Error| SandboxError::Path { path: place.path().to_owned(), source };
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let opened = rustix::fs::openat2(CWD, place.path(), flags, FileMode::empty(), resolve);
    let directory = File::from(opened.map_err(|error| match error {
        Errno::LOOP | Errno::NOTDIR | Errno::NOENT => swapped(),
        other => at(other.into()),
    })?);
    if !place.is(&directory.metadata().map_err(at)?) {
        return Err(swapped());
    }
    // A user who may not enter it cannot know its content.
    rustix::fs::accessat(&directory, ".", Access::EXEC_OK, AtFlags::empty())
        .map_err(|error| at(error.into()))?;
    Ok(directory.into())
}
