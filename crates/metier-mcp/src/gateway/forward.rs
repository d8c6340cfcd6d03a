//! One request that is passed to a server: its answer, and what the server asks and tells meanwhile.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{ServerNotification, ServerRequest};
use rmcp::service::{Peer, RequestContext, RoleServer, ServiceError};
use serde_json::{Map, Value, json};

use super::link::{Link, Served};
use super::{Gateway, items};
use crate::connection::is_modern;
use crate::upstream::{
    Connected, Generation, Incoming, META_CAPABILITIES, Ongoing, Reply, Step, UpstreamError,
};

/// How often a server may ask for input during one call.
const ROUNDS: usize = 10;

/// How many calls may wait for input from stateless clients, and for how long.
const PARKED: usize = 256;
const GOOD_FOR: Duration = Duration::from_mins(10);

/// The key of the input that a waiting call asks for.
const INPUT: &str = "input";

/// What came of a request.
#[derive(Debug)]
pub(super) enum Forwarded {
    /// The server's answer.
    Replied(Reply),
    /// The server waits for input that the client brings when it calls again; the key of the call that waits.
    Waits { key: String, requests: Value },
    /// The client cancelled it.
    Cancelled,
}

/// Calls that wait for input from a stateless client.
#[derive(Default)]
pub(super) struct Parked(Mutex<HashMap<String, Waiting>>);

struct Waiting {
    ongoing: Ongoing,
    connected: Arc<Connected>,
    /// The id of the server's request.
    request: Value,
    since: Duration,
}

impl Parked {
    fn put(&self, key: String, waiting: Waiting) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = waiting.since;
        all.retain(|_, other| now.saturating_sub(other.since) < GOOD_FOR);
        if all.len() >= PARKED
            && let Some(oldest) = all.iter().min_by_key(|(_, other)| other.since).map(|(key, _)| key.clone())
        {
            all.remove(&oldest);
        }
        all.insert(key, waiting);
    }

    fn take(&self, key: &str) -> Option<Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key)
    }

    pub(super) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// Passes a request to a server. `params` are those of the client.
pub(super) async fn forward(
    link: &Link,
    served: &Served,
    method: &str,
    params: Value,
    context: &RequestContext<RoleServer>,
) -> Result<Forwarded, UpstreamError> {
    let connected = served.get()?;
    let token = params["_meta"]["progressToken"].clone();
    let mut params = items::described(params, &connected, link.caller());
    for _ in 0..ROUNDS {
        let ongoing = connected.wire.request(method, params.clone())?;
        let run = Run { gateway: &link.gateway, connected: &connected, token: &token, context };
        let forwarded = run.to_end(ongoing, served.server.patience).await?;
        // A server without sessions answers with its questions; a client with a session can be asked them.
        let asks = match &forwarded {
            Forwarded::Replied(Ok(result)) if !is_modern(context) => result["resultType"] == "input_required",
            _ => false,
        };
        let Forwarded::Replied(Ok(mut result)) = forwarded else { return Ok(forwarded) };
        if !asks {
            return Ok(Forwarded::Replied(Ok(result)));
        }
        let Some(responses) = responses(&context.peer, result["inputRequests"].take(), context).await else {
            return Ok(Forwarded::Cancelled);
        };
        params["inputResponses"] = responses;
        match result["requestState"].take() {
            Value::Null => {
                drop(params.as_object_mut().and_then(|params| params.shift_remove("requestState")));
            }
            state => params["requestState"] = state,
        }
    }
    Err(UpstreamError::protocol("it asks for input without end"))
}

/// Continues a call that waited for input.
pub(super) async fn resume(
    link: &Link,
    served: &Served,
    key: &str,
    params: &Value,
    context: &RequestContext<RoleServer>,
) -> Result<Forwarded, UpstreamError> {
    let gone = || UpstreamError::ended("the call that waited for input is no longer there");
    let Waiting { ongoing, connected, request, .. } = link.gateway.parked.take(key).ok_or_else(gone)?;
    let reply = match params["inputResponses"].get(INPUT) {
        Some(response) => Ok(response.clone()),
        None => Err(json!({ "code": -32000, "message": "the client gave no input" })),
    };
    connected.wire.respond(&request, reply);
    let token = params["_meta"]["progressToken"].clone();
    let run = Run { gateway: &link.gateway, connected: &connected, token: &token, context };
    run.to_end(ongoing, served.server.patience).await
}

/// A request under way.
struct Run<'a> {
    gateway: &'a Gateway,
    connected: &'a Arc<Connected>,
    /// The client's token for progress, or null.
    token: &'a Value,
    context: &'a RequestContext<RoleServer>,
}

