//! Compares two states of a work directory, and handles what is new.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags};

use super::Watched;
use crate::executor::{PlantedBy, PlantedItem};
use crate::local::aside::{link_on_the_way, set_aside, set_link_aside};
use crate::local::beneath::open_up;
use crate::local::led::led;
use crate::local::notes::{Moment, Note};
use crate::local::survey::{Kind, Seen, is_absent, is_changed_after, marks_of, survey};
use crate::local::{armed, git, gitfile, named};
use crate::obeyed;
use crate::plan::Raw;

type Found = BTreeMap<PathBuf, Seen>;

impl Watched {
    /// Compares the current state with the one before the first run, and handles what is new. Files that were changed
    /// after `until`, when no run was active any more, may be the user's: they are left in place.
    pub(super) fn settle(&self, note: &mut Note, by: PlantedBy, until: Option<Moment>) -> Vec<PlantedItem> {
        let mut before: Found = note.before.clone().into();
        let rights = Access::READ_OK | Access::EXEC_OK;
        if rustix::fs::accessat(&self.directory, ".", rights, AtFlags::empty()).is_err() {
            // The script removed the permissions, and the owner can restore them.
            let _ = open_up(&self.directory);
        }
        let is_kept = |path: &Path, kind| {
            before.get(path).is_some_and(|seen| seen.kept && is_same_kind(seen.kind, kind))
        };
        let after = survey(self.at(), &note.lists(), &is_kept);
        let made = note.made.iter().map(|one| one.path().to_owned()).collect();
        let mut comparison = Comparison {
            one: self,
            before: &before,
            after: &after,
            made,
            repositories: self.repositories(&before),
            by,
            until,
            listed: note.lists().listed,
            led: None,
            moved: BTreeMap::new(),
            known: BTreeMap::new(),
            planted: Vec::new(),
        };
        for (path, seen) in &after {
            comparison.look(path, seen);
        }
        let Comparison { known, planted, .. } = comparison;
        let is_left = |seen: &Seen| seen.kind == Kind::Repository && seen.is_new && !seen.has_commands();
        // At the top, a repository's settings are read-only for the next run.
        let is_below = |path: &Path| !is_top(path);
        let new =
            known.iter().filter(|(path, seen)| is_left(seen) && is_below(path)).map(|(path, _)| path.clone());
        armed::remember(&self.directory, &mut note.made, new);
        before.extend(known);
        note.before = before.into();
        planted
    }

    /// The repositories that existed before, in the work directory and around it.
    fn repositories(&self, before: &Found) -> BTreeSet<PathBuf> {
        let is_one = |seen: &Seen| seen.kind == Kind::Repository && !seen.is_new;
        let inside = before.iter().filter(|(_, seen)| is_one(seen)).map(|(path, _)| self.base.join(path));
        // A `.git` file at the top counts only if no script can have written it.
        let is_kept = before.get(Path::new(".git")).is_some_and(|seen| seen.kept);
        inside.chain(named::around(&self.base, is_kept)).collect()
    }
}

/// Whether a path is that of a repository at the top.
fn is_top(repository: &Path) -> bool {
    repository.as_os_str().is_empty() || repository == Path::new(".git")
}

/// Two states of a work directory, and the findings.
struct Comparison<'a> {
    one: &'a Watched,
    before: &'a Found,
    after: &'a Found,
    /// Repositories that earlier runs created.
    made: BTreeSet<PathBuf>,
    /// Repositories that existed before.
    repositories: BTreeSet<PathBuf>,
    by: PlantedBy,
    until: Option<Moment>,
    /// The paths of the profile.
    listed: BTreeSet<PathBuf>,
    /// The targets of links in protected paths, computed on demand.
    led: Option<BTreeMap<PathBuf, PathBuf>>,
    /// What was moved, and the new names.
    moved: BTreeMap<PathBuf, PathBuf>,
    /// Files that stay have been reported; only later changes to them are new.
    known: Found,
    planted: Vec<PlantedItem>,
}

