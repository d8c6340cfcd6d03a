//! The catalog of a host: every skill that can be used, and why others cannot.

use std::collections::BTreeMap;
use std::ops::Deref;
#[cfg(feature = "search")]
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use metier_catalog::{Catalog, Entry, Problem, Scanner};
#[cfg(feature = "search")]
use metier_search::Search;
#[cfg(feature = "session")]
use metier_session::SessionError;
#[cfg(feature = "search")]
use metier_skill::Digest;
use metier_skill::{Location, Tier, is_skill_directory, nearest_names};

use crate::environment::SystemClock;
use crate::error::HostError;
use crate::host::Metier;
use crate::policy::real;
use crate::skill_list::SkillListBuilder;

/// The catalog together with the host that scanned it. Derefs to [`Catalog`].
///
/// Call [`save`](Self::save) once, so that the next scan reads only what has changed.
#[derive(Debug)]
pub struct HostCatalog {
    catalog: Catalog,
    metier: Metier,
    scanner: Scanner,
    notes: Vec<String>,
}

impl Deref for HostCatalog {
    type Target = Catalog;

    fn deref(&self) -> &Catalog {
        &self.catalog
    }
}

impl HostCatalog {
    pub(crate) fn scan(metier: Metier) -> Result<Self, HostError> {
        let mut scanner = Scanner::new(metier.catalog_options());
        let catalog = scanner.scan(SystemClock::time());
        let mut notes = Vec::new();
        for report in catalog.roots().iter().filter(|report| !report.exists) {
            let path = &report.root.path;
            if metier.settings().is_named_root(path) {
                return Err(HostError::NoRoot { path: path.clone() });
            }
            if let Some(problem) = catalog.problems().iter().find(|problem| problem.path == *path) {
                notes.push(format!("{}: {}", path.display(), problem.message));
            }
        }
        notes.extend(withdrawn(&catalog, &scanner.options().lowered));
        Ok(Self { catalog, metier, scanner, notes })
    }

    /// The catalog itself; cheap to clone.
    pub const fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The host that it belongs to.
    pub const fn metier(&self) -> &Metier {
        &self.metier
    }

    /// Messages about the roots, for the user.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Writes the index, which makes the next scan faster. It is safe to ignore an error.
    pub fn save(&mut self) -> Result<(), HostError> {
        Ok(self.scanner.save(SystemClock::time())?)
    }

    /// The scanner, for watching the roots.
    pub fn into_scanner(self) -> Scanner {
        self.scanner
    }