impl Run<'_> {
    async fn to_end(&self, mut ongoing: Ongoing, patience: Duration) -> Result<Forwarded, UpstreamError> {
        loop {
            let step = tokio::select! {
                biased;
                () = self.context.ct.cancelled() => return Ok(Forwarded::Cancelled),
                step = ongoing.next() => step,
                () = tokio::time::sleep(patience) => return Err(UpstreamError::Silent { patience }),
            };
            match step {
                Step::Answer(reply) => return reply.map(Forwarded::Replied),
                Step::Incoming(Incoming::Notification(message)) => self.tell(message).await,
                Step::Incoming(Incoming::Request { id, message }) if is_modern(self.context) => {
                    match self.question(&message) {
                        Ok(request) => return Ok(self.park(ongoing, id, request)),
                        Err(reply) => self.connected.wire.respond(&id, reply),
                    }
                }
                Step::Incoming(Incoming::Request { id, message }) => {
                    let reply = tokio::select! {
                        () = self.context.ct.cancelled() => return Ok(Forwarded::Cancelled),
                        reply = ask(&self.context.peer, &message) => reply,
                    };
                    self.connected.wire.respond(&id, reply);
                }
            }
        }
    }

    /// Passes a notification to the client, with the client's token for progress.
    async fn tell(&self, mut message: Value) {
        if message["method"] == "notifications/progress" {
            if self.token.is_null() || message["params"]["progressToken"].is_null() {
                return;
            }
            message["params"]["progressToken"] = self.token.clone();
        }
        if let Ok(notification) = serde_json::from_value::<ServerNotification>(message) {
            let _ = self.context.peer.send_notification(notification).await;
        }
    }

    /// A request of the server that a client without a session can answer, or the answer to any other.
    fn question(&self, message: &Value) -> Result<Value, Reply> {
        let method = message["method"].as_str().unwrap_or_default();
        let capability = match method {
            "elicitation/create" => "elicitation",
            "sampling/createMessage" => "sampling",
            "roots/list" => "roots",
            "ping" => return Err(Ok(json!({}))),
            _ => "",
        };
        let capabilities = self.context.client_capabilities();
        let capabilities = capabilities.and_then(|all| serde_json::to_value(all).ok()).unwrap_or_default();
        if capability.is_empty() || capabilities.get(capability).is_none() {
            let message = format!("the client does not support `{method}`");
            return Err(Err(json!({ "code": -32601, "message": message })));
        }
        let mut request = json!({ "method": method });
        if let Some(params) = message.get("params") {
            request["params"] = params.clone();
        }
        Ok(request)
    }

    fn park(&self, ongoing: Ongoing, id: Value, request: Value) -> Forwarded {
        let key = uuid::Uuid::new_v4().to_string();
        let (connected, since) = (Arc::clone(self.connected), (self.gateway.options.clock)());
        self.gateway.parked.put(key.clone(), Waiting { ongoing, connected, request: id, since });
        Forwarded::Waits { key, requests: Value::Object(Map::from_iter([(INPUT.to_owned(), request)])) }
    }
}

/// Asks a client something for a server; returns its answer or its error.
pub(super) async fn ask(peer: &Peer<RoleServer>, message: &Value) -> Reply {
    let request =
        json!({ "method": message["method"], "params": message.get("params").unwrap_or(&json!({})) });
    let error = |code: i32, message: String| Err(json!({ "code": code, "message": message }));
    let Ok(request) = serde_json::from_value::<ServerRequest>(request) else {
        return error(-32600, "the request is invalid".to_owned());
    };
    match peer.send_request(request).await {
        Ok(result) => serde_json::to_value(result).or_else(|wrong| error(-32603, wrong.to_string())),
        Err(ServiceError::McpError(refused)) => {
            Err(serde_json::to_value(refused).unwrap_or_else(|_| json!({ "code": -32603, "message": "" })))
        }
        Err(other) => error(-32603, other.to_string()),
    }
}

/// Asks a client with a session the questions of a server without one; `None` if the call was cancelled.
async fn responses(
    peer: &Peer<RoleServer>,
    requests: Value,
    context: &RequestContext<RoleServer>,
) -> Option<Value> {
    let Value::Object(requests) = requests else { return Some(json!({})) };
    let mut responses = Map::new();
    for (key, request) in requests.into_iter().take(ROUNDS) {
        let reply = tokio::select! {
            () = context.ct.cancelled() => return None,
            reply = ask(peer, &request) => reply,
        };
        // What the client refuses has no response; the server decides what that means.
        responses.extend(reply.ok().map(|response| (key, response)));
    }
    Some(Value::Object(responses))
}

/// A result as the client's generation wants it.
pub(super) fn translated(mut result: Value, method: &str, is_modern: bool) -> Value {
    let Some(members) = result.as_object_mut() else { return result };
    if !is_modern {
        if members.get("resultType").is_some_and(|kind| kind == "complete") {
            members.shift_remove("resultType");
        }
        return result;
    }
    members.entry("resultType").or_insert_with(|| json!("complete"));
    if method == "resources/read" {
        members.entry("ttlMs").or_insert_with(|| json!(0));
        members.entry("cacheScope").or_insert_with(|| json!("private"));
    }
    result
}

/// The capabilities for which questions are passed on: those of the client.
pub(super) fn capabilities_of(context: &RequestContext<RoleServer>) -> Value {
    let named = context.meta.0.0.get(META_CAPABILITIES).cloned();
    named.filter(Value::is_object).unwrap_or_else(|| json!({}))
}

/// The generation of a client.
pub(super) fn generation_of(context: &RequestContext<RoleServer>) -> Generation {
    if is_modern(context) { Generation::Stateless } else { Generation::Handshake }
}
