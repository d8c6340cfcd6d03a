//! What stops an operation on a skill. What is merely wrong with a skill is a [`Diagnostic`](crate::Diagnostic).

use std::io;
use std::path::PathBuf;

use crate::{Coded, Diagnostic};

/// Why an operation on one skill could not be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SkillError {
    /// There is nothing at the path.
    #[error("skill not found: there is nothing at {}", path.display())]
    NotFound {
        /// The path as it was given.
        path: PathBuf,
    },
    /// The skill breaks rules; only operations that need a valid skill say so this way.
    #[error("{} is not a valid skill: {}", path.display(), first_error(diagnostics))]
    Validation {
        /// The path as it was given.
        path: PathBuf,
        /// All findings, warnings too.
        diagnostics: Vec<Diagnostic>,
    },
    /// The skill is larger than the limits allow.
    #[error("{} has {what}", path.display())]
    Limit {
        /// The skill's directory.
        path: PathBuf,
        /// What there is too much of, with the limit.
        what: String,
    },
    /// A file was replaced or removed while the skill was being read.
    #[error("{} changes while the skill is being read; try again", path.display())]
    Changing {
        /// The file.
        path: PathBuf,
    },
    /// Reading failed.
    #[error("cannot read {}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Coded for SkillError {
    fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "skill-not-found",
            Self::Validation { .. } => "skill-validation",
            Self::Limit { .. } => "skill-limit",
            Self::Changing { .. } => "skill-changing",
            Self::Io { .. } => "skill-io",
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotFound { .. } => "check the path; a skill is a directory with a SKILL.md".to_owned(),
            Self::Validation { path, .. } => {
                format!("run `metier validate {}` to see every finding", path.display())
            }
            Self::Limit { .. } => "remove files that the skill does not need, or raise the limit".to_owned(),
            Self::Changing { .. } => "try again when no other program writes to the skill".to_owned(),
            Self::Io { .. } => "check that the file exists and that you may read it".to_owned(),
        })
    }
}

impl SkillError {
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| match source.kind() {
            io::ErrorKind::NotFound => Self::NotFound { path },
            _ => Self::Io { path, source },
        }
    }
}

fn first_error(diagnostics: &[Diagnostic]) -> &str {
    diagnostics.iter().find(|found| found.is_error()).map_or("no finding", |found| &found.message)
}
