//! One skill of a catalog: its content, location, tier and state.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use metier_skill::SKILL_FILES;
use serde::{Serialize, Serializer};

use crate::builtin::Builtin;
use crate::record::SkillFacts;
use crate::{Scope, State, Tier};

/// Identifies a skill: `<tier>/<name>`. If several skills of one tier have the same name, all except the winner
/// get a suffix: `~2`, `~3` and so on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SkillId {
    pub(crate) tier: Tier,
    pub(crate) name: Arc<str>,
    /// Counted from 1.
    pub(crate) copy: usize,
}

impl SkillId {
    /// The tier.
    pub fn tier(&self) -> Tier {
        self.tier
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Splits the text of an id.
    pub(crate) fn split(text: &str) -> Option<(Tier, &str, usize)> {
        let (tier, name) = text.split_once('/')?;
        let (name, copy) = match name.split_once('~') {
            Some((name, copy)) => (name, copy.parse().ok()?),
            None => (name, 1),
        };
        Some((tier.parse().ok()?, name, copy))
    }
}

impl fmt::Display for SkillId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.tier, self.name)?;
        if self.copy > 1 { write!(f, "~{}", self.copy) } else { Ok(()) }
    }
}

impl Serialize for SkillId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// One location at which a skill was found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkillPlace {
    /// The skill's directory as it was found. For a built-in skill, `builtin:` and its name.
    pub path: PathBuf,
    /// The directory that `path` links to, if it is a link.
    pub target: Option<PathBuf>,
    /// The tier of its root.
    pub tier: Tier,
    /// The scope of its root.
    pub scope: Scope,
}

/// One skill of a catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// The unique id.
    pub id: SkillId,
    /// The content of its `SKILL.md`.
    pub facts: Arc<SkillFacts>,
    /// Whether it is enabled, and for whom.
    pub state: State,
    /// The skill of the same name that takes precedence over this one.
    pub shadowed_by: Option<SkillId>,
    /// When `SKILL.md` was last modified, if known.
    pub modified: Option<SystemTime>,
    /// Its locations: the effective one first, then those of identical copies.
    pub(crate) places: Vec<SkillPlace>,
    pub(crate) builtin: Option<&'static Builtin>,
}

/// What models see of one skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listing<'a> {
    /// The skill.
    pub entry: &'a Entry,
    /// What it does and when to use it; `None` if only its name is shown.
    pub description: Option<&'a str>,
}

impl<'a> Listing<'a> {
    /// The skill's name.
    pub fn name(&self) -> &'a str {
        self.entry.name()
    }

    /// What it does and when to use it; empty if only its name is shown.
    pub fn description(&self) -> &'a str {
        self.description.unwrap_or_default()
    }
}

impl Entry {
    /// The name.
    pub fn name(&self) -> &str {
        &self.facts.name
    }

    /// What it does and when to use it.
    pub fn description(&self) -> &str {
        &self.facts.description
    }

    /// Its trust tier.
    pub fn tier(&self) -> Tier {
        self.id.tier
    }

    /// The scope in which it applies.
    pub fn scope(&self) -> Scope {
        self.places.first().map_or(Scope::System, |place| place.scope)
    }

    /// The skill's directory. For a built-in skill, `builtin:` and its name; see [`Entry::builtin`].
    pub fn path(&self) -> &Path {
        self.places.first().map_or(Path::new(""), |place| &place.path)
    }

    /// The directory after following a link in its last component.
    pub fn real_path(&self) -> &Path {
        let place = self.places.first();
        place.and_then(|place| place.target.as_deref()).unwrap_or_else(|| self.path())
    }

    /// Its locations: the effective one first, then those of identical copies.
    pub fn places(&self) -> &[SkillPlace] {
        &self.places
    }

    /// The built-in skill, if it is one.
    pub fn builtin(&self) -> Option<&'static Builtin> {
        self.builtin
    }

    /// Whether it is enabled for models or users.
    pub fn is_enabled(&self) -> bool {
        self.state != State::Off
    }

    /// What models see of the skill: `None` for the states `off` and `user-only`, and no description for
    /// `name-only`.
    pub fn listing(&self) -> Option<Listing<'_>> {
        let description = (self.state == State::On).then(|| self.description());
        self.state.is_for_models().then_some(Listing { entry: self, description })
    }

    /// The name of its file: `SKILL.md`, or `skill.md` for a few skills.
    pub fn file_name(&self) -> &'static str {
        // Only a file that is not a plain `SKILL.md` has no time. Checking every skill would take as long as
        // the rest of the scan.
        match self.modified {
            None if self.path().join(SKILL_FILES[1]).is_file() => SKILL_FILES[1],
            _ => SKILL_FILES[0],
        }
    }

    /// The path as text.
    pub fn path_text(&self) -> Cow<'_, str> {
        self.path().to_string_lossy()
    }
}
