//! What there is in a work directory that other programs obey, at one moment.
//!
//! At the top every path of the profile is looked at. Below, every directory is walked by its names alone: for repositories of
//! git, also in directories `.git`, for what is obeyed in any directory, and, where a repository is, for every row of the table.
//! Links are never followed.

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

/// How many entries of an obeyed directory are looked at to see that it changed.
const ENTRIES: usize = 20_000;
/// Packages of others, whose instructions for agents nobody reads; repositories there count.
const PACKAGES: &str = "node_modules";

/// What is obeyed, and how it is dealt with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    /// A path of the profile.
    Listed,
    /// A path that the repository's configuration names, or that a link in a protected place leads to.
    Named,
    /// A part of a bare repository at the top.
    OfBare,
    /// A link to another path of the profile, or on the way to a path that is named.
    Link,
    /// Below the top: what is obeyed in any directory, or where a repository is.
    Below,
    /// A file `.git`, which leads git elsewhere.
    GitFile,
    /// A repository: a directory `.git`, or a bare one.
    Repository,
    /// A list of what git is still to do, with commands in it.
    ToDo,
    /// A directory that cannot be looked into, so that a repository could be there.
    Closed,
}

/// Something that is obeyed, as it was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Seen {
    pub(super) kind: Kind,
    /// Whether scripts find it read-only. That ends when something else takes its place from outside: the mount goes with
    /// what was there. So its marks say which file or directory it is, and not what is in it.
    pub(super) kept: bool,
    /// Whether one of the runs has made it. It was reported and left.
    pub(super) is_new: bool,
    /// What it says, as marks to compare. More of them later is a change.
    pub(super) marks: BTreeSet<String>,
    /// Of a repository: its files of settings, also those that run nothing. One that is not among them later is new.
    pub(super) files: BTreeSet<Raw>,
}

impl Seen {
    /// Whether a repository makes git run commands. Otherwise it only keeps versions.
    pub(super) fn has_commands(&self) -> bool {
        self.marks.iter().any(|mark| git::is_command(mark))
    }

    const fn new(kind: Kind, kept: bool, marks: BTreeSet<String>) -> Self {
        Self { kind, kept, is_new: false, marks, files: BTreeSet::new() }
    }
}

/// Everything that is obeyed, by its path in the work directory; the empty one is the directory itself.
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

/// The paths at the top that are looked at.
#[derive(Debug, Clone, Default)]
pub(super) struct Lists {
    /// Those of the profile.
    pub(super) listed: BTreeSet<PathBuf>,
    /// Those that repositories named before the first run, and what links in protected paths led to. What they name later may be
    /// a script's doing.
    pub(super) named: BTreeSet<PathBuf>,
    /// Those that the person's configuration of git names for every repository, relative to its work tree.
    pub(super) of_each: BTreeSet<PathBuf>,
}

impl Lists {
    /// All paths at the top.
    pub(super) fn protected(&self) -> BTreeSet<PathBuf> {
        self.listed.union(&self.named).cloned().collect()
    }
}

/// Says of something at the top whether scripts find it read-only.
type IsKept<'a> = &'a dyn Fn(&Path, Kind) -> bool;

