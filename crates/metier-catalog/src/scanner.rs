//! Builds catalogs from roots, and remembers results between scans.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;
use std::{fs, io};

use metier_skill::{Profile, Rules};
use rayon::prelude::*;

use crate::builtin::{BUILTIN, Builtin};
use crate::catalog::{Candidate, CatalogDraft, RootReport, UnusableSkill};
use crate::entry::{Entry, SkillId, SkillPlace};
use crate::evidence::{Evidence, RootEvidence};
use crate::index::IndexFile;
use crate::problem::{Problem, ProblemCode};
use crate::record::{Outcome, SkillFacts};
use crate::root::Root;
use crate::scan::{self, Record, RootScan, Survey};
use crate::shown::{Basis, ShownSkills};
use crate::stamp::Stamp;
use crate::trees::Trees;
use crate::{Bounds, Catalog, CatalogError, Precedence, Scope, State, StateRules, Tier};

/// What a catalog is built from.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CatalogOptions {
    /// The directories to search, in order of precedence within a tier and scope.
    pub roots: Vec<Root>,
    /// Whether to include the built-in skills.
    pub builtin: bool,
    /// The rules that skills are checked against.
    pub rules: Rules,
    /// The limits of a scan.
    pub bounds: Bounds,
    /// Which tier takes precedence.
    pub precedence: Precedence,
    /// Which skills are enabled.
    pub states: StateRules,
    /// Where to store the index. Without it, everything is read each time.
    pub index: Option<PathBuf>,
    /// Skills that are trusted less than their root, by their directories in it. A tier here never raises trust.
    pub lowered: BTreeMap<PathBuf, Tier>,
}

impl CatalogOptions {
    /// Only these roots, with the standard rules and without an index.
    pub fn new(roots: Vec<Root>) -> Self {
        Self {
            roots,
            builtin: false,
            rules: Rules::standard(),
            bounds: Bounds::default(),
            precedence: Precedence::default(),
            states: StateRules::default(),
            index: None,
            lowered: BTreeMap::new(),
        }
    }
}

/// Builds catalogs repeatedly, and remembers what it has read.
///
/// ```no_run
/// use std::time::SystemTime;
/// use metier_catalog::{CatalogOptions, Root, Scanner};
///
/// let mut scanner = Scanner::new(CatalogOptions::new(vec![Root::parse("skills")?]));
/// # let now = SystemTime::UNIX_EPOCH;
/// let catalog = scanner.scan(now);
/// for skill in catalog.skills() {
///     println!("{}: {}", skill.name(), skill.description());
/// }
/// # Ok::<(), metier_catalog::CatalogError>(())
/// ```
#[derive(Debug)]
pub struct Scanner {
    options: CatalogOptions,
    roots: Vec<Memory>,
    trees: Trees,
}

/// What is remembered about one root.
#[derive(Debug)]
struct Memory {
    /// Its path without links, if it existed.
    real: Option<PathBuf>,
    survey: Option<Survey>,
    index: Option<IndexFile>,
    is_unsaved: bool,
}

impl Scanner {
    /// A scanner that has not read anything yet.
    pub fn new(options: CatalogOptions) -> Self {
        let roots = options.roots.iter().map(|root| {
            let index = options
                .index
                .as_deref()
                .map(|directory| IndexFile::new(directory, &root.path, &options.rules, options.bounds));
            Memory { real: None, survey: None, index, is_unsaved: false }
        });
        let trees = Trees::new(options.index.as_deref(), &options.rules.limits);
        Self { roots: roots.collect(), trees, options }
    }

    /// The options of the scanner.
    pub fn options(&self) -> &CatalogOptions {
        &self.options
    }

