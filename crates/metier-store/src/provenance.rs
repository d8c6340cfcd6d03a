//! What is known of each installed skill beyond what it is: who installed it when and from where, who signed it, what a scan found.

use std::collections::BTreeMap;

use metier_skill::{Digest, Tier};
use serde::{Deserialize, Serialize};

/// What the file is called, beside the lock.
pub(crate) const PROVENANCE_FILE: &str = "provenance.json";

/// How many digests that a skill had before are remembered.
const HISTORY_MAX: usize = 1_000;

/// Where one installed skill came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Provenance {
    /// What was asked for.
    pub source: String,
    /// What that was resolved to: a commit, or the digest of an archive.
    pub resolved: Option<String>,
    /// Where in the source it was.
    pub path: Option<String>,
    /// The digest of the whole skill.
    pub digest: Digest,
    /// When it was installed.
    pub time: String,
    /// By whom.
    pub who: Option<String>,
    /// How far it is trusted.
    pub tier: Tier,
    /// Why so far: `default`, `asked` or `signature`.
    pub tier_from: String,
    /// Its signature, and whose it is.
    pub signature: Option<ValidSignature>,
    /// What the scan found.
    pub scan: ScanSummary,
    /// The digests that it had before, the last one last. What is among them is not news.
    #[serde(default)]
    pub history: Vec<Digest>,
}

/// A signature that counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ValidSignature {
    /// The name that the trust file has for the key.
    pub name: String,
    /// The key.
    pub fingerprint: String,
    /// The signature itself.
    pub text: String,
}

/// What a scan found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ScanSummary {
    /// `clean`, `look` or `block`.
    pub verdict: String,
    /// The rules that found something.
    pub rules: Vec<String>,
    /// Whether somebody accepted what would have stopped it.
    pub is_accepted: bool,
}

/// That of every installed skill, by name.
pub(crate) type Provenances = BTreeMap<String, Provenance>;

impl Provenance {
    /// The same for a skill that takes the place of another.
    pub(crate) fn following(mut self, before: Option<&Self>) -> Self {
        if let Some(before) = before {
            self.history.clone_from(&before.history);
            if let Some(at) = self.history.iter().position(|digest| *digest == self.digest) {
                // Somebody let it go back; what came after that is news again.
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
