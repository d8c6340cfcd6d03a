//! Who wants to know what happens in a session, and is told.

use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};

use metier_journal::{Event, RecordContext, Time};
use uuid::Uuid;

/// Something that happened, with who and when. It is in the journal by now, if there is one.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct EmittedEvent<'a> {
    /// Its id, the same as in the journal.
    pub id: Uuid,
    /// When.
    pub time: Time,
    /// The session, the task and who.
    pub context: &'a RecordContext,
    /// What.
    pub event: &'a Event,
}

/// A handler that did not do its work.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HandlerFailure {
    /// The handler, as it was subscribed.
    pub handler: String,
    /// The event that it failed at.
    pub event: Uuid,
    /// What it said.
    pub reason: String,
}

/// What a handler may end with.
pub type HandlerResult = Result<(), Box<dyn Error + Send + Sync>>;

type Handler = Box<dyn FnMut(&EmittedEvent<'_>) -> HandlerResult + Send>;

/// The most failures that are remembered: a handler that always fails must not fill the memory.
const MOST_FAILURES: usize = 1_000;

/// Handlers in the order in which they subscribed.
#[derive(Default)]
pub(crate) struct Bus {
    handlers: Vec<(String, Handler)>,
    pub(crate) failures: Vec<HandlerFailure>,
}

impl Bus {
    pub(crate) fn subscribe(&mut self, name: &str, handler: Handler) {
        self.handlers.push((name.to_owned(), handler));
    }

    /// Tells every handler. One that fails or panics changes nothing for the others, nor for what is being done.
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

/// What a panic said, where it said something.
fn said(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("nothing was said")
}
