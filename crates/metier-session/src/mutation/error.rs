//! Errors when opening a file gateway.

use std::io;
use std::path::PathBuf;

use metier_skill::Coded;

/// Why a file gateway cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MutationError {
    /// The directory of the documents cannot be opened.
    #[error("cannot use the documents in `{}`", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The gateway's own directory cannot be opened, read or written.
    #[error("cannot use the state of the mutation gateway in `{}`", path.display())]
    State {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Files cannot be moved atomically between the two directories.
    #[error(
        "`{}` and `{}` are on different file systems; the state must be on the file system of the documents, and may be inside their directory",
        state.display(), directory.display()
    )]
    FileSystem {
        /// The documents.
        directory: PathBuf,
        /// The state.
        state: PathBuf,
    },
    /// The documents and the state are in the same directory.
    #[error("`{}` cannot hold both the documents and the state of the mutation gateway", path.display())]
    SamePlace {
        /// The directory.
        path: PathBuf,
    },
    /// An interrupted change can be neither completed nor undone.
    #[error("an interrupted change can be neither completed nor undone; the replaced content is in `{}`", path.display())]
    Interrupted {
        /// The directory.
        path: PathBuf,
        /// The system's error.
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
            Self::SamePlace { .. } => Some("choose a separate directory for the state".to_owned()),
            Self::Interrupted { .. } => Some(
                "compare the documents with the replaced content, restore the correct version, then remove it"
                    .to_owned(),
            ),
            Self::Directory { .. } | Self::State { .. } | Self::FileSystem { .. } => None,
        }
    }
}
