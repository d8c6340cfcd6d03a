//! The errors of the guard. To an agent, each of them is a refusal.

use std::path::PathBuf;

use metier_skill::Coded;

/// Why a hook cannot be answered or installed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GuardError {
    /// A path is not text, and settings of agents are.
    #[error("{} is not UTF-8, so it cannot be in an agent's settings", path.display())]
    NotText {
        /// The path.
        path: PathBuf,
    },
    /// The description of a run's home is not valid.
    #[error("{}: {reason}", path.display())]
    Context {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

impl Coded for GuardError {
    fn code(&self) -> &'static str {
        match self {
            Self::NotText { .. } => "guard-path",
            Self::Context { .. } => "guard-context",
        }
    }
}
