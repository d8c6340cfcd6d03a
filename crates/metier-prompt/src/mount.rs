//! Skills that an agent is to find in its home or workspace: which, under what name, and where from.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use metier_skill::{Digest, effective_name};

use crate::error::{PromptError, RefReason};
use crate::path::SectionPath;

/// A skill to be mounted. Nothing is looked at before it is.
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
    /// A directory, its `SKILL.md`, or a markdown file that stands for one.
    Path(PathBuf),
    /// The text of a `SKILL.md` that is all there is of the skill.
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

    /// The skill whose `SKILL.md` this is.
    pub fn from_text(name: impl Into<String>, skill_md: impl Into<String>) -> Self {
        Self {
            source: MountSource::SkillMd(skill_md.into()),
            name: Some(name.into()),
            is_enabled: true,
            tree_digest: None,
        }
    }

    /// The same under another name.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// The same, on or off. What is off is not looked at, and in nobody's way.
    #[must_use]
    pub fn enabled(self, is_enabled: bool) -> Self {
        Self { is_enabled, ..self }
    }

    /// The same, mounted only if its content has this digest. Use it when the skill was checked before: content that changed in
    /// between is not mounted.
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

    /// Whether it is on.
    pub fn is_enabled(&self) -> bool {
        self.is_enabled
    }

    /// The name that it was given, if any.
    pub fn explicit_name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// What it is mounted as: the name that it was given, else that of its directory or file.
    pub fn effective_name(&self) -> Option<String> {
        match (&self.name, &self.source) {
            (Some(name), _) => Some(name.clone()),
            (None, MountSource::Path(path)) => effective_name(path),
            (None, MountSource::SkillMd(_)) => None,
        }
    }
}

/// A skill that a rendered prompt wants mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RenderedSkill {
    /// What it is mounted as.
    pub name: Arc<str>,
    /// The section that wants it.
    pub section: SectionPath,
    /// How it came into the prompt.
    pub kind: SkillKind,
    /// The skill.
    pub mount: Arc<SkillMount>,
    /// The directory of the workspace that it goes into; `None` for where the agent looks for skills.
    pub mount_path: Option<Arc<str>>,
}

/// How a skill came into a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SkillKind {
    /// Attached to a section.
    Attached,
    /// Written in the prompt.
    Inline,
    /// Referred to by its path.
    Referenced,
    /// Found in a directory or a catalog.
    Discovered,
}

/// A skill that was read for a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadSkill {
    /// Its name, by its frontmatter.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// Its instructions.
    pub body: String,
    /// The directory that it is in.
    pub directory: PathBuf,
}

/// What reads the skills that a prompt refers to. Prompts touch no disk themselves.
pub trait SkillReader: Send + Sync {
    /// The valid skill in the directory at a path.
    fn read(&self, path: &Path) -> Result<ReadSkill, RefProblem>;
}

/// What is wrong where a reference leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefProblem {
    /// The path, as it was looked at.
    pub path: PathBuf,
    /// What.
    pub reason: RefReason,
    /// More about it.
    pub details: Option<String>,
}

impl From<RefProblem> for PromptError {
    fn from(problem: RefProblem) -> Self {
        Self::SkillRef { source_path: problem.path, reason: problem.reason, details: problem.details }
    }
}
