//! Scans one root in parallel. Only what changed since the last scan is read again.
//!
//! A directory with a `SKILL.md` is a skill, and nothing below it is scanned. Every other directory is a
//! folder, whose times show whether something in it was added or removed.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fs, io};

use metier_skill::disk::{self, DIRECTORY, open_beneath, open_directory, read_beneath};
use metier_skill::{Digest, Location, Rules, is_searched};
use rayon::Scope;
use rayon::slice::ParallelSliceMut as _;
use rustix::fs::{AtFlags, CWD, FileType, fstat, statat};
use serde::{Deserialize, Serialize};

use crate::problem::{Problem, ProblemCode};
use crate::record::Outcome;
use crate::root::Root;
use crate::stamp::{Moment, Stamp};
use crate::{CatalogError, Tier};

/// How many directories one task handles, enough to pay for starting it.
const BATCH: usize = 64;

const SKILL_MD: &[u8] = b"SKILL.md";

/// The limits of a scan. Reaching a limit is reported as a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Bounds {
    /// The maximum depth of directories below a root.
    pub depth: usize,
    /// The maximum number of files and directories below a root.
    pub entries: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { depth: 6, entries: 1_000_000 }
    }
}

/// One skill below a root.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Its directory, relative to the root. Empty for the root itself.
    #[serde(with = "crate::bytes")]
    pub(crate) below: Box<[u8]>,
    /// `None` if the file's times cannot prove that it is unchanged; then it is read each time.
    pub(crate) stamp: Option<Stamp>,
    pub(crate) outcome: Outcome,
    /// The directory that a link in the root points to.
    pub(crate) target: Option<PathBuf>,
}

/// A directory that is not a skill.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Folder {
    #[serde(with = "crate::bytes")]
    pub(crate) below: Box<[u8]>,
    /// `None` if something in it could not be read; then it is listed each time.
    pub(crate) stamp: Option<Stamp>,
    /// Its links, which are checked each time, because their targets have their own times.
    pub(crate) links: Vec<Box<[u8]>>,
    entries: usize,
    /// It is at the depth limit and contains directories.
    is_cut: bool,
}

/// Everything that is known about a root.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// When the scan that produced it started.
    pub(crate) when: Moment,
    /// Sorted by path.
    pub(crate) records: Vec<Arc<Record>>,
    /// Sorted by path.
    pub(crate) folders: Vec<Folder>,
}

/// The result of scanning a root, or of one task of it.
#[derive(Debug, Default)]
pub(crate) struct RootScan {
    /// The root's path without links.
    pub(crate) real: PathBuf,
    pub(crate) survey: Survey,
    pub(crate) problems: Vec<Problem>,
    /// How many `SKILL.md` files were read; the others are unchanged.
    pub(crate) read: usize,
    /// Whether the survey differs from the previous one, and no limit truncated it.
    pub(crate) is_news: bool,
}

/// Scans a root. An error means that the root itself cannot be used.
pub(crate) fn scan(
    root: &Root,
    rules: &Rules,
    bounds: Bounds,
    known: Option<&Survey>,
    when: Moment,
) -> Result<RootScan, CatalogError> {
    let directory = open_directory(CWD, &root.path).map_err(CatalogError::read(&root.path))?;
    let real = fs::canonicalize(&root.path).map_err(CatalogError::read(&root.path))?;
    let confines = fs::canonicalize(&root.confines).map_err(CatalogError::read(&root.confines))?;
    if root.tier == Tier::ThirdParty && !real.starts_with(&confines) {
        return Err(CatalogError::RootOutside { path: root.path.clone(), target: real });
    }
    let walk = Walk {
        root,
        real,
        rules,
        bounds,
        known,
        directory,
        all: Mutex::default(),
        entries: AtomicUsize::new(0),
        is_cut: AtomicBool::new(false),
    };
    rayon::scope(|scope| match known {
        Some(known) => walk.again(known, scope),
        None => walk.spawn(vec![Box::default()], scope),
    });
    Ok(walk.finish(when))
}

struct Walk<'a> {
    root: &'a Root,
    /// The root's path without links.
    real: PathBuf,
    rules: &'a Rules,
    bounds: Bounds,
    known: Option<&'a Survey>,
    directory: OwnedFd,
    all: Mutex<RootScan>,
    entries: AtomicUsize,
    is_cut: AtomicBool,
}

