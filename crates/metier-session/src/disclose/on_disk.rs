//! Skills for prompts, from the disk: those that are referenced, and those that are found.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use metier_catalog::{Catalog, CatalogOptions, Listing, Root, Scanner, Scope};
use metier_prompt::{DiscoveredSkill, ReadSkill, RefProblem, RefReason, SkillReader};
use metier_skill::{Location, Rules, SkillError, Tier, is_skill_directory};

/// Reads the skills that a prompt refers to from the disk.
#[derive(Debug, Clone)]
pub struct SkillsOnDisk {
    base: PathBuf,
    rules: Rules,
}

impl SkillsOnDisk {
    /// The directory that relative paths are resolved against.
    pub fn new(base: impl Into<PathBuf>) -> Self {
        Self { base: base.into(), rules: Rules::standard() }
    }

    /// The rules that skills are checked against.
    #[must_use]
    pub fn rules(self, rules: Rules) -> Self {
        Self { rules, ..self }
    }
}

impl SkillReader for SkillsOnDisk {
    fn read(&self, path: &Path) -> Result<ReadSkill, RefProblem> {
        let given = self.base.join(path);
        let is_skill_md = given.file_name().is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"));
        let given = if is_skill_md { given.parent().unwrap_or(&given).to_owned() } else { given };
        let problem = |reason, details: Option<String>| RefProblem { path: given.clone(), reason, details };
        // A link is resolved first, also for the name that the skill must have.
        let directory = fs::canonicalize(&given).map_err(|error| {
            let is_missing = error.kind() == std::io::ErrorKind::NotFound;
            problem(RefReason::NotFound, (!is_missing).then(|| error.to_string()))
        })?;
        if !directory.is_dir() {
            return Err(problem(RefReason::NotDirectory, None));
        }
        if !is_skill_directory(&directory) {
            return Err(problem(RefReason::MissingSkillMd, None));
        }
        let invalid = |error: &SkillError| problem(RefReason::InvalidFrontmatter, Some(error.to_string()));
        let reading = Location::directory(&directory)
            .and_then(|location| location.validate_with(&self.rules, metier_policy::lint))
            .map_err(|error| invalid(&error))?;
        let error = reading.diagnostics.iter().find(|found| found.is_error());
        match (reading.skill, error) {
            (Some(skill), None) => Ok(ReadSkill {
                name: skill.id.as_str().to_owned(),
                description: skill.description.clone(),
                body: skill.body.to_string(),
                directory,
            }),
            (_, error) => {
                let details = error.map(|error| error.message.clone());
                Err(problem(RefReason::InvalidFrontmatter, details))
            }
        }
    }
}

/// The skills below one directory, as they are now, for an `AgentSkillsSection` over a directory.
pub fn scan_directory(directory: impl AsRef<Path>, tier: Tier, now: SystemTime) -> Catalog {
    let root = Root::new(directory.as_ref(), tier, Scope::Project);
    Scanner::new(CatalogOptions::new(vec![root])).scan(now)
}

/// The skills of a catalog that models see, by tier and name, with their paths: relative roots give relative paths.
/// Built-in skills have no file to read, and are left out.
pub fn discovered(catalog: &Catalog) -> Vec<DiscoveredSkill> {
    let mut listed: Vec<_> = catalog.for_models().filter(|skill| skill.entry.builtin().is_none()).collect();
    listed.sort_by_key(|skill| skill.entry.tier());
    let discovered = listed.into_iter().map(|Listing { entry, description, .. }| DiscoveredSkill {
        name: entry.name().to_owned(),
        description: description.map(ToOwned::to_owned),
        skill_md: entry.path().join(entry.file_name()),
    });
    discovered.collect()
}
