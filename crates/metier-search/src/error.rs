//! Errors in preparing a search or storing its index.

use std::io;
use std::path::PathBuf;

use metier_skill::Coded;

/// Why a search could not be prepared, or its index could not be stored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// The index would exceed the range of its numbers.
    #[error("the text of the skills exceeds the limit of a search index (4 GiB)")]
    TooLarge,
    /// The index could not be written. Searching works without it; see
    /// [`Search::not_kept`](crate::Search::not_kept).
    #[error("cannot write {}", path.display())]
    Write {
        /// The directory for the index.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl Coded for SearchError {
    fn code(&self) -> &'static str {
        match self {
            Self::TooLarge => "search-too-large",
            Self::Write { .. } => "search-write",
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::TooLarge => "search fewer roots at once",
            Self::Write { .. } => "make the directory writable and free disk space, or use another directory",
        };
        Some(hint.to_owned())
    }
}
