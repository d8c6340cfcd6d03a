//! For any row of envelopes, the file gateway answers as a few lines do that keep everything in memory.

use std::collections::BTreeMap;

use metier_session::{
    DocumentChange, DocumentFailure, DocumentVersion, FailureReason, MutationEnvelope, MutationGateway as _,
    MutationOutcome, Precondition,
};
use metier_skill::Digest;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::common::{Place, envelope};

const NAMES: [&str; 3] = ["a", "b", "d/c"];
const CONTENTS: [&str; 3] = ["x", "y", ""];

/// What it should be: documents, and what became of each request.
#[derive(Default)]
struct Model {
    documents: BTreeMap<String, String>,
    requests: BTreeMap<String, (MutationEnvelope, MutationOutcome)>,
}

impl Model {
    fn version(&self, name: &str) -> DocumentVersion {
        DocumentVersion::of(self.documents.get(name).map(String::as_bytes))
    }

    /// Nothing stands for any rejection.
    fn submit(&mut self, asked: &MutationEnvelope) -> Option<MutationOutcome> {
        let mut names: Vec<_> = asked.changes.iter().map(|change| &change.target).collect();
        names.sort();
        names.dedup();
        if names.len() < asked.changes.len() || asked.changes.iter().any(|it| it.base_version.is_none()) {
            return None;
        }
        let real = MutationEnvelope { dry_run: false, ..asked.clone() };
        if let Some((before, outcome)) = self.requests.get(&asked.request_id) {
            return (*before == real).then(|| match outcome.clone() {
                MutationOutcome::Applied { versions, dry_run, .. } => {
                    MutationOutcome::Applied { versions, dry_run, repeated: true }
                }
                other => other,
            });
        }
        let outcome = self.decide(asked);
        if !asked.dry_run {
            if outcome.as_str() == "applied" {
                for change in &asked.changes {
                    match &change.payload {
                        Some(new) => self
                            .documents
                            .insert(change.target.clone(), String::from_utf8(new.clone()).unwrap()),
                        None => self.documents.remove(&change.target),
                    };
                }
            }
            self.requests.insert(asked.request_id.clone(), (real, outcome.clone()));
        }
        Some(outcome)
    }

    fn decide(&self, asked: &MutationEnvelope) -> MutationOutcome {
        let mut failures: Vec<DocumentFailure> = Vec::new();
        let bases = asked.changes.iter().map(|it| (&it.target, it.base_version.unwrap()));
        let others =
            asked.preconditions.iter().map(|it| (&it.target_id, DocumentVersion::Digest(it.expected)));
        for (target, expected) in bases.chain(others) {
            let current = self.version(target);
            let reason = match (expected, current) {
                (_, DocumentVersion::Absent) => FailureReason::Missing,
                (DocumentVersion::Absent, _) => FailureReason::Exists,
                _ => FailureReason::DigestMismatch,
            };
            let failure = DocumentFailure { target: target.clone(), reason, current: Some(current) };
            if expected != current && !failures.contains(&failure) {
                failures.push(failure);
            }
        }
        if !failures.is_empty() {
            return MutationOutcome::Conflict { failures };
        }
        let version = |it: &DocumentChange| (it.target.clone(), DocumentVersion::of(it.payload.as_deref()));
        let versions = asked.changes.iter().map(version).collect();
        MutationOutcome::Applied { versions, dry_run: asked.dry_run, repeated: false }
    }
}

/// A content, or none.
fn content() -> impl Strategy<Value = Option<&'static str>> {
    proptest::option::weighted(0.7, proptest::sample::select(&CONTENTS[..]))
}

/// A document's name, a content to take it for (or what it is), and a new one.
type Wish = (&'static str, Option<Option<&'static str>>, Option<&'static str>);

/// What an envelope says about documents.
#[derive(Debug, Clone)]
struct Ask {
    id: u8,
    changes: Vec<Wish>,
    conditions: Vec<(&'static str, &'static str)>,
    dry_run: bool,
}

fn ask() -> impl Strategy<Value = Ask> {
    let name = || proptest::sample::select(&NAMES[..]);
    let change = (name(), proptest::option::weighted(0.2, content()), content());
    let condition = (name(), proptest::sample::select(&CONTENTS[..]));
    (0..12_u8, vec(change, 1..4), vec(condition, 0..2), proptest::bool::weighted(0.2))
        .prop_map(|(id, changes, conditions, dry_run)| Ask { id, changes, conditions, dry_run })
}

impl Ask {
    fn envelope(&self, model: &Model) -> MutationEnvelope {
        let changes =
            self.changes.iter().map(|(target, from, to)| DocumentChange {
                target: (*target).to_owned(),
                base_version: Some(from.map_or_else(
                    || model.version(target),
                    |from| DocumentVersion::of(from.map(str::as_bytes)),
                )),
                payload: to.map(|to| to.as_bytes().to_vec()),
            });
        let mut envelope = envelope(&self.id.to_string(), changes.collect());
        envelope.preconditions = self
            .conditions
            .iter()
            .map(|(target, content)| Precondition {
                target_id: (*target).to_owned(),
                expected: Digest::of(content.as_bytes()),
            })
            .collect();
        envelope.dry_run = self.dry_run;
        envelope
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_gateway_agrees_with_a_model(asks in vec((ask(), any::<bool>(), any::<bool>()), 1..24)) {
        let place = Place::new(&[]);
        let (mut model, mut gateway) = (Model::default(), place.gateway());
        let mut last: Option<MutationEnvelope> = None;
        for (ask, is_reopened, is_repeated) in asks {
            if is_reopened {
                gateway = place.gateway();
            }
            let asked = last.filter(|_| is_repeated).unwrap_or_else(|| ask.envelope(&model));
            let (outcome, expected) = (gateway.submit(&asked), model.submit(&asked));
            match expected {
                Some(expected) => prop_assert_eq!(&outcome, &expected),
                None => prop_assert_eq!(outcome.as_str(), "rejected"),
            }
            prop_assert_eq!(&place.all(), &model.documents);
            prop_assert_eq!(place.leftovers(), Vec::<String>::new());
            last = Some(asked);
        }
    }
}
