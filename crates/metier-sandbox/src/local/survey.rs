//! The files in a work directory that other programs load, at one moment.
//!
//! At the top, every path of the profile is examined. Below, every directory is walked by names only: for git
//! repositories, also in `.git` directories; for files that are loaded in any directory; and, where a repository is,
//! for every row of the table. Links are never followed.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, StatxFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::git::{self, At};
use super::notes::Moment;
use super::{beneath, gitfile, named};
use crate::obeyed::OBEYED;
use crate::plan::Raw;

/// The maximum number of entries of a loaded directory that are examined for changes.
const ENTRIES: usize = 20_000;
/// Third-party packages, whose instructions for agents are not read; repositories there count.
const PACKAGES: &str = "node_modules";

/// The kinds of loaded files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    /// A path of the profile.
    Listed,
    /// A path that the repository's configuration names, or the target of a link in a protected path.
    Named,
    /// A part of a bare repository at the top.
    OfBare,
    /// A link to another path of the profile, or on the way to a named path.
    Link,
    /// Below the top: a file that is loaded in any directory, or where a repository is.
    Below,
    /// A `.git` file, which points git elsewhere.
    GitFile,
    /// A repository: a `.git` directory, or a bare one.
    Repository,
    /// A todo list of git with commands.
    ToDo,
    /// A directory that cannot be read, so that a repository could be there.
    Closed,
}

/// A loaded file, as it was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Seen {
    pub(super) kind: Kind,
    /// Whether it is read-only for scripts. That ends when something else takes its place from outside, because the
    /// mount goes with the old file. So its marks identify the file or directory, not its content.
    pub(super) kept: bool,
    /// Whether one of the runs has created it. It was reported and left.
    pub(super) is_new: bool,
    /// Its content, as marks to compare. Additional marks later are a change.
    pub(super) marks: BTreeSet<String>,
    /// For a repository: its settings files, including those that run nothing. A file that is not among them later is
    /// new.
    pub(super) files: BTreeSet<Raw>,
}

impl Seen {
    /// Whether a repository makes git run commands. Otherwise it only stores versions.
    pub(super) fn has_commands(&self) -> bool {
        self.marks.iter().any(|mark| git::is_command(mark))
    }

    const fn new(kind: Kind, kept: bool, marks: BTreeSet<String>) -> Self {
        Self { kind, kept, is_new: false, marks, files: BTreeSet::new() }
    }
}

/// Every loaded file, by its path in the work directory; the empty path is the directory itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Survey(Vec<(Raw, Seen)>);

impl From<BTreeMap<PathBuf, Seen>> for Survey {
    fn from(found: BTreeMap<PathBuf, Seen>) -> Self {
        Self(found.into_iter().map(|(path, seen)| (path.into(), seen)).collect())
    }
}

impl From<Survey> for BTreeMap<PathBuf, Seen> {
    fn from(survey: Survey) -> Self {
        survey.0.into_iter().map(|(path, seen)| (path.path().to_owned(), seen)).collect()
    }
}

/// The paths at the top that are examined.
#[derive(Debug, Clone, Default)]
pub(super) struct Lists {
    /// Those of the profile.
    pub(super) listed: BTreeSet<PathBuf>,
    /// Those that repositories named before the first run, and targets of links in protected paths. Paths that are
    /// named later may come from a script.
    pub(super) named: BTreeSet<PathBuf>,
    /// Those that the user's git configuration names for every repository, relative to its work tree.
    pub(super) of_each: BTreeSet<PathBuf>,
}

impl Lists {
    /// All paths at the top.
    pub(super) fn protected(&self) -> BTreeSet<PathBuf> {
        self.listed.union(&self.named).cloned().collect()
    }
}

/// Returns for a path at the top whether it is read-only for scripts.
type IsKept<'a> = &'a dyn Fn(&Path, Kind) -> bool;

