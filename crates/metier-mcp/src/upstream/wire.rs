//! One JSON-RPC connection to a server: requests that wait for their answers, and what arrives without being asked for.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::UpstreamError;
use super::http::HttpPeer;
use super::program::ProgramPeer;

/// How many notifications and requests may wait for one call. More notifications are dropped.
const WAITING: usize = 256;

/// How many messages that belong to nothing are ignored before the connection is given up.
const STRAYS: u64 = 1_000;

/// The answer of a server: its result, or its error with code, message and data as it sent them.
pub(crate) type Reply = Result<Value, Value>;

/// What a server sends besides answers.
#[derive(Debug)]
pub(crate) enum Incoming {
    Notification(Value),
    Request { id: Value, message: Value },
}

/// The transport below.
pub(super) enum Line {
    Program(ProgramPeer),
    Http(HttpPeer),
}

/// A connection. When it is dropped, the transport ends.
pub(crate) struct Wire {
    line: OnceLock<Line>,
    inbox: Arc<Inbox>,
    next: AtomicU64,
}

/// Where messages of the server arrive.
pub(super) struct Inbox {
    pending: Mutex<BTreeMap<u64, Pending>>,
    /// What belongs to no call.
    strays: mpsc::Sender<Incoming>,
    ignored: AtomicU64,
    /// Cancelled when the connection has ended.
    pub(super) ended: CancellationToken,
    reason: OnceLock<UpstreamError>,
}

struct Pending {
    answer: oneshot::Sender<Reply>,
    events: mpsc::Sender<Incoming>,
}

/// A request that waits for its answer. Dropping it forgets the answer.
pub(crate) struct Ongoing {
    id: u64,
    events: mpsc::Receiver<Incoming>,
    answer: oneshot::Receiver<Reply>,
    wire: Arc<Wire>,
    is_over: bool,
}

impl Ongoing {
    /// Waits for the answer. It can be called again after it was interrupted.
    pub(crate) async fn answer(&mut self) -> Result<Reply, UpstreamError> {
        let ended = self.wire.inbox.ended.clone();
        let answered = tokio::select! {
            biased;
            answered = &mut self.answer => answered.ok(),
            () = ended.cancelled() => None,
        };
        self.is_over = true;
        answered.ok_or_else(|| self.wire.inbox.why())
    }

    /// The next thing that the server sends about this request. Messages before the answer come before it.
    pub(crate) async fn next(&mut self) -> Step {
        let ended = self.wire.inbox.ended.clone();
        let answered = tokio::select! {
            biased;
            Some(incoming) = self.events.recv() => return Step::Incoming(incoming),
            answered = &mut self.answer => answered.ok(),
            () = ended.cancelled() => None,
        };
        self.is_over = true;
        Step::Answer(answered.ok_or_else(|| self.wire.inbox.why()))
    }
}

/// What a server sends about a request.
pub(crate) enum Step {
    Incoming(Incoming),
    Answer(Result<Reply, UpstreamError>),
}

impl Drop for Ongoing {
    fn drop(&mut self) {
        if !self.is_over {
            self.wire.inbox.forget(self.id);
            let params = json!({ "requestId": self.id, "reason": "the client no longer waits" });
            self.wire.notify("notifications/cancelled", &params);
        }
    }
}

impl Inbox {
    pub(super) fn new() -> (Arc<Self>, mpsc::Receiver<Incoming>) {
        let (strays, receiver) = mpsc::channel(WAITING);
        let inbox = Self {
            pending: Mutex::default(),
            strays,
            ignored: AtomicU64::new(0),
            ended: CancellationToken::new(),
            reason: OnceLock::new(),
        };
        (Arc::new(inbox), receiver)
    }

