//! One client over a pair of streams, usually standard input and output.

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

/// How long calls have to end when the client is gone.
const LAST_CALLS: Duration = Duration::from_secs(10);

/// Serves the client at standard input and output until it leaves, or until it is told to stop.
pub async fn serve_stdio(library: Arc<Library>, until: CancellationToken) -> Result<(), McpError> {
    let (input, output) = stdio_pipes();
    serve(library, input, output, until).await
}

/// Serves the client at the other end of two streams, one JSON-RPC message per line, until it leaves or until it is told to stop.
pub async fn serve(
    library: Arc<Library>,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
    until: CancellationToken,
) -> Result<(), McpError> {
    let connection = McpConnection::new(Arc::clone(&library));
    let transport = Lines::new(input, output);
    let heard = transport.heard();
    let served = Box::pin(connection.serve_with_ct(transport, until.clone())).await;
    match served {
        Ok(running) => {
            // Whatever went wrong has been reported where it did.
            let _ = running.waiting().await;
        }
        Err(_) if until.is_cancelled() => {}
        // A client may leave before it has said anything.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => {
            if let Some(line) = heard.nothing_but() {
                return Err(McpError::NotMcp { line });
            }
        }
        Err(error) => return Err(McpError::Handshake { reason: error.to_string() }),
    }
    // What was begun is ended, and recorded, before the session is.
    library.end(LAST_CALLS).await;
    Ok(())
}
