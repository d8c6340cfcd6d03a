//! Ends an agent whose time is over while the caller's own code runs: a tool, an answer to a permission request, an
//! event handler. That code cannot be stopped, and the evaluation does not look at its limits meanwhile.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use metier_sandbox::Cancel;
use metier_session::Turn;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::error::HarnessError;
use crate::harness::{AgentStopper, Conversation};
use crate::run::{Run, TICK};
use crate::stopwatch::Stopwatch;

/// How often it looks whether the caller's code runs, once a limit has passed.
const LOOK: Duration = Duration::from_millis(10);

/// Watches the limits of one conversation, on a thread of its own.
#[derive(Debug, Default)]
pub(crate) struct Watchdog {
    is_busy: Arc<AtomicBool>,
    /// The thread, and what ends it when it is dropped.
    thread: Option<(PipeWriter, JoinHandle<()>)>,
}

/// The evaluation is busy until this is dropped: it does not look at its limits.
pub(crate) struct Busy(Arc<AtomicBool>);

impl Watchdog {
    /// Begins to watch. Without a limit, or without a way to stop the agent, it does nothing.
    pub(crate) fn start(
        limit: Option<Duration>,
        cancel: &Cancel,
        stop: Option<AgentStopper>,
    ) -> io::Result<Self> {
        let is_busy = Arc::new(AtomicBool::new(false));
        let Some(stop) = stop.filter(|_| limit.is_some() || cancel.event().is_some()) else {
            return Ok(Self::default());
        };
        let (over, ends) = io::pipe()?;
        let (watch, cancel, busy) = (Stopwatch::start(), cancel.clone(), Arc::clone(&is_busy));
        let run = move || {
            if !is_over_first(&over, &cancel, || limit.map(|limit| watch.left_of(limit))) {
                while !busy.load(Ordering::Acquire) {
                    if waits(&[over.as_fd()], Some(LOOK)).is_some() {
                        return;
                    }
                }
                stop();
            }
        };
        let thread = thread::Builder::new().name("agent-limits".to_owned()).spawn(run)?;
        Ok(Self { is_busy, thread: Some((ends, thread)) })
    }

    /// Says that the caller's code runs now.
    pub(crate) fn busy(&self) -> Busy {
        self.is_busy.store(true, Ordering::Release);
        Busy(Arc::clone(&self.is_busy))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        if let Some((ends, thread)) = self.thread.take() {
            drop(ends);
            // It has nothing that could fail.
            let _ = thread.join();
        }
    }
}

impl Run<'_> {
    /// The limits also hold while a tool of the prompt runs, which is told how much time it has.
    pub(crate) fn watch_limits(
        &self,
        turn: &mut Turn<'_>,
        conversation: &dyn Conversation,
    ) -> Result<Watchdog, HarnessError> {
        let deadline = self.options.deadline.map(|limit| self.watch.left_of(limit));
        if let Some(left) = deadline {
            turn.limit_time(left);
        }
        // The session says itself when its time is over, by its own clock.
        let budget = turn.session().allowance().time.map(|left| left + TICK);
        let limit = deadline.into_iter().chain(budget).min();
        let failed = |source| HarnessError::Io { agent: self.agent(), action: "watch", source };
        Watchdog::start(limit, &self.options.cancel, conversation.stopper()).map_err(failed)
    }
}

/// Whether an evaluation was cancelled.
pub(crate) fn is_cancelled(cancel: &Cancel) -> bool {
    cancel.event().is_some_and(|event| waits(&[event], Some(Duration::ZERO)).is_some())
}

/// Waits for the first of: the end of the conversation, a cancellation, no time left. Whether it was the first of these.
fn is_over_first(over: &PipeReader, cancel: &Cancel, left: impl Fn() -> Option<Duration>) -> bool {
    let events: Vec<BorrowedFd<'_>> = [Some(over.as_fd()), cancel.event()].into_iter().flatten().collect();
    loop {
        match waits(&events, left()) {
            Some(0) => return true,
            Some(_) => return false,
            None if left().is_some_and(|left| left.is_zero()) => return false,
            // It was woken too early, or interrupted.
            None => {}
        }
    }
}

/// Waits for one of these, at most this long. Returns early without one if a signal interrupts it.
fn waits(events: &[BorrowedFd<'_>], limit: Option<Duration>) -> Option<usize> {
    let mut polled: Vec<PollFd<'_>> =
        events.iter().map(|event| PollFd::from_borrowed_fd(*event, PollFlags::IN)).collect();
    // A time that does not fit is longer than anyone waits.
    let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
    // An error leaves the results empty.
    let _ = poll(&mut polled, limit.as_ref());
    polled.iter().position(|event| !event.revents().is_empty())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{RecvTimeoutError, channel};

    use super::*;

    const LONG: Duration = Duration::from_mins(1);

    #[test]
    fn only_a_busy_evaluation_loses_its_agent() {
        let (stopped, stops) = channel();
        let stop = move || stopped.send(()).unwrap_or_default();
        let watchdog = Watchdog::start(Some(Duration::ZERO), &Cancel::never(), Some(Box::new(stop))).unwrap();
        let short = Duration::from_millis(100);
        assert_eq!(stops.recv_timeout(short), Err(RecvTimeoutError::Timeout));
        let busy = watchdog.busy();
        assert_eq!(stops.recv_timeout(LONG), Ok(()));
        drop(busy);
    }

    #[test]
    fn it_notices_a_cancellation_and_ends_with_the_conversation() {
        let cancel = Cancel::new().unwrap();
        assert!(!is_cancelled(&cancel));
        for is_cancelled in [false, true] {
            let (stopped, stops) = channel();
            let stop = move || stopped.send(()).unwrap_or_default();
            let watchdog = Watchdog::start(Some(LONG), &cancel, Some(Box::new(stop))).unwrap();
            let busy = watchdog.busy();
            if is_cancelled {
                cancel.cancel();
                assert_eq!(stops.recv_timeout(LONG), Ok(()));
            }
            drop(busy);
            drop(watchdog);
            assert_eq!(stops.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected));
        }
        assert!(is_cancelled(&cancel));
    }
}
