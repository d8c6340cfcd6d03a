//! One skill of a catalog: what it says, where it is, how far it is trusted, whether it is on.

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

/// Which skill is meant: `<tier>/<name>`. Where several of one tier have one name, those that do not win have
/// `~2`, `~3` and so on after it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SkillId {
    pub(crate) tier: Tier,
    pub(crate) name: Arc<str>,
    /// From 1.
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

    /// Takes the text of an id apart.
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

/// One place that a skill was found at.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkillPlace {
    /// The skill's directory as it was found. For a skill inside the binary, `builtin:` and its name.
    pub path: PathBuf,
    /// Where the directory really is, if `path` is a link.
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
    /// The very one.
    pub id: SkillId,
    /// What its `SKILL.md` says.
    pub facts: Arc<SkillFacts>,
    /// Whether it is on.
    pub state: State,
    /// The skill of the same name that wins over this one.
    pub shadowed_by: Option<SkillId>,
    /// When `SKILL.md` was last modified, where that is known.
    pub modified: Option<SystemTime>,
    /// Where it is: the place that counts, then those of identical copies.
    pub(crate) places: Vec<SkillPlace>,
    pub(crate) builtin: Option<&'static Builtin>,
}

/// What models are shown of one skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listing<'a> {
    /// The skill.
    pub entry: &'a Entry,
    /// What it does and when to use it; `None` where only its name is shown.
    pub description: Option<&'a str>,
}

impl<'a> Listing<'a> {
    /// The skill's name.
    pub fn name(&self) -> &'a str {
        self.entry.name()
    }

    /// What it does and when to use it; empty where only its name is shown.
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

    /// How far it is trusted.
    pub fn tier(&self) -> Tier {
        self.id.tier
    }

    /// Where it applies.
    pub fn scope(&self) -> Scope {
        self.places.first().map_or(Scope::System, |place| place.scope)
    }

    /// The skill's directory. For a skill inside the binary, `builtin:` and its name; see [`Entry::builtin`].
    pub fn path(&self) -> &Path {
        self.places.first().map_or(Path::new(""), |place| &place.path)
    }

    /// The directory without a link in its last part.
    pub fn real_path(&self) -> &Path {
        let place = self.places.first();
        place.and_then(|place| place.target.as_deref()).unwrap_or_else(|| self.path())
    }

    /// Where it is: the place that counts, then those of identical copies.
    pub fn places(&self) -> &[SkillPlace] {
        &self.places
    }

    /// The skill inside the binary, if it is one of those.
    pub fn builtin(&self) -> Option<&'static Builtin> {
        self.builtin
    }

    /// Whether it is not off.
    pub fn is_enabled(&self) -> bool {
        self.state != State::Off
    }

    /// What models are shown of it, if anything: nothing of a skill that is off or `user-only`, no description of one that is
    /// `name-only`.
    pub fn listing(&self) -> Option<Listing<'_>> {
        let description = (self.state == State::On).then(|| self.description());
        self.state.is_for_models().then_some(Listing { entry: self, description })
    }

    /// The name of its file in its directory, `SKILL.md` but for the few that are called `skill.md`.
    pub fn file_name(&self) -> &'static str {
        // Only what is not simply a `SKILL.md` has no time; looking at each would take as long as all the rest.
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
