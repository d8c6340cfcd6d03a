//! Skills to mount in an agent's home or workspace: which, under what name, and from where.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use metier_skill::{Digest, effective_name};

use crate::error::{PromptError, RefReason};
use crate::path::SectionPath;

/// A skill to mount. It is not read before it is mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillMount {
    source: MountSource,
    name: Option<String>,
    is_enabled: bool,
    tree_digest: Option<Digest>,
}

/// Where a mounted skill comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MountSource {
    /// A directory, its `SKILL.md`, or a single Markdown file.
    Path(PathBuf),
    /// The text of a `SKILL.md` without other files.
    SkillMd(String),
}

impl SkillMount {
    /// The skill at a path.
    ///
    /// ```
    /// use metier_prompt::SkillMount;
    ///
    /// assert_eq!(SkillMount::new("skills/testing.md").effective_name().as_deref(), Some("testing"));
    /// assert_eq!(SkillMount::new("skills/a/SKILL.md").named("b").effective_name().as_deref(), Some("b"));
    /// ```
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { source: MountSource::Path(path.into()), name: None, is_enabled: true, tree_digest: None }
    }

    /// The skill with this `SKILL.md`.
    pub fn from_text(name: impl Into<String>, skill_md: impl Into<String>) -> Self {
        Self {
            source: MountSource::SkillMd(skill_md.into()),
            name: Some(name.into()),
            is_enabled: true,
            tree_digest: None,
        }
    }

    /// Mounts it under another name.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// Enables or disables the mount. A disabled mount is not read and conflicts with nothing.
    #[must_use]
    pub fn enabled(self, is_enabled: bool) -> Self {
        Self { is_enabled, ..self }
    }

    /// Mounts it only if its content has this digest. Use it when the skill was checked before, so that later
    /// changes are not mounted.
    #[must_use]
    pub fn expecting(self, tree_digest: Digest) -> Self {
        Self { tree_digest: Some(tree_digest), ..self }
    }

    /// The digest that its content must have, if any.
    pub fn expected_digest(&self) -> Option<Digest> {
        self.tree_digest
    }

    /// Where it comes from.
    pub fn source(&self) -> &MountSource {
        &self.source
    }

    /// Whether it is enabled.
    pub fn is_enabled(&self) -> bool {
        self.is_enabled
    }

    /// The name it was given, if any.
    pub fn explicit_name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The name it is mounted under: the given name, or that of its directory or file.
    pub fn effective_name(&self) -> Option<String> {
        match (&self.name, &self.source) {
            (Some(name), _) => Some(name.clone()),
            (None, MountSource::Path(path)) => effective_name(path),
            (None, MountSource::SkillMd(_)) => None,
        }
    }
}

/// A skill that a rendered prompt requests to mount.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RenderedSkill {
    /// The name it is mounted under.
    pub name: Arc<str>,
    /// The section that requests it.
    pub section: SectionPath,
    /// How it became part of the prompt.
    pub kind: SkillKind,
    /// The skill.
    pub mount: Arc<SkillMount>,
    /// The workspace directory that it is mounted in; `None` for the place where the agent looks for skills.
    pub mount_path: Option<Arc<str>>,
}

/// How a skill became part of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SkillKind {
    /// Attached to a section.
    Attached,
    /// Its text is part of the prompt.
    Inline,
    /// Referenced by its path.
    Referenced,
    /// Discovered in a directory or catalog.
    Discovered,
}

impl SkillKind {
    /// In messages and JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Attached => "attached",
            Self::Inline => "inline",
            Self::Referenced => "referenced",
            Self::Discovered => "discovered",
        }
    }
}

/// A skill that was read for a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadSkill {
    /// The name in its frontmatter.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// Its instructions.
    pub body: String,
    /// Its directory.
    pub directory: PathBuf,
}

/// Reads the skills that a prompt references. Prompts do not access the disk themselves.
pub trait SkillReader: Send + Sync {
    /// Reads the valid skill in the directory at a path.
    fn read(&self, path: &Path) -> Result<ReadSkill, RefProblem>;
}

/// Why a referenced skill cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefProblem {
    /// The path that was read.
    pub path: PathBuf,
    /// The reason.
    pub reason: RefReason,
    /// Details.
    pub details: Option<String>,
}

impl From<RefProblem> for PromptError {
    fn from(problem: RefProblem) -> Self {
        Self::SkillRef { source_path: problem.path, reason: problem.reason, details: problem.details }
    }
}
