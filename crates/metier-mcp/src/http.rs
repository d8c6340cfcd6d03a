//! Any number of clients over streamable HTTP.

mod accept;
mod body;
mod gate;
mod streams;
mod token;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware;
use axum::response::IntoResponse as _;
use axum::routing::get;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use self::accept::Bounds;
use self::gate::Gate;
pub(crate) use self::gate::{Holder, Principal};
use self::streams::Sessions;
pub use self::token::Token;
use crate::connection::McpConnection;
use crate::error::McpError;
use crate::library::Library;

/// A session that nobody uses is ended after this. It is longer than any script may take.
const IDLE: Duration = Duration::from_mins(30);

/// How long calls have to end when the server does.
const LAST_CALLS: Duration = Duration::from_secs(10);

/// How long connections have to close then.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Who is let in, and how much of it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HttpOptions {
    /// Where to listen.
    pub address: SocketAddr,
    /// What clients have to know, one of these each. Without any, only clients on this machine are served.
    pub tokens: Vec<Token>,
    /// What the server may be called, beside the names of this machine for itself.
    pub hosts: Vec<String>,
    /// Which web pages may use it, beside those of this machine.
    pub origins: Vec<String>,
    /// The most bytes of a request.
    pub request_bytes: usize,
    /// The most requests that one client may send in a second.
    pub rate: u32,
    /// The most sessions at the same time.
    pub sessions: usize,
    /// The most connections at the same time; whoever comes then waits. Each takes a file descriptor.
    pub connections: usize,
    /// How long the head of a request may take to arrive, and how long a connection may be idle between two.
    pub head_patience: Duration,
    /// How long the body of a request may take to arrive.
    pub body_patience: Duration,
}

impl HttpOptions {
    /// The usual, for clients on this machine.
    pub const fn new(address: SocketAddr) -> Self {
        Self {
            address,
            tokens: Vec::new(),
            hosts: Vec::new(),
            origins: Vec::new(),
            request_bytes: 4 << 20,
            rate: 1_000,
            sessions: 10_000,
            connections: 12_000,
            head_patience: Duration::from_secs(20),
            body_patience: Duration::from_secs(30),
        }
    }
}

/// A server that is listening.
#[derive(Debug)]
pub struct HttpServer {
    listener: TcpListener,
    address: SocketAddr,
    library: Arc<Library>,
    options: HttpOptions,
}

impl HttpServer {
    /// Begins to listen. Whoever wants to serve others than this machine needs tokens.
    pub async fn bind(library: Arc<Library>, options: HttpOptions) -> Result<Self, McpError> {
        if options.tokens.is_empty() && !options.address.ip().is_loopback() {
            return Err(McpError::Open { address: options.address });
        }
        let io = |source| McpError::Listen { address: options.address, source };
        let listener = TcpListener::bind(options.address).await.map_err(io)?;
        let address =
            listener.local_addr().map_err(|source| McpError::Listen { address: options.address, source })?;
        Ok(Self { listener, address, library, options })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until somebody says that it is enough: calls that have begun are then answered, and no others.
    pub async fn serve(self, until: CancellationToken) -> Result<(), McpError> {
        let Self { listener, library, options, .. } = self;
        let sessions = Arc::new(Sessions::new(IDLE));
        let streams = CancellationToken::new();
        let config = config(&options, streams.clone());
        let bounds = Bounds { connections: options.connections, head: options.head_patience };
        let served = Arc::clone(&library);
        let service = StreamableHttpService::new(
            move || Ok(McpConnection::new(Arc::clone(&served))),
            Arc::clone(&sessions),
            config,
        );
        let gate = Arc::new(Gate::new(options, Arc::clone(&library), Arc::clone(&sessions)));
        let metrics = {
            let gate = Arc::clone(&gate);
            move || async move { gate.metrics().await.into_response() }
        };
        let app = Router::new()
            .route_service("/mcp", service)
            // No page has any business there.
            .route("/metrics", get(metrics).layer(middleware::from_fn(gate::no_page)))
            .layer(middleware::from_fn_with_state(Arc::clone(&gate), gate::pass))
            .route("/healthz", get(|| async { "ok\n" }));
        let drained = CancellationToken::new();
        let serving = accept::serve(listener, app, bounds, drained.clone());
        let ending = async move {
            until.cancelled().await;
            gate.close();
            library.end(LAST_CALLS).await;
            streams.cancel();
            drained.cancel();
            // Whoever has not said what they want by now is not waited for.
            tokio::time::sleep(LAST_WORDS).await;
        };
        tokio::select! {
            () = serving => {}
            () = ending => {}
        }
        Ok(())
    }
}

fn config(options: &HttpOptions, streams: CancellationToken) -> StreamableHttpServerConfig {
    let own = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let pages = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"].map(str::to_owned);
    StreamableHttpServerConfig::default()
        .with_allowed_hosts(own.into_iter().chain(options.hosts.clone()))
        .with_allowed_origins(pages.into_iter().chain(options.origins.clone()))
        .enforce_origin_validation()
        .with_max_request_body_bytes(options.request_bytes)
        .with_sse_retry(None)
        .with_cancellation_token(streams)
}
