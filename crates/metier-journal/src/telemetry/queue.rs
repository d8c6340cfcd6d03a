//! Spans that wait to be sent, between the recording threads and the sending thread. Recording never waits for
//! the network.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::TelemetryReport;
use super::messages::{Metric, Span};
use super::seen::Seen;
use super::spans::{self, OpenSession};
use super::totals::Totals;
use crate::event::Event;

/// The most spans in one message.
const BATCH: usize = 256;

/// The most sessions that are open at once; the spans of further ones are sent without one over them.
const MAX_OPEN: usize = 4096;

/// The queue, and what is known of all that went through it.
#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    /// The most spans that wait.
    capacity: usize,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    waiting: VecDeque<Span>,
    open: BTreeMap<String, OpenSession>,
    totals: Totals,
    /// The id of the first record, which no other process has as its first.
    instance: Option<String>,
    /// Every span there was to send.
    offered: u64,
    sent: u64,
    /// Why something was lost.
    last_error: Option<String>,
    /// Why something has not been delivered yet.
    trouble: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Records come in.
    Open,
    /// None do any more; what waits is to be sent.
    Closing,
    /// The remaining spans were given up.
    Abandoned,
    /// All that could be sent has been.
    Finished,
}

/// What is sent next.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) instance: String,
    pub(super) spans: Vec<Span>,
    pub(super) metrics: Vec<Metric>,
}

impl Queue {
    pub(super) fn new(capacity: usize) -> Self {
        let state = State {
            phase: Phase::Open,
            waiting: VecDeque::new(),
            open: BTreeMap::new(),
            totals: Totals::default(),
            instance: None,
            offered: 0,
            sent: 0,
            last_error: None,
            trouble: None,
        };
        Self { state: Mutex::new(state), changed: Condvar::new(), capacity }
    }

    /// Takes in a record.
    pub(super) fn record(&self, seen: &Seen<'_>) {
        let span = spans::of_record(seen);
        let mut state = self.lock();
        state.instance.get_or_insert_with(|| seen.id.to_owned());
        state.totals.count(seen);
        let span = state.follow_session(seen).or(span);
        if let Some(span) = span {
            self.offer(&mut state, span);
        }
        if state.waiting.len() >= BATCH {
            self.changed.notify_all();
        }
    }

    /// Takes in that there was something of which no span could be made.
    pub(super) fn miss(&self, reason: &str) {
        let mut state = self.lock();
        state.offered += 1;
        state.last_error = Some(reason.to_owned());
    }

    fn offer(&self, state: &mut State, span: Span) {
        state.offered += 1;
        if state.waiting.len() < self.capacity {
            state.waiting.push_back(span);
        }
    }

    /// Waits until there is enough to send, or this much time has passed, or this is closed. Nothing, when there is nothing more to do.
    pub(super) fn next(&self, interval: Duration) -> Option<Work> {
        let is_early = |state: &mut State| state.phase == Phase::Open && state.waiting.len() < BATCH;
        let waited = self.changed.wait_timeout_while(self.lock(), interval, is_early);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        if matches!(state.phase, Phase::Abandoned | Phase::Finished) {
            return None;
        }
        let count = state.waiting.len().min(BATCH);
        let spans: Vec<Span> = state.waiting.drain(..count).collect();
        let has_changed = std::mem::take(&mut state.totals.changed);
        let metrics = if has_changed { state.totals.metrics() } else { Vec::new() };
        if state.phase == Phase::Closing && spans.is_empty() && metrics.is_empty() {
            self.enter(&mut state, Phase::Finished);
            return None;
        }
        Some(Work { instance: state.instance.clone().unwrap_or_default(), spans, metrics })
    }

    /// Spans have arrived.
    pub(super) fn arrived(&self, count: u64) {
        self.lock().sent += count;
    }

    /// A message was delivered, so what had kept it is over.
    pub(super) fn delivered(&self) {
        self.lock().trouble = None;
    }

    /// A message could not be delivered yet.
    pub(super) fn delayed(&self, reason: String) {
        self.lock().trouble = Some(reason);
    }

    /// A message, or part of it, will not be delivered.
    pub(super) fn lost(&self, reason: String) {
        let mut state = self.lock();
        state.trouble = None;
        state.last_error = Some(reason);
    }

    /// Metrics were not delivered; they are totals, so the next message makes up for it.
    pub(super) fn keep_metrics(&self) {
        let mut state = self.lock();
        state.totals.changed |= state.phase == Phase::Open;
    }

    /// Waits before something is tried again, but not past the moment when this is closed; `was_open` says how it was when the last try began, so that
    /// this moment is not missed during the try. False, if it should not be tried again.
    pub(super) fn pause(&self, duration: Duration, was_open: bool) -> bool {
        let is_as_before = |state: &mut State| match state.phase {
            Phase::Open => true,
            Phase::Closing => !was_open,
            Phase::Abandoned | Phase::Finished => false,
        };
        let waited = self.changed.wait_timeout_while(self.lock(), duration, is_as_before);
        waited.unwrap_or_else(PoisonError::into_inner).0.phase != Phase::Abandoned
    }

