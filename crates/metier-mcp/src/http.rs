//! Serves any number of clients over streamable HTTP.

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

/// Sessions that are idle for this long are ended. It is longer than any script may take.
const IDLE: Duration = Duration::from_mins(30);

/// How long running calls may take at shutdown.
const LAST_CALLS: Duration = Duration::from_secs(10);

/// How long connections may take to close after that.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The server's address, access rules and limits.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HttpOptions {
    /// The address to listen on.
    pub address: SocketAddr,
    /// The tokens that clients authenticate with. Without tokens, only clients on this machine are served.
    pub tokens: Vec<Token>,
    /// Host names of the server, in addition to the names for the local machine.
    pub hosts: Vec<String>,
    /// Origins of web pages that may use the server, in addition to local ones.
    pub origins: Vec<String>,
    /// The maximum size of a request in bytes.
    pub request_bytes: usize,
    /// The maximum number of requests per second from one client.
    pub rate: u32,
    /// The maximum number of concurrent sessions.
    pub sessions: usize,
    /// The maximum number of concurrent connections; further clients wait. Each needs a file descriptor.
    pub connections: usize,
    /// The timeout for the head of a request, and for idle connections.
    pub head_patience: Duration,
    /// The timeout for the body of a request.
    pub body_patience: Duration,
}

impl HttpOptions {
    /// The default options, for clients on this machine.
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

/// A listening server.
#[derive(Debug)]
pub struct HttpServer {
    listener: TcpListener,
    address: SocketAddr,
    library: Arc<Library>,
    options: HttpOptions,
}

impl HttpServer {
    /// Starts to listen. An address that other machines can reach requires tokens.
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

    /// The address it listens on.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until it is told to stop. Calls in progress are then answered; new ones are rejected.
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
            // Web pages have no access to this.
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
            // Clients that have not sent their request by now are disconnected.
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
