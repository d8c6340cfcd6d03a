//! The beginning of a conversation with a server, in the generation of the protocol that it speaks.

use std::sync::Arc;
use std::time::Duration;

use metier_sandbox::Local;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::http::HttpPeer;
use super::program::ProgramPeer;
use super::wire::{Inbox, Line};
use super::{Incoming, Step, UpstreamError, UpstreamServer, UpstreamTransport, wire::Wire};

/// The newest version with a handshake, and all that are accepted.
const HANDSHAKE: &str = "2025-11-25";
const WITH_HANDSHAKE: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", HANDSHAKE];

/// The version without one.
pub(crate) const STATELESS: &str = "2026-07-28";

/// How long a server may take to begin.
const PATIENCE: Duration = Duration::from_secs(30);

/// The names of members of `_meta` that describe a client without a handshake.
pub(crate) const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const META_CLIENT: &str = "io.modelcontextprotocol/clientInfo";
pub(crate) const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// A generation of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Generation {
    /// With a handshake and requests in both directions, up to 2025-11-25.
    Handshake,
    /// Each request stands for itself, from 2026-07-28 on.
    Stateless,
}

/// The client for which a connection is made, as servers are told.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) generation: Generation,
    pub(crate) capabilities: Value,
}

impl Caller {
    fn info() -> Value {
        json!({ "name": "metier", "title": "metier gateway", "version": env!("CARGO_PKG_VERSION") })
    }

