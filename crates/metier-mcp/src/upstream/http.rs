//! A server that is reached by streamable HTTP: one request for each message, answers as JSON or as a stream of events.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, header};
use base64::Engine as _;
use futures_util::StreamExt as _;
use hyper::body::Incoming as Received;
use serde_json::Value;

use super::pool::{Answer, Pool};
use super::sse::SseReader;
use super::wire::Inbox;
use super::{LONGEST, UpstreamError};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// How often a stream that broke is resumed, and how long to wait before if the server does not say.
const RESUMED: usize = 5;
const RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(30);

/// The sending side.
pub(super) struct HttpPeer(Arc<Shared>);

struct Shared {
    pool: Pool,
    headers: HeaderMap,
    /// The session, if the server has given one.
    session: Mutex<Option<HeaderValue>>,
    /// The negotiated version; messages before have none.
    version: OnceLock<HeaderValue>,
    /// Whether requests describe themselves in headers, as from 2026-07-28 on.
    is_described: OnceLock<()>,
    inbox: Arc<Inbox>,
}

impl HttpPeer {
    pub(super) fn new(
        url: &str,
        headers: &[(String, String)],
        inbox: &Arc<Inbox>,
    ) -> Result<Self, UpstreamError> {
        let mut own = HeaderMap::new();
        for (name, value) in headers {
            // The value may be a credential.
            let wrong = || UpstreamError::unreachable(format!("the header `{name}` is invalid"));
            let mut value: HeaderValue = value.parse().map_err(|_| wrong())?;
            value.set_sensitive(true);
            own.insert(name.parse::<HeaderName>().map_err(|_| wrong())?, value);
        }
        Ok(Self(Arc::new(Shared {
            pool: Pool::new(url)?,
            headers: own,
            session: Mutex::default(),
            version: OnceLock::new(),
            is_described: OnceLock::new(),
            inbox: Arc::clone(inbox),
        })))
    }

    /// Sets the version that was negotiated.
    pub(super) fn negotiated(&self, version: &str, is_described: bool) {
        if let Ok(version) = version.parse() {
            let _ = self.0.version.set(version);
        }
        if is_described {
            let _ = self.0.is_described.set(());
        }
    }

    /// Sends a message. What comes of it arrives in the inbox.
    pub(super) fn send(&self, message: Value, id: Option<u64>) {
        let shared = Arc::clone(&self.0);
        tokio::spawn(async move {
            let ended = shared.inbox.ended.clone();
            let sent = tokio::select! {
                () = ended.cancelled() => return,
                sent = shared.post(&message, id) => sent,
            };
            match (sent, id) {
                (Err(error @ UpstreamError::Protocol { .. }), Some(id)) => shared.inbox.fail(id, &error),
                (Err(error), _) => shared.inbox.end(error),
                (Ok(()), _) => {}
            }
        });
    }

    /// Sends a notification, and waits until the server has taken it.
    pub(super) async fn deliver(&self, message: &Value) -> Result<(), UpstreamError> {
        self.0.post(message, None).await
    }

    /// Listens for what the server sends by itself, as long as the connection exists.
    pub(super) fn listen(&self) {
        let shared = Arc::clone(&self.0);
        tokio::spawn(async move {
            let ended = shared.inbox.ended.clone();
            tokio::select! {
                () = ended.cancelled() => {}
                () = shared.listen() => {}
            }
        });
    }
}

impl Drop for HttpPeer {
    fn drop(&mut self) {
        let shared = Arc::clone(&self.0);
        let has_session = shared.session.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        if let (true, Ok(runtime)) = (has_session, tokio::runtime::Handle::try_current()) {
            // Servers that do not offer this answer with an error, which does not matter.
            runtime.spawn(async move {
                let request = || shared.request(Method::DELETE, Body::empty());
                let _ = tokio::time::timeout(RETRY, shared.pool.send(request)).await;
            });
        }
    }
}

impl Shared {
    fn request(&self, method: Method, body: Body) -> Request<Body> {
        let mut request = Request::new(body);
        *request.method_mut() = method;
        let headers = request.headers_mut();
        headers.clone_from(&self.headers);
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        let session = self.session.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (name, value) in [(SESSION, session), (VERSION, self.version.get().cloned())] {
            if let Some(value) = value {
                headers.insert(name, value);
            }
        }
        request
    }

    async fn post(&self, message: &Value, id: Option<u64>) -> Result<(), UpstreamError> {
        let body = message.to_string();
        let request = || {
            let mut request = self.request(Method::POST, Body::from(body.clone()));
            let headers = request.headers_mut();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            if self.is_described.get().is_some() || message["method"] == "server/discover" {
                describe(headers, message);
            }
            request
        };
        let answer = self.pool.send(request).await?;
        let (status, headers) = (answer.response.status(), answer.response.headers());
        if let Some(session) = headers.get(SESSION).filter(|_| message["method"] == "initialize") {
            *self.session.lock().unwrap_or_else(PoisonError::into_inner) = Some(session.clone());
        }
        let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let (is_stream, is_json) =
            (kind.starts_with("text/event-stream"), kind.starts_with("application/json"));
        if status.is_success() && is_stream {
            return self.follow(answer, id).await;
        }
        let bytes = self.body(answer).await?;
        let has_session = self.session.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        if status == StatusCode::NOT_FOUND && has_session {
            return Err(UpstreamError::ended("it has forgotten the session"));
        }
        let Some(id) = id else {
            let is_fine = status.is_success();
            let reason = || UpstreamError::protocol(format!("it answered a notification with {status}"));
            return if is_fine { Ok(()) } else { Err(reason()) };
        };
        match serde_json::from_slice::<Value>(&bytes) {
            Ok(mut message) if is_json && message.is_object() => {
                // An error about the whole request has no id, or the wrong one.
                if !status.is_success() && message.get("error").is_some() {
                    message["id"] = id.into();
                }
                self.inbox.take(message, Some(id))?;
            }
            Ok(messages @ Value::Array(_)) if is_json => self.inbox.take(messages, Some(id))?,
            _ => {}
        }
        if self.inbox.waits(id) {
            return Err(UpstreamError::protocol(format!("it answered with {status} and no valid message")));
        }
        Ok(())
    }

