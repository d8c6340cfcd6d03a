//! How much is done at the same time: what takes a thread, and what is still under way when everything ends.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_util::sync::CancellationToken;

pub(crate) struct Turns {
    work: Arc<Semaphore>,
    under_way: watch::Sender<usize>,
    /// Ends whatever is still under way.
    pub(crate) stop: CancellationToken,
}

/// Something that is under way as long as this exists.
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

    /// Says that something has begun that must not be cut off.
    pub(crate) fn begin(&self) -> UnderWay {
        self.under_way.send_modify(|count| *count += 1);
        UnderWay(self.under_way.clone())
    }

    /// How many things are under way.
    pub(crate) fn count(&self) -> usize {
        *self.under_way.borrow()
    }

    /// Waits until nothing is under way, but not longer than this.
    pub(crate) async fn settled(&self, patience: Duration) {
        let mut count = self.under_way.subscribe();
        // Whether everything ended or not, it is over.
        let _ = tokio::time::timeout(patience, count.wait_for(|count| *count == 0)).await;
    }

    /// A turn to work on a thread, as long as it is held.
    pub(crate) async fn work(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.work).acquire_owned().await.ok()
    }
}