impl Comparison<'_> {
    /// One loaded file, in its current state.
    fn look(&mut self, path: &Path, seen: &Seen) {
        let old = self.before.get(path);
        if old.is_some_and(|old| self.is_known(path, old, seen)) || is_part_of_new(path, seen, self.before) {
            return;
        }
        if old.is_some_and(|old| old.kept) {
            self.replaced(path, seen);
            return;
        }
        // A link to another path of the list may be replaced by anything; its target is examined separately.
        let was_there = self.before.get(path).filter(|old| old.kind != Kind::Link);
        let changed = was_there.is_some_and(|old| !old.is_new);
        if let Some(old) = was_there.filter(|old| changed && both_repositories(old, seen)) {
            self.repository(path, old, seen);
            return;
        }
        let here = self.now_at(path);
        // It was moved with the directory that contains it. A repository is one wherever it is.
        if here.as_deref().is_some_and(|_| !obeyed_anywhere(seen)) {
            return;
        }
        let here = here.unwrap_or_else(|| path.to_owned());
        let (at, stays) = self.decide(&here, seen, changed);
        let link = if stays { None } else { self.new_link_on_the_way(&at) };
        let is_link = link.is_some();
        let at = link.unwrap_or(at);
        if is_listed(seen.kind) && is_absent(&self.one.directory, &at) {
            // It was not visible before its parent was opened.
            return;
        }
        let stays = stays || self.is_later(&at);
        let (by, runs) = self.effect(path, seen, changed || !stays);
        let moved = match (stays, is_link) {
            (true, _) => None,
            (false, true) => set_link_aside(&self.one.directory, &at),
            (false, false) => self.set_aside_whole(&at, seen),
        };
        let shown = at.strip_prefix(&here).map_or_else(|_| at.clone(), |rest| joined(path, rest));
        if let Some(moved) = &moved {
            self.moved.insert(shown.clone(), moved.clone());
        }
        if stays {
            self.know(path, seen, changed);
        }
        self.report(&shown, by, moved, stays, changed, runs);
    }

    /// Whether something is unchanged, or has less than before.
    fn is_known(&self, path: &Path, old: &Seen, seen: &Seen) -> bool {
        if old.kept {
            // Without marks, it is part of something that is examined itself.
            return is_same_kind(old.kind, seen.kind)
                && (old.marks.is_empty() || seen.marks.is_subset(&old.marks));
        }
        if both_repositories(old, seen) {
            return self.changes(path, old, seen).is_empty();
        }
        old.kind == seen.kind && seen.marks.is_subset(&old.marks)
    }

    /// Marks by which a repository would make git act differently than before: new ones, and those of removed settings.
    /// New addresses do not count in a repository that a run created.
    fn changes(&self, path: &Path, old: &Seen, seen: &Seen) -> BTreeSet<String> {
        let of_run = old.is_new || self.made.contains(path);
        let is_new_file = |mark: &str| {
            let file = git::file_of(mark).map(Raw::from);
            file.is_some_and(|file| seen.files.contains(&file) && !old.files.contains(&file))
        };
        let counts = |mark: &&String| git::is_command(mark) || !(of_run || is_new_file(mark));
        let added = seen.marks.difference(&old.marks).filter(counts);
        let gone = old.marks.difference(&seen.marks).filter(|mark| git::is_setting(mark) && counts(mark));
        added.chain(gone).cloned().collect()
    }

    /// A replacement for something that was read-only for scripts. It was replaced from outside, as editors and git do;
    /// from then on a script could write to it, so it is reported. It may be the user's, and stays.
    fn replaced(&mut self, path: &Path, seen: &Seen) {
        if is_listed(seen.kind) {
            // Active scripts can write to it, so its content counts from now on.
            let marks = marks_of(&self.one.directory, path);
            self.known.insert(path.to_owned(), Seen { kept: false, marks, ..seen.clone() });
        } else {
            self.know(path, seen, true);
        }
        let (by, runs) = self.effect(path, seen, true);
        self.report(path, by, None, true, true, runs);
    }

    /// A repository that existed before and would make git run more than before. New files are moved. Otherwise it is
    /// the user's, who may have changed it: they are told what to check.
    fn repository(&mut self, path: &Path, old: &Seen, seen: &Seen) {
        let changes = self.changes(path, old, seen);
        let mut marks = old.marks.clone();
        let mut is_left = false;
        for file in git::files_of(changes.iter()) {
            let of_file = |mark: &String| git::file_of(mark).is_some_and(|one| one == file);
            let is_new = armed::is_new_file(&self.one.directory, path, &file, old);
            let of_made = || self.made.contains(path) && file == path.join("config");
            let stays = is_top(path) || !(is_new || of_made()) || self.is_later(&file);
            let moved = if stays { None } else { set_aside(&self.one.directory, &file) };
            if stays {
                is_left = true;
                marks.retain(|mark| !of_file(mark));
                marks.extend(seen.marks.iter().filter(|mark| of_file(mark)).cloned());
            }
            let runs = changes.iter().any(|mark| of_file(mark) && git::may_run(mark));
            self.report(&file, "git", moved, stays, !is_new, runs);
        }
        if is_left {
            self.know(path, &Seen { marks, ..seen.clone() }, true);
        }
    }

    /// The first link on the way to something new. A path that was known before, such as a user's `.git`, does not
    /// count as a script's, even if it was a link for a moment.
    fn new_link_on_the_way(&self, at: &Path) -> Option<PathBuf> {
        link_on_the_way(&self.one.directory, at).filter(|link| !self.before.contains_key(link))
    }

    /// The current path, if a directory that contains it was moved.
    fn now_at(&self, path: &Path) -> Option<PathBuf> {
        let (above, to) = path.ancestors().skip(1).find_map(|above| self.moved.get_key_value(above))?;
        path.strip_prefix(above).ok().map(|rest| to.join(rest))
    }

    /// Whether something was changed when no run was active.
    fn is_later(&self, at: &Path) -> bool {
        self.until.is_some_and(|until| is_changed_after(&self.one.directory, at, until))
    }

    /// What is to be moved because of a new file, and whether it is left in place instead.
    fn decide(&self, path: &Path, seen: &Seen, changed: bool) -> (PathBuf, bool) {
        let one = self.one;
        match seen.kind {
            // They have no effect before a `.git` file points there, and that is examined.
            Kind::Listed | Kind::OfBare if path.file_name().is_some_and(|name| name == "worktrees") => {
                (path.to_owned(), true)
            }
            // It was the user's before; moving it would lose more than the change.
            Kind::Listed | Kind::Named | Kind::OfBare => (path.to_owned(), changed),
            Kind::GitFile if path == Path::new(".git") && changed => (path.to_owned(), true),
            Kind::GitFile => {
                let stays = gitfile::leads_to_one_of(&one.directory, &one.base, path, &self.repositories);
                (path.to_owned(), stays)
            }
            Kind::Link | Kind::ToDo => (path.to_owned(), false),
            // Such files are part of many archives, and have no effect before a user enters the directory.
            Kind::Below | Kind::Closed => (path.to_owned(), true),
            Kind::Repository if !seen.has_commands() => (path.to_owned(), true),
            Kind::Repository if !changed && path.file_name().is_some_and(|name| name == ".git") => {
                (path.to_owned(), false)
            }
            // Without this file, git does not see a repository. The rest may be the user's work.
            Kind::Repository => (path.join("HEAD"), false),
        }
    }

    /// Sets something aside; a repository so that it no longer is one.
    fn set_aside_whole(&self, at: &Path, seen: &Seen) -> Option<PathBuf> {
        if seen.kind == Kind::Repository && !at.ends_with("HEAD") {
            // Moved as a whole it would still be a repository for anyone who enters it.
            set_aside(&self.one.directory, &at.join("HEAD"));
        }
        set_aside(&self.one.directory, at)
    }

    /// Remembers something that stays, with the listed paths that are parts of it.
    fn know(&mut self, path: &Path, seen: &Seen, changed: bool) {
        let below = self.after.range::<Path, _>((Bound::Excluded(path), Bound::Unbounded));
        let below = below.take_while(|(part, _)| part.starts_with(path));
        let parts = below.filter(|(part, seen)| is_part_of(part, seen, path));
        let known = |seen: &Seen| Seen { kept: false, is_new: !changed, ..seen.clone() };
        // Nothing more need be known of these: the effect of the whole is known.
        let silent = |seen: &Seen| Seen { kept: true, marks: BTreeSet::new(), ..known(seen) };
        self.known.extend(parts.map(|(part, seen)| (part.clone(), silent(seen))));
        self.known.insert(path.to_owned(), known(seen));
    }

    /// The program that loads something, and whether that program would run a command because of it.
    fn effect(&mut self, path: &Path, seen: &Seen, is_unclear: bool) -> (&'static str, bool) {
        if matches!(seen.kind, Kind::Named | Kind::Link) && !self.listed.contains(path) {
            let led = self.led.get_or_insert_with(|| led(self.one.at(), &self.listed));
            // What the protected link makes a program do.
            let is_of = |target: &Path| target.starts_with(path) || path.starts_with(target);
            return match led.iter().find(|(target, _)| is_of(target)) {
                Some((_, link)) => (obeyed::by(link), obeyed::runs_commands(link)),
                None => ("git", true),
            };
        }
        (obeyed_by(path, seen), runs_commands(path, seen, is_unclear))
    }

    fn report(
        &mut self,
        at: &Path,
        obeyed_by: &str,
        moved: Option<PathBuf>,
        stays: bool,
        changed: bool,
        runs_commands: bool,
    ) {
        self.planted.push(PlantedItem {
            path: self.one.base.join(at),
            obeyed_by: obeyed_by.to_owned(),
            changed,
            moved_to: moved.map(|moved| self.one.base.join(moved)),
            stays,
            by: self.by,
            runs_commands,
        });
    }
}

