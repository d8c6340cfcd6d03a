//! Concurrency limits: calls that use a thread, and calls that are still running at shutdown.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_util::sync::CancellationToken;

pub(crate) struct Turns {
    work: Arc<Semaphore>,
    under_way: watch::Sender<usize>,
    /// Cancels all running calls.
    pub(crate) stop: CancellationToken,
}

/// A running call, as long as this value exists.
pub(crate) struct UnderWay(watch::Sender<usize>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

impl Turns {
    pub(crate) fn new(calls: usize) -> Self {
        Self {
            work: Arc::new(Semaphore::new(calls)),
            under_way: watch::channel(0).0,
            stop: CancellationToken::new(),
        }
    }

    /// Marks the start of a call that must not be interrupted.
    pub(crate) fn begin(&self) -> UnderWay {
        self.under_way.send_modify(|count| *count += 1);
        UnderWay(self.under_way.clone())
    }

    /// The number of running calls.
    pub(crate) fn count(&self) -> usize {
        *self.under_way.borrow()
    }

    /// Waits until no call is running, at most this long.
    pub(crate) async fn settled(&self, patience: Duration) {
        let mut count = self.under_way.subscribe();
        // A timeout is not an error here.
        let _ = tokio::time::timeout(patience, count.wait_for(|count| *count == 0)).await;
    }

    /// The right to work on a thread, as long as it is held.
    pub(crate) async fn work(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.work).acquire_owned().await.ok()
    }
}
