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
    /// What an agent passed to a hook cannot be read.
    #[error("the input of the {agent} hook `{event}` cannot be read: {reason}")]
    Input {
        /// The agent.
        agent: &'static str,
        /// The event.
        event: String,
        /// What is wrong.
        reason: String,
    },
    /// The state of a conversation cannot be read or written.
    #[error("cannot {action} the state of the conversation in {}", path.display())]
    Io {
        /// What was tried: `read`, `write`.
        action: &'static str,
        /// The directory of the state, or the directory of all states.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The state of a conversation is not as it was written.
    #[error("the state of the conversation in {} is damaged: {reason}", path.display())]
    State {
        /// The directory of the state.
        path: PathBuf,
        /// What is wrong.
        reason: String,
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
            Self::Input { .. } => "guard-input",
            Self::Io { .. } => "guard-io",
            Self::State { .. } => "guard-state",
            Self::Context { .. } => "guard-context",
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::State { .. } => {
                Some("`metier guard deactivate` removes it, and with it the rules of its skills".to_owned())
            }
            _ => None,
        }
    }
}
