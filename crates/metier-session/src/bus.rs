//! The event handlers of a session.

use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};

use metier_journal::{Event, RecordContext, Time};
use uuid::Uuid;

/// An event, with its time and context. If there is a journal, it has already been recorded.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct EmittedEvent<'a> {
    /// Its id, the same as in the journal.
    pub id: Uuid,
    /// Its time.
    pub time: Time,
    /// The session, the task and the actor.
    pub context: &'a RecordContext,
    /// The event itself.
    pub event: &'a Event,
}

/// A handler that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HandlerFailure {
    /// The name of the handler.
    pub handler: String,
    /// The event that it failed on.
    pub event: Uuid,
    /// Its error message.
    pub reason: String,
}

/// The error type of handlers.
pub type HandlerResult = Result<(), Box<dyn Error + Send + Sync>>;

type Handler = Box<dyn FnMut(&EmittedEvent<'_>) -> HandlerResult + Send>;

/// The maximum number of failures that are remembered, so that a failing handler cannot fill the memory.
const MOST_FAILURES: usize = 1_000;

/// Handlers in the order of their subscription.
#[derive(Default)]
pub(crate) struct Bus {
    handlers: Vec<(String, Handler)>,
    pub(crate) failures: Vec<HandlerFailure>,
}

impl Bus {
    pub(crate) fn subscribe(&mut self, name: &str, handler: Handler) {
        self.handlers.push((name.to_owned(), handler));
    }

    /// Calls every handler. If one fails or panics, the others are still called, and the operation continues.
    pub(crate) fn emit(&mut self, emitted: &EmittedEvent<'_>) {
        for (name, handler) in &mut self.handlers {
            let reason = match catch_unwind(AssertUnwindSafe(|| handler(emitted))) {
                Ok(Ok(())) => continue,
                Ok(Err(error)) => error.to_string(),
                Err(panic) => format!("it panicked: {}", said(&*panic)),
            };
            if self.failures.len() < MOST_FAILURES {
                self.failures.push(HandlerFailure { handler: name.clone(), event: emitted.id, reason });
            }
        }
    }
}

/// The message of a panic, if it has one.
fn said(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
