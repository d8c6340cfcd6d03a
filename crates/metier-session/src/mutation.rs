//! Changes to protected documents: what is asked for, who decides, what the answer is. Who keeps the documents is a [`MutationGateway`]; there is no
//! other way to change one.

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
/// Who implements it keeps these promises: nothing is changed unless every base version and precondition holds; all changes of an envelope are made or
/// none; a request id is applied once, and asked again gives the same answer; and what cannot be decided is [`MutationOutcome::Unavailable`].
pub trait MutationGateway: Send + Sync {
    /// Applies an envelope, or says why not.
    fn submit(&self, envelope: &MutationEnvelope) -> MutationOutcome;
}

/// The gateway of a host that has none: nothing is ever changed.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoGateway;

impl MutationGateway for NoGateway {
    fn submit(&self, _: &MutationEnvelope) -> MutationOutcome {
        MutationOutcome::Unavailable { reason: "no mutation gateway is configured".to_owned() }
    }
}

/// What a document is at some point: not there, or content with a digest. As text, `absent` or `sha256:…`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DocumentVersion {
    /// There is no such document.
    Absent,
    /// Its content has this digest.
    Digest(Digest),
}

impl DocumentVersion {
    /// That of a document with this content, or of none.
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

/// What became of an envelope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum MutationOutcome {
    /// Every change is made, or would be.
    Applied {
        /// What each document is now.
        versions: BTreeMap<String, DocumentVersion>,
        /// It was only asked whether it would be: nothing is changed.
        dry_run: bool,
        /// It had been applied before, and was not again.
        repeated: bool,
    },
    /// Documents are not what the envelope takes them for; nothing is changed.
    Conflict {
        /// All of them.
        failures: Vec<DocumentFailure>,
    },
    /// The envelope is wrong in itself; nothing is changed.
    Rejected {
        /// In what way.
        code: RejectCode,
        /// In words.
        reason: String,
    },
    /// Nobody could decide, or do it. As a rule nothing is changed; if a disk fails in the middle, that is settled by the next request. The same
    /// envelope sent again is applied once in either case.
    Unavailable {
        /// Why.
        reason: String,
    },
}

impl MutationOutcome {
    /// One word.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Applied { .. } => "applied",
            Self::Conflict { .. } => "conflict",
            Self::Rejected { .. } => "rejected",
            Self::Unavailable { .. } => "unavailable",
        }
    }

    /// A code that stays the same.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Applied { .. } => "mutation-applied",
            Self::Conflict { .. } => "mutation-conflict",
            Self::Rejected { code, .. } => code.as_str(),
            Self::Unavailable { .. } => "mutation-unavailable",
        }
    }

    /// The HTTP status that says the same: 200, 409, 400 or 422, 503.
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

/// A document that is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentFailure {
    /// Which.
    pub target: String,
    /// What is wrong.
    pub reason: FailureReason,
    /// What it is; nothing, if it became something that has no version, such as a link.
    pub current: Option<DocumentVersion>,
}

/// In what way a document is not what it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FailureReason {
    /// It has other content.
    DigestMismatch,
    /// It is not there.
    Missing,
    /// It is there, and should not be.
    Exists,
}

impl FailureReason {
    /// As it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DigestMismatch => "digest-mismatch",
            Self::Missing => "missing",
            Self::Exists => "exists",
        }
    }
}

/// In what way an envelope is wrong in itself. All but [`Unprocessable`](Self::Unprocessable) are bad requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum RejectCode {
    /// The request id, the actor or the intent is empty or no plain text, or there is no change.
    Incomplete,
    /// A change does not say what it is based on.
    NoBaseVersion,
    /// A document is changed twice, or would have to be a directory for another.
    DuplicateTarget,
    /// More changes, preconditions or bytes than are taken.
    TooLarge,
    /// No document can have this name, or none that is kept here.
    BadTarget,
    /// There is a link on the way.
    Link,
    /// It is a directory, a pipe, a device; or something on the way is no directory.
    NotAFile,
    /// The request id was used for something else.
    RequestIdReused,
    /// The host's own check says no.
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
