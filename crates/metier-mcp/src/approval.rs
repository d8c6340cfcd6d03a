//! A person asked through a client: at once where the client can be called back, or by an answer that it brings along when it calls again.

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
use tokio::sync::{mpsc, oneshot};

use crate::answer::Refusal;
use crate::library::Library;
use crate::turns::Turn;

/// Under which the question is asked, and the answer comes back.
const KEY: &str = "approval";

/// How long what a client brings back is good for.
const GOOD_FOR: Duration = Duration::from_mins(10);

/// A question that waits for its answer.
pub(crate) struct Asking {
    text: String,
    answer: oneshot::Sender<Answered>,
}

/// What a person said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answered {
    Once,
    Session,
    Always,
    No,
    Nothing,
}

impl Answered {
    fn of(result: &ElicitResult) -> Self {
        let said = result.content.as_ref().and_then(|content| content["answer"].as_str());
        match (&result.action, said) {
            (ElicitationAction::Accept, Some("once")) => Self::Once,
            (ElicitationAction::Accept, Some("session")) => Self::Session,
            (ElicitationAction::Accept, Some("always")) => Self::Always,
            (ElicitationAction::Accept, Some("no")) | (ElicitationAction::Decline, _) => Self::No,
            _ => Self::Nothing,
        }
    }

    fn into_answer(self, session: &str) -> Answer {
        match self {
            Self::Once => Answer::Approve(Lifetime::Once),
            Self::Session => Answer::Approve(Lifetime::Session(session.to_owned())),
            Self::Always => Answer::Approve(Lifetime::Digest),
            Self::No => Answer::Refuse(Lifetime::Once),
            Self::Nothing => Answer::Nobody,
        }
    }
}

/// The form that a person fills in.
fn form(question: &str) -> ElicitRequestParams {
    let schema = json!({
        "type": "object",
        "properties": { "answer": {
            "type": "string",
            "title": "Answer",
            "oneOf": [
                { "const": "once", "title": "Yes, this once" },
                { "const": "session", "title": "Yes, as long as this session lasts" },
                { "const": "always", "title": "Yes, as long as the skill does not change" },
                { "const": "no", "title": "No" },
            ],
        } },
        "required": ["answer"],
    });
    let schema = serde_json::from_value(schema).unwrap_or_else(|_| ElicitationSchema::new(BTreeMap::new()));
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: question.to_owned(),
        requested_schema: schema,
    }
}

/// Asks a client that can be called back.
pub(crate) async fn elicit(asking: Asking, peer: &Peer<RoleServer>, patience: Duration) {
    let asked = peer.create_elicitation_with_timeout(form(&asking.text), Some(patience)).await;
    let answered = asked.map_or(Answered::Nothing, |result| Answered::of(&result));
    // Where nobody waits any more the call was cancelled.
    let _ = asking.answer.send(answered);
}

/// Who is asked by a session while it works on one call.
pub(crate) enum Person {
    /// One that the call's own task asks.
    Here { questions: mpsc::UnboundedSender<Asking>, session: String, turn: Turn },
    /// One whose answers come with the next call.
    Later { known: BTreeMap<String, Value>, open: Open, session: String },
}

/// A question that nobody has answered yet: what is asked, and what it is known by.
pub(crate) type Open = Arc<Mutex<Option<(String, String)>>>;

impl Approver for Person {
    fn ask(&mut self, question: &Question<'_>) -> Answer {
        match self {
            Self::Here { questions, session, turn } => {
                let (answer, answered) = oneshot::channel();
                if questions.send(Asking { text: question.text(), answer }).is_err() {
                    return Answer::Nobody;
                }
                let answered = turn.pause(|| answered.blocking_recv());
                answered.unwrap_or(Answered::Nothing).into_answer(session)
            }
            Self::Later { known, open, session } => {
                let key = key_of(question);
                if let Some(answered) = known.remove(&key) {
                    let answered = Answered::deserialize(answered).unwrap_or(Answered::Nothing);
                    return answered.into_answer(session);
                }
                *open.lock().unwrap_or_else(PoisonError::into_inner) = Some((key, question.text()));
                Answer::Later
            }
        }
    }
}

/// What a question is known by: everything that makes it another question.
fn key_of(question: &Question<'_>) -> String {
    let request = question.request;
    let script = match request.action {
        Action::Run { script } => Some(script),
        _ => None,
    };
    let reach = request.network.map(ToString::to_string);
    let all =
        json!([request.skill, request.digest, script, question.access.as_str(), reach, request.destructive]);
    Digest::of(all.to_string().as_bytes()).to_string()
}

/// What a client carries from one call to the next, sealed.
#[derive(Debug, Serialize, Deserialize)]
struct Carried {
    /// Good for one use.
    id: String,
    /// Answers so far.
    known: BTreeMap<String, Value>,
    /// What was asked last.
    open: String,
}

/// Ids that have been used, as long as what they are in could be brought again.
#[derive(Debug, Default)]
pub(crate) struct Used(Mutex<HashMap<String, Instant>>);

impl Used {
    /// Whether it is used for the first time.
    #[expect(
        clippy::disallowed_methods,
        reason = "what is too old to be brought again need not be remembered"
    )]
    fn take(&self, id: &str) -> bool {
        let now = Instant::now();
        let mut used = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if used.len() == used.capacity() {
            used.retain(|_, since| now.duration_since(*since) <= GOOD_FOR);
        }
        used.insert(id.to_owned(), now).is_none()
    }
}

/// What a call is: answers are good for this one and no other.
pub(crate) fn call_of(principal: usize, what: &str, arguments: Option<&JsonObject>) -> Vec<u8> {
    json!([principal, what, arguments]).to_string().into_bytes()
}

/// The answers that a client brings along.
pub(crate) fn brought(
    library: &Library,
    call: &[u8],
    state: Option<&str>,
    responses: Option<&BTreeMap<String, Value>>,
) -> Result<BTreeMap<String, Value>, Refusal> {
    let Some(state) = state else { return Ok(BTreeMap::new()) };
    let stale = || {
        Refusal::Broken(
            "what was brought along is not good for this call, or not any more; call without it".to_owned(),
        )
    };
    let carried: Carried = library.seal.open_json_with(state, call).map_err(|_| stale())?;
    if !library.used.take(&carried.id) {
        return Err(stale());
    }
    let Carried { mut known, open, .. } = carried;
    if let Some(result) = responses.and_then(|all| all.get(KEY)) {
        let result: Option<ElicitResult> = serde_json::from_value(result.clone()).ok();
        let answered = result.map_or(Answered::Nothing, |result| Answered::of(&result));
        known.insert(open, json!(answered));
    }
    Ok(known)
}

/// Sends a question along with the client, to be called again with its answer.
pub(crate) fn send_along(
    library: &Library,
    call: &[u8],
    known: BTreeMap<String, Value>,
    (open, text): (String, String),
) -> Result<InputRequiredResult, Refusal> {
    let carried = Carried { id: uuid::Uuid::new_v4().to_string(), known, open };
    let options = SealOptions::new().associated_data(call).ttl(GOOD_FOR);
    let sealed = library.seal.seal_json_with(&carried, &options);
    let sealed = sealed.map_err(|error| Refusal::Broken(error.to_string()))?;
    let question = InputRequest::Elicitation(ElicitRequest::new(form(&text)));
    Ok(InputRequiredResult::new(Some(BTreeMap::from([(KEY.to_owned(), question)])), Some(sealed)))
}