/// Whether a kind is that of a listed path at the top.
const fn is_listed(kind: Kind) -> bool {
    matches!(kind, Kind::Listed | Kind::Named | Kind::OfBare)
}

/// Whether two kinds are the same, or a path only moved to another list.
fn is_same_kind(one: Kind, other: Kind) -> bool {
    one == other || (is_listed(one) && is_listed(other))
}

fn joined(path: &Path, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() { path.to_owned() } else { path.join(rest) }
}

fn both_repositories(old: &Seen, new: &Seen) -> bool {
    old.kind == Kind::Repository && new.kind == Kind::Repository
}

/// Whether git loads it in any directory, and it is more than a repository that only stores versions.
fn obeyed_anywhere(seen: &Seen) -> bool {
    match seen.kind {
        Kind::Repository => seen.has_commands(),
        Kind::GitFile | Kind::ToDo => true,
        _ => false,
    }
}

/// Whether a listed path is in a repository that is new itself: the decision is then about the repository.
fn is_part_of_new(path: &Path, seen: &Seen, before: &Found) -> bool {
    let is_new = |top: &&&str| before.get(Path::new(top)).is_none_or(|seen| seen.kind != Kind::Repository);
    ["", ".git"].iter().filter(is_new).any(|top| is_part_of(path, seen, Path::new(top)))
}