    fn pending(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, Pending>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forget(&self, id: u64) {
        self.pending().remove(&id);
    }

    /// Whether a request still waits for its answer.
    pub(super) fn waits(&self, id: u64) -> bool {
        self.pending().contains_key(&id)
    }

    /// Ends the connection: everything that waits gets this error.
    pub(super) fn end(&self, reason: UpstreamError) {
        let _ = self.reason.set(reason);
        self.pending().clear();
        self.ended.cancel();
    }

    pub(super) fn why(&self) -> UpstreamError {
        self.reason.get().cloned().unwrap_or_else(|| UpstreamError::ended("it closed the connection"))
    }

    /// Ends one request with an error of the transport, as if the server had answered so.
    pub(super) fn fail(&self, id: u64, error: &UpstreamError) {
        if let Some(pending) = self.pending().remove(&id) {
            let _ = pending.answer.send(Err(json!({ "code": -32000, "message": error.to_string() })));
        }
    }

    /// Takes a message. `about` is the request in whose answer it arrived, if the transport tells.
    pub(super) fn take(&self, message: Value, about: Option<u64>) -> Result<(), UpstreamError> {
        if let Value::Array(messages) = message {
            return messages.into_iter().try_for_each(|message| self.take(message, about));
        }
        let Value::Object(mut members) = message else {
            return self.ignore("a message that is not an object");
        };
        let id = members.get("id").cloned();
        if members.get("method").is_some_and(Value::is_string) {
            let message = Value::Object(members);
            let incoming = match id {
                Some(id) => Incoming::Request { id, message },
                None => Incoming::Notification(message),
            };
            self.pass(incoming, about);
            return Ok(());
        }
        let id = id.as_ref().and_then(Value::as_u64);
        // An answer that arrives in the stream of another request was not asked for there.
        let id = id.filter(|id| about.is_none_or(|about| about == *id));
        let Some(pending) = id.and_then(|id| self.pending().remove(&id)) else {
            return self.ignore("an answer that no request waits for");
        };
        let reply = match (members.remove("result"), members.remove("error")) {
            (Some(result), None) => Ok(result),
            (None, Some(error @ Value::Object(_))) => Err(error),
            _ => Err(
                json!({ "code": -32603, "message": "the server's answer is neither a result nor an error" }),
            ),
        };
        let _ = pending.answer.send(reply);
        Ok(())
    }

    fn ignore(&self, what: &str) -> Result<(), UpstreamError> {
        if self.ignored.fetch_add(1, Ordering::Relaxed) < STRAYS {
            return Ok(());
        }
        Err(UpstreamError::protocol(format!("it keeps sending {what}")))
    }

    /// Gives a message to the call that it belongs to: the one that the transport names, else the newest.
    fn pass(&self, incoming: Incoming, about: Option<u64>) {
        let pending = self.pending();
        let named = about.and_then(|id| pending.get(&id));
        let is_about_calls = match &incoming {
            Incoming::Request { .. } => true,
            Incoming::Notification(message) => {
                let method = message["method"].as_str().unwrap_or_default();
                ["notifications/progress", "notifications/message"].contains(&method)
            }
        };
        let newest = pending.iter().next_back().map(|(_, pending)| pending).filter(|_| is_about_calls);
        let target = match &incoming {
            Incoming::Notification(message) => progress_of(message).and_then(|id| pending.get(&id)).or(named),
            Incoming::Request { .. } => named,
        };
        let channel = target.or(newest).map_or(&self.strays, |pending| &pending.events);
        // A server that sends faster than its client reads loses notifications, and gets no answer to requests.
        let _ = channel.try_send(incoming);
    }
}

/// The request whose progress a notification is about: progress tokens are the ids of requests.
fn progress_of(message: &Value) -> Option<u64> {
    (message["method"] == "notifications/progress").then(|| message["params"]["progressToken"].as_u64())?
}

impl Wire {
    pub(super) fn new(inbox: Arc<Inbox>) -> Self {
        Self { line: OnceLock::new(), inbox, next: AtomicU64::new(1) }
    }

    pub(super) fn attach(&self, line: Line) {
        let _ = self.line.set(line);
    }

    pub(super) fn line(&self) -> Option<&Line> {
        self.line.get()
    }

    /// Cancelled when the connection has ended.
    pub(crate) fn ended(&self) -> &CancellationToken {
        &self.inbox.ended
    }

    /// Why it has ended.
    pub(crate) fn why(&self) -> UpstreamError {
        self.inbox.why()
    }

    /// Ends the connection.
    pub(crate) fn end(&self, reason: UpstreamError) {
        self.inbox.end(reason);
    }

