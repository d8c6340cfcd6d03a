//! What somebody asks a gateway to change, and what can be said about it without looking at any document.

use std::collections::{BTreeMap, BTreeSet};

use metier_skill::Digest;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{DocumentVersion, MutationOutcome, RejectCode};

/// The longest request id, actor, intent and target, in bytes.
const TEXT_MAX: usize = 4096;

/// Changes that somebody asks for, and what must hold for them. What is left out of its JSON is empty, and an envelope that lacks something is rejected.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MutationEnvelope {
    /// Whoever has no answer sends the envelope again under the same id.
    pub request_id: String,
    /// Who asks.
    pub actor: String,
    /// What for.
    pub intent: String,
    /// The active skills, with the digests of their trees.
    pub skills: BTreeMap<String, Digest>,
    /// What is to be changed: all of it, or nothing.
    pub changes: Vec<DocumentChange>,
    /// What must hold besides the base versions.
    pub preconditions: Vec<Precondition>,
    /// Only say what would become of it.
    pub dry_run: bool,
}

/// A new content for a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DocumentChange {
    /// Which document.
    pub target: String,
    /// What it was when the change was thought of. A change without it is rejected.
    pub base_version: Option<DocumentVersion>,
    /// Its content from now on, or nothing to delete it. In JSON text, or a list of bytes if it is none; it cannot be left out, so that nobody deletes
    /// something by forgetting it.
    #[serde(serialize_with = "write_payload", deserialize_with = "read_payload")]
    pub payload: Option<Vec<u8>>,
}

/// What a document must be, whether it is changed or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Precondition {
    /// Which document.
    pub target_id: String,
    /// The digest of its content.
    pub expected: Digest,
}

/// How much an envelope may bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MutationLimits {
    /// So many changes.
    pub changes: usize,
    /// So many preconditions.
    pub preconditions: usize,
    /// So many bytes in all payloads together.
    pub bytes: usize,
}

impl Default for MutationLimits {
    fn default() -> Self {
        Self { changes: 64, preconditions: 256, bytes: 16 << 20 }
    }
}

impl MutationEnvelope {
    /// The digest of all that it asks for. Whether it is a dry run makes no difference.
    pub fn digest(&self) -> Digest {
        let Self { request_id, actor, intent, skills, changes, preconditions, dry_run: _ } = self;
        let changes: Vec<_> = changes
            .iter()
            .map(|change| {
                (&change.target, change.base_version, DocumentVersion::of(change.payload.as_deref()))
            })
            .collect();
        // Values that always have a JSON text.
        let text = serde_json::json!([request_id, actor, intent, skills, changes, preconditions]).to_string();
        Digest::of(text.as_bytes())
    }

    /// Whether it is complete, within limits, and of one mind about each document. Every gateway should ask this first.
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
            let reason = "the request id or the actor has control characters";
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
            return Err(MutationOutcome::rejected(RejectCode::Incomplete, "there is nothing to change"));
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
                let reason = format!("{found} {what}; at most {most} are taken");
                Err(MutationOutcome::rejected(RejectCode::TooLarge, reason))
            }
            None => Ok(()),
        }
    }

    /// Every document that it names: those that it changes, then those that it is conditional on.
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

#[expect(clippy::ref_option, reason = "serde hands out the field as it is")]
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
