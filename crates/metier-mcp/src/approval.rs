//! Approvals through a client. Nothing is blocked while the user decides: the work is repeated with the answer.
//!
//! Up to revision 2025-11-25, the server sends the client a request, in a task of its own. From 2026-07-28 on, the
//! client receives the question as a result and calls again with the answer. In both cases the session ends the call
//! with [`Answer::Later`] and is entered again.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use metier_policy::{Action, Answer, Approver, Lifetime, Question};
use metier_skill::Digest;
use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, InputRequest,
    InputRequiredResult, JsonObject, SealOptions,
};
use rmcp::service::{Peer, RoleServer};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::answer::Refusal;
use crate::library::Library;

/// The key of the question and of its answer.
const KEY: &str = "approval";

/// How long the state that a client returns is valid.
const GOOD_FOR: Duration = Duration::from_mins(10);

/// The user's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answered {
    Once,
    Session,
    Always,
    No,
    /// The client declined: the user did, or the client itself because it cannot ask.
    Declined,
    Nothing,
}

impl Answered {
    fn of(result: &ElicitResult) -> Self {
        let said = result.content.as_ref().and_then(|content| content["answer"].as_str());
        match (&result.action, said) {
            (ElicitationAction::Accept, Some("once")) => Self::Once,
            (ElicitationAction::Accept, Some("session")) => Self::Session,
            (ElicitationAction::Accept, Some("always")) => Self::Always,
            (ElicitationAction::Accept, Some("no")) => Self::No,
            (ElicitationAction::Decline, _) => Self::Declined,
            _ => Self::Nothing,
        }
    }

    fn into_answer(self, session: &str, is_lasting: bool) -> Answer {
        match self {
            Self::Once => Answer::Approve(Lifetime::Once),
            Self::Always if is_lasting => Answer::Approve(Lifetime::Digest),
            Self::Session | Self::Always => Answer::Approve(Lifetime::Session(session.to_owned())),
            Self::No | Self::Declined => Answer::Refuse(Lifetime::Once),
            Self::Nothing => Answer::Nobody,
        }
    }
}

/// The form that the user fills in.
fn form(question: &Unanswered) -> ElicitRequestParams {
    let yes = |lifetime: &str, covers: &str| json!({ "const": lifetime, "title": format!("Yes, {covers}") });
    let mut choices = vec![yes("once", &question.once), yes("session", &question.session)];
    choices.extend(question.always.as_ref().map(|covers| yes("always", covers)));
    choices.push(json!({ "const": "no", "title": "No" }));
    let schema = json!({
        "type": "object",
        "properties": { "answer": { "type": "string", "title": "Answer", "oneOf": choices } },
        "required": ["answer"],
    });
    let schema = serde_json::from_value(schema).unwrap_or_else(|_| ElicitationSchema::new(BTreeMap::new()));
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: question.text.clone(),
        requested_schema: schema,
    }
}

/// Asks a client through a server request. A timeout counts as no answer.
pub(crate) async fn elicit(question: &Unanswered, peer: &Peer<RoleServer>, patience: Duration) -> Answered {
    let asked = peer.create_elicitation_with_timeout(form(question), Some(patience)).await;
    asked.map_or(Answered::Nothing, |result| Answered::of(&result))
}

/// The answers so far, by the key of each question.
pub(crate) type Known = BTreeMap<String, Answered>;

/// A question that has no answer yet.
#[derive(Debug)]
pub(crate) struct Unanswered {
    pub(crate) key: String,
    pub(crate) text: String,
    /// What each approval covers.
    once: String,
    session: String,
    /// `None` if no answer may last longer than a session.
    always: Option<String>,
}

/// The slot in which a session leaves the question that blocks it.
pub(crate) type Open = Arc<Mutex<Option<Unanswered>>>;

/// The approver of a session during one call: known questions are answered, a new one is left open.
pub(crate) struct Person {
    pub(crate) known: Known,
    pub(crate) open: Open,
    /// Whether an approval may last until the skill changes.
    pub(crate) is_lasting: bool,
    pub(crate) session: String,
}

impl Approver for Person {
    fn ask(&mut self, question: &Question<'_>) -> Answer {
        let key = key_of(question);
        if let Some(answered) = self.known.remove(&key) {
            return answered.into_answer(&self.session, self.is_lasting);
        }
        let unanswered = Unanswered {
            key,
            text: question.text(),
            once: question.covers(&Lifetime::Once),
            session: question.covers(&Lifetime::Session(self.session.clone())),
            always: self.is_lasting.then(|| question.covers(&Lifetime::Digest)),
        };
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = Some(unanswered);
        Answer::Later
    }

    fn how(&self) -> &'static str {
        "client"
    }
}

