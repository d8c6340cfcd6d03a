//! What a person has refused, for commands that show skills.

use metier_policy::Access;
use metier_session::StoredApproval;
use metier_skill::Digest;
use serde::Serialize;

use crate::environment::Environment;
use crate::output::Output;
use crate::sessions;
use crate::skills::Skills;

/// A stored refusal, as `--json` prints it.
#[derive(Debug, Serialize)]
pub(crate) struct Refused {
    id: String,
    skill: String,
    access: Access,
    script: Option<String>,
    on: Option<String>,
    /// A sentence that says how to undo it.
    pub(crate) message: String,
}

/// The refusals that hold for one content of a skill.
pub(crate) fn about(environment: &Environment, name: &str, digest: &Digest) -> Vec<Refused> {
    let holds = |kept: &StoredApproval| kept.approval.skill == name && kept.approval.digest == *digest;
    let refused = |kept: StoredApproval| {
        let (id, message) = (kept.approval.id(), kept.approval.refusal()?);
        let metier_policy::Approval { skill, access, script, on, .. } = kept.approval;
        Some(Refused { id, skill, access, script, on, message })
    };
    stored(environment).into_iter().filter(holds).filter_map(refused).collect()
}

/// Says below a list of skills which of them are refused something.
pub(crate) fn note(skills: &Skills, output: &mut Output) -> anyhow::Result<()> {
    for refused in among(skills) {
        output.note(format_args!("note: {}", refused.message))?;
    }
    Ok(())
}

/// The refusals that hold for the skills of a list.
pub(crate) fn among(skills: &Skills) -> Vec<Refused> {
    let mut names: Vec<String> =
        stored(&skills.environment).into_iter().map(|kept| kept.approval.skill).collect();
    names.sort();
    names.dedup();
    let about = |name: String| {
        // A refusal is about a content: what has changed since, or is not here, is not refused.
        let opened = skills.opened(&name).ok()?;
        Some(about(&skills.environment, &name, &opened.digest))
    };
    names.into_iter().filter_map(about).flatten().collect()
}

/// All that are stored. Where they cannot be read, whatever depends on them says so.
fn stored(environment: &Environment) -> Vec<StoredApproval> {
    let mut kept =
        sessions::approvals(environment).and_then(|store| store.refusals().ok()).unwrap_or_default();
    // Those of token holders are about their sessions alone.
    kept.retain(|kept| kept.approval.by.is_none());
    kept
}
