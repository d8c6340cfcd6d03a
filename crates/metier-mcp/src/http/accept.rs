//! Accepts connections: their number, idle timeouts and shutdown.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ConnectInfo;
use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// The maximum number of connections, and their idle timeout.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) connections: usize,
    pub(super) head: Duration,
}

/// How long to wait if the system has no free file descriptor.
const SHORT_OF_FILES: Duration = Duration::from_millis(100);

/// Serves connections until shutdown. Open connections are then closed as soon as their answers are sent.
pub(super) async fn serve(listener: TcpListener, app: Router, bounds: Bounds, over: CancellationToken) {
    let (room, mut open) = (Arc::new(Semaphore::new(bounds.connections)), JoinSet::new());
    loop {
        let next = async {
            // If all connections are in use, new clients wait for one; idle connections are closed.
            let place = Arc::clone(&room).acquire_owned().await.ok()?;
            Some((place, listener.accept().await))
        };
        let accepted = tokio::select! {
            accepted = next => accepted,
            Some(_) = open.join_next() => continue,
            () = over.cancelled() => break,
        };
        match accepted {
            Some((place, Ok((stream, address)))) => {
                let served = connection(stream, address, app.clone(), bounds.head, over.clone());
                open.spawn(async move {
                    served.await;
                    drop(place);
                });
            }
            Some((_, Err(error))) => {
                // A connection that was closed before it was accepted is ignored.
                if error.kind() != std::io::ErrorKind::ConnectionAborted {
                    tokio::time::sleep(SHORT_OF_FILES).await;
                }
            }
            None => break,
        }
    }
    while open.join_next().await.is_some() {}
}

async fn connection(
    stream: TcpStream,
    address: SocketAddr,
    app: Router,
    head: Duration,
    over: CancellationToken,
) {
    // An answer is sent in pieces; none of them should wait for an acknowledgement.
    let _ = stream.set_nodelay(true);
    let app = TowerToHyperService::new(app.layer(Extension(ConnectInfo(address))));
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(head);
    let mut served = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), app));
    // The result of a connection is ignored: its requests have been answered, or the client is gone.
    tokio::select! {
        _ = &mut served => return,
        () = over.cancelled() => served.as_mut().graceful_shutdown(),
    }
    let _ = served.await;
}
