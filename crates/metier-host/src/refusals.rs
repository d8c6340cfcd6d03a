//! Stored refusals, for hosts that list skills.

use std::collections::BTreeSet;

use metier_policy::Access;
use metier_session::StoredApproval;
use metier_skill::Digest;
use serde::Serialize;

use crate::catalog::HostCatalog;
use crate::host::Metier;

/// A stored refusal.
#[derive(Debug, Serialize)]
#[non_exhaustive]
pub struct Refusal {
    /// The id of the answer.
    pub id: String,
    /// The skill.
    pub skill: String,
    /// The refused access.
    pub access: Access,
    /// The script, if it is about one.
    pub script: Option<String>,
    /// The day of the answer.
    pub on: Option<String>,
    /// A sentence that says how to undo it.
    pub message: String,
}

impl Metier {
    /// The refusals that apply to one version of a skill, by its digest.
    pub fn refusals(&self, name: &str, digest: &Digest) -> Vec<Refusal> {
        let holds = |kept: &StoredApproval| kept.approval.skill == name && kept.approval.digest == *digest;
        let refused = |kept: StoredApproval| {
            let (id, message) = (kept.approval.id(), kept.approval.refusal()?);
            let metier_policy::Approval { skill, access, script, on, .. } = kept.approval;
            Some(Refusal { id, skill, access, script, on, message })
        };
        self.refused().into_iter().filter(holds).filter_map(refused).collect()
    }

    /// All that are stored. Where they cannot be read, whatever depends on them says so.
    fn refused(&self) -> Vec<StoredApproval> {
        let mut kept = self.approvals().and_then(|store| store.refusals().ok()).unwrap_or_default();
        // Those of token holders are about their sessions alone.
        kept.retain(|kept| kept.approval.by.is_none());
        kept
    }
}

impl HostCatalog {
    /// The names of the skills that the person refused to load, as they are now. Models are not shown them.
    pub fn refused_names(&self) -> BTreeSet<String> {
        let refused = self.refusals().into_iter().filter(|refusal| refusal.access == Access::Activate);
        refused.map(|refusal| refusal.skill).collect()
    }

    /// The refusals that apply to the skills of the catalog.
    pub fn refusals(&self) -> Vec<Refusal> {
        let mut names: Vec<String> =
            self.metier().refused().into_iter().map(|kept| kept.approval.skill).collect();
        names.sort();
        names.dedup();
        let about = |name: String| {
            // A refusal is about a content: what has changed since, or is not here, is not refused.
            let opened = self.opened(&name).ok()?;
            Some(self.metier().refusals(&name, &opened.digest))
        };
        names.into_iter().filter_map(about).flatten().collect()
    }
}