    /// Builds the skill list for a model's prompt. It leaves out skills that models may not see.
    pub fn skill_list(&self) -> SkillListBuilder<'_> {
        SkillListBuilder::new(self)
    }

    /// The directory of the search index, if it is kept.
    #[cfg(feature = "search")]
    pub fn search_directory(&self) -> Option<PathBuf> {
        // Roots that do not exist make no difference, and would make one for every directory one works in.
        let roots = self.catalog.roots().iter().filter(|report| report.exists);
        let roots = roots.flat_map(|report| report.root.path.as_os_str().as_bytes());
        let roots: Vec<u8> = roots.copied().collect();
        let name = &Digest::of(&roots).hex()[..32];
        self.metier.cache("search").map(|directory| directory.join(name))
    }

    /// Prepares the catalog for searching. With many new skills this takes a while.
    #[cfg(feature = "search")]
    pub fn search(&self) -> Result<Search, HostError> {
        Ok(Search::open(&self.catalog, self.search_directory().as_deref())?)
    }

    /// Finds a skill by its name, its id, its directory or its `SKILL.md`. Returns the catalog that contains it and its id there: a
    /// directory outside all roots becomes a root of its own, as with `--root`.
    ///
    /// If there is no such skill, the text is returned unchanged, so that using it reports the error.
    pub fn with_skill(self, text: &str) -> Result<(Self, String), HostError> {
        let is_path = text.starts_with(['.', '/', '~']);
        if !is_path && (self.by_name_or_id(text).is_some() || !text.contains('/')) {
            return Ok((self, text.to_owned()));
        }
        let environment = self.metier.environment();
        let path = environment.absolute(&environment.at_home(Path::new(text)));
        let found = Location::find(&path).ok().filter(|location| is_skill_directory(location.root()));
        let Some(location) = found else {
            return if is_path { Err(HostError::NoSkillAt { path }) } else { Ok((self, text.to_owned())) };
        };
        let directory = location.root();
        let here = real(directory.to_owned());
        let is_it = |entry: &&Entry| {
            let path = entry.real_path();
            entry.builtin().is_none() && path.file_name() == here.file_name() && real(path.to_owned()) == here
        };
        if let Some(entry) = self.catalog.all().iter().find(is_it) {
            let id = entry.id.to_string();
            return Ok((self, id));
        }
        // Naming it does not trust it any further than its root does.
        let roots = self.metier.settings().roots.iter().map(|root| &root.value);
        let above = roots.filter(|root| here.starts_with(real(root.path.clone())));
        let tier = above.map(|root| root.tier).max().unwrap_or(Tier::User);
        let settings = self.metier.settings().only_root(directory.to_owned(), tier);
        let catalog = Self::scan(Metier::new(environment.clone(), settings))?;
        let id = catalog.all().first().map(|entry| entry.id.to_string());
        let problem = catalog.problems().first().map(|problem| unusable(text, problem));
        match (id, problem) {
            (Some(id), _) => Ok((catalog, id)),
            (None, Some(problem)) => Err(problem),
            (None, None) => Ok((catalog, text.to_owned())),
        }
    }

    /// The skill with a name or an id.
    pub fn by_name_or_id(&self, text: &str) -> Option<&Entry> {
        self.catalog.by_name(text).or_else(|| self.catalog.by_id(text))
    }

    /// The problem of an unusable skill with this name, id or directory.
    pub fn problem_of(&self, text: &str) -> Option<&Problem> {
        let readable = self.catalog.unusable().iter().find(|skill| {
            let name = &*skill.facts.name;
            name == text || text.strip_suffix(name) == Some(&format!("{}/", skill.tier))
        });
        let is_there = |problem: &&Problem| problem.path.file_name().is_some_and(|last| last == text);
        readable.map(|skill| &skill.problem).or_else(|| self.catalog.problems().iter().find(is_there))
    }

    /// The error for an unknown name, id or path, with similar names.
    pub fn not_found(&self, text: &str) -> HostError {
        if let Some(problem) = self.problem_of(text) {
            return unusable(text, problem);
        }
        if !text.contains('/') && is_skill_directory(&self.metier.environment().absolute(Path::new(text))) {
            return HostError::NotAName { given: text.to_owned() };
        }
        HostError::NoSkill { name: text.to_owned(), near: self.nearest(text) }
    }

    /// Names that may have been meant by this one.
    fn nearest(&self, text: &str) -> Vec<String> {
        let near = nearest_names(text, self.catalog.skills().map(Entry::name));
        near.into_iter().map(str::to_owned).collect()
    }

    /// The error for a skill that is switched off, with the rule that does it.
    pub fn off(&self, entry: &Entry) -> HostError {
        let by = self.metier.settings().rule_of(entry).map(crate::StateSetting::place);
        HostError::SkillOff { name: entry.name().to_owned(), by }
    }

    /// Adds details from the catalog to an error of a session.
    #[cfg(feature = "session")]
    pub fn explained(&self, error: SessionError) -> HostError {
        match &error {
            SessionError::Disabled { name } => match self.by_name_or_id(name) {
                Some(entry) => self.off(entry),
                None => error.into(),
            },
            SessionError::NotFound { name, .. } => self.not_found(name),
            _ => error.into(),
        }
    }
}

/// Notes about the skills of a catalog that a key no longer vouches for.
fn withdrawn(catalog: &Catalog, lowered: &BTreeMap<PathBuf, Tier>) -> Vec<String> {
    let note = |(directory, tier): (&PathBuf, &Tier)| {
        let mut roots = catalog.roots().iter().map(|report| &report.root);
        let root = roots.find(|root| directory.parent() == Some(&root.path))?;
        let name = directory.file_name()?.to_string_lossy();
        Some(format!(
            "`{name}` has the tier {tier}: the key that signed it is no longer trusted for the tier {}",
            root.tier
        ))
    };
    lowered.iter().filter_map(note).collect()
}

/// Why a skill that is there cannot be used.
fn unusable(name: &str, problem: &Problem) -> HostError {
    HostError::UnusableSkill {
        name: name.to_owned(),
        code: problem.code,
        message: problem.message.clone(),
        path: problem.path.clone(),
    }
}