impl<'a> Walk<'a> {
    /// Checks what is known: unchanged folders are not listed again. Below a changed folder everything is
    /// listed, but unchanged skills are still not read.
    fn again<'s>(&'s self, known: &'a Survey, scope: &Scope<'s>) {
        let mut part = RootScan::default();
        let mut same: HashSet<&[u8]> = HashSet::new();
        for folder in &known.folders {
            if !folder.below.is_empty() && !same.contains(parent(&folder.below)) {
                continue;
            }
            if self.is_same(folder, known) {
                same.insert(&folder.below);
                self.entries.fetch_add(folder.entries, Ordering::Relaxed);
                self.beside_skills(folder, &mut part);
                part.survey.folders.push(folder.clone());
            } else {
                self.spawn(vec![folder.below.clone()], scope);
            }
        }
        self.add(part);
        let same = Arc::new(same);
        for records in known.records.chunks(8 * BATCH) {
            let same = Arc::clone(&same);
            scope.spawn(move |scope| {
                let mut part = RootScan::default();
                // Links were checked with their folder.
                let own = records.iter().filter(|record| record.target.is_none());
                for record in own {
                    if record.below.is_empty() || same.contains(parent(&record.below)) {
                        self.visit(&record.below, Some(record), &mut part, scope);
                    }
                }
                self.add(part);
            });
        }
    }

    /// Handles some directories in a separate task.
    fn spawn<'s>(&'s self, batch: Vec<Box<[u8]>>, scope: &Scope<'s>) {
        scope.spawn(move |scope| {
            let mut part = RootScan::default();
            for below in batch {
                self.visit(&below, self.known_record(&below), &mut part, scope);
            }
            self.add(part);
        });
    }

    /// Checks one directory: an unchanged skill, a skill, or a folder.
    fn visit<'s>(
        &'s self,
        below: &[u8],
        known: Option<&Arc<Record>>,
        part: &mut RootScan,
        scope: &Scope<'s>,
    ) {
        // A record of a link does not apply to a directory that has replaced it.
        let known = known.filter(|record| record.target.is_none());
        if let Some(record) = known.filter(|record| self.is_unchanged(&self.directory, below, record)) {
            part.survey.records.push(Arc::clone(record));
            return;
        }
        match self.read(&self.directory, below, &self.path(below)) {
            Ok(Some((stamp, outcome))) => {
                part.read += 1;
                let record = Record { below: below.into(), stamp, outcome, target: None };
                part.survey.records.push(Arc::new(record));
            }
            Ok(None) => self.folder(below, part, scope),
            Err(error) => self.unreadable(below, &error, part),
        }
    }

    /// Reads the skill in a directory; `None` if there is none.
    fn read(&self, at: &OwnedFd, below: &[u8], path: &Path) -> io::Result<Option<(Option<Stamp>, Outcome)>> {
        let file = join(below, SKILL_MD);
        match read_beneath(at.as_fd(), Path::new(OsStr::from_bytes(&file)), self.rules.limits.skill_md_bytes)
        {
            Ok((bytes, stat)) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let outcome = Outcome::of_bytes(bytes, &name, self.rules);
                Ok(Some((Some(Stamp::of(&stat)), outcome)))
            }
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                match statat(at, &*join(below, b"skill.md"), AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(_) => self.read_oddity(path).map(Some),
                    Err(_) => Ok(None),
                }
            }
            Err(_) => self.read_oddity(path).map(Some),
        }
    }

    /// Handles anything other than a plain file called `SKILL.md`: lower case, a link, too large, not a file,
    /// not readable.
    fn read_oddity(&self, path: &Path) -> io::Result<(Option<Stamp>, Outcome)> {
        let reading = Location::directory(path).and_then(|location| location.load(self.rules));
        match reading {
            Ok(reading) => {
                let digest = Digest::of(reading.text.as_bytes());
                Ok((None, Outcome::of_reading(reading, digest)))
            }
            Err(metier_skill::SkillError::Io { source, .. }) => Err(source),
            Err(error) => Err(io::Error::new(io::ErrorKind::NotFound, error)),
        }
    }

    /// Lists a directory that is not a skill.
    fn folder<'s>(&'s self, below: &[u8], part: &mut RootScan, scope: &Scope<'s>) {
        match self.list(below, part, scope) {
            Ok(folder) => {
                self.beside_skills(&folder, part);
                part.survey.folders.push(folder);
            }
            // It was removed after its parent was listed.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !below.is_empty() => {}
            Err(error) => self.unreadable(below, &error, part),
        }
    }

    fn list<'s>(&'s self, below: &[u8], part: &mut RootScan, scope: &Scope<'s>) -> io::Result<Folder> {
        let opened = if below.is_empty() {
            open_directory(&self.directory, c".")?
        } else {
            open_beneath(self.directory.as_fd(), Path::new(OsStr::from_bytes(below)), DIRECTORY)?
        };
        let stamp = Stamp::of(&fstat(&opened)?);
        let mut folder =
            Folder { below: below.into(), stamp: Some(stamp), links: Vec::new(), entries: 0, is_cut: false };
        let is_deepest = depth(below) >= self.bounds.depth;
        let mut batch = Vec::new();
        disk::list(opened, |_, name, kind| {
            let name = name.to_bytes();
            folder.entries += 1;
            if self.entries.fetch_add(1, Ordering::Relaxed) >= self.bounds.entries {
                self.cut(part);
                // Not everything was listed, so it must be checked again.
                folder.stamp = None;
                return ControlFlow::Break(());
            }
            match kind {
                FileType::Directory if !is_searched(OsStr::from_bytes(name)) => {}
                FileType::Directory if is_deepest => folder.is_cut = true,
                FileType::Directory => batch.push(join(below, name)),
                FileType::Symlink => folder.links.push(name.into()),
                _ => {}
            }
            if batch.len() == BATCH {
                self.spawn(std::mem::take(&mut batch), scope);
            }
            ControlFlow::Continue(())
        })?;
        self.spawn(batch, scope);
        Ok(folder)
    }

    /// Reports on a folder apart from the directories in it.
    fn beside_skills(&self, folder: &Folder, part: &mut RootScan) {
        if folder.is_cut {
            let message = format!(
                "directories below this one are more than {} levels deep and were not searched; add this one as a root, or \
                 set `scan.depth`",
                self.bounds.depth
            );
            part.problems.push(Problem::new(self.path(&folder.below), ProblemCode::BoundDepth, message));
        }
        for link in &folder.links {
            self.link(&join(&folder.below, link), part);
        }
    }

    /// Follows a link directly in the root that points to a skill.
    fn link(&self, below: &[u8], part: &mut RootScan) {
        let path = self.path(below);
        let is_in_root = !below.contains(&b'/');
        let mut report = |code, message: String| part.problems.push(Problem::new(&path, code, message));
        let target = match fs::canonicalize(&path) {
            Ok(target) => target,
            Err(_) if !is_in_root => return,
            Err(error) => {
                return report(ProblemCode::LinkBroken, format!("the link is broken ({error}); remove it"));
            }
        };
        if !metier_skill::is_skill_directory(&target) {
            if is_in_root && target.is_dir() {
                let message = format!(
                    "the link points to {}, which is not a skill; add that directory as a root",
                    target.display()
                );
                report(ProblemCode::LinkNotSkill, message);
            }
            return;
        }
        if !is_in_root {
            let message = "links to skills are only followed directly in a root; move the link there";
            return report(ProblemCode::LinkDeep, message.to_owned());
        }
        let confines = fs::canonicalize(&self.root.confines).unwrap_or_else(|_| self.real.clone());
        let is_inside = target.starts_with(&self.real) || target.starts_with(confines);
        if self.root.tier == Tier::ThirdParty && !is_inside {
            let message = format!(
                "the link points to {}, outside a root that is not trusted, and is not followed. Trust the folder \
                 with `metier trust`, or add the target as a root",
                target.display()
            );
            return report(ProblemCode::LinkOutside, message);
        }
        self.linked(below, target, part);
    }

    /// The skill that a link points to.
    fn linked(&self, below: &[u8], target: PathBuf, part: &mut RootScan) {
        let bytes = target.as_os_str().as_bytes();
        let known = self.known_record(below).filter(|known| known.target.as_ref() == Some(&target));
        if let Some(record) = known.filter(|record| self.is_unchanged(CWD, bytes, record)) {
            part.survey.records.push(Arc::clone(record));
            return;
        }
        let read = open_directory(CWD, &target).and_then(|directory| self.read(&directory, b"", &target));
        match read {
            Ok(Some((stamp, outcome))) => {
                part.read += 1;
                let record = Record { below: below.into(), stamp, outcome, target: Some(target) };
                part.survey.records.push(Arc::new(record));
            }
            Ok(None) => {}
            Err(error) => {
                let path = self.path(below);
                part.problems.push(Problem::new(path, ProblemCode::Unreadable, unreadable(&error)));
            }
        }
    }

    fn unreadable(&self, below: &[u8], error: &io::Error, part: &mut RootScan) {
        let folder =
            Folder { below: below.into(), stamp: None, links: Vec::new(), entries: 0, is_cut: false };
        part.survey.folders.push(folder);
        part.problems.push(Problem::new(self.path(below), ProblemCode::Unreadable, unreadable(error)));
    }

    fn cut(&self, part: &mut RootScan) {
        if !self.is_cut.swap(true, Ordering::Relaxed) {
            let message = format!(
                "there are more than {} files and directories, and some were not searched; use a smaller root, or \
                 set `scan.entries`",
                self.bounds.entries
            );
            part.problems.push(Problem::new(&self.root.path, ProblemCode::BoundEntries, message));
        }
    }

    fn is_same(&self, folder: &Folder, known: &Survey) -> bool {
        let path = if folder.below.is_empty() { b".".as_slice() } else { &folder.below };
        folder.stamp.is_some_and(|stamp| {
            stamp.is_settled_at(known.when)
                && statat(&self.directory, path, AtFlags::SYMLINK_NOFOLLOW)
                    .is_ok_and(|stat| Stamp::of(&stat) == stamp)
        })
    }

    /// Whether the `SKILL.md` in a directory is the one that was read.
    fn is_unchanged(&self, at: impl AsFd, below: &[u8], record: &Record) -> bool {
        let (Some(stamp), Some(known)) = (record.stamp, self.known) else { return false };
        stamp.is_settled_at(known.when)
            && statat(at, &*join(below, SKILL_MD), AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|stat| Stamp::of(&stat) == stamp)
    }

    fn known_record(&self, below: &[u8]) -> Option<&'a Arc<Record>> {
        let records = &self.known?.records;
        let at = records.binary_search_by(|record| (*record.below).cmp(below)).ok()?;
        records.get(at)
    }

    fn path(&self, below: &[u8]) -> PathBuf {
        // The name of a root that is a skill is needed even if the root is `.`.
        if below.is_empty() { self.real.clone() } else { self.root.path.join(OsStr::from_bytes(below)) }
    }

    fn add(&self, mut part: RootScan) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.survey.records.append(&mut part.survey.records);
        all.survey.folders.append(&mut part.survey.folders);
        all.problems.append(&mut part.problems);
        all.read += part.read;
    }

    fn finish(self, when: Moment) -> RootScan {
        let mut all = self.all.into_inner().unwrap_or_else(PoisonError::into_inner);
        let survey = &mut all.survey;
        survey.when = when;
        survey.records.par_sort_unstable_by(|a, b| a.below.cmp(&b.below));
        survey.folders.par_sort_unstable_by(|a, b| a.below.cmp(&b.below));
        all.problems.sort_by(|a, b| a.path.cmp(&b.path));
        all.is_news =
            !self.is_cut.into_inner() && self.known.is_none_or(|known| all.survey.is_news_to(known));
        all.real = self.real;
        all
    }
}