    pub(super) fn is_open(&self) -> bool {
        self.lock().phase == Phase::Open
    }

    /// Whether nothing more should be sent.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.lock().phase, Phase::Abandoned | Phase::Finished)
    }

    /// No more is sent, whatever waits.
    pub(super) fn give_up(&self, reason: &str) {
        let mut state = self.lock();
        state.last_error = Some(reason.to_owned());
        self.enter(&mut state, Phase::Finished);
    }

    /// No more records come; waits until what is there has been sent, at most this long.
    pub(super) fn close(&self, bound: Duration) -> TelemetryReport {
        let mut state = self.lock();
        for (session, open) in std::mem::take(&mut state.open) {
            // These are few, and the most wanted of all: they may exceed the queue.
            state.offered += 1;
            state.waiting.push_back(open.root(&session, false));
        }
        self.enter(&mut state, Phase::Closing);
        let is_busy = |state: &mut State| state.phase == Phase::Closing;
        let waited = self.changed.wait_timeout_while(state, bound, is_busy);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        if state.phase == Phase::Closing {
            self.enter(&mut state, Phase::Abandoned);
            let late = || format!("some spans could not be sent within {} ms", bound.as_millis());
            state.last_error = Some(state.trouble.take().unwrap_or_else(late));
        }
        TelemetryReport {
            sent: state.sent,
            dropped: state.offered.saturating_sub(state.sent),
            last_error: state.last_error.clone(),
        }
    }

    /// Gives up the remaining spans.
    pub(super) fn abandon(&self) {
        let mut state = self.lock();
        if state.phase != Phase::Finished {
            self.enter(&mut state, Phase::Abandoned);
        }
    }

    fn enter(&self, state: &mut State, phase: Phase) {
        state.phase = phase;
        self.changed.notify_all();
    }

    /// Nothing is left half done where a panic could happen, so what is there can be used.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The span over a session that began here and ends with this record.
    fn follow_session(&mut self, seen: &Seen<'_>) -> Option<Span> {
        let session = seen.session?;
        if let Some(open) = self.open.get_mut(session) {
            open.went_on(seen);
        }
        match &seen.event {
            Some(Event::SessionStarted { agent }) if !self.open.contains_key(session) => {
                if self.open.len() < MAX_OPEN {
                    self.open.insert(session.to_owned(), OpenSession::begin(seen, agent.as_deref()));
                } else {
                    self.offered += 1;
                }
                None
            }
            Some(Event::SessionEnded {}) => self.open.remove(session).map(|open| open.root(session, true)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(session: &str, event: Option<Event>) -> Seen<'_> {
        let kind = "host.event".to_owned();
        Seen { id: "1", sequence: 1, session: Some(session), time: 1_000_000, kind, task: None, event }
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let queue = Queue::new(3);
        for _ in 0..5 {
            queue.record(&seen("s", None));
        }
        let work = queue.next(Duration::ZERO).unwrap();
        assert_eq!(work.spans.len(), 3);
        queue.arrived(3);
        let report = queue.close(Duration::ZERO);
        assert_eq!((report.sent, report.dropped), (3, 2));
    }

    #[test]
    fn a_session_that_began_elsewhere_ends_with_a_point() {
        let queue = Queue::new(10);
        queue.record(&seen("here", Some(Event::SessionStarted { agent: None })));
        queue.record(&seen("here", Some(Event::SessionEnded {})));
        queue.record(&seen("elsewhere", Some(Event::SessionEnded {})));
        let spans = queue.next(Duration::ZERO).unwrap().spans;
        assert_eq!(spans.len(), 2);
        assert_eq!((spans[0].name.as_str(), spans[0].parent_span_id.len()), ("invoke_agent", 0));
        assert_eq!((spans[1].name.as_str(), spans[1].parent_span_id.len()), ("host.event", 8));
    }

    #[test]
    fn a_full_batch_does_not_wait() {
        let queue = Queue::new(10_000);
        for _ in 0..=BATCH {
            queue.record(&seen("s", None));
        }
        // An hour, if it did.
        assert_eq!(queue.next(Duration::from_hours(1)).unwrap().spans.len(), BATCH);
    }

    #[test]
    fn trouble_that_is_over_is_not_the_reason() {
        for (is_over, expected) in [(false, "busy"), (true, "some spans could not be sent within 0 ms")] {
            let queue = Queue::new(10);
            queue.record(&seen("s", None));
            queue.delayed("busy".to_owned());
            if is_over {
                queue.delivered();
            }
            assert_eq!(queue.close(Duration::ZERO).last_error.as_deref(), Some(expected));
        }
    }

    #[test]
    fn open_sessions_are_bounded() {
        let queue = Queue::new(10);
        for number in 0..MAX_OPEN + 2 {
            queue.record(&seen(&number.to_string(), Some(Event::SessionStarted { agent: None })));
        }
        let report = queue.close(Duration::ZERO);
        assert_eq!(report.dropped, MAX_OPEN as u64 + 2);
        assert_eq!(queue.lock().waiting.len(), MAX_OPEN);
    }
}