/// Examines a work directory. For files that are read-only for scripts, only their identity is needed.
pub(super) fn survey(at: At<'_>, lists: &Lists, is_kept: IsKept<'_>) -> BTreeMap<PathBuf, Seen> {
    let work = at.work;
    let mut found = BTreeMap::new();
    let Lists { listed, named, of_each } = lists;
    // Read once, so that files that are exchanged meanwhile are not seen twice.
    let top = entries(work, Path::new("")).unwrap_or_default();
    let is_bare = is_bare(&top);
    let of_bare = git::OF_BARE.iter().filter(|_| is_bare).map(PathBuf::from).collect();
    let is_repository = top.iter().any(|(name, is_directory)| name == ".git" && *is_directory);
    for (paths, kind) in [(listed, Kind::Listed), (named, Kind::Named), (&of_bare, Kind::OfBare)] {
        for path in paths {
            // Part of `.git`, which does not exist or is a file.
            if !is_repository && path.starts_with(".git") && path.components().count() > 1 {
                continue;
            }
            let seen = match state(work, path) {
                State::Absent => continue,
                // `CLAUDE.md` that is a link to `AGENTS.md`: the target is examined separately. So is the target of a
                // named path.
                State::Link(target) if kind == Kind::Named || listed.contains(Path::new(&target)) => {
                    Seen::new(Kind::Link, false, BTreeSet::from([target.to_string_lossy().into_owned()]))
                }
                State::There | State::Link(_) => there(work, path, kind, is_kept(path, kind)),
            };
            found.entry(path.clone()).or_insert(seen);
        }
    }
    let mut walk = Walk::new(at, of_each, is_kept, found);
    walk.all(top);
    walk.found
}

/// An existing file.
fn there(work: &OwnedFd, path: &Path, kind: Kind, kept: bool) -> Seen {
    Seen::new(kind, kept, if kept { identity_of(work, path) } else { marks_of(work, path) })
}

/// A directory that is still to be examined.
struct Left {
    path: PathBuf,
    /// Its entries, if they were read.
    known: Option<Vec<(OsString, bool)>>,
    /// The `.git` directory that contains it, if any. Only repositories are searched for there.
    repository: Option<PathBuf>,
}

struct Walk<'a> {
    at: At<'a>,
    of_each: &'a BTreeSet<PathBuf>,
    is_kept: IsKept<'a>,
    /// The names of the table, with whether each is loaded in any directory.
    rows: BTreeMap<&'static [u8], bool>,
    found: BTreeMap<PathBuf, Seen>,
    /// Repositories of submodules, which are examined as parts of their repository.
    modules: BTreeSet<PathBuf>,
    /// How many known paths were compared.
    #[cfg(test)]
    compared: usize,
}

impl<'a> Walk<'a> {
    fn new(
        at: At<'a>,
        of_each: &'a BTreeSet<PathBuf>,
        is_kept: IsKept<'a>,
        found: BTreeMap<PathBuf, Seen>,
    ) -> Self {
        let rows = OBEYED.iter().map(|row| (row.path.as_bytes(), row.anywhere)).collect();
        Self {
            at,
            of_each,
            is_kept,
            rows,
            found,
            modules: BTreeSet::new(),
            #[cfg(test)]
            compared: 0,
        }
    }

    /// Every directory, the top first.
    fn all(&mut self, top: Vec<(OsString, bool)>) {
        let mut left = vec![Left { path: PathBuf::new(), known: Some(top), repository: None }];
        while let Some(Left { path, known, repository }) = left.pop() {
            let Ok(entries) = known.map_or_else(|| entries(self.at.work, &path), Ok) else {
                // A repository that cannot be read counts as having commands.
                if repository.as_ref() != Some(&path) {
                    self.closed(&path);
                }
                continue;
            };
            if is_bare(&entries) && !self.is_part_of_repository(&path, repository.as_deref()) {
                let kept = path.as_os_str().is_empty() && (self.is_kept)(&path, Kind::Repository);
                self.repository(&path, kept);
            }
            let is_work_tree = has(&entries, ".git") && !path.as_os_str().is_empty();
            if is_work_tree {
                self.named_for_each(&path);
            }
            for (name, is_directory) in &entries {
                // Git has many files, and none of them matters by its name alone.
                if repository.is_some() && !is_directory && name != ".git" {
                    continue;
                }
                let entry = path.join(name);
                let mut repository = repository.clone();
                if name == ".git" {
                    self.git(&entry, *is_directory);
                    repository = Some(entry.clone());
                } else if repository.is_none() {
                    self.below(&path, name, &entry, is_work_tree);
                } else if self.found.get(&entry).is_some_and(|seen| seen.kept) {
                    // Git's own, and read-only for scripts.
                    continue;
                }
                if *is_directory {
                    left.push(Left { path: entry, known: None, repository });
                }
            }
        }
    }