    /// The members of `_meta` that describe the client.
    pub(crate) fn meta(&self) -> [(&'static str, Value); 3] {
        [
            (META_VERSION, json!(STATELESS)),
            (META_CLIENT, Self::info()),
            (META_CAPABILITIES, self.capabilities.clone()),
        ]
    }
}

/// A server that can be used.
pub(crate) struct Connected {
    pub(crate) wire: Arc<Wire>,
    pub(crate) generation: Generation,
    pub(crate) capabilities: Value,
    pub(crate) instructions: Option<String>,
}

impl Connected {
    /// Whether the server offers something, for example `tools`.
    pub(crate) fn offers(&self, name: &str) -> bool {
        self.capabilities.get(name).is_some_and(|value| !value.is_null())
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        // What still listens must not keep the connection.
        self.wire.end(UpstreamError::ended("the connection is no longer needed"));
    }
}

/// Connects to a server. The generation of the client is tried first, so that as little as possible is translated.
/// Returns also what the server sends by itself.
pub(crate) async fn connect(
    server: &UpstreamServer,
    local: &Local,
    caller: &Caller,
) -> Result<(Connected, mpsc::Receiver<Incoming>), UpstreamError> {
    let other = match caller.generation {
        Generation::Handshake => Generation::Stateless,
        Generation::Stateless => Generation::Handshake,
    };
    let first = attempt(server, local, caller, caller.generation).await;
    match first {
        // Only a server that answers can speak another generation; one that is missing cannot.
        Err(Failed::Spoken(error)) => match attempt(server, local, caller, other).await {
            Ok(connected) => Ok(connected),
            Err(Failed::Spoken(_)) => Err(error),
            Err(Failed::Gone(error)) => Err(error),
        },
        Err(Failed::Gone(error)) => Err(error),
        Ok(connected) => Ok(connected),
    }
}

/// Why an attempt failed.
enum Failed {
    /// The server does not speak this generation, or ended when it was spoken to.
    Spoken(UpstreamError),
    Gone(UpstreamError),
}

async fn attempt(
    server: &UpstreamServer,
    local: &Local,
    caller: &Caller,
    generation: Generation,
) -> Result<(Connected, mpsc::Receiver<Incoming>), Failed> {
    let (inbox, strays) = Inbox::new();
    let wire = Arc::new(Wire::new(Arc::clone(&inbox)));
    let line = match &server.transport {
        UpstreamTransport::Program(program) => {
            Line::Program(ProgramPeer::start(local, program, &inbox).await.map_err(Failed::Gone)?)
        }
        UpstreamTransport::Http { url, headers } => {
            Line::Http(HttpPeer::new(url, headers, &inbox).map_err(Failed::Gone)?)
        }
    };
    wire.attach(line);
    let begun = match generation {
        Generation::Handshake => shake_hands(&wire, caller),
        Generation::Stateless => return discover(wire, caller).await.map(|connected| (connected, strays)),
    };
    begun.await.map(|connected| (connected, strays))
}

async fn ask(wire: &Arc<Wire>, method: &str, params: Value) -> Result<Value, Failed> {
    let mut ongoing = wire.request(method, params).map_err(Failed::Spoken)?;
    let answer = tokio::time::timeout(PATIENCE, ongoing.answer()).await;
    let answer = answer.map_err(|_| Failed::Gone(UpstreamError::Silent { patience: PATIENCE }))?;
    match answer {
        Ok(Ok(result)) if result.is_object() => Ok(result),
        Ok(Ok(_)) => {
            Err(Failed::Spoken(UpstreamError::protocol(format!("its answer to `{method}` is not an object"))))
        }
        Ok(Err(error)) => {
            let message = error["message"].as_str().unwrap_or_default();
            let message: String = metier_skill::visible_name(message).chars().take(300).collect();
            Err(Failed::Spoken(UpstreamError::protocol(format!("it refused `{method}`: {message}"))))
        }
        Err(error @ UpstreamError::Ended { .. }) => Err(Failed::Spoken(error)),
        Err(error) => Err(Failed::Gone(error)),
    }
}

async fn shake_hands(wire: &Arc<Wire>, caller: &Caller) -> Result<Connected, Failed> {
    let params = json!({
        "protocolVersion": HANDSHAKE,
        "capabilities": caller.capabilities,
        "clientInfo": Caller::info(),
    });
    let mut result = ask(wire, "initialize", params).await?;
    let version = result["protocolVersion"].as_str().unwrap_or_default().to_owned();
    if !WITH_HANDSHAKE.contains(&version.as_str()) {
        let version: String = metier_skill::visible_name(&version).chars().take(40).collect();
        let reason = format!("it wants the protocol version `{version}`");
        return Err(Failed::Spoken(UpstreamError::protocol(reason)));
    }
    if let Some(Line::Http(http)) = wire.line() {
        http.negotiated(&version, false);
    }
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    match wire.line() {
        // Requests overtake each other, and this must be first.
        Some(Line::Http(http)) => {
            http.deliver(&initialized).await.map_err(Failed::Gone)?;
            http.listen();
        }
        _ => wire.notify("notifications/initialized", &json!({})),
    }
    Ok(Connected {
        wire: Arc::clone(wire),
        generation: Generation::Handshake,
        instructions: instructions(&result),
        capabilities: result["capabilities"].take(),
    })
}

async fn discover(wire: Arc<Wire>, caller: &Caller) -> Result<Connected, Failed> {
    let meta: serde_json::Map<String, Value> =
        caller.meta().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let mut result = ask(&wire, "server/discover", json!({ "_meta": meta })).await?;
    let versions = result["supportedVersions"].as_array();
    if !versions.is_some_and(|versions| versions.iter().any(|version| version == STATELESS)) {
        return Err(Failed::Spoken(UpstreamError::protocol("it does not support 2026-07-28")));
    }
    if let Some(Line::Http(http)) = wire.line() {
        http.negotiated(STATELESS, true);
    }
    let capabilities = result["capabilities"].take();
    let (instructions, generation) = (instructions(&result), Generation::Stateless);
    subscribe(&wire, &capabilities, &meta);
    Ok(Connected { wire, generation, capabilities, instructions })
}

/// The largest text about itself that a server may give.
const INSTRUCTIONS: usize = 16 << 10;

fn instructions(result: &Value) -> Option<String> {
    let text = result["instructions"].as_str().filter(|text| !text.trim().is_empty())?;
    let end = text.char_indices().map(|(at, _)| at).take_while(|at| *at <= INSTRUCTIONS).last()?;
    Some(if text.len() <= INSTRUCTIONS { text.to_owned() } else { text[..end].to_owned() })
}

/// Asks a server without a handshake to tell about changes of its lists.
fn subscribe(wire: &Arc<Wire>, capabilities: &Value, meta: &serde_json::Map<String, Value>) {
    let lists = [
        ("tools", "toolsListChanged"),
        ("prompts", "promptsListChanged"),
        ("resources", "resourcesListChanged"),
    ];
    let wanted = lists.into_iter().filter(|(name, _)| capabilities[*name]["listChanged"] == true);
    let wanted: serde_json::Map<String, Value> =
        wanted.map(|(_, name)| (name.to_owned(), json!(true))).collect();
    if wanted.is_empty() {
        return;
    }
    let params = json!({ "notifications": wanted, "_meta": meta });
    let Ok(mut listening) = wire.request("subscriptions/listen", params) else { return };
    let (wire, ended) = (Arc::downgrade(wire), wire.ended().clone());
    tokio::spawn(async move {
        loop {
            let step = tokio::select! {
                () = ended.cancelled() => return,
                step = listening.next() => step,
            };
            match (step, wire.upgrade()) {
                (Step::Incoming(incoming), Some(wire)) => wire.stray(incoming),
                _ => return,
            }
        }
    });
}
