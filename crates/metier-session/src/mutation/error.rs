//! What keeps a file gateway from being opened.

use std::io;
use std::path::PathBuf;

use metier_skill::Coded;

/// Why a file gateway cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MutationError {
    /// The directory of the documents cannot be opened.
    #[error("the documents in `{}` cannot be used", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The directory of the gateway itself cannot be opened, read or written.
    #[error("the state of the mutation gateway in `{}` cannot be used", path.display())]
    State {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file cannot be moved from the one directory to the other in one step.
    #[error(
        "`{}` and `{}` are in different file systems; the state must be in that of the documents, and may be beneath them",
        state.display(), directory.display()
    )]
    FileSystem {
        /// The documents.
        directory: PathBuf,
        /// The state.
        state: PathBuf,
    },
    /// Documents would be kept among the gateway's own files.
    #[error("`{}` cannot have both the documents and the state of the mutation gateway", path.display())]
    SamePlace {
        /// The directory.
        path: PathBuf,
    },
    /// A change was interrupted, and can be neither completed nor taken back.
    #[error("an interrupted change can be neither completed nor taken back; what it replaced is in `{}`", path.display())]
    Interrupted {
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Coded for MutationError {
    fn code(&self) -> &'static str {
        match self {
            Self::Directory { .. } => "mutation-directory",
            Self::State { .. } => "mutation-state",
            Self::FileSystem { .. } => "mutation-file-system",
            Self::SamePlace { .. } => "mutation-same-place",
            Self::Interrupted { .. } => "mutation-interrupted",
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::SamePlace { .. } => Some("choose a directory of its own for the state".to_owned()),
            Self::Interrupted { .. } => Some(
                "compare the documents with what was replaced, restore what is right, then remove it"
                    .to_owned(),
            ),
            Self::Directory { .. } | Self::State { .. } | Self::FileSystem { .. } => None,
        }
    }
}
