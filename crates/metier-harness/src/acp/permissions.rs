//! Permission requests of an agent, and their answers.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::frame::text;
use crate::protocol::Outbox;

/// The maximum number of requests that wait for an answer. More than that are not real.
const WAITING: usize = 10_000;

/// The requests that wait for an answer, by their id as text.
#[derive(Debug, Clone, Default)]
pub(super) struct Waiting {
    requests: BTreeMap<String, Open>,
}

#[derive(Debug, Clone)]
struct Open {
    id: Value,
    /// The options that stand for an answer to this one call.
    allow: Option<String>,
    deny: Option<String>,
}

impl Waiting {
    /// Remembers a request. Returns its key; nothing if there are too many, or it already exists.
    pub(super) fn add(&mut self, id: &Value, params: &Value) -> Option<String> {
        let key = id.to_string();
        if self.requests.len() >= WAITING || self.requests.contains_key(&key) {
            return None;
        }
        let options = params.get("options").and_then(Value::as_array);
        let option = |kind: &str| {
            let mut options = options.into_iter().flatten();
            let found = options.find(|option| text(option, "kind") == Some(kind))?;
            text(found, "optionId").map(str::to_owned)
        };
        let open = Open { id: id.clone(), allow: option("allow_once"), deny: option("reject_once") };
        self.requests.insert(key.clone(), open);
        Some(key)
    }

    /// Answers a request for this once. What the agent offers no answer for is cancelled. Returns whether it was open.
    pub(super) fn answer(&mut self, key: &str, is_allowed: bool, out: &mut Outbox) -> bool {
        let Some(Open { id, allow, deny }) = self.requests.remove(key) else { return false };
        let outcome = match if is_allowed { allow } else { deny } {
            Some(option) => json!({ "outcome": "selected", "optionId": option }),
            None => cancelled(),
        };
        out.json(&json!({ "jsonrpc": "2.0", "id": id, "result": { "outcome": outcome } }));
        true
    }

    /// Answers all of them as a client must when it cancels a turn.
    pub(super) fn cancel(&mut self, out: &mut Outbox) {
        for open in std::mem::take(&mut self.requests).into_values() {
            out.json(&json!({ "jsonrpc": "2.0", "id": open.id, "result": { "outcome": cancelled() } }));
        }
    }

    /// No request needs an answer any more.
    pub(super) fn clear(&mut self) {
        self.requests.clear();
    }
}

fn cancelled() -> Value {
    json!({ "outcome": "cancelled" })
}
