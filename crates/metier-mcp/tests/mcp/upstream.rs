//! An MCP server over HTTP in this process, which does what a test tells it to, and remembers what it was sent.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::any;
use metier_mcp::{GatewayOptions, Library, LibraryOptions, RestartPauses, UpstreamServer, UpstreamTransport};
use metier_sandbox::Local;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::common::Ground;

/// How it answers a request.
#[derive(Clone)]
pub(crate) enum Answer {
    Result(Value),
    Error(Value),
    /// These messages in a stream of events; `null` as an id stands for that of the request.
    Stream(Vec<Value>),
    /// Any response: status, type and body.
    Raw(u16, &'static str, Vec<u8>),
    /// Nothing, as long as the connection exists.
    Never,
}

type Behaviour = Arc<dyn Fn(&Value) -> Option<Answer> + Send + Sync>;

/// A request that it was sent.
#[derive(Clone)]
pub(crate) struct Seen {
    pub(crate) headers: HeaderMap,
    pub(crate) message: Value,
}

#[derive(Clone)]
pub(crate) struct Upstream {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    tools: Arc<Mutex<Vec<Value>>>,
    behaviour: Arc<Mutex<Behaviour>>,
}

/// A tool with this name and description.
pub(crate) fn tool(name: &str, description: &str) -> Value {
    json!({ "name": name, "description": description, "inputSchema": { "type": "object" }, "x-unknown": 7 })
}

impl Upstream {
    /// With one tool, `query`.
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let upstream = Self {
            address: listener.local_addr().unwrap(),
            seen: Arc::default(),
            tools: Arc::new(Mutex::new(vec![tool("query", "Asks.")])),
            behaviour: Arc::new(Mutex::new(Arc::new(|_| None))),
        };
        let app = axum::Router::new().route("/mcp", any(serve)).with_state(upstream.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        upstream
    }

    /// From now on, it answers as this says, and as usual where it says nothing.
    pub(crate) fn on(&self, behaviour: impl Fn(&Value) -> Option<Answer> + Send + Sync + 'static) {
        *self.behaviour.lock().unwrap() = Arc::new(behaviour);
    }

    /// The same for one method.
    pub(crate) fn on_method(&self, method: &'static str, answer: Answer) {
        self.on(move |message| (message["method"] == method).then(|| answer.clone()));
    }

    pub(crate) fn set_tools(&self, tools: Vec<Value>) {
        *self.tools.lock().unwrap() = tools;
    }

    pub(crate) fn server(&self, name: &str, headers: &[(&str, &str)]) -> UpstreamServer {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let url = format!("http://{}/mcp", self.address);
        let mut server = UpstreamServer::new(name, UpstreamTransport::Http { url, headers });
        server.patience = Duration::from_secs(20);
        server
    }

    /// The messages with this method so far.
    pub(crate) fn seen(&self, method: &str) -> Vec<Value> {
        let seen = self.seen.lock().unwrap();
        seen.iter().map(|seen| seen.message.clone()).filter(|message| message["method"] == method).collect()
    }

    pub(crate) fn requests(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Waits until it was sent a message that is wanted.
    pub(crate) async fn until_seen(&self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..30_000 {
            if let Some(seen) = self.requests().into_iter().find(|seen| is_wanted(&seen.message)) {
                return seen.message;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        unreachable!("it was not sent what was waited for");
    }

    fn usual(&self, message: &Value) -> Answer {
        match message["method"].as_str().unwrap_or_default() {
            "initialize" => Answer::Result(json!({
                "protocolVersion": "2025-11-25",
                "capabilities": { "tools": { "listChanged": true } },
                "serverInfo": { "name": "upstream", "version": "1" },
            })),
            "tools/list" => Answer::Result(json!({ "tools": *self.tools.lock().unwrap() })),
            "tools/call" => {
                let text = message["params"]["arguments"].to_string();
                Answer::Result(json!({ "content": [{ "type": "text", "text": text }], "x-unknown": [1] }))
            }
            method => Answer::Error(json!({ "code": -32601, "message": method })),
        }
    }
}

async fn serve(
    State(upstream): State<Upstream>,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if method != Method::POST {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    let message: Value = serde_json::from_slice(&body).unwrap();
    upstream.seen.lock().unwrap().push(Seen { headers, message: message.clone() });
    let behaviour = Arc::clone(&upstream.behaviour.lock().unwrap());
    let answer = behaviour(&message);
    if message.get("id").is_none() || message.get("method").is_none() {
        return StatusCode::ACCEPTED.into_response();
    }
    let id = &message["id"];
    let json =
        |value: &Value| ([(header::CONTENT_TYPE, "application/json")], value.to_string()).into_response();
    match answer.unwrap_or_else(|| upstream.usual(&message)) {
        Answer::Result(result) => json(&json!({ "jsonrpc": "2.0", "id": id, "result": result })),
        Answer::Error(error) => json(&json!({ "jsonrpc": "2.0", "id": id, "error": error })),
        Answer::Stream(messages) => {
            let event = |mut message: Value| {
                if message.get("id").is_some_and(Value::is_null) {
                    message["id"] = id.clone();
                }
                format!("data: {message}\n\n")
            };
            let text: String = messages.into_iter().map(event).collect();
            ([(header::CONTENT_TYPE, "text/event-stream")], text).into_response()
        }
        Answer::Raw(status, kind, body) => {
            let status = StatusCode::from_u16(status).unwrap();
            let location = (header::LOCATION, "http://127.0.0.1:9/elsewhere");
            (status, [(header::CONTENT_TYPE, kind), location], Body::from(body)).into_response()
        }
        Answer::Never => std::future::pending().await,
    }
}

/// A library with a gateway to these servers.
pub(crate) fn gateway(ground: &Ground, servers: Vec<UpstreamServer>) -> Arc<Library> {
    gateway_with(ground, servers, |_| {})
}

pub(crate) fn gateway_with(
    ground: &Ground,
    servers: Vec<UpstreamServer>,
    change: impl FnOnce(&mut GatewayOptions),
) -> Arc<Library> {
    let mut options = LibraryOptions::default();
    options.gateway = Some(options_of(servers, change));
    ground.library(options)
}

#[expect(clippy::disallowed_methods, reason = "a gateway needs a clock")]
pub(crate) fn options_of(
    servers: Vec<UpstreamServer>,
    change: impl FnOnce(&mut GatewayOptions),
) -> GatewayOptions {
    let start = Instant::now();
    let local = Local::with_launcher(crate::launcher::launcher());
    let mut options = GatewayOptions::new(servers, local, Arc::new(move || start.elapsed()));
    options.pauses = RestartPauses::default().starting_with(Duration::from_millis(1));
    change(&mut options);
    options
}

/// What tools are listed, by name.
pub(crate) fn named(list: &Value) -> HashMap<String, Value> {
    let tools = list["result"]["tools"].as_array().unwrap();
    tools.iter().map(|tool| (tool["name"].as_str().unwrap().to_owned(), tool.clone())).collect()
}