    /// Sends a request. If the parameters ask for progress, their token is replaced by the request's id.
    pub(crate) fn request(
        self: &Arc<Self>,
        method: &str,
        mut params: Value,
    ) -> Result<Ongoing, UpstreamError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        if let Some(token) = params.get_mut("_meta").and_then(|meta| meta.get_mut("progressToken")) {
            *token = json!(id);
        }
        let (answer, receiver) = oneshot::channel();
        let (events, incoming) = mpsc::channel(WAITING);
        self.inbox.pending().insert(id, Pending { answer, events });
        let ongoing =
            Ongoing { id, events: incoming, answer: receiver, wire: Arc::clone(self), is_over: false };
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }), Some(id))?;
        Ok(ongoing)
    }

    /// Sends a notification. A connection that has ended is noticed elsewhere.
    pub(crate) fn notify(&self, method: &str, params: &Value) {
        let _ = self.send(json!({ "jsonrpc": "2.0", "method": method, "params": params }), None);
    }

    /// Handles a message that arrived in the answer to a request as one that belongs to no call.
    pub(super) fn stray(&self, incoming: Incoming) {
        let _ = self.inbox.strays.try_send(incoming);
    }

    /// Answers a request of the server.
    pub(crate) fn respond(&self, id: &Value, reply: Reply) {
        let message = match reply {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
        };
        let _ = self.send(message, None);
    }

    fn send(&self, message: Value, id: Option<u64>) -> Result<(), UpstreamError> {
        if self.inbox.ended.is_cancelled() {
            return Err(self.inbox.why());
        }
        match self.line.get() {
            Some(Line::Program(program)) => program.send(&message),
            Some(Line::Http(http)) => {
                http.send(message, id);
                Ok(())
            }
            None => Err(UpstreamError::ended("the connection was not opened")),
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.inbox.end(UpstreamError::ended("the connection is no longer needed"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(inbox: &Inbox, id: u64) -> (oneshot::Receiver<Reply>, mpsc::Receiver<Incoming>) {
        let (answer, receiver) = oneshot::channel();
        let (events, incoming) = mpsc::channel(WAITING);
        inbox.pending().insert(id, Pending { answer, events });
        (receiver, incoming)
    }

    #[test]
    fn an_answer_reaches_only_the_request_that_it_is_for() {
        let (inbox, _strays) = Inbox::new();
        let (mut first, _) = waiting(&inbox, 1);
        let (mut second, _) = waiting(&inbox, 2);
        inbox.take(json!({ "id": 2, "result": "stolen" }), Some(1)).unwrap();
        inbox.take(json!({ "id": "1", "result": "text id" }), None).unwrap();
        inbox.take(json!({ "id": 9, "result": "unknown" }), None).unwrap();
        assert!(first.try_recv().is_err() && second.try_recv().is_err());
        inbox.take(json!({ "id": 1, "result": "own" }), Some(1)).unwrap();
        assert_eq!(first.try_recv().unwrap().unwrap(), "own");
        inbox.take(json!({ "id": 2, "result": 1, "error": { "code": 1 } }), None).unwrap();
        assert!(second.try_recv().unwrap().unwrap_err()["message"].as_str().unwrap().contains("neither"));
        inbox.take(json!({ "id": 2, "result": "twice" }), None).unwrap();
    }

    #[test]
    fn a_server_that_sends_nothing_but_strays_is_given_up() {
        let (inbox, _strays) = Inbox::new();
        let mut sent = 0;
        while inbox.take(json!({ "id": 7, "result": 1 }), None).is_ok() {
            sent += 1;
            assert!(sent <= STRAYS);
        }
        assert_eq!(sent, STRAYS);
    }

    #[test]
    fn a_flood_of_notifications_is_bounded() {
        let (inbox, mut strays) = Inbox::new();
        let (_first, mut events) = waiting(&inbox, 1);
        for _ in 0..10_000 {
            let progress = json!({ "method": "notifications/progress", "params": { "progressToken": 1 } });
            inbox.take(progress, None).unwrap();
            inbox.take(json!({ "method": "notifications/tools/list_changed" }), None).unwrap();
        }
        let count =
            |events: &mut mpsc::Receiver<Incoming>| std::iter::from_fn(|| events.try_recv().ok()).count();
        assert_eq!((count(&mut events), count(&mut strays)), (WAITING, WAITING));
    }
}
