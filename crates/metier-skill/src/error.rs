//! Errors that stop an operation on a skill. Findings about its content are [`Diagnostic`](crate::Diagnostic)s.

use std::io;
use std::path::PathBuf;

use crate::{Coded, Diagnostic};

/// Why an operation on one skill failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SkillError {
    /// Nothing exists at the path.
    #[error("skill not found: {} does not exist", path.display())]
    NotFound {
        /// The path as given by the caller.
        path: PathBuf,
    },
    /// The skill is invalid. Only operations that need a valid skill return this.
    #[error("{} is not a valid skill: {}", path.display(), first_error(diagnostics))]
    Validation {
        /// The path as given by the caller.
        path: PathBuf,
        /// All findings, including warnings.
        diagnostics: Vec<Diagnostic>,
    },
    /// The skill exceeds a limit.
    #[error("{} has {what}", path.display())]
    Limit {
        /// The skill's directory.
        path: PathBuf,
        /// Which limit was exceeded, with its value.
        what: String,
    },
    /// A file was replaced or removed while the skill was being read.
    #[error("{} changed while the skill was being read", path.display())]
    Changing {
        /// The file.
        path: PathBuf,
    },
    /// Reading failed.
    #[error("cannot read {}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
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
            Self::NotFound { .. } => {
                "check the path; a skill is a directory that contains a SKILL.md".to_owned()
            }
            Self::Validation { path, .. } => {
                format!("run `metier validate {}` to see every finding", path.display())
            }
            Self::Limit { .. } => "remove files that the skill does not need, or raise the limit".to_owned(),
            Self::Changing { .. } => "stop other programs from writing to the skill and try again".to_owned(),
            Self::Io { .. } => {
                "check that the file exists and that you have permission to read it".to_owned()
            }
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
