//! References to skills in directories.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::error::PromptError;
use crate::mount::{ReadSkill, SkillReader};

/// A reference to a skill's directory. It is read when the prompt is built, or when it is first enabled.
#[derive(Clone)]
pub struct SkillRef {
    path: PathBuf,
    base: Option<PathBuf>,
    enabled: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
}

impl SkillRef {
    /// A reference to the skill in this directory. A relative path is resolved against its base, or else by the
    /// prompt's reader.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), base: None, enabled: None }
    }

    /// Sets the directory that a relative path is resolved against.
    #[must_use]
    pub fn base(self, base: impl Into<PathBuf>) -> Self {
        Self { base: Some(base.into()), ..self }
    }

    /// Sets a predicate that decides whether the skill exists. While it does not, its directory is not read.
    #[must_use]
    pub fn enabled(self, predicate: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { enabled: Some(Arc::new(predicate)), ..self }
    }

    /// Whether its predicate says that it exists; without one it does.
    pub fn is_enabled(&self) -> bool {
        self.enabled.as_ref().is_none_or(|enabled| enabled())
    }

    /// Its directory, below its base. Without a base, a relative path stays relative: the reader resolves it.
    ///
    /// ```
    /// use metier_prompt::SkillRef;
    ///
    /// let skill = SkillRef::new("skills/pdf").base("/srv");
    /// assert_eq!(skill.resolved_path(), std::path::Path::new("/srv/skills/pdf"));
    /// ```
    pub fn resolved_path(&self) -> PathBuf {
        self.base.as_ref().map_or_else(|| self.path.clone(), |base| base.join(&self.path))
    }

    /// Reads the skill as it is now: its name, its description and its directory. What is missing or not valid is an
    /// error, as it is when the prompt is built.
    pub fn read(&self, reader: &dyn SkillReader) -> Result<ReadSkill, PromptError> {
        Ok(reader.read(&self.resolved_path())?)
    }
}

impl fmt::Debug for SkillRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SkillRef").field("path", &self.resolved_path()).finish_non_exhaustive()
    }
}