    /// Scans all roots and builds a catalog of the current skills. Only what changed since the last scan or the
    /// index is read again. `now` is the time of the clock that sets file times.
    pub fn scan(&mut self, now: SystemTime) -> Catalog {
        let options = &self.options;
        let mut all = CatalogDraft::default();
        let mut reports = Vec::new();
        if options.builtin {
            all.candidates.extend(BUILTIN.iter().filter_map(|builtin| self.builtin(builtin)));
        }
        for (number, (root, memory)) in options.roots.iter().zip(&mut self.roots).enumerate() {
            if memory.survey.is_none() {
                memory.survey = memory.index.as_ref().and_then(IndexFile::load);
            }
            let scanned =
                scan::scan(root, &options.rules, options.bounds, memory.survey.as_ref(), now.into());
            let (problems, skills) = (all.problems.len(), all.candidates.len());
            let mut read = 0;
            let exists = scanned.is_ok();
            memory.real = scanned.as_ref().ok().map(|found| found.real.clone());
            match scanned {
                Ok(found) => {
                    read = found.read;
                    collect(&found, number + 1, options, &mut all);
                    memory.is_unsaved |= found.is_news;
                    memory.survey = Some(found.survey);
                }
                Err(error) => all.problems.extend(root_problem(root, &error)),
            }
            reports.push(RootReport {
                root: root.clone(),
                exists,
                skills: all.candidates.len() - skills,
                problems: all.problems.len() - problems,
                read,
                index: memory.index.as_ref().map(|index| index.path().to_owned()),
            });
        }
        self.trees.begin(now);
        Catalog::new(all, options.precedence, &options.rules.limits, &mut self.trees, reports)
    }

    /// What the last catalog is based on, for a caller that showed a list of its skills. `None` if file times
    /// cannot prove that nothing changed.
    pub fn evidence(&self, shown: &ShownSkills<'_>) -> Option<Evidence> {
        // What is said below about the rank of a root does not apply to all of its skills.
        if !self.options.lowered.is_empty() {
            return None;
        }
        let last = self.last_rank(shown);
        let of_root = |(number, (root, memory)): (usize, (&Root, &Memory))| {
            let (Some(real), Some(survey)) = (&memory.real, &memory.survey) else {
                let is_absent = fs::symlink_metadata(&root.path).is_err();
                return is_absent.then(|| RootEvidence::absent(&root.path));
            };
            let basis = if self.options.rules.profile != Profile::Lenient {
                // The name is the directory's, so a shown skill cannot be replaced by changing a file.
                Basis::Shown(shown)
            } else if shown.is_complete() || Some(self.rank(root, number)) < last {
                Basis::All
            } else {
                Basis::Rivals(shown.rivals(root, survey))
            };
            RootEvidence::of(&root.path, real, survey, &basis)
        };
        let roots = self.options.roots.iter().zip(&self.roots).enumerate();
        roots.map(of_root).collect::<Option<_>>().map(Evidence::new)
    }

    /// The rank of a root: its skills take precedence over those of roots with a higher one.
    fn rank(&self, root: &Root, number: usize) -> (usize, Scope, usize) {
        (self.options.precedence.rank(root.tier), root.scope, number + 1)
    }

    /// The highest rank of a root with a shown skill.
    fn last_rank(&self, shown: &ShownSkills<'_>) -> Option<(usize, Scope, usize)> {
        let builtin = BUILTIN.iter().any(|builtin| shown.contains(&builtin_path(builtin)));
        let builtin = builtin.then(|| (self.options.precedence.rank(Tier::Builtin), Scope::System, 0));
        let roots = self.options.roots.iter().zip(&self.roots).enumerate();
        let shown = roots.filter_map(|(number, (root, memory))| {
            let survey = memory.survey.as_ref()?;
            shown.has_any_of(root, survey).then(|| self.rank(root, number))
        });
        shown.chain(builtin).max()
    }

    /// Writes new results to the index, if there is one. The catalog does not depend on it.
    pub fn save(&mut self, now: SystemTime) -> Result<(), CatalogError> {
        for memory in self.roots.iter_mut().filter(|memory| memory.is_unsaved) {
            if let (Some(index), Some(survey)) = (&memory.index, &memory.survey) {
                index.save(survey, now)?;
            }
            memory.is_unsaved = false;
        }
        self.trees.save()
    }

    fn builtin(&self, builtin: &'static Builtin) -> Option<Candidate> {
        let path = builtin_path(builtin);
        let Outcome::Skill(facts, _) = builtin.outcome(&Rules::standard()) else { return None };
        let place =
            SkillPlace { path: path.clone(), target: None, tier: Tier::Builtin, scope: Scope::System };
        let mut entry = entry(facts, None, place, &self.options.states);
        entry.builtin = Some(builtin);
        let root_path: Arc<Path> = path.as_path().into();
        Some(Candidate { entry, root: 0, is_exact: true, root_real: Arc::clone(&root_path), root_path })
    }
}

