//! What is recorded about each installed skill besides its content: source, time, user, signature and scan result.

use std::collections::BTreeMap;

use metier_skill::{Digest, Tier};
use serde::{Deserialize, Serialize};

/// The name of the file, next to the lock.
pub(crate) const PROVENANCE_FILE: &str = "provenance.json";

/// How many earlier digests of a skill are remembered.
const HISTORY_MAX: usize = 1_000;

/// The provenance of one installed skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Provenance {
    /// The requested source.
    pub source: String,
    /// What it resolved to: a commit, or the digest of an archive.
    pub resolved: Option<String>,
    /// Its path in the source.
    pub path: Option<String>,
    /// The digest of the whole skill.
    pub digest: Digest,
    /// When it was installed.
    pub time: String,
    /// Who installed it.
    pub who: Option<String>,
    /// Its trust tier.
    pub tier: Tier,
    /// The origin of the trust tier: `default`, `asked` or `signature`.
    pub tier_from: String,
    /// Its valid signature, if any.
    pub signature: Option<ValidSignature>,
    /// The scan's result.
    pub scan: ScanSummary,
    /// Earlier digests of the skill, oldest first. Installing one of them again counts as a rollback.
    #[serde(default)]
    pub history: Vec<Digest>,
}

/// A valid signature by a trusted key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ValidSignature {
    /// The name of the key in the trust file.
    pub name: String,
    /// The fingerprint of the key.
    pub fingerprint: String,
    /// The text of the signature.
    pub text: String,
}

/// The result of a scan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ScanSummary {
    /// `clean`, `look` or `block`.
    pub verdict: String,
    /// The rules with findings.
    pub rules: Vec<String>,
    /// Whether the user accepted findings that would have blocked the skill.
    pub is_accepted: bool,
}

/// The provenance of every installed skill, by name.
pub(crate) type Provenances = BTreeMap<String, Provenance>;

impl Provenance {
    /// The new provenance of a skill that replaces another.
    pub(crate) fn following(mut self, before: Option<&Self>) -> Self {
        if let Some(before) = before {
            self.history.clone_from(&before.history);
            if let Some(at) = self.history.iter().position(|digest| *digest == self.digest) {
                // After an accepted rollback, later digests are no longer part of the history.
                self.history.truncate(at);
            } else if before.digest != self.digest {
                self.history.push(before.digest);
            }
            let surplus = self.history.len().saturating_sub(HISTORY_MAX);
            self.history.drain(..surplus);
        }
        self
    }
}
