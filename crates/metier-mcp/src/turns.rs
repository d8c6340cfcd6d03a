//! How much is done at the same time: what takes a thread, scripts, and what is still under way when everything ends.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_util::sync::CancellationToken;

/// How many scripts run at the same time.
const SCRIPTS: usize = 16;

pub(crate) struct Turns {
    work: Arc<Semaphore>,
    scripts: Arc<Semaphore>,
    under_way: watch::Sender<usize>,
    /// Ends whatever is still under way.
    pub(crate) stop: CancellationToken,
}

/// Something that is under way as long as this is there.
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
            scripts: Arc::new(Semaphore::new(SCRIPTS)),
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

    /// Waits until nothing is under way, but not for ever.
    pub(crate) async fn settled(&self, patience: Duration) {
        let mut count = self.under_way.subscribe();
        // Whether everything ended or not, it is over.
        let _ = tokio::time::timeout(patience, count.wait_for(|count| *count == 0)).await;
    }

    /// A turn to work on a thread.
    pub(crate) async fn work(&self) -> Turn {
        let permit = Arc::clone(&self.work).acquire_owned().await.ok();
        Turn { work: Arc::clone(&self.work), permit: Arc::new(Mutex::new(permit)) }
    }

    /// A turn to run a script.
    pub(crate) async fn script(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.scripts).acquire_owned().await.ok()
    }
}

/// A turn to work, which is given up while a person is asked: others can work as long as they think.
#[derive(Clone)]
pub(crate) struct Turn {
    work: Arc<Semaphore>,
    permit: Arc<Mutex<Option<OwnedSemaphorePermit>>>,
}

impl Turn {
    /// Waits for something on a thread that may wait.
    pub(crate) fn pause<T>(&self, wait: impl FnOnce() -> T) -> T {
        let set = |permit| *self.permit.lock().unwrap_or_else(PoisonError::into_inner) = permit;
        set(None);
        let waited = wait();
        let again = tokio::runtime::Handle::current().block_on(Arc::clone(&self.work).acquire_owned());
        set(again.ok());
        waited
    }
}