    /// Whether what looks like a repository was already handled: a `.git` directory, or its submodules and work trees.
    fn is_part_of_repository(&self, path: &Path, repository: Option<&Path>) -> bool {
        let is_own_tree = |repository: &Path| {
            let says = || git::read(self.at.work, &path.join("commondir"));
            path.parent() == Some(&repository.join("worktrees"))
                && says().is_some_and(|text| text.trim_ascii() == b"../..")
        };
        repository.is_some_and(|repository| path == repository || is_own_tree(repository))
            || self.modules.contains(path)
    }

    /// A directory that cannot be read, or its parent if that is the reason.
    fn closed(&mut self, path: &Path) {
        let is_reached = beneath::open(self.at.work, path, OFlags::PATH).is_ok();
        let path = if is_reached { path } else { path.parent().unwrap_or(path) };
        let seen = Seen::new(Kind::Closed, false, BTreeSet::new());
        self.found.entry(path.to_owned()).or_insert(seen);
    }

    fn git(&mut self, path: &Path, is_directory: bool) {
        let kind = if is_directory { Kind::Repository } else { Kind::GitFile };
        let kept = path == Path::new(".git") && (self.is_kept)(path, kind);
        if is_directory {
            self.repository(path, kept);
        } else {
            let seen = Seen::new(kind, kept, gitfile::marks(self.at.work, path));
            self.found.insert(path.to_owned(), seen);
            self.named_by_repository(path.parent().unwrap_or(Path::new("")));
        }
    }

    /// The files that the repository of a linked work tree makes git load from that tree. Only files that existed
    /// before are examined: a `.git` file of a script could name anything.
    fn named_by_repository(&mut self, tree: &Path) {
        let Some(repository) = named::repository_at(&self.at.base.join(tree)).map(|(_, common)| common)
        else {
            return;
        };
        for said in named::relative_to_tree(&repository) {
            let Some(path) = git::plain(&tree.join(said)).filter(|path| !path.as_os_str().is_empty()) else {
                continue;
            };
            if matches!(state(self.at.work, &path), State::There) && (self.is_kept)(&path, Kind::Named) {
                let seen = there(self.at.work, &path, Kind::Named, true);
                self.found.entry(path).or_insert(seen);
            }
        }
    }

    fn repository(&mut self, path: &Path, kept: bool) {
        let mut marks = if kept { BTreeSet::new() } else { git::commands(self.at, path) };
        for todo in git::TODOS {
            let todo = path.join(todo);
            let commands = git::commands_to_do(self.at.work, &todo);
            if !kept {
                marks.extend(commands);
            } else if !commands.is_empty() {
                // The rest of the repository is read-only for scripts; this is not, because they may use it.
                self.found.insert(todo, Seen::new(Kind::ToDo, false, commands));
            }
        }
        if !kept {
            self.modules.extend(git::modules_of(self.at.work, path));
        }
        let files = if kept { BTreeSet::new() } else { git::files(self.at.work, path) };
        let seen = Seen { files, ..Seen::new(Kind::Repository, kept, marks) };
        self.found.insert(path.to_owned(), seen);
    }

