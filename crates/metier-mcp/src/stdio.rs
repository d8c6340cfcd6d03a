//! Serves one client over a pair of streams, usually standard input and output.

use std::sync::Arc;
use std::time::Duration;

use rmcp::ServiceExt as _;
use rmcp::transport::io::stdio_pipes;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::connection::McpConnection;
use crate::error::McpError;
use crate::library::Library;
use crate::lines::Lines;

/// How long running calls may take when the client disconnects.
const LAST_CALLS: Duration = Duration::from_secs(10);

/// Serves the client on standard input and output until it disconnects or `until` is cancelled.
pub async fn serve_stdio(library: Arc<Library>, until: CancellationToken) -> Result<(), McpError> {
    let (input, output) = stdio_pipes();
    serve(library, input, output, until).await
}

/// Serves the client at the other end of two streams, one JSON-RPC message per line, until it disconnects or `stop` is
/// triggered.
pub async fn serve(
    library: Arc<Library>,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
    until: CancellationToken,
) -> Result<(), McpError> {
    let connection = McpConnection::new(Arc::clone(&library));
    let transport = Lines::new(input, output, library.gateway.is_some());
    let heard = transport.heard();
    let served = Box::pin(connection.serve_with_ct(transport, until.clone())).await;
    match served {
        Ok(running) => {
            // Any error has already been reported.
            let _ = running.waiting().await;
        }
        Err(_) if until.is_cancelled() => {}
        // A client may disconnect before it has sent anything.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => {
            if let Some(line) = heard.nothing_but() {
                return Err(McpError::NotMcp { line });
            }
        }
        Err(error) => return Err(McpError::Handshake { reason: error.to_string() }),
    }
    // Running calls are ended and recorded before the session is.
    library.end(LAST_CALLS).await;
    Ok(())
}
