//! Proposes changes to protected documents. This is the only way to change them.

use metier_journal::Event;

use crate::error::SessionError;
use crate::mutation::{
    DocumentChange, MutationEnvelope, MutationGateway as _, MutationOutcome, NoGateway, Precondition,
};
use crate::session::{Session, shortened};

/// A proposed change.
#[derive(Debug, Clone, Default)]
pub struct Proposal {
    /// The request id. A request is applied once, however often it is proposed.
    pub request_id: String,
    /// The purpose of the change.
    pub intent: String,
    /// The changes: all are made, or none.
    pub changes: Vec<DocumentChange>,
    /// Required versions of documents.
    pub preconditions: Vec<Precondition>,
    /// Whether this is a dry run, which only returns the result.
    pub dry_run: bool,
}

impl Session {
    /// Proposes a change to protected documents. Without a gateway, they cannot be changed. The proposal is recorded
    /// before, and its result after.
    pub fn propose(&mut self, proposal: Proposal) -> Result<MutationOutcome, SessionError> {
        let Proposal { request_id, intent, changes, preconditions, dry_run } = proposal;
        let actor = self.options.actor.clone().or_else(|| self.options.agent.clone()).unwrap_or_default();
        let skills = self.view().skills;
        let envelope =
            MutationEnvelope { request_id, actor, intent, skills, changes, preconditions, dry_run };
        let request_id = shortened(&envelope.request_id);
        let targets: Vec<&str> = envelope.changes.iter().map(|change| change.target.as_str()).collect();
        // Plain data always serialises to JSON.
        let payload = serde_json::to_vec(&envelope.changes).unwrap_or_default();
        self.record(&Event::MutationProposed {
            request_id: request_id.clone(),
            target: shortened(&targets.join(", ")),
            payload: self.options.privacy.content(&payload),
            skills: envelope.skills.clone(),
        })?;
        let outcome = match &self.options.gateway {
            Some(gateway) => gateway.submit(&envelope),
            None => NoGateway.submit(&envelope),
        };
        let (word, code) = (outcome.as_str().to_owned(), outcome.code().to_owned());
        let decided = self.record(&Event::MutationDecided { request_id, outcome: word, code });
        decided.map_err(|error| match error {
            SessionError::Journal(source) => SessionError::Unrecorded { source },
            other => other,
        })?;
        Ok(outcome)
    }
}