    /// Paths that the user's git configuration names for every repository, where one is.
    fn named_for_each(&mut self, tree: &Path) {
        let inside = self.of_each.iter().filter_map(|path| git::plain(&tree.join(path)));
        for path in inside.filter(|path| !path.as_os_str().is_empty()).collect::<Vec<_>>() {
            if !matches!(state(self.at.work, &path), State::Absent) {
                let seen = there(self.at.work, &path, Kind::Named, (self.is_kept)(&path, Kind::Named));
                self.found.entry(path).or_insert(seen);
            }
        }
    }

    /// The loaded files below the top.
    fn below(&mut self, directory: &Path, name: &OsStr, path: &Path, is_work_tree: bool) {
        let is_obeyed = self.rows.get(name.as_bytes()).is_some_and(|anywhere| *anywhere || is_work_tree);
        if directory.as_os_str().is_empty()
            || !is_obeyed
            || directory.components().any(|part| part.as_os_str() == PACKAGES)
            || self.is_part_of_known(path)
        {
            return;
        }
        self.found.insert(path.to_owned(), there(self.at.work, path, Kind::Below, false));
    }

    /// Whether a path is known, or is inside something that is examined itself.
    fn is_part_of_known(&mut self, path: &Path) -> bool {
        path.ancestors().any(|above| {
            #[cfg(test)]
            {
                self.compared += 1;
            }
            self.found.get(above).is_some_and(|seen| seen.kind != Kind::Repository)
        })
    }
}

/// Whether git would accept a directory with these entries as a repository.
fn is_bare(entries: &[(OsString, bool)]) -> bool {
    let has = |name| has(entries, name);
    has("HEAD") && ((has("objects") && has("refs")) || has("commondir"))
}

fn has(entries: &[(OsString, bool)], name: &str) -> bool {
    entries.iter().any(|(other, _)| other == name)
}

/// The file at a path.
enum State {
    Absent,
    There,
    Link(OsString),
}

fn state(work: &OwnedFd, path: &Path) -> State {
    let Some(name) = path.file_name() else { return State::Absent };
    let parent = match parent(work, path) {
        Ok(parent) => parent,
        // If a parent is a file, nothing can be there.
        Err(Errno::NOENT | Errno::NOTDIR) => return State::Absent,
        // Behind a link, or closed: protecting or moving it will reveal that.
        Err(_) => return State::There,
    };
    match rustix::fs::readlinkat(&parent, name, Vec::new()) {
        Ok(target) => State::Link(OsString::from_vec(target.into_bytes())),
        Err(Errno::NOENT | Errno::NOTDIR) => State::Absent,
        Err(_) => State::There,
    }
}

/// Whether nothing exists at a path. Behind a link or in a closed directory there may be something.
pub(super) fn is_absent(work: &OwnedFd, path: &Path) -> bool {
    matches!(state(work, path), State::Absent)
}

/// The parent directory of a path, without following links.
pub(super) fn parent(work: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    beneath::open(work, path.parent().unwrap_or(Path::new("")), OFlags::PATH)
}

/// The names in a directory, and which are directories; an error if they cannot be read.
fn entries(work: &OwnedFd, path: &Path) -> Result<Vec<(OsString, bool)>, Errno> {
    let Some(directory) = beneath::directory(work, path)? else { return Ok(Vec::new()) };
    // Through this handle: a closed directory could not be opened again.
    let entries = Dir::new(rustix::io::fcntl_dupfd_cloexec(&directory, 0)?)?;
    let entries = entries.flatten().filter(|entry| !matches!(entry.file_name().to_bytes(), b"." | b".."));
    let known = entries.map(|entry| {
        let is_directory = match entry.file_type() {
            FileType::Unknown => {
                let stat = rustix::fs::statat(&directory, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW);
                stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_dir())
            }
            other => other.is_dir(),
        };
        (OsStr::from_bytes(entry.file_name().to_bytes()).to_owned(), is_directory)
    });
    Ok(known.collect())
}

