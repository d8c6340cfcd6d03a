//! One client at standard input and output.

use std::sync::Arc;
use std::time::Duration;

use rmcp::ServiceExt as _;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::stdio_pipes;
use tokio_util::sync::CancellationToken;

use crate::connection::Connection;
use crate::error::McpError;
use crate::library::Library;

/// How long calls have to end when the client is gone.
const LAST_CALLS: Duration = Duration::from_secs(10);

/// The longest line that is read.
const LONGEST: usize = 16 << 20;

/// Serves the client at standard input and output until it goes, or until somebody says that it is enough.
pub async fn serve_stdio(library: Arc<Library>, until: CancellationToken) -> Result<(), McpError> {
    let connection = Connection::new(Arc::clone(&library));
    let (input, output) = stdio_pipes();
    let transport = AsyncRwTransport::new_server(input, output).with_max_line_length(LONGEST);
    let served = Box::pin(connection.serve_with_ct(transport, until.clone())).await;
    match served {
        Ok(running) => {
            // It has been said by whatever went wrong.
            let _ = running.waiting().await;
        }
        // A client that goes before it has said anything is nothing to speak of.
        Err(_) if until.is_cancelled() => {}
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => {}
        Err(error) => return Err(McpError::Handshake { reason: error.to_string() }),
    }
    // What was begun is ended, and recorded, before the session is.
    library.end(LAST_CALLS).await;
    Ok(())
}
