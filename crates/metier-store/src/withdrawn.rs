//! Trust that a signature gave holds while its key is trusted: checked whenever installed skills are used.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use metier_skill::Tier;

use crate::provenance::Provenance;
use crate::store::Store;
use crate::trust::TrustFile;

impl Store {
    /// The installed skills that are trusted less now than when they were installed, by their directories in
    /// [`skills_directory`](Self::skills_directory): the key that signed them is no longer trusted, or for a lower tier.
    /// If the store cannot be read, these are all that are trusted more than `third_party`.
    pub fn withdrawn(&self, trust: &TrustFile) -> BTreeMap<PathBuf, Tier> {
        let raised = [Tier::Org, Tier::User].map(|tier| (tier, entries(&self.skills_directory(tier))));
        if raised.iter().all(|(_, directories)| directories.is_empty()) {
            return BTreeMap::new();
        }
        let installed = self.installed().unwrap_or_default();
        let tier_now = |directory: &Path, tier| {
            let name = directory.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            tier_now(tier, installed.provenance(name), trust)
        };
        let all = raised.iter().flat_map(|(tier, all)| all.iter().map(move |directory| (*tier, directory)));
        let now = all.map(|(tier, directory)| (tier, tier_now(directory, tier), directory));
        now.filter(|(tier, now, _)| now > tier).map(|(_, now, directory)| (directory.clone(), now)).collect()
    }
}

/// The tier of a skill that was installed with this one.
fn tier_now(tier: Tier, provenance: Option<&Provenance>, trust: &TrustFile) -> Tier {
    let now = match provenance {
        // A user can choose a tier, but not the organisation's.
        Some(known) if known.tier_from == "asked" => Some(Tier::User),
        Some(known) if known.tier_from == "signature" => {
            known.signature.as_ref().and_then(|signed| trust.tier_of(&signed.fingerprint))
        }
        _ => None,
    };
    now.unwrap_or(Tier::ThirdParty).max(tier)
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}