/// Looks at a work directory. Of what scripts find read-only, only what it is need be known.
pub(super) fn survey(at: At<'_>, lists: &Lists, is_kept: IsKept<'_>) -> BTreeMap<PathBuf, Seen> {
    let work = at.work;
    let mut found = BTreeMap::new();
    let Lists { listed, named, of_each } = lists;
    // Looked at once: whoever exchanges things meanwhile must not have it taken for two of them.
    let top = entries(work, Path::new("")).unwrap_or_default();
    let is_bare = is_bare(&top);
    let of_bare = git::OF_BARE.iter().filter(|_| is_bare).map(PathBuf::from).collect();
    let is_repository = top.iter().any(|(name, is_directory)| name == ".git" && *is_directory);
    for (paths, kind) in [(listed, Kind::Listed), (named, Kind::Named), (&of_bare, Kind::OfBare)] {
        for path in paths {
            // Part of `.git`, which is not there or is one file.
            if !is_repository && path.starts_with(".git") && path.components().count() > 1 {
                continue;
            }
            let seen = match state(work, path) {
                State::Absent => continue,
                // `CLAUDE.md` that leads to `AGENTS.md`: what it leads to is looked at itself.
                // So is what a path that is named leads to.
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

/// Something that is there.
fn there(work: &OwnedFd, path: &Path, kind: Kind, kept: bool) -> Seen {
    Seen::new(kind, kept, if kept { identity_of(work, path) } else { marks_of(work, path) })
}

/// A directory that is still to be looked into.
struct Left {
    path: PathBuf,
    /// What is in it, if that was read.
    known: Option<Vec<(OsString, bool)>>,
    /// The directory `.git` that it lies in, if any. Only repositories are looked for there.
    repository: Option<PathBuf>,
}

struct Walk<'a> {
    at: At<'a>,
    of_each: &'a BTreeSet<PathBuf>,
    is_kept: IsKept<'a>,
    /// The names of the table, with whether each is obeyed in any directory.
    rows: BTreeMap<&'static [u8], bool>,
    found: BTreeMap<PathBuf, Seen>,
    /// Repositories of submodules, which are looked at as parts of their repository.
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
                // A repository that cannot be looked into counts as having commands.
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

    /// Whether what looks like a repository is one that was dealt with: a directory `.git`, or what it has for submodules and
    /// work trees.
    fn is_part_of_repository(&self, path: &Path, repository: Option<&Path>) -> bool {
        let is_own_tree = |repository: &Path| {
            let says = || git::read(self.at.work, &path.join("commondir"));
            path.parent() == Some(&repository.join("worktrees"))
                && says().is_some_and(|text| text.trim_ascii() == b"../..")
        };
        repository.is_some_and(|repository| path == repository || is_own_tree(repository))
            || self.modules.contains(path)
    }

    /// A directory that cannot be looked into, or the one above if that is why.
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

    /// What the repository of a linked work tree has git take from that tree. Only what was there before is looked at: a file
    /// `.git` of a script could name anything.
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
                // The rest of the repository is read-only for scripts; this is not, since they may work with it.
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

    /// What the person's configuration of git names for every repository, where one is.
    fn named_for_each(&mut self, tree: &Path) {
        let inside = self.of_each.iter().filter_map(|path| git::plain(&tree.join(path)));
        for path in inside.filter(|path| !path.as_os_str().is_empty()).collect::<Vec<_>>() {
            if !matches!(state(self.at.work, &path), State::Absent) {
                let seen = there(self.at.work, &path, Kind::Named, (self.is_kept)(&path, Kind::Named));
                self.found.entry(path).or_insert(seen);
            }
        }
    }

    /// What is obeyed below the top.
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

    /// Whether a path is known, or lies in something that is itself looked at.
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

/// Whether a directory with these entries is taken for a repository by git, were it entered.
fn is_bare(entries: &[(OsString, bool)]) -> bool {
    let has = |name| has(entries, name);
    has("HEAD") && ((has("objects") && has("refs")) || has("commondir"))
}

fn has(entries: &[(OsString, bool)], name: &str) -> bool {
    entries.iter().any(|(other, _)| other == name)
}

/// What is at a path.
enum State {
    Absent,
    There,
    Link(OsString),
}

fn state(work: &OwnedFd, path: &Path) -> State {
    let Some(name) = path.file_name() else { return State::Absent };
    let parent = match parent(work, path) {
        Ok(parent) => parent,
        // Where a file is in the way, nothing can be behind it.
        Err(Errno::NOENT | Errno::NOTDIR) => return State::Absent,
        // Behind a link, or closed: that is for whoever protects it or moves it to find out.
        Err(_) => return State::There,
    };
    match rustix::fs::readlinkat(&parent, name, Vec::new()) {
        Ok(target) => State::Link(OsString::from_vec(target.into_bytes())),
        Err(Errno::NOENT | Errno::NOTDIR) => State::Absent,
        Err(_) => State::There,
    }
}

/// Whether there is nothing at a path. Behind a link or in a closed directory there may be something.
pub(super) fn is_absent(work: &OwnedFd, path: &Path) -> bool {
    matches!(state(work, path), State::Absent)
}

/// The directory that a path is in, without going through links.
pub(super) fn parent(work: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    beneath::open(work, path.parent().unwrap_or(Path::new("")), OFlags::PATH)
}

/// The names in a directory, and which are directories; an error if they cannot be read.
fn entries(work: &OwnedFd, path: &Path) -> Result<Vec<(OsString, bool)>, Errno> {
    let Some(directory) = beneath::directory(work, path)? else { return Ok(Vec::new()) };
    // By this handle itself: it could not be opened once more where it is closed.
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

/// Marks of a file, or of everything in a directory: when each was last changed, which no program can set.
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

/// A mark of which file or directory something is. Another one in its place has another, even if it has the number of the one
/// that is gone. What a person does in a directory changes nothing: scripts still find all of it read-only.
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

/// Whether something, or anything in it, was changed after a moment.
pub(super) fn is_changed_after(work: &OwnedFd, path: &Path, moment: Moment) -> bool {
    let mut is_changed = false;
    each_in(work, path, |stat| {
        // A closed directory was changed by looking into it.
        let is_open = Mode::from_raw_mode(stat.st_mode).contains(Mode::RUSR);
        is_changed = is_open && (stat.st_ctime, stat.st_ctime_nsec.cast_signed()) > moment;
        !is_changed
    });
    is_changed
}

/// Looks at a file, or at a directory and everything in it, for as long as the function says to go on.
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
