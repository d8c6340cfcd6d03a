//! Script slots: how many scripts run at the same time, how many of one client, and how many calls wait.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The maximum number of concurrent scripts. Each may hold several megabytes of output.
const SCRIPTS: usize = 4;

/// The maximum for one client, so that others are served as well.
pub(crate) const OF_ONE: usize = SCRIPTS / 2;

/// The maximum number of waiting calls of one client.
pub(crate) const WAITING: usize = 16;

/// Who scripts run for: a token, or one connection without a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Client {
    Token(usize),
    Connection(usize),
}

/// The right to run a script, as long as it is held.
#[derive(Debug)]
pub(crate) struct Slot {
    _of_client: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
    /// Keeps the client's share alive while any of it is in use.
    _share: Arc<Share>,
}

/// What one client may use at the same time.
#[derive(Debug)]
struct Share {
    running: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

/// A slot, or a place in the queue.
pub(crate) enum Entry {
    Free(Slot),
    Queued(Queued),
    /// Too many calls of this client are already waiting.
    Full,
}

/// A place in the queue. Dropping it frees the place.
pub(crate) struct Queued {
    /// `None` if the user has already approved the call: the answer is not lost because the queue is full.
    _waiting: Option<OwnedSemaphorePermit>,
    share: Arc<Share>,
    all: Arc<Semaphore>,
}

/// All slots.
pub(crate) struct Slots {
    all: Arc<Semaphore>,
    shares: Mutex<HashMap<Client, Weak<Share>>>,
}

impl Default for Slots {
    fn default() -> Self {
        Self { all: Arc::new(Semaphore::new(SCRIPTS)), shares: Mutex::default() }
    }
}

impl Slots {
    /// A slot if one is free for this client, otherwise a place in the queue. `is_answered` says that the user has
    /// already been asked about this call.
    pub(crate) fn enter(&self, client: Client, is_answered: bool) -> Entry {
        let share = self.share(client);
        let free = || {
            let of_client = Arc::clone(&share.running).try_acquire_owned().ok()?;
            let of_all = Arc::clone(&self.all).try_acquire_owned().ok()?;
            Some(Slot { _of_client: of_client, _of_all: of_all, _share: Arc::clone(&share) })
        };
        if let Some(slot) = free() {
            return Entry::Free(slot);
        }
        let waiting = Arc::clone(&share.waiting).try_acquire_owned().ok();
        if waiting.is_none() && !is_answered {
            return Entry::Full;
        }
        Entry::Queued(Queued { _waiting: waiting, share, all: Arc::clone(&self.all) })
    }

    fn share(&self, client: Client) -> Arc<Share> {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(share) = shares.get(&client).and_then(Weak::upgrade) {
            return share;
        }
        shares.retain(|_, share| share.strong_count() > 0);
        let (running, waiting) = (Arc::new(Semaphore::new(OF_ONE)), Arc::new(Semaphore::new(WAITING)));
        let share = Arc::new(Share { running, waiting });
        shares.insert(client, Arc::downgrade(&share));
        share
    }
}

impl Queued {
    /// Waits for a slot. The client's own share is acquired first, so that only that many of its calls compete with
    /// those of others.
    pub(crate) async fn slot(self) -> Option<Slot> {
        let of_client = Arc::clone(&self.share.running).acquire_owned().await.ok()?;
        let of_all = Arc::clone(&self.all).acquire_owned().await.ok()?;
        Some(Slot { _of_client: of_client, _of_all: of_all, _share: self.share })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Client = Client::Token(1);

    fn free(slots: &Slots, client: Client) -> Option<Slot> {
        match slots.enter(client, false) {
            Entry::Free(slot) => Some(slot),
            _ => None,
        }
    }

    #[test]
    fn one_client_has_half_of_the_slots() {
        let slots = Slots::default();
        let mut held: Vec<Slot> = std::iter::from_fn(|| free(&slots, ONE)).collect();
        assert_eq!(held.len(), SCRIPTS / 2);
        held.extend(std::iter::from_fn(|| free(&slots, Client::Connection(1))));
        assert_eq!(held.len(), SCRIPTS);
        assert!(free(&slots, Client::Token(2)).is_none());
        held.clear();
        assert!(free(&slots, ONE).is_some());
        drop(free(&slots, Client::Token(2)));
        assert_eq!(slots.shares.lock().unwrap().len(), 1, "clients that are gone are forgotten");
    }

    #[tokio::test]
    async fn so_many_calls_of_one_client_wait() {
        let slots = Slots::default();
        let mut held: Vec<Slot> = std::iter::from_fn(|| free(&slots, ONE)).collect();
        let queue = |_| match slots.enter(ONE, false) {
            Entry::Queued(queued) => Some(queued),
            _ => None,
        };
        let mut waiting: Vec<Queued> = (0..=WAITING).filter_map(queue).collect();
        assert_eq!(waiting.len(), WAITING);
        assert!(matches!(slots.enter(ONE, false), Entry::Full));
        assert!(matches!(slots.enter(ONE, true), Entry::Queued(_)));
        // One that is no longer wanted leaves its place to another.
        waiting.pop();
        assert!(matches!(slots.enter(ONE, false), Entry::Queued(_)));
        held.pop();
        assert!(waiting.pop().unwrap().slot().await.is_some());
    }
}