/// The key of a question: a digest of everything that distinguishes it from others.
fn key_of(question: &Question<'_>) -> String {
    let request = question.request;
    let script = match request.action {
        Action::Run { script } => Some(script),
        Action::Call { tool, .. } => Some(tool),
        _ => None,
    };
    let reach = request.network.map(ToString::to_string);
    // The details of the call that the user sees are part of the question.
    let work = request.work.map(std::path::Path::to_string_lossy);
    let given = json!([request.arguments, request.variables, request.input.map(Digest::of), work]);
    let asked = json!([question.access.as_str(), reach, request.destructive]);
    let all = json!([request.skill, request.digest, script, asked, given]);
    Digest::of(all.to_string().as_bytes()).to_string()
}

/// The state that a client carries from one call to the next, encrypted.
#[derive(Debug, Serialize, Deserialize)]
struct Carried {
    /// Valid for one use.
    id: String,
    /// Answers so far.
    known: Known,
    /// The key of the last question of ours.
    open: Option<String>,
    /// What is left of a call that has begun.
    rest: Option<Continuation>,
}

/// What is left of a call that a server behind the gateway has begun: it waits for input of the client.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Continuation {
    /// The server continues when it is called again with this state of its own.
    Again(Option<String>),
    /// The call itself waits, under this key.
    Parked(String),
}

/// Ids that have been used, kept as long as their state is still valid.
#[derive(Debug, Default)]
pub(crate) struct Used(Mutex<HashMap<String, Instant>>);

impl Used {
    /// Whether the id is used for the first time.
    #[expect(clippy::disallowed_methods, reason = "ids of expired states need not be remembered")]
    fn take(&self, id: &str) -> bool {
        let now = Instant::now();
        let mut used = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if used.len() == used.capacity() {
            used.retain(|_, since| now.duration_since(*since) <= GOOD_FOR);
        }
        used.insert(id.to_owned(), now).is_none()
    }
}

/// The identity of a call: answers are valid only for this call.
pub(crate) fn call_of(principal: usize, what: &str, arguments: Option<&JsonObject>) -> Vec<u8> {
    json!([principal, what, arguments]).to_string().into_bytes()
}

/// The answers that a client returns, and what is left of a call that has begun.
pub(crate) fn brought(
    library: &Library,
    call: &[u8],
    state: Option<&str>,
    responses: Option<&BTreeMap<String, Value>>,
) -> Result<(Known, Option<Continuation>), Refusal> {
    let Some(state) = state else { return Ok((Known::new(), None)) };
    let stale =
        || Refusal::Broken("the `requestState` is invalid or expired; call again without it".to_owned());
    let carried: Carried = library.seal.open_json_with(state, call).map_err(|_| stale())?;
    if !library.used.take(&carried.id) {
        return Err(stale());
    }
    let Carried { mut known, open, rest, .. } = carried;
    if let (Some(open), Some(result)) = (open, responses.and_then(|all| all.get(KEY))) {
        let result: Option<ElicitResult> = serde_json::from_value(result.clone()).ok();
        let answered = result.map_or(Answered::Nothing, |result| Answered::of(&result));
        known.insert(open, answered);
    }
    Ok((known, rest))
}

/// Seals the state of a call for the client to carry.
pub(crate) fn seal(
    library: &Library,
    call: &[u8],
    known: Known,
    open: Option<String>,
    rest: Option<Continuation>,
) -> Result<String, Refusal> {
    let carried = Carried { id: uuid::Uuid::new_v4().to_string(), known, open, rest };
    let options = SealOptions::new().associated_data(call).ttl(GOOD_FOR);
    library.seal.seal_json_with(&carried, &options).map_err(|error| Refusal::Broken(error.to_string()))
}

/// Returns a question to the client, which calls again with its answer.
pub(crate) fn send_along(
    library: &Library,
    call: &[u8],
    known: Known,
    question: Unanswered,
    rest: Option<Continuation>,
) -> Result<InputRequiredResult, Refusal> {
    let form = form(&question);
    let sealed = seal(library, call, known, Some(question.key), rest)?;
    let question = InputRequest::Elicitation(ElicitRequest::new(form));
    Ok(InputRequiredResult::new(Some(BTreeMap::from([(KEY.to_owned(), question)])), Some(sealed)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use metier_policy::{Access, Request};
    use metier_skill::Tier;

    use super::*;

    /// An answer about one call is not one about another.
    #[test]
    fn what_a_person_is_shown_is_part_of_the_question() {
        let variables = BTreeMap::from([("A".to_owned(), "b".to_owned())]);
        let arguments = ["x".to_owned()];
        let plain = Request::new(Tier::User, "tally", Digest::of(b""), Action::Run { script: "run.sh" });
        let mut all = [plain; 8];
        all[1].input = Some(b"");
        all[2].input = Some(b"echo");
        all[3].arguments = Some(&[]);
        all[4].arguments = Some(&arguments);
        all[5].variables = Some(&variables);
        all[6].work = Some(Path::new("/repo"));
        all[7].destructive = true;
        let key = |request: &Request<'_>| key_of(&Question::new(request, Access::Scripts, ""));
        let keys: BTreeSet<String> = all.iter().map(key).collect();
        assert_eq!(keys.len(), all.len());
    }
}
