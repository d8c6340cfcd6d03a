//! One skill of the catalog, read completely, for decisions and approvals.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use metier_policy::{Allowlist, Anchors, Denylist, GuardedSkill};
use metier_skill::{
    Digest, Location, Reading, Rules, SKILL_FILES, Skill, SkillError, SymlinkPolicy, Tier, Tree,
};

use crate::catalog::HostCatalog;
use crate::error::HostError;

/// A skill of the catalog with all its files, as it is on disk now: see [`HostCatalog::opened`].
#[non_exhaustive]
#[derive(Debug)]
pub struct OpenedSkill {
    /// Its frontmatter and body.
    pub skill: Skill,
    /// Its tier.
    pub tier: Tier,
    /// The digest of all its files.
    pub digest: Digest,
    tree: Tree,
    directory: PathBuf,
    /// Skills inside the binary are written out to be looked at.
    _unpacked: Option<tempfile::TempDir>,
}

impl HostCatalog {
    /// Reads the skill with a name or id, with all its files.
    pub fn opened(&self, name: &str) -> Result<OpenedSkill, HostError> {
        let Some(entry) = self.by_name_or_id(name) else { return Err(self.not_found(name)) };
        if !entry.is_enabled() {
            return Err(self.off(entry));
        }
        let temporary = &self.metier().environment().temporary;
        let unpacked = entry.builtin().map(|_| tempfile::tempdir_in(temporary)).transpose();
        let unpacked = unpacked.map_err(|error| HostError::write(temporary, error))?;
        let directory = match (entry.builtin(), &unpacked) {
            (Some(builtin), Some(place)) => builtin.unpack(place.path())?,
            _ => entry.real_path().to_owned(),
        };
        let rules = Rules::lenient();
        let location = Location::find(&directory)?;
        let reading = location.load(&rules)?;
        let tree = location.tree(&rules.limits, SymlinkPolicy::Skip)?;
        tree.within(&rules.limits)?;
        let digest = digest_of(&reading, &location)?;
        let diagnostics = reading.diagnostics;
        let invalid = || SkillError::Validation { path: directory.clone(), diagnostics };
        Ok(OpenedSkill {
            skill: reading.skill.ok_or_else(invalid)?,
            tier: entry.tier(),
            digest,
            tree,
            directory,
            _unpacked: unpacked,
        })
    }
}

/// The digest of a skill whose `SKILL.md` was read before. It is an error if `SKILL.md` changed since: the digest must be of the
/// text that was shown.
pub fn digest_of(reading: &Reading, location: &Location) -> Result<Digest, SkillError> {
    let manifest = location.manifest(&Rules::lenient().limits)?;
    let shown = Digest::of(reading.text.as_bytes());
    let is_own = |name: &str| manifest.get(Path::new(name)).is_some();
    let is_shown = |name: &str| manifest.get(Path::new(name)).is_some_and(|file| file.digest == shown);
    // A `SKILL.md` that is a link is not among the files.
    if SKILL_FILES.iter().any(|name| is_shown(name)) || !SKILL_FILES.iter().any(|name| is_own(name)) {
        Ok(manifest.digest())
    } else {
        Err(SkillError::Changing { path: location.root().to_owned() })
    }
}

impl OpenedSkill {
    /// The skill with its tool rules, for the guard.
    pub fn guarded(&self, places: &Anchors) -> GuardedSkill {
        let mut places = places.clone();
        places.skill = Some(self.directory.clone());
        let mut active = GuardedSkill::new(&self.skill.name, self.tier);
        active.allowed = self.skill.allowed_tools.as_ref().map(|tools| Allowlist::new(tools, &places));
        active.denied = self.skill.disallowed_tools().map(|tools| Denylist::new(&tools, &places));
        active
    }

    /// The text of one of its files, unless it is too long for display.
    pub fn text(&self, path: &str) -> Option<String> {
        const MOST: u64 = 256 << 10;
        let path = path.strip_prefix("./").unwrap_or(path);
        let file = self.tree.files.iter().find(|file| file.path_text() == path)?;
        let mut bytes = Vec::new();
        self.tree.open(file).ok()?.take(MOST).read_to_end(&mut bytes).ok()?;
        (file.size < MOST).then(|| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The path of one of its files in the form that approvals use.
    pub fn script<'a>(&self, path: &'a str) -> Result<&'a str, HostError> {
        let path = path.strip_prefix("./").unwrap_or(path);
        if self.tree.files.iter().any(|file| file.path_text() == path) {
            return Ok(path);
        }
        Err(HostError::NoFile { skill: self.skill.name.clone(), path: path.to_owned() })
    }
}
