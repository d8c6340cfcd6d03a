//! The catalog: one immutable snapshot of all skills, and the difference between two snapshots.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use metier_skill::Limits;
use rayon::slice::ParallelSliceMut as _;
use serde::Serialize;

use crate::entry::{Entry, Listing, SkillId};
use crate::problem::Problem;
use crate::record::SkillFacts;
use crate::requires::{RequiresGraph, RequiresNode};
use crate::trees::Trees;
use crate::{Precedence, Root, State, Tier};

/// A snapshot of all skills that were found, and of the problems. It is cheap to clone and never changes.
#[derive(Debug, Clone, Default)]
pub struct Catalog(Arc<Snapshot>);

#[derive(Debug, Default)]
struct Snapshot {
    /// Sorted by name; the winner of a name comes first.
    entries: Vec<Entry>,
    /// The range of entries of each name.
    groups: HashMap<Arc<str>, Range<u32>>,
    /// Empty if no skill depends on another.
    requires: RequiresGraph,
    problems: Vec<Problem>,
    warnings: Vec<Problem>,
    unusable: Vec<UnusableSkill>,
    roots: Vec<RootReport>,
    digested: usize,
}

/// An unusable skill whose name and description are known.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnusableSkill {
    /// The content of its `SKILL.md`.
    pub facts: Arc<SkillFacts>,
    /// The tier of its root.
    pub tier: Tier,
    /// Why it cannot be used.
    pub problem: Problem,
}

/// The result of scanning one root.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RootReport {
    /// The root.
    pub root: Root,
    /// Whether the directory exists.
    pub exists: bool,
    /// The number of valid skills in it.
    pub skills: usize,
    /// The number of problems in it.
    pub problems: usize,
    /// How many `SKILL.md` files were read; the others were taken from the index.
    pub read: usize,
    /// The root's index file, if there is one.
    pub index: Option<PathBuf>,
}

/// A skill that may become part of a catalog.
pub(crate) struct Candidate {
    pub(crate) entry: Entry,
    /// The index of its root. Built-in skills come before all roots.
    pub(crate) root: usize,
    /// Whether it is valid, so that its name equals its directory's name.
    pub(crate) is_exact: bool,
    /// The path of its root without links.
    pub(crate) root_real: Arc<Path>,
    /// The path of its root as it was given.
    pub(crate) root_path: Arc<Path>,
}

impl Candidate {
    /// Its directory without links.
    fn real_path(&self) -> PathBuf {
        let Some(place) = self.entry.places.first() else { return PathBuf::new() };
        let below = || place.path.strip_prefix(&self.root_path).unwrap_or(&place.path);
        place.target.clone().unwrap_or_else(|| self.root_real.join(below()))
    }

    /// Whether this is a link to a skill that is also in a root of a lower tier. A link does not raise its
    /// trust.
    fn is_raised_by_link(&self, other: &Self) -> bool {
        let target = self.entry.places.first().and_then(|place| place.target.as_ref());
        target.is_some_and(|target| !target.starts_with(&self.root_real))
            && self.entry.id.tier < other.entry.id.tier
            && self.real_path() == other.real_path()
    }

    /// Whether the other one is the same directory, or has identical files.
    fn is_copy(&self, other: &Self, limits: &Limits, trees: &mut Trees) -> bool {
        let (a, b) = (&self.entry, &other.entry);
        if a.facts.skill_md_digest != b.facts.skill_md_digest || a.is_enabled() != b.is_enabled() {
            return false;
        }
        let (own, others) = (self.real_path(), other.real_path());
        let are_on_disk = a.builtin.is_none() && b.builtin.is_none();
        own == others
            || are_on_disk
                && trees
                    .digest(&own, limits)
                    .is_some_and(|digest| trees.digest(&others, limits) == Some(digest))
    }
}

/// The results of all roots before ranking.
#[derive(Default)]
pub(crate) struct CatalogDraft {
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) problems: Vec<Problem>,
    pub(crate) warnings: Vec<Problem>,
    pub(crate) unusable: Vec<UnusableSkill>,
}