/// Converts the results of a root into candidates and problems.
fn collect(found: &RootScan, number: usize, options: &CatalogOptions, all: &mut CatalogDraft) {
    let Some(root) = options.roots.get(number - 1) else { return };
    let (root_path, root_real): (Arc<Path>, Arc<Path>) =
        (root.path.as_path().into(), found.real.as_path().into());
    let tier_of =
        |path: &Path| options.lowered.get(path).map_or(root.tier, |lowered| root.tier.max(*lowered));
    let candidate = |record: &Arc<Record>| {
        let Outcome::Skill(facts, warning) = &record.outcome else { return None };
        let path = record.path(&root.path);
        let tier = tier_of(&path);
        let place = SkillPlace { path, target: record.target.clone(), tier, scope: root.scope };
        let entry = entry(Arc::clone(facts), record.stamp, place, &options.states);
        let (root_path, root_real) = (Arc::clone(&root_path), Arc::clone(&root_real));
        Some(Candidate { entry, root: number, is_exact: warning.is_none(), root_real, root_path })
    };
    all.candidates.par_extend(found.survey.records.par_iter().with_min_len(1024).filter_map(candidate));
    for record in &found.survey.records {
        let (fault, facts) = match &record.outcome {
            Outcome::Broken(fault, facts) => (fault, facts),
            Outcome::Skill(_, Some(warning)) => {
                all.warnings.push(warning.problem(record.path(&root.path)));
                continue;
            }
            Outcome::Skill(_, None) => continue,
        };
        let problem = fault.problem(record.path(&root.path));
        let tier = tier_of(&problem.path);
        let unusable = facts.clone().map(|facts| UnusableSkill { facts, tier, problem: problem.clone() });
        all.unusable.extend(unusable);
        all.problems.push(problem);
    }
    all.problems.extend(found.problems.iter().cloned());
}

fn entry(facts: Arc<SkillFacts>, stamp: Option<Stamp>, place: SkillPlace, states: &StateRules) -> Entry {
    let own = if facts.is_hidden_from_models { State::UserOnly } else { State::On };
    Entry {
        id: SkillId { tier: place.tier, name: Arc::clone(&facts.name), copy: 1 },
        state: match &place.target {
            Some(target) => states.state(&facts.name, place.tier, &[&place.path, target], own),
            None => states.state(&facts.name, place.tier, &[&place.path], own),
        },
        facts,
        shadowed_by: None,
        modified: stamp.map(|stamp| stamp.modified()),
        places: vec![place],
        builtin: None,
    }
}

/// The path of a built-in skill, which is on no disk.
fn builtin_path(builtin: &Builtin) -> PathBuf {
    PathBuf::from(format!("builtin:{}", builtin.name()))
}

/// Reports a root that cannot be used, unless it is optional and missing.
fn root_problem(root: &Root, error: &CatalogError) -> Option<Problem> {
    let source = match error {
        CatalogError::Read { source, .. } => source,
        other => {
            let message =
                format!("{other}; trust the folder with `metier trust`, or add the target as a root");
            return Some(Problem::new(&root.path, ProblemCode::LinkOutside, message));
        }
    };
    let (code, message) = match source.kind() {
        io::ErrorKind::NotFound if root.is_optional => return None,
        io::ErrorKind::NotFound if is_link(&root.path) => {
            (ProblemCode::LinkBroken, "the root is a broken link; fix or remove it".to_owned())
        }
        io::ErrorKind::NotFound => {
            (ProblemCode::RootMissing, "the directory does not exist; fix the path or create it".to_owned())
        }
        io::ErrorKind::NotADirectory => {
            let message =
                "a root must be a directory: a skill, or a directory that contains skills".to_owned();
            (ProblemCode::RootNotDirectory, message)
        }
        _ => (ProblemCode::Unreadable, format!("cannot be read ({source}); check its permissions")),
    };
    Some(Problem::new(&root.path, code, message))
}

fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink())
}