/// Marks of a file, or of everything in a directory: the times of the last change, which no program can set.
pub(super) fn marks_of(work: &OwnedFd, path: &Path) -> BTreeSet<String> {
    let mut marks = BTreeSet::new();
    if parent(work, path).is_err_and(|error| error == Errno::LOOP) {
        marks.insert("behind a link".to_owned());
    }
    each_in(work, path, |stat| {
        if !FileType::from_raw_mode(stat.st_mode).is_dir() {
            marks.insert(mark_of(stat));
        }
        marks.len() < ENTRIES
    });
    marks
}

/// A mark that identifies a file or directory. A replacement has another mark, even if it reuses the inode number.
/// Changes by the user inside a directory do not matter: scripts still find all of it read-only.
fn identity_of(work: &OwnedFd, path: &Path) -> BTreeSet<String> {
    let (Ok(parent), Some(name)) = (parent(work, path), path.file_name()) else {
        return marks_of(work, path);
    };
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
    let Ok(stat) = rustix::fs::statx(parent, name, AtFlags::SYMLINK_NOFOLLOW, wanted) else {
        return BTreeSet::new();
    };
    let has_birth = stat.stx_mask & StatxFlags::BTIME.bits() != 0;
    let born = has_birth.then_some((stat.stx_btime.tv_sec, stat.stx_btime.tv_nsec));
    if !FileType::from_raw_mode(stat.stx_mode.into()).is_dir() {
        let changed = (stat.stx_ctime.tv_sec, stat.stx_ctime.tv_nsec);
        return BTreeSet::from([format!("file {} {born:?} {} {changed:?}", stat.stx_ino, stat.stx_size)]);
    }
    match born {
        Some(born) => BTreeSet::from([format!("directory {} {born:?}", stat.stx_ino)]),
        None => marks_of(work, path),
    }
}

/// Whether something, or anything in it, was changed after a time.
pub(super) fn is_changed_after(work: &OwnedFd, path: &Path, moment: Moment) -> bool {
    let mut is_changed = false;
    each_in(work, path, |stat| {
        // A closed directory was changed by opening it.
        let is_open = Mode::from_raw_mode(stat.st_mode).contains(Mode::RUSR);
        is_changed = is_open && (stat.st_ctime, stat.st_ctime_nsec.cast_signed()) > moment;
        !is_changed
    });
    is_changed
}

/// Visits a file, or a directory and everything in it, for as long as the function returns true.
fn each_in(work: &OwnedFd, path: &Path, mut look: impl FnMut(&Stat) -> bool) {
    let mut left = vec![path.to_owned()];
    while let Some(path) = left.pop() {
        let Ok(parent) = parent(work, &path) else { continue };
        let Some(name) = path.file_name() else { continue };
        let Ok(stat) = rustix::fs::statat(parent.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        if !look(&stat) {
            return;
        }
        if FileType::from_raw_mode(stat.st_mode).is_dir() {
            let entries = entries(work, &path).unwrap_or_default();
            left.extend(entries.into_iter().map(|(name, _)| path.join(name)));
        }
    }
}

fn mark_of(stat: &Stat) -> String {
    format!("{}:{}:{}.{}", stat.st_ino, stat.st_size, stat.st_ctime, stat.st_ctime_nsec)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A script makes as many of these as it likes, and metier looks while others wait for the note.
    #[test]
    fn work_grows_with_what_is_there_and_not_with_its_square() {
        const DIRECTORIES: usize = 400;
        let place = tempfile::tempdir().unwrap();
        for number in 0..DIRECTORIES {
            let directory = place.path().join(format!("d/{number}"));
            std::fs::create_dir_all(&directory).unwrap();
            std::fs::write(directory.join("AGENTS.md"), "x").unwrap();
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let work = rustix::fs::open(place.path(), flags, Mode::empty()).unwrap();
        let of_each = BTreeSet::new();
        let at = At { work: &work, base: place.path() };
        let mut walk = Walk::new(at, &of_each, &|_, _| false, BTreeMap::new());
        walk.all(entries(&work, Path::new("")).unwrap());
        assert_eq!(walk.found.len(), DIRECTORIES);
        assert!(walk.compared <= 8 * DIRECTORIES, "{} comparisons", walk.compared);
    }
}
