//! What keeps a search from being prepared, or its index from being kept.

use std::io;
use std::path::PathBuf;

use metier_skill::Coded;

/// Why a catalog could not be made ready for searching, or what was prepared could not be kept on disk.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// The index would be larger than the numbers in it can say.
    #[error("the skills have more text than one search index can hold (4 GiB)")]
    TooLarge,
    /// The index could not be written. Searching goes on without it; see
    /// [`Search::not_kept`](crate::Search::not_kept).
    #[error("cannot write {}", path.display())]
    Write {
        /// The directory that the index was to be kept in.
        path: PathBuf,
        /// What the system said.
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
            Self::TooLarge => "search fewer roots at a time",
            Self::Write { .. } => {
                "make the directory writable and free space on its disk, or use another one"
            }
        };
        Some(hint.to_owned())
    }
}
