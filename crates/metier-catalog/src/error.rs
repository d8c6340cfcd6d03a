//! Errors that stop an operation on a catalog. Problems with one skill or root are [`Problem`](crate::Problem)s
//! and stop nothing.

use std::io;
use std::path::PathBuf;

use metier_skill::{Coded, ParseTierError};

use crate::Tier;

/// Why an operation on a catalog failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogError {
    /// The text is not a tier.
    #[error(transparent)]
    Tier(#[from] ParseTierError),
    /// A root without a directory.
    #[error("a root needs a directory; write `DIR` or `DIR:TIER`")]
    EmptyRoot,
    /// A precedence names a tier twice.
    #[error("the tier `{tier}` is listed twice in the precedence; list each tier once")]
    TierTwice {
        /// The tier.
        tier: Tier,
    },
    /// The text is not a state.
    #[error("unknown state `{text}`; use on, name-only, user-only or off")]
    UnknownState {
        /// The given text.
        text: String,
    },
    /// A glob pattern is invalid.
    #[error("invalid pattern `{pattern}`")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// Why it is invalid.
        source: globset::Error,
    },
    /// A state rule has no patterns.
    #[error("a rule for `state = \"{state}\"` matches no skills; add `name`, `tier` or `path`")]
    EmptyRule {
        /// The state that the rule sets.
        state: String,
    },
    /// An untrusted root links to a place outside its repository.
    #[error("{} links to {}, outside a folder that is not trusted", path.display(), target.display())]
    RootOutside {
        /// The root.
        path: PathBuf,
        /// The link's target.
        target: PathBuf,
    },
    /// A file of metier could not be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file of metier could not be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// File events are not available.
    #[error("cannot watch for changes")]
    Watch {
        /// The system's error.
        #[from]
        source: notify::Error,
    },
}

impl Coded for CatalogError {
    fn code(&self) -> &'static str {
        match self {
            Self::Tier(_) => "catalog-tier",
            Self::EmptyRoot => "catalog-root",
            Self::TierTwice { .. } => "catalog-precedence",
            Self::UnknownState { .. } => "catalog-state",
            Self::Pattern { .. } => "catalog-pattern",
            Self::EmptyRule { .. } => "catalog-rule",
            Self::RootOutside { .. } => "catalog-root-outside",
            Self::Write { .. } => "catalog-write",
            Self::Read { .. } => "catalog-read",
            Self::Watch { .. } => "catalog-watch",
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Pattern { .. } => "write a glob such as `review-*`",
            Self::RootOutside { .. } => "trust the folder with `metier trust`, or move the skills into it",
            Self::Write { .. } => {
                "check that the directory exists and that you have permission to write to it"
            }
            Self::Read { .. } => "check that it exists and that you have permission to read it",
            Self::Watch { .. } => "scan again to find changes",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

impl CatalogError {
    pub(crate) fn read(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| Self::Read { path, source }
    }

    pub(crate) fn write(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| Self::Write { path, source }
    }
}
