//! Which `SKILL.md` files can change a list of skills that was shown.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::record::{Outcome, SkillFacts};
use crate::root::Root;
use crate::scan::{Record, Survey};

/// The skills on a list that was shown, for [`Scanner::evidence`](crate::Scanner::evidence).
#[derive(Debug, Clone)]
pub struct ShownSkills<'a> {
    directories: HashSet<&'a Path>,
    is_complete: bool,
}

/// The files of one root that a shown list depends on.
#[derive(Debug)]
pub(crate) enum Basis<'a> {
    /// All of them.
    All,
    /// Those of the shown skills.
    Shown(&'a ShownSkills<'a>),
    /// Those of the shown skills and of their rivals.
    Rivals(Rivals<'a>),
}

/// Skills of one root that would take precedence over a shown skill of the same root if they had its name.
#[derive(Debug)]
pub(crate) struct Rivals<'a> {
    shown: &'a ShownSkills<'a>,
    /// The names of the shown skills.
    names: HashSet<&'a str>,
    /// The last path of a shown skill that only declares its name.
    last_declared: Option<PathBuf>,
}

impl<'a> ShownSkills<'a> {
    /// The skills in these directories. `is_complete` says that no skill was left out to save room.
    pub fn new(directories: impl IntoIterator<Item = &'a Path>, is_complete: bool) -> Self {
        Self { directories: directories.into_iter().collect(), is_complete }
    }

    pub(crate) const fn is_complete(&self) -> bool {
        self.is_complete
    }

    pub(crate) fn contains(&self, directory: &Path) -> bool {
        self.directories.contains(directory)
    }

    /// Whether a skill of this root was shown.
    pub(crate) fn has_any_of(&self, root: &Root, survey: &Survey) -> bool {
        survey.records.iter().any(|record| self.contains(&record.path(&root.path)))
    }

    pub(crate) fn rivals(&'a self, root: &Root, survey: &'a Survey) -> Rivals<'a> {
        let mut rivals = Rivals { shown: self, names: HashSet::new(), last_declared: None };
        for record in &survey.records {
            let (Outcome::Skill(facts, warning), path) = (&record.outcome, record.path(&root.path)) else {
                continue;
            };
            if self.contains(&path) {
                rivals.names.insert(&facts.name);
                if warning.is_some() {
                    rivals.last_declared = rivals.last_declared.max(Some(path));
                }
            }
        }
        rivals
    }
}

impl Basis<'_> {
    /// Whether the list depends on the file of this record: it was shown, may be shown after a fix or a change
    /// of its visibility, or may replace a shown one.
    pub(crate) fn has(&self, record: &Record, root: &Path) -> bool {
        let facts = match &record.outcome {
            Outcome::Broken(..) => return true,
            Outcome::Skill(facts, _) => facts,
        };
        let is_shown = |shown: &ShownSkills<'_>, facts: &SkillFacts| {
            facts.is_hidden_from_models || shown.contains(&record.path(root))
        };
        match self {
            Self::All => true,
            Self::Shown(shown) => is_shown(shown, facts),
            Self::Rivals(rivals) => is_shown(rivals.shown, facts) || rivals.has(record, root),
        }
    }
}

impl Rivals<'_> {
    fn has(&self, record: &Record, root: &Path) -> bool {
        let path = record.path(root);
        let directory = record.target.as_ref().unwrap_or(&path).file_name().and_then(|name| name.to_str());
        // The name of its directory takes precedence over a declared one. A name outside ASCII may be equal in
        // another form.
        let may_be_exact =
            directory.is_none_or(|directory| !directory.is_ascii() || self.names.contains(directory));
        may_be_exact || self.last_declared.as_ref().is_some_and(|last| path < *last)
    }
}
