//! Answers that a person gives before they are asked, and takes back: never without a record.

use metier_journal::{RecordContext, RecordedAnswer};
use metier_policy::{Approval, Lifetime};
use metier_session::{StoredApproval, approval_event};

use crate::error::HostError;
use crate::host::Metier;

impl Metier {
    /// Records and stores an answer. Returns its id, and what a person should know about the record.
    pub fn keep_approval(&self, approval: &Approval) -> Result<(String, Vec<String>), HostError> {
        let store = self.kept_approvals()?;
        let answer = if approval.granted { RecordedAnswer::Granted } else { RecordedAnswer::Refused };
        let context = match &approval.lifetime {
            Lifetime::Session(id) => RecordContext::session(id),
            _ => RecordContext::default(),
        };
        // First the record: an answer that nobody could look up later does not count.
        let recorder = self.recorder()?;
        recorder.record(&context, &approval_event(approval, answer))?;
        let id = store.keep(approval)?;
        Ok((id, recorder.close()))
    }

    /// Records and removes stored answers. Returns what a person should know about the record.
    pub fn revoke_approvals<'a>(
        &self,
        answers: impl IntoIterator<Item = &'a StoredApproval>,
    ) -> Result<Vec<String>, HostError> {
        let store = self.kept_approvals()?;
        let recorder = self.recorder()?;
        for StoredApproval { approval, .. } in answers {
            recorder.record(&RecordContext::default(), &approval_event(approval, RecordedAnswer::Revoked))?;
            store.forget(approval)?;
        }
        Ok(recorder.close())
    }
}

#[cfg(test)]
mod tests {
    use metier_journal::{Event, JournalReader, RecordQuery};
    use metier_policy::{Access, Action, Question, Request};
    use metier_skill::{Digest, Tier};

    use super::*;
    use crate::environment::Environment;

    #[test]
    fn an_answer_is_kept_and_revoked_with_a_record_of_each() {
        let home = tempfile::tempdir().unwrap();
        let open = |environment| Metier::builder().environment(environment).build().unwrap();
        let metier = open(Environment::new(home.path(), home.path()));
        let request = Request::new(Tier::User, "pdf", Digest::of(b"pdf"), Action::Activate);
        let question = Question::new(&request, Access::Activate, "why");
        let approval = Approval::answer(&question, true, Lifetime::Digest);
        let broken =
            Environment::new(home.path(), home.path()).with_variable("METIER_JOURNAL", "no/journal.db");
        assert!(open(broken).keep_approval(&approval).is_err());
        let kept = || metier.approvals().unwrap().list().unwrap().0;
        assert!(kept().is_empty(), "stored without a record");
        let (id, _) = metier.keep_approval(&approval).unwrap();
        assert_eq!(kept().iter().map(|kept| kept.id.as_str()).collect::<Vec<_>>(), [id.as_str()]);
        metier.revoke_approvals(&kept()).unwrap();
        assert!(kept().is_empty());
        let mut reader = JournalReader::open(&metier.journal_address().unwrap()).unwrap();
        let records = reader.query(&RecordQuery::default()).unwrap();
        let answers: Vec<RecordedAnswer> = records
            .into_iter()
            .filter_map(|record| match serde_json::from_value(record.event).ok()? {
                Event::SkillApproval { answer, .. } => Some(answer),
                _ => None,
            })
            .collect();
        assert_eq!(answers, [RecordedAnswer::Granted, RecordedAnswer::Revoked]);
    }
}
