//! What stops an operation on a catalog. What is wrong with one skill or one root is a
//! [`Problem`](crate::Problem) and stops nothing.

use std::io;
use std::path::PathBuf;

use metier_skill::{Coded, ParseTierError};

use crate::Tier;

/// Why an operation on a catalog could not be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogError {
    /// A word that is not a tier.
    #[error(transparent)]
    Tier(#[from] ParseTierError),
    /// A root without a directory.
    #[error("a root needs a directory: `DIR` or `DIR:TIER`")]
    EmptyRoot,
    /// An order of tiers names one twice.
    #[error("the tier `{tier}` stands twice in the precedence; name each once")]
    TierTwice {
        /// The tier.
        tier: Tier,
    },
    /// A word that is no state.
    #[error("`{text}` is no state; use on, name-only, user-only or off")]
    UnknownState {
        /// What was given.
        text: String,
    },
    /// A pattern for names or paths that cannot be read.
    #[error("`{pattern}` is no pattern")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        source: globset::Error,
    },
    /// A rule that says nothing about which skills it is for.
    #[error("a rule for `state = \"{state}\"` names no skills; add `name`, `tier` or `path`")]
    EmptyRule {
        /// The state that the rule sets.
        state: String,
    },
    /// A root that is not trusted leads out of its repository.
    #[error("{} leads to {}, out of a folder that is not trusted", path.display(), target.display())]
    RootOutside {
        /// The root.
        path: PathBuf,
        /// Where it leads.
        target: PathBuf,
    },
    /// A file of ours could not be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file of ours could not be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// File events cannot be had.
    #[error("cannot watch for changes")]
    Watch {
        /// What the system said.
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
            Self::RootOutside { .. } => "trust the folder, or put the skills into it",
            Self::Write { .. } => "check that the directory exists and that you may write to it",
            Self::Read { .. } => "check that it exists and that you may read it",
            Self::Watch { .. } => "look for changes with a new scan instead",
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