    /// Reads a body that is not a stream.
    async fn body(&self, answer: Answer) -> Result<Vec<u8>, UpstreamError> {
        let mut bytes = Vec::new();
        let mut stream = Body::new(answer.response.into_body()).into_data_stream();
        while let Some(chunk) = stream.next().await {
            let chunk = chunk.map_err(|error| UpstreamError::ended(error.to_string()))?;
            if bytes.len() + chunk.len() > LONGEST {
                return Err(UpstreamError::TooLong { most: LONGEST });
            }
            bytes.extend_from_slice(&chunk);
        }
        self.pool.keep(answer.connection);
        Ok(bytes)
    }

    /// Follows the stream with the answer to a request. A stream that ends before the answer is resumed where it
    /// stopped, if the server numbers its events.
    async fn follow(&self, answer: Answer, id: Option<u64>) -> Result<(), UpstreamError> {
        let mut stream = Events::new(answer);
        let mut last = None;
        for _ in 0..=RESUMED {
            let retry = self.read(&mut stream, id, &mut last).await?;
            let waits = id.is_some_and(|id| self.inbox.waits(id));
            if !waits {
                self.pool.keep(stream.connection);
                return Ok(());
            }
            let Some(last) = &last else { break };
            tokio::time::sleep(retry).await;
            let Some(resumed) = self.open_stream(Some(last)).await? else { break };
            stream = Events::new(resumed);
        }
        Err(UpstreamError::protocol("its stream of events ended before the answer"))
    }

    /// Reads a stream until it ends, or until the request that it is about has its answer. Returns how long to wait
    /// before it may be resumed.
    async fn read(
        &self,
        stream: &mut Events,
        id: Option<u64>,
        last: &mut Option<String>,
    ) -> Result<Duration, UpstreamError> {
        let mut retry = RETRY;
        let mut reader = SseReader::new(LONGEST);
        while let Some(chunk) = stream.body.next().await {
            // A connection that broke is a stream that ended.
            let Ok(chunk) = chunk else { break };
            for event in reader.take(&chunk)? {
                *last = event.id.filter(|id| !id.is_empty()).or(last.take());
                retry = event.retry.map_or(retry, Duration::from_millis).min(LONGEST_RETRY);
                if event.data.is_empty() {
                    continue;
                }
                let message = serde_json::from_str(&event.data);
                let message = message.map_err(|_| UpstreamError::protocol("an event is not JSON"))?;
                self.inbox.take(message, id)?;
            }
        }
        Ok(retry)
    }

    /// Opens a stream for what the server sends by itself, or for the rest of another one; `None` if it has none.
    async fn open_stream(&self, last: Option<&str>) -> Result<Option<Answer>, UpstreamError> {
        let request = || {
            let mut request = self.request(Method::GET, Body::empty());
            let headers = request.headers_mut();
            headers.insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
            if let Some(last) = last.and_then(|last| last.parse().ok()) {
                headers.insert(LAST_EVENT, last);
            }
            request
        };
        let answer = self.pool.send(request).await?;
        if answer.response.status().is_success() {
            return Ok(Some(answer));
        }
        self.body(answer).await?;
        Ok(None)
    }

    async fn listen(&self) {
        let mut last = None;
        loop {
            let Ok(Some(answer)) = self.open_stream(last.as_deref()).await else { return };
            let mut stream = Events::new(answer);
            match self.read(&mut stream, None, &mut last).await {
                Ok(retry) => tokio::time::sleep(retry).await,
                Err(error) => return self.inbox.end(error),
            }
        }
    }
}

/// The body of a stream, and its connection.
struct Events {
    body: axum::body::BodyDataStream,
    connection: hyper::client::conn::http1::SendRequest<Body>,
}

impl Events {
    fn new(answer: Answer) -> Self {
        let body: Received = answer.response.into_body();
        Self { body: Body::new(body).into_data_stream(), connection: answer.connection }
    }
}

/// Describes a request in headers, for servers and balancers that do not read bodies.
fn describe(headers: &mut HeaderMap, message: &Value) {
    let Some(method) = message["method"].as_str() else { return };
    let params = &message["params"];
    let name = match method {
        "tools/call" | "prompts/get" => params["name"].as_str(),
        "resources/read" => params["uri"].as_str(),
        _ => None,
    };
    let version = params["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str();
    for (header, value) in [(METHOD, Some(method)), (NAME, name), (VERSION, version)] {
        if let Some(value) = value.and_then(in_header) {
            headers.insert(header, value);
        }
    }
}

/// A text as a header's value; encoded if it has other characters than those.
fn in_header(text: &str) -> Option<HeaderValue> {
    let is_plain = text.bytes().all(|byte| matches!(byte, 0x20..=0x7e)) && text.trim() == text;
    let is_coded = text.starts_with("=?base64?");
    if is_plain && !is_coded {
        return text.parse().ok();
    }
    let coded = base64::engine::general_purpose::STANDARD.encode(text);
    format!("=?base64?{coded}?=").parse().ok()
}