impl Record {
    /// The skill's directory, given where its root is.
    pub(crate) fn path(&self, root: &Path) -> PathBuf {
        if self.below.is_empty() { root.to_owned() } else { root.join(OsStr::from_bytes(&self.below)) }
    }
}

impl Survey {
    /// Whether this survey differs from another: something changed, or times that were too recent are now
    /// certain.
    fn is_news_to(&self, old: &Self) -> bool {
        let same = |(a, b): (&Arc<Record>, &Arc<Record>)| Arc::ptr_eq(a, b) || a == b;
        let is_fresh = |stamp: Option<Stamp>| stamp.is_some_and(|stamp| !stamp.is_settled_at(old.when));
        self.records.len() != old.records.len()
            || self.folders != old.folders
            || !self.records.iter().zip(&old.records).all(same)
            || self.records.iter().any(|record| is_fresh(record.stamp))
            || self.folders.iter().any(|folder| is_fresh(folder.stamp))
    }
}

fn unreadable(error: &io::Error) -> String {
    format!("cannot be read ({error}); check its permissions")
}

/// A path with one more component.
fn join(below: &[u8], name: &[u8]) -> Box<[u8]> {
    let mut path = Vec::with_capacity(below.len() + 1 + name.len());
    if !below.is_empty() {
        path.extend_from_slice(below);
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path.into_boxed_slice()
}

/// The parent of a path; empty for entries directly in the root.
fn parent(below: &[u8]) -> &[u8] {
    below.iter().rposition(|byte| *byte == b'/').map_or(b"", |at| &below[..at])
}

/// The depth of a directory below the root.
fn depth(below: &[u8]) -> usize {
    if below.is_empty() { 0 } else { below.split(|byte| *byte == b'/').count() }
}
