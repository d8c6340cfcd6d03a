//! Requests to Codex, their answers, and their repetition when Codex is overloaded.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::frame::text;
use crate::protocol::Outbox;

/// The code of the error of an overloaded server.
const OVERLOADED: i64 = -32001;
/// How often a request is repeated, and how long the first wait is. Each wait is twice as long as the one before.
const REPETITIONS: u32 = 6;
const FIRST_WAIT: Duration = Duration::from_millis(200);

/// What was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    Initialize,
    Login,
    Thread,
    Turn,
    Interrupt,
}

/// What an answer means.
#[derive(Debug, PartialEq)]
pub(super) enum Answer {
    /// The result, or the message of an error.
    Of(Asked, Result<Value, String>),
    /// The request is sent again after this time.
    Again(Duration),
    /// It is not an answer to a request of ours.
    Unknown,
}

/// The requests that wait for an answer.
#[derive(Debug, Default)]
pub(super) struct Requests {
    count: u64,
    waiting: BTreeMap<u64, Request>,
}

struct Request {
    what: Asked,
    method: &'static str,
    params: Value,
    repetitions: u32,
}

impl Requests {
    /// Sends a request.
    pub(super) fn send(&mut self, what: Asked, method: &'static str, params: Value, out: &mut Outbox) {
        self.send_after(Duration::ZERO, Request { what, method, params, repetitions: 0 }, out);
    }

    fn send_after(&mut self, wait: Duration, request: Request, out: &mut Outbox) {
        self.count += 1;
        let frame = json!({ "id": self.count, "method": request.method, "params": request.params });
        if wait.is_zero() {
            out.json(&frame);
        } else {
            out.json_after(wait, &frame);
        }
        self.waiting.insert(self.count, request);
    }

    /// Whether a request of this kind waits for its answer.
    pub(super) fn is_waiting(&self, what: Asked) -> bool {
        self.waiting.values().any(|request| request.what == what)
    }

    /// An answer.
    pub(super) fn answered(&mut self, frame: &Value, out: &mut Outbox) -> Answer {
        let Some(mut request) =
            frame.get("id").and_then(Value::as_u64).and_then(|id| self.waiting.remove(&id))
        else {
            return Answer::Unknown;
        };
        let Some(error) = frame.get("error") else {
            return Answer::Of(request.what, Ok(frame.get("result").cloned().unwrap_or_default()));
        };
        let is_overloaded = error.get("code").and_then(Value::as_i64) == Some(OVERLOADED);
        if is_overloaded && request.repetitions < REPETITIONS {
            let wait = FIRST_WAIT * 2u32.pow(request.repetitions);
            request.repetitions += 1;
            self.send_after(wait, request, out);
            return Answer::Again(wait);
        }
        let message = text(error, "message").unwrap_or("it reported an error without a message");
        Answer::Of(request.what, Err(message.to_owned()))
    }
}

/// Without the parameters: they can have a key.
impl std::fmt::Debug for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Request").field("method", &self.method).finish_non_exhaustive()
    }
}
