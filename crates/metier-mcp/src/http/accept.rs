//! Connections: how many there are, how long they may be silent, and how they end.

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

/// How many connections there may be, and how long each may be silent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) connections: usize,
    pub(super) head: Duration,
}

/// How long to wait after the system had no descriptor for one more connection.
const SHORT_OF_FILES: Duration = Duration::from_millis(100);

/// Serves connections until it is over: those that are open are then closed as soon as their answers are sent.
pub(super) async fn serve(listener: TcpListener, app: Router, bounds: Bounds, over: CancellationToken) {
    let (room, mut open) = (Arc::new(Semaphore::new(bounds.connections)), JoinSet::new());
    loop {
        let next = async {
            // Whoever comes when all places are taken waits for one; silent connections give theirs up.
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
                // One that was gone before it was taken is no matter.
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
    // An answer comes in pieces; none of them should wait until the one before it is acknowledged.
    let _ = stream.set_nodelay(true);
    let app = TowerToHyperService::new(app.layer(Extension(ConnectInfo(address))));
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(head);
    let mut served = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), app));
    // How a connection ended is told to nobody: its requests have been answered, or their client is gone.
    tokio::select! {
        _ = &mut served => return,
        () = over.cancelled() => served.as_mut().graceful_shutdown(),
    }
    let _ = served.await;
}
