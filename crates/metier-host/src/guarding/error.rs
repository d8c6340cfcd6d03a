//! The errors of installing and removing the guard.

use std::path::PathBuf;

use metier_guard::JsoncError;
use metier_skill::Coded;

/// Why the guard cannot be installed, removed or looked at.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GuardInstallError {
    /// The agent is not installed.
    #[error("{title} is not installed (`{program}` not found in PATH)")]
    NoAgent {
        /// The agent.
        title: &'static str,
        /// Its program.
        program: &'static str,
    },
    /// The agent did not print a version.
    #[error("`{} --version` printed no version, so it is not known whether {title} calls hooks", program.display())]
    NoVersion {
        /// The agent.
        title: &'static str,
        /// Its program.
        program: PathBuf,
    },
    /// The agent is older than what the guard was measured with.
    #[error("{title} {found} is too old for the guard, which was tested with {measured} and later")]
    TooOld {
        /// The agent.
        title: &'static str,
        /// Its version.
        found: String,
        /// The first version that is known to work.
        measured: &'static str,
    },
    /// A settings file of the agent cannot be parsed.
    #[error("cannot edit {}, which is left as it is", path.display())]
    Settings {
        /// The file.
        path: PathBuf,
        /// Where and why.
        source: JsoncError,
    },
    /// A symlink does not lead to a file.
    #[error("{} is a symlink to something that does not exist", path.display())]
    Dangling {
        /// The link.
        path: PathBuf,
    },
    /// A symlink in a project leads out of it.
    #[error("{} leads out of the project, to {}", path.display(), target.display())]
    LeadsOutside {
        /// The file in the project.
        path: PathBuf,
        /// Where it leads.
        target: PathBuf,
    },
    /// A file has hard links, which would keep the old content.
    #[error("{} has hard links that would keep the old content", path.display())]
    HardLinks {
        /// The file.
        path: PathBuf,
    },
    /// A file was changed by another program meanwhile.
    #[error("{} was changed by another program at the same time", path.display())]
    ChangedMeanwhile {
        /// The file.
        path: PathBuf,
    },
    /// A file that metier wrote was changed by hand.
    #[error("{} was written by metier and changed since", path.display())]
    ChangedSince {
        /// The file.
        path: PathBuf,
    },
}

impl Coded for GuardInstallError {
    fn code(&self) -> &'static str {
        match self {
            Self::NoAgent { .. } => "agent-not-found",
            Self::NoVersion { .. } | Self::TooOld { .. } => "guard-agent-version",
            Self::Settings { .. } => "guard-settings",
            Self::Dangling { .. } | Self::LeadsOutside { .. } | Self::HardLinks { .. } => {
                "guard-settings-link"
            }
            Self::ChangedMeanwhile { .. } | Self::ChangedSince { .. } => "guard-settings-changed",
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoAgent { .. } => "install it first, or correct PATH".to_owned(),
            Self::NoVersion { .. } => "correct the installation, or use `--any-version`".to_owned(),
            Self::TooOld { .. } => {
                "update it, or use `--any-version`: it may then call no hooks, or ignore their answers"
                    .to_owned()
            }
            Self::Settings { .. } => "correct the file, then run the command again".to_owned(),
            Self::Dangling { .. } => "create what it leads to, or remove the symlink".to_owned(),
            Self::LeadsOutside { .. } => "replace the symlink with the file that it leads to".to_owned(),
            Self::HardLinks { .. } => "replace it with a file of its own".to_owned(),
            Self::ChangedMeanwhile { .. } => "run the command again".to_owned(),
            Self::ChangedSince { .. } => "look at it, and remove it if nothing in it is needed".to_owned(),
        })
    }
}
