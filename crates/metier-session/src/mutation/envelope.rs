//! A change request for a gateway, and the checks that need no document.

use std::collections::{BTreeMap, BTreeSet};

use metier_skill::Digest;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{DocumentVersion, MutationOutcome, RejectCode};

/// The maximum length of request id, actor, intent and target, in bytes.
const TEXT_MAX: usize = 4096;

/// Requested changes and their conditions. Fields that are missing in the JSON are empty; an incomplete envelope is
/// rejected.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MutationEnvelope {
    /// The id of the request. If no answer arrives, send the envelope again with the same id.
    pub request_id: String,
    /// Who requests the change.
    pub actor: String,
    /// The purpose of the change.
    pub intent: String,
    /// The active skills, with their digests.
    pub skills: BTreeMap<String, Digest>,
    /// The changes: all are made, or none.
    pub changes: Vec<DocumentChange>,
    /// Conditions in addition to the base versions.
    pub preconditions: Vec<Precondition>,
    /// Whether this is a dry run, which only returns the result.
    pub dry_run: bool,
}

/// A new content for a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DocumentChange {
    /// The document.
    pub target: String,
    /// The version that the change is based on. A change without it is rejected.
    pub base_version: Option<DocumentVersion>,
    /// The new content, or `None` to delete the document. In JSON, a text, or a list of bytes if it is not text. It
    /// cannot be omitted, so that no document is deleted by mistake.
    #[serde(serialize_with = "write_payload", deserialize_with = "read_payload")]
    pub payload: Option<Vec<u8>>,
}

/// The required version of a document, whether it is changed or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Precondition {
    /// The document.
    pub target_id: String,
    /// The digest of its content.
    pub expected: Digest,
}

/// The limits of an envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MutationLimits {
    /// The maximum number of changes.
    pub changes: usize,
    /// The maximum number of preconditions.
    pub preconditions: usize,
    /// The maximum size of all payloads together, in bytes.
    pub bytes: usize,
}

impl Default for MutationLimits {
    fn default() -> Self {
        Self { changes: 64, preconditions: 256, bytes: 16 << 20 }
    }
}

impl MutationEnvelope {
    /// The digest of the request. It does not depend on whether it is a dry run.
    pub fn digest(&self) -> Digest {
        let Self { request_id, actor, intent, skills, changes, preconditions, dry_run: _ } = self;
        let changes: Vec<_> = changes
            .iter()
            .map(|change| {
                (&change.target, change.base_version, DocumentVersion::of(change.payload.as_deref()))
            })
            .collect();
        // Values that always serialise to JSON.
        let text = serde_json::json!([request_id, actor, intent, skills, changes, preconditions]).to_string();
        Digest::of(text.as_bytes())
    }

    /// Checks that it is complete, within limits, and consistent. Every gateway should call this first.
    pub fn check(&self, limits: &MutationLimits) -> Result<(), MutationOutcome> {
        let reject = |code, reason: String| Err(MutationOutcome::rejected(code, reason));
        let texts = [("request id", &self.request_id), ("actor", &self.actor), ("intent", &self.intent)];
        for (name, text) in texts {
            if text.trim().is_empty() {
                return reject(RejectCode::Incomplete, format!("the {name} is empty"));
            }
            if text.len() > TEXT_MAX {
                return reject(RejectCode::TooLarge, format!("the {name} is longer than {TEXT_MAX} bytes"));
            }
        }
        if self.request_id.chars().chain(self.actor.chars()).any(char::is_control) {
            let reason = "the request id or the actor contains control characters";
            return reject(RejectCode::Incomplete, reason.to_owned());
        }
        self.check_size(limits)?;
        if let Some(change) = self.changes.iter().find(|change| change.base_version.is_none()) {
            let reason = format!("the change to `{}` has no base version", change.target.escape_debug());
            return reject(RejectCode::NoBaseVersion, reason);
        }
        let mut seen = BTreeSet::new();
        match self.changes.iter().find(|change| !seen.insert(&change.target)) {
            Some(change) => reject(
                RejectCode::DuplicateTarget,
                format!("`{}` is changed twice", change.target.escape_debug()),
            ),
            None => Ok(()),
        }
    }

    fn check_size(&self, limits: &MutationLimits) -> Result<(), MutationOutcome> {
        if self.changes.is_empty() {
            return Err(MutationOutcome::rejected(RejectCode::Incomplete, "the envelope has no changes"));
        }
        let payloads = self.changes.iter().filter_map(|change| change.payload.as_ref());
        let bytes = payloads.map(Vec::len).fold(0, usize::saturating_add);
        let sizes = [
            (self.changes.len(), limits.changes, "changes"),
            (self.preconditions.len(), limits.preconditions, "preconditions"),
            (bytes, limits.bytes, "bytes"),
        ];
        match sizes.into_iter().find(|(found, most, _)| found > most) {
            Some((found, most, what)) => {
                let reason = format!("{found} {what}; the maximum is {most}");
                Err(MutationOutcome::rejected(RejectCode::TooLarge, reason))
            }
            None => Ok(()),
        }
    }

    /// Every document that it names: those that it changes, then those in preconditions.
    pub(super) fn targets(&self) -> impl Iterator<Item = &str> {
        let changed = self.changes.iter().map(|change| change.target.as_str());
        changed.chain(self.preconditions.iter().map(|condition| condition.target_id.as_str()))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Payload {
    Text(String),
    Bytes(Vec<u8>),
}

#[expect(clippy::ref_option, reason = "serde passes the field as it is")]
fn write_payload<S: Serializer>(payload: &Option<Vec<u8>>, serializer: S) -> Result<S::Ok, S::Error> {
    match payload.as_deref().map(|bytes| (bytes, std::str::from_utf8(bytes))) {
        None => serializer.serialize_none(),
        Some((_, Ok(text))) => serializer.serialize_str(text),
        Some((bytes, Err(_))) => serializer.collect_seq(bytes),
    }
}

fn read_payload<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<u8>>, D::Error> {
    Ok(Option::<Payload>::deserialize(deserializer)?.map(|payload| match payload {
        Payload::Text(text) => text.into_bytes(),
        Payload::Bytes(bytes) => bytes,
    }))
}
