//! The data that a catalog keeps of a `SKILL.md`: everything except the body.

use std::sync::Arc;

use metier_skill::{
    Code, Diagnostic, Digest, Origin, Profile, Reading, Rules, Severity, Skill, ToolRules, read,
};
use serde::{Deserialize, Serialize};

use crate::problem::Fault;

/// What a catalog knows about one skill from its `SKILL.md` alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SkillFacts {
    /// The name under which the skill is known.
    pub name: Arc<str>,
    /// What it does and when to use it.
    pub description: Box<str>,
    /// The licence.
    pub license: Option<Box<str>>,
    /// What it needs to work.
    pub compatibility: Option<Box<str>>,
    /// The values under `metadata`, as text.
    pub metadata: Box<[(Box<str>, Box<str>)]>,
    /// The tools that it declares; `None` if it declares none.
    pub allowed_tools: Option<ToolRules>,
    /// The tools that it disallows (`disallowed-tools`); `None` if it disallows none.
    pub disallowed_tools: Option<ToolRules>,
    /// Its version.
    pub version: Option<Box<str>>,
    /// Whether its author hides it from models (`disable-model-invocation`), or has not written its description yet.
    pub is_hidden_from_models: bool,
    /// Whether users may call it by name (`user-invocable`).
    pub is_user_invocable: bool,
    /// The digest of the bytes from which this was read.
    #[serde(with = "digest_bytes")]
    pub skill_md_digest: Digest,
}

impl SkillFacts {
    /// A value under `metadata`.
    pub fn metadata(&self, key: &str) -> Option<&str> {
        self.metadata.iter().find(|(other, _)| &**other == key).map(|(_, value)| &**value)
    }

    /// The skills that it depends on, as its author wrote them.
    pub fn requires(&self) -> Option<&str> {
        // A mapping under `requires` is about the machine, not about skills.
        self.metadata("requires").filter(|text| !text.trim_start().starts_with('{'))
    }

    fn of(skill: Skill, digest: Digest) -> Self {
        let metadata = skill.metadata_text().into_iter().map(|(key, value)| (key.into(), value.into()));
        Self {
            metadata: metadata.collect(),
            version: skill.version().map(Into::into),
            is_hidden_from_models: skill.is_hidden_from_models() || skill.has_template_description(),
            is_user_invocable: skill.is_user_invocable(),
            disallowed_tools: skill.disallowed_tools(),
            allowed_tools: skill.allowed_tools,
            name: skill.id.as_str().into(),
            description: skill.description.into(),
            license: skill.license.map(Into::into),
            compatibility: skill.compatibility.map(Into::into),
            skill_md_digest: digest,
        }
    }
}

/// Stores a digest as bytes in the index, half the size of its text.
mod digest_bytes {
    use metier_skill::Digest;
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(digest: &Digest, serializer: S) -> Result<S::Ok, S::Error> {
        crate::bytes::serialize(digest.as_bytes(), serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
        crate::bytes::deserialize(deserializer).map(Digest::from_bytes)
    }
}

/// The result of reading one `SKILL.md`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Outcome {
    /// A usable skill, with the problem for which other clients reject it, if any.
    Skill(Arc<SkillFacts>, Option<Arc<Fault>>),
    /// An unusable skill. Its content is kept as far as it can be read, so that users who search for it see
    /// what is wrong.
    Broken(Arc<Fault>, Option<Arc<SkillFacts>>),
}

impl Outcome {
    /// Reads the bytes of the `SKILL.md` in a directory with this name.
    pub(crate) fn of_bytes(bytes: Vec<u8>, directory: &str, rules: &Rules) -> Self {
        let digest = Digest::of(&bytes);
        Self::of_reading(read(bytes, Origin::directory(directory), rules), digest)
    }

    pub(crate) fn of_reading(reading: Reading, digest: Digest) -> Self {
        let found = reading.diagnostics.iter();
        let fault = Fault::of(found.clone().filter(|found| found.is_error()));
        let is_refused =
            |found: &&Diagnostic| found.code.severity(Profile::Standard) == Some(Severity::Error);
        let warning = Fault::of(found.filter(is_refused)).map(Arc::new);
        let facts = reading.skill.map(|skill| Arc::new(SkillFacts::of(skill, digest)));
        match (fault, facts) {
            (None, Some(facts)) => Self::Skill(facts, warning),
            (Some(fault), facts) => Self::Broken(Arc::new(fault), facts),
            (None, None) => {
                let message = "the file could not be read".into();
                let fault = Fault { code: Code::SkillMdMissing, message, others: Box::default() };
                Self::Broken(Arc::new(fault), None)
            }
        }
    }
}