impl Catalog {
    pub(crate) fn new(
        all: CatalogDraft,
        precedence: Precedence,
        limits: &Limits,
        trees: &mut Trees,
        roots: Vec<RootReport>,
    ) -> Self {
        let CatalogDraft { candidates, mut problems, warnings, unusable } = all;
        let entries = ranked(candidates, precedence, limits, trees);
        let (requires, requires_problems) = requires(&entries);
        problems.extend(requires_problems);
        let mut groups: HashMap<Arc<str>, Range<u32>> = HashMap::with_capacity(entries.len());
        for (index, entry) in (0..).zip(&entries) {
            groups.entry(Arc::clone(&entry.facts.name)).or_insert(index..index).end = index + 1;
        }
        let digested = trees.digested();
        Self(Arc::new(Snapshot { entries, groups, requires, problems, warnings, unusable, roots, digested }))
    }

    /// The usable skills: the winner of each name, unless it is off. Sorted by name.
    pub fn skills(&self) -> impl Iterator<Item = &Entry> {
        self.0.entries.iter().filter(|entry| entry.shadowed_by.is_none() && entry.is_enabled())
    }

    /// The skills that models see, each as far as its state allows. Use this for every list that a model reads:
    /// skills with the state `user-only` are not included, and those with `name-only` have no description.
    ///
    /// ```no_run
    /// # let catalog = metier_catalog::Catalog::default();
    /// for skill in catalog.for_models() {
    ///     println!("{}: {}", skill.entry.name(), skill.description.unwrap_or("(no description)"));
    /// }
    /// ```
    pub fn for_models(&self) -> impl Iterator<Item = Listing<'_>> {
        self.skills().filter_map(Entry::listing)
    }

    /// All skills, including those that are off or shadowed.
    pub fn all(&self) -> &[Entry] {
        &self.0.entries
    }

    /// The skills that are shadowed by another one with the same name.
    pub fn shadowed(&self) -> impl Iterator<Item = &Entry> {
        self.0.entries.iter().filter(|entry| entry.shadowed_by.is_some())
    }

    /// The winner of a name. It is off only if all skills of that name are off.
    pub fn by_name(&self, name: &str) -> Option<&Entry> {
        self.group(name).first()
    }

    /// The skill with this id, such as `user/pdf`.
    pub fn by_id(&self, id: &str) -> Option<&Entry> {
        let (tier, name, copy) = SkillId::split(id)?;
        self.group(name).iter().find(|entry| entry.id.tier == tier && entry.id.copy == copy)
    }

    /// What could not be used, and why.
    pub fn problems(&self) -> &[Problem] {
        &self.0.problems
    }

    /// Usable skills that break a rule of the standard profile, each with the clients that reject it. Always
    /// empty under that profile, because such skills are [problems](Catalog::problems) there.
    pub fn warnings(&self) -> &[Problem] {
        &self.0.warnings
    }

    /// Unusable skills whose name and description are known.
    pub fn unusable(&self) -> &[UnusableSkill] {
        &self.0.unusable
    }

    /// The skills that a skill depends on, each after its own dependencies.
    pub fn needs(&self, name: &str) -> Vec<&str> {
        self.0.requires.needs(name)
    }

    /// How many skills were read completely to detect identical copies. The others did not change since the
    /// last time.
    pub fn digested(&self) -> usize {
        self.0.digested
    }

    /// The result of each root.
    pub fn roots(&self) -> &[RootReport] {
        &self.0.roots
    }

    /// Whether two catalogs are the same snapshot.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The differences from an older snapshot.
    pub fn changes_since(&self, older: &Self) -> CatalogChanges {
        let mut changes = CatalogChanges::default();
        for entry in self.all() {
            match older.entry_of(&entry.id) {
                None => changes.added.push(entry.id.clone()),
                Some(old) if old != entry => changes.changed.push(entry.id.clone()),
                Some(_) => {}
            }
        }
        let gone = older.all().iter().filter(|entry| self.entry_of(&entry.id).is_none());
        changes.removed.extend(gone.map(|entry| entry.id.clone()));
        changes.problems_changed = self.problems() != older.problems();
        changes
    }

    fn entry_of(&self, id: &SkillId) -> Option<&Entry> {
        self.group(&id.name).iter().find(|entry| entry.id == *id)
    }

    fn group(&self, name: &str) -> &[Entry] {
        let range = self.0.groups.get(name).map(|range| range.start as usize..range.end as usize);
        range.and_then(|range| self.0.entries.get(range)).unwrap_or_default()
    }
}

