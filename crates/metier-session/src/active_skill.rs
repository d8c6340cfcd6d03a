//! A skill as a session knows it: with the content of its first use in the session.

use std::borrow::Cow;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use metier_catalog::Entry;
use metier_journal::Trigger;
use metier_policy::{Allowlist, Anchors, Denylist, GuardedSkill};
use metier_skill::{
    CapturedSkill, Digest, Manifest, Origin, Rules, SKILL_FILES, Skill, Tier, ToolRules, body_of, read,
};

use crate::content::{self, Around};
use crate::error::SessionError;
use crate::evaluation::AgentSkill;

/// A skill that a session uses, with its content at first use.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ActiveSkill {
    /// Its id in the catalog.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its tier.
    pub tier: Tier,
    /// Its directory.
    pub directory: PathBuf,
    /// The content of its `SKILL.md`.
    pub skill_md: Arc<[u8]>,
    /// The digest of its `SKILL.md`.
    pub skill_md_digest: Digest,
    /// The digest of the whole skill.
    pub tree_digest: Digest,
    /// Its files.
    pub manifest: Manifest,
    /// Whether its body was given to the model and its rules apply.
    pub is_active: bool,
    /// Other skills that it needs.
    pub needs: Vec<String>,
    /// The rules of its `allowed-tools` and `disallowed-tools`, if it declares them.
    pub(crate) allowed: Option<ToolRules>,
    pub(crate) disallowed: Option<ToolRules>,
}

/// A skill that was just read, and whether it matches the catalog.
pub(crate) struct Fresh {
    pub(crate) held: ActiveSkill,
    pub(crate) is_changed: bool,
}

impl ActiveSkill {
    /// Creates the skill of an entry from its files.
    pub(crate) fn of(
        entry: &Entry,
        captured: CapturedSkill,
        rules: &Rules,
        trigger: Trigger,
    ) -> Result<Fresh, SessionError> {
        let CapturedSkill { manifest, skill_md, .. } = captured;
        let known = SKILL_FILES.iter().find_map(|name| manifest.get(Path::new(name)));
        let skill_md_digest = known.map_or_else(|| Digest::of(&skill_md), |file| file.digest);
        let is_changed = skill_md_digest != entry.facts.skill_md_digest;
        // Content that the scan read need not be parsed again.
        let (allowed, disallowed) = if is_changed {
            let skill = read_again(entry, &skill_md, rules)?;
            if trigger != Trigger::User && skill.is_hidden_from_models() {
                return Err(SessionError::NotForModels { name: entry.name().to_owned() });
            }
            let disallowed = skill.disallowed_tools();
            (skill.allowed_tools, disallowed)
        } else {
            (entry.facts.allowed_tools.clone(), entry.facts.disallowed_tools.clone())
        };
        let held = Self {
            id: entry.id.to_string(),
            name: entry.name().to_owned(),
            tier: entry.tier(),
            directory: plain(entry.path()),
            skill_md: skill_md.into(),
            skill_md_digest,
            tree_digest: manifest.digest(),
            manifest,
            is_active: false,
            needs: Vec::new(),
            allowed,
            disallowed,
        };
        Ok(Fresh { held, is_changed })
    }

    /// A skill as it was mounted for an agent, which has loaded it. Where it cannot be parsed it has no rules: the agent
    /// itself took it as it is.
    pub(crate) fn mounted(
        id: String,
        tier: Tier,
        skill: &AgentSkill,
        captured: CapturedSkill,
        skill_md_digest: Digest,
        rules: &Rules,
    ) -> Self {
        let CapturedSkill { manifest, skill_md, .. } = captured;
        let origin = Origin { file: "SKILL.md", directory: None };
        let parsed = read(&*skill_md, origin, rules).skill;
        Self {
            id,
            name: skill.name.clone(),
            tier,
            directory: skill.directory.clone(),
            skill_md: skill_md.into(),
            skill_md_digest,
            tree_digest: manifest.digest(),
            manifest,
            is_active: true,
            needs: Vec::new(),
            disallowed: parsed.as_ref().and_then(metier_skill::Skill::disallowed_tools),
            allowed: parsed.and_then(|skill| skill.allowed_tools),
        }
    }

    /// The text of its `SKILL.md`; invalid UTF-8 is replaced.
    pub fn text(&self) -> Cow<'_, str> {
        // Most files are valid UTF-8, and this check is faster.
        std::str::from_utf8(&self.skill_md)
            .map_or_else(|_| String::from_utf8_lossy(&self.skill_md), Cow::Borrowed)
    }

    /// The body in its wrapper, as it was given to the model.
    pub fn content(&self, most_listed: usize) -> String {
        let around = Around {
            name: &self.name,
            directory: &self.directory,
            tier: self.tier,
            manifest: &self.manifest,
            needs: &self.needs,
            most_listed,
        };
        content::render(body_of(&self.text()).trim_start_matches(['\n', '\r']), &around)
    }

    /// The skill with its tool rules.
    pub(crate) fn as_active(&self, places: &Anchors) -> GuardedSkill {
        let places = places.clone().with_skill(&self.directory);
        let mut active = GuardedSkill::new(&self.name, self.tier);
        active.allowed = self.allowed.as_ref().map(|rules| Allowlist::new(rules, &places));
        active.denied = self.disallowed.as_ref().map(|rules| Denylist::new(rules, &places));
        active
    }

    /// Whether it declares any tool rules.
    pub(crate) fn has_rules(&self) -> bool {
        self.allowed.is_some() || self.disallowed.is_some()
    }
}

/// A directory as an absolute path without `.` and `..`; links are not resolved.
fn plain(path: &Path) -> PathBuf {
    let is_plain = |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
    if path.is_absolute() && path.components().all(is_plain) {
        return path.components().collect();
    }
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Parses a `SKILL.md` that has changed since the scan. It must still be valid and have the same name.
fn read_again(entry: &Entry, bytes: &[u8], rules: &Rules) -> Result<Skill, SessionError> {
    let directory = entry.path().file_name().map(std::ffi::OsStr::to_string_lossy);
    let origin = Origin { file: "SKILL.md", directory: directory.as_deref() };
    let reading = read(bytes, origin, rules);
    let invalid = |reason: String| SessionError::Invalid { name: entry.name().to_owned(), reason };
    if let Some(error) = reading.diagnostics.iter().find(|found| found.is_error()) {
        return Err(invalid(format!("it has changed since the scan and is now invalid: {}", error.message)));
    }
    let skill = reading.skill.ok_or_else(|| invalid("`SKILL.md` is empty".to_owned()))?;
    if skill.id.as_str() != entry.name() {
        return Err(invalid(format!("it has changed since the scan and is now named `{}`", skill.id)));
    }
    Ok(skill)
}
