//! What can go wrong with a store.

use std::io;
use std::path::PathBuf;

use metier_skill::Digest;

/// Why something cannot be kept or had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// It was never kept, or is gone.
    #[error("the store {} does not have {digest}", store.display())]
    Missing {
        /// The store.
        store: PathBuf,
        /// What is missing.
        digest: Digest,
    },
    /// What is kept under a digest is not what has that digest.
    #[error("{} was changed: it should have the digest {digest}; remove it, or put back what it was", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// What it should be.
        digest: Digest,
    },
    /// What is kept is no manifest of a skill.
    #[error("{digest} is kept, and is no skill")]
    NotASkill {
        /// What was asked for.
        digest: Digest,
    },
    /// The disk.
    #[error("cannot {doing} {}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl StoreError {
    /// The stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "store-missing",
            Self::Changed { .. } => "store-changed",
            Self::NotASkill { .. } => "store-not-a-skill",
            Self::Io { .. } => "store-io",
        }
    }
}