/// The differences between two snapshots.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct CatalogChanges {
    /// Ids that were added.
    pub added: Vec<SkillId>,
    /// Ids whose content, location or state changed.
    pub changed: Vec<SkillId>,
    /// Ids that were removed.
    pub removed: Vec<SkillId>,
    /// Whether the problems changed.
    pub problems_changed: bool,
}

impl CatalogChanges {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The dependencies between skills, and their problems.
fn requires(entries: &[Entry]) -> (RequiresGraph, Vec<Problem>) {
    if entries.iter().all(|entry| entry.facts.requires().is_none()) {
        return Default::default();
    }
    let usable = entries.iter().filter(|entry| entry.shadowed_by.is_none() && entry.is_enabled());
    let nodes = usable.map(|entry| RequiresNode {
        name: &entry.facts.name,
        version: entry.facts.version.as_deref(),
        requires: entry.facts.requires(),
        path: entry.path(),
    });
    let nodes: Vec<RequiresNode<'_>> = nodes.collect();
    RequiresGraph::new(&nodes)
}

/// Sorts candidates by name and precedence, merges identical copies, and gives each an id and the skill that
/// shadows it.
fn ranked(
    mut candidates: Vec<Candidate>,
    precedence: Precedence,
    limits: &Limits,
    trees: &mut Trees,
) -> Vec<Entry> {
    let rank = |candidate: &Candidate| {
        let entry = &candidate.entry;
        // Skills that are off do not shadow others. Within one root, a skill whose directory has the name takes
        // precedence over one that only declares it.
        let is_off = entry.state == State::Off;
        (is_off, precedence.rank(entry.id.tier), entry.scope(), candidate.root, !candidate.is_exact)
    };
    candidates.par_sort_by(|a, b| {
        let by_name = a.entry.facts.name.cmp(&b.entry.facts.name);
        by_name.then_with(|| rank(a).cmp(&rank(b))).then_with(|| a.entry.path().cmp(b.entry.path()))
    });
    let mut entries: Vec<Entry> = Vec::with_capacity(candidates.len());
    let mut rest = candidates.into_iter().peekable();
    while let Some(first) = rest.next() {
        let name = Arc::clone(&first.entry.facts.name);
        // Nearly every name has only one skill.
        if rest.peek().is_none_or(|next| next.entry.facts.name != name) {
            entries.push(first.entry);
            continue;
        }
        let (mut group, mut is_sorted) = (vec![first], true);
        while let Some(mut next) = rest.next_if(|next| next.entry.facts.name == name) {
            if let Some(link) = group.iter_mut().find(|kept| kept.is_raised_by_link(&next)) {
                std::mem::swap(link, &mut next);
                link.entry.places.extend(next.entry.places);
                is_sorted = false;
                continue;
            }
            match group.iter_mut().find(|kept| kept.is_copy(&next, limits, trees)) {
                Some(kept) if kept.real_path() == next.real_path() => {}
                Some(kept) => kept.entry.places.extend(next.entry.places),
                None => group.push(next),
            }
        }
        if !is_sorted {
            group.sort_by_key(rank);
        }
        entries.extend(shadowed(group));
    }
    entries
}

/// Gives the skills of one name their ids and marks those that are shadowed.
fn shadowed(group: Vec<Candidate>) -> impl Iterator<Item = Entry> {
    let mut winner = None;
    let mut copies = [0; Tier::ALL.len()];
    group.into_iter().map(move |Candidate { mut entry, .. }| {
        let copy = &mut copies[entry.id.tier as usize];
        *copy += 1;
        entry.id.copy = *copy;
        if entry.is_enabled() {
            entry.shadowed_by.clone_from(&winner);
            winner.get_or_insert_with(|| entry.id.clone());
        }
        entry
    })
}
