//! Appends that return immediately: a thread writes the queued records once a second, or earlier if there are many.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::error::JournalError;
use crate::journal::{Shared, lock, panicked};
use crate::record::PendingRecord;

/// How long a record waits at most.
const DELAY: Duration = Duration::from_secs(1);
/// This many records are written without waiting.
const MANY: usize = 4096;
/// With more queued records than this, appends wait.
const MOST: usize = 8 * MANY;

/// The thread and its queue.
pub(crate) struct Batched {
    queue: Arc<Queue>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    /// There is something to write.
    work: Condvar,
    /// Something was written.
    written: Condvar,
}

#[derive(Default)]
struct State {
    entries: Vec<PendingRecord>,
    is_writing: bool,
    is_wanted: bool,
    is_over: bool,
    /// Why the last attempt failed; appends fail until one succeeds.
    failed: Option<JournalError>,
}

impl Batched {
    pub(crate) fn start(shared: Arc<Shared>) -> Self {
        let queue = Arc::new(Queue::default());
        let its = Arc::clone(&queue);
        let thread = std::thread::spawn(move || its.serve(&shared));
        Self { queue, thread: Some(thread) }
    }

    pub(crate) fn append(&self, entry: PendingRecord) -> Result<(), JournalError> {
        let mut state = lock(&self.queue.state);
        while state.entries.len() >= MOST && state.failed.is_none() {
            state = self.queue.written.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(error) = &state.failed {
            return Err(error.clone());
        }
        state.entries.push(entry);
        if state.entries.len() == MANY {
            self.queue.work.notify_one();
        }
        Ok(())
    }

    pub(crate) fn ready(&self) -> Result<(), JournalError> {
        lock(&self.queue.state).failed.clone().map_or(Ok(()), Err)
    }

    /// Waits until everything is written or has failed.
    pub(crate) fn flush(&self) -> Result<(), JournalError> {
        let mut state = lock(&self.queue.state);
        state.is_wanted = true;
        state.failed = None;
        self.queue.work.notify_one();
        while (state.is_wanted || state.is_writing || !state.entries.is_empty()) && state.failed.is_none() {
            state = self.queue.written.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.failed.clone().map_or(Ok(()), Err)
    }

    /// Writes the rest and ends the thread.
    pub(crate) fn stop(mut self) -> Result<(), JournalError> {
        let flushed = self.flush();
        self.end();
        let left = lock(&self.queue.state).entries.len() as u64;
        match flushed {
            Err(error) if left > 0 => Err(JournalError::Lost { count: left, reason: error.to_string() }),
            other => other,
        }
    }

    fn end(&mut self) {
        lock(&self.queue.state).is_over = true;
        self.queue.work.notify_one();
        if let Some(thread) = self.thread.take() {
            // It does not panic.
            let _ = thread.join();
        }
    }
}

impl Drop for Batched {
    fn drop(&mut self) {
        self.end();
    }
}

impl Queue {
    fn serve(&self, shared: &Shared) {
        let mut state = lock(&self.state);
        let mut tried = 0;
        loop {
            // A failed write is not repeated immediately.
            let is_early = |state: &State| tried > 0 || state.entries.len() < MANY;
            let idle = |state: &mut State| is_early(state) && !state.is_wanted && !state.is_over;
            let waited = self.work.wait_timeout_while(state, DELAY, idle);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            if state.is_over {
                return;
            }
            let mut entries = std::mem::take(&mut state.entries);
            state.is_writing = true;
            state.is_wanted = false;
            drop(state);
            let result = write(shared, &mut entries, tried);
            tried = if result.is_err() { entries.len() } else { 0 };
            state = lock(&self.state);
            state.is_writing = false;
            state.failed = result.err();
            if state.failed.is_some() {
                // Before the records that were queued meanwhile.
                let later = std::mem::replace(&mut state.entries, entries);
                state.entries.extend(later);
            }
            self.written.notify_all();
        }
    }
}

/// Writes these. The first `tried` were attempted before and may have been written.
fn write(shared: &Shared, entries: &mut Vec<PendingRecord>, tried: usize) -> Result<(), JournalError> {
    let write = || {
        if tried > 0 && shared.are_written(&entries[..tried])? {
            entries.drain(..tried);
        }
        if entries.is_empty() { Ok(()) } else { shared.write_all(entries).map(drop) }
    };
    // The thread must continue: others wait for it.
    catch_unwind(AssertUnwindSafe(write)).unwrap_or_else(|_| Err(panicked()))
}