/// Whether a listed path is a part of a repository: of `.git`, or of a bare one at the top.
fn is_part_of(path: &Path, seen: &Seen, repository: &Path) -> bool {
    if repository.as_os_str().is_empty() {
        return seen.kind == Kind::OfBare;
    }
    matches!(seen.kind, Kind::Listed | Kind::Named) && path != repository && path.starts_with(repository)
}

fn obeyed_by(path: &Path, seen: &Seen) -> &'static str {
    match seen.kind {
        Kind::Named | Kind::OfBare | Kind::GitFile | Kind::Repository | Kind::ToDo | Kind::Closed => "git",
        Kind::Below => obeyed::row_below(path).map_or_else(|| obeyed::by(path), |row| row.by),
        Kind::Listed | Kind::Link => obeyed::by(path),
    }
}

/// Whether a program would run a command because of something. The target of a `.git` file was examined, unless it had
/// to be accepted as it is.
fn runs_commands(path: &Path, seen: &Seen, is_unclear: bool) -> bool {
    match seen.kind {
        // A closed directory counts as having commands.
        Kind::Named | Kind::OfBare | Kind::ToDo | Kind::Closed => true,
        Kind::Repository => seen.has_commands(),
        Kind::GitFile => is_unclear,
        Kind::Below => {
            obeyed::row_below(path).is_some_and(|row| row.effect == obeyed::ObeyedEffect::Commands)
        }
        Kind::Listed | Kind::Link => obeyed::runs_commands(path),
    }
}
