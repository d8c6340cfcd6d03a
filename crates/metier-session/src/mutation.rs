//! Changes to protected documents: the request, the decision and the answer. A [`MutationGateway`] holds the documents;
//! there is no other way to change one.

mod beneath;
mod envelope;
mod error;
mod file;
mod state;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use metier_skill::{Digest, ParseDigestError};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use envelope::{DocumentChange, MutationEnvelope, MutationLimits, Precondition};
pub use error::MutationError;
pub use file::FileGateway;

/// Decides about changes, and makes them.
///
/// An implementation guarantees: nothing is changed unless every base version and precondition holds; all changes of an
/// envelope are made or none; a request id is applied once, and repeating it gives the same answer; and if no decision
/// is possible, the answer is [`MutationOutcome::Unavailable`].
pub trait MutationGateway: Send + Sync {
    /// Applies an envelope, or returns why not.
    fn submit(&self, envelope: &MutationEnvelope) -> MutationOutcome;
}

/// A gateway that never changes anything, for hosts without one.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoGateway;

impl MutationGateway for NoGateway {
    fn submit(&self, _: &MutationEnvelope) -> MutationOutcome {
        MutationOutcome::Unavailable { reason: "no mutation gateway is configured".to_owned() }
    }
}

/// The version of a document: absent, or the digest of its content. As text, `absent` or `sha256:…`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DocumentVersion {
    /// The document does not exist.
    Absent,
    /// Its content has this digest.
    Digest(Digest),
}

impl DocumentVersion {
    /// The version of a document with this content, or of an absent one.
    pub fn of(content: Option<&[u8]>) -> Self {
        content.map_or(Self::Absent, |content| Self::Digest(Digest::of(content)))
    }
}

impl fmt::Display for DocumentVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("absent"),
            Self::Digest(digest) => digest.fmt(f),
        }
    }
}

impl FromStr for DocumentVersion {
    type Err = ParseDigestError;

    fn from_str(text: &str) -> Result<Self, ParseDigestError> {
        if text == "absent" { Ok(Self::Absent) } else { text.parse().map(Self::Digest) }
    }
}

impl Serialize for DocumentVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DocumentVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// The result of an envelope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum MutationOutcome {
    /// Every change is made, or would be made.
    Applied {
        /// The version of each document now.
        versions: BTreeMap<String, DocumentVersion>,
        /// It was a dry run: nothing is changed.
        dry_run: bool,
        /// It had already been applied, and was not applied again.
        repeated: bool,
    },
    /// Documents differ from the envelope's base versions or preconditions; nothing is changed.
    Conflict {
        /// All conflicts.
        failures: Vec<DocumentFailure>,
    },
    /// The envelope is invalid; nothing is changed.
    Rejected {
        /// The reason as a code.
        code: RejectCode,
        /// The reason as text.
        reason: String,
    },
    /// The change could not be decided or made. Usually nothing is changed; if a disk fails in the middle, the next
    /// request resolves it. In either case, sending the same envelope again applies it once.
    Unavailable {
        /// The reason.
        reason: String,
    },
}

impl MutationOutcome {
    /// The name of the outcome.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Applied { .. } => "applied",
            Self::Conflict { .. } => "conflict",
            Self::Rejected { .. } => "rejected",
            Self::Unavailable { .. } => "unavailable",
        }
    }

    /// A stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Applied { .. } => "mutation-applied",
            Self::Conflict { .. } => "mutation-conflict",
            Self::Rejected { code, .. } => code.as_str(),
            Self::Unavailable { .. } => "mutation-unavailable",
        }
    }

    /// The matching HTTP status: 200, 409, 400 or 422, 503.
    pub const fn status(&self) -> u16 {
        match self {
            Self::Applied { .. } => 200,
            Self::Conflict { .. } => 409,
            Self::Rejected { code: RejectCode::Unprocessable, .. } => 422,
            Self::Rejected { .. } => 400,
            Self::Unavailable { .. } => 503,
        }
    }

    pub(crate) fn rejected(code: RejectCode, reason: impl Into<String>) -> Self {
        Self::Rejected { code, reason: reason.into() }
    }
}

/// A document in conflict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentFailure {
    /// The document.
    pub target: String,
    /// What is wrong.
    pub reason: FailureReason,
    /// Its current version; `None` if it has no version, for example a link.
    pub current: Option<DocumentVersion>,
}

/// The kinds of conflicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FailureReason {
    /// It has different content.
    DigestMismatch,
    /// It does not exist.
    Missing,
    /// It exists, but should not.
    Exists,
}

impl FailureReason {
    /// The name of the kind.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DigestMismatch => "digest-mismatch",
            Self::Missing => "missing",
            Self::Exists => "exists",
        }
    }
}

/// Why an envelope is invalid. All but [`Unprocessable`](Self::Unprocessable) are bad requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RejectCode {
    /// The request id, the actor or the intent is empty or not plain text, or there is no change.
    Incomplete,
    /// A change has no base version.
    NoBaseVersion,
    /// A document is changed twice, or is also a directory of another.
    DuplicateTarget,
    /// Too many changes, preconditions or bytes.
    TooLarge,
    /// The name is invalid, or names no document of this gateway.
    BadTarget,
    /// The path contains a link.
    Link,
    /// It is a directory, a pipe or a device; or a part of its path is not a directory.
    NotAFile,
    /// The request id was used for another envelope.
    RequestIdReused,
    /// The host's own check rejects it.
    Unprocessable,
}

impl RejectCode {
    /// The code.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Incomplete => "mutation-bad-request-incomplete",
            Self::NoBaseVersion => "mutation-bad-request-no-base-version",
            Self::DuplicateTarget => "mutation-bad-request-duplicate-target",
            Self::TooLarge => "mutation-bad-request-too-large",
            Self::BadTarget => "mutation-bad-request-target",
            Self::Link => "mutation-bad-request-link",
            Self::NotAFile => "mutation-bad-request-not-a-file",
            Self::RequestIdReused => "mutation-bad-request-id-reused",
            Self::Unprocessable => "mutation-unprocessable",
        }
    }
}
