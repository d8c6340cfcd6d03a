//! Traces and metrics of recorded events, for an OTLP collector. `docs/telemetry.md` describes what is sent.
//!
//! Spans are made from records after the fact, with ids and times from the records. So messages are written directly and
//! not through an SDK, which would have to see spans begin and end. One thread sends them. Recording never waits for it
//! and never fails because of the collector.

mod attributes;
mod messages;
mod names;
mod queue;
mod seen;
mod sender;
mod settings;
mod spans;
mod totals;
mod transport;

use std::fmt;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use self::queue::Queue;
use self::seen::Seen;
use self::sender::Sender;
pub use self::settings::TelemetrySettings;
use self::transport::Transport;
use crate::error::JournalError;
use crate::journal::Observer;
use crate::record::RecordRef;

/// Sends recorded events to a collector, in the background. Pass it as the observer of a journal.
pub struct Telemetry {
    queue: Arc<Queue>,
    timeout: Duration,
}

/// How many spans were sent and lost.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TelemetryReport {
    /// Spans that the collector accepted.
    pub sent: u64,
    /// Spans that were lost.
    pub dropped: u64,
    /// The reason for the last loss.
    pub last_error: Option<String>,
}

impl Telemetry {
    /// Starts the sending thread. Nothing is sent before the first record.
    pub fn new(settings: TelemetrySettings) -> Result<Self, JournalError> {
        let transport = Transport::new(&settings)?;
        let queue = Arc::new(Queue::new(settings.queue));
        let timeout = settings.timeout;
        let sender = Sender::new(Arc::clone(&queue), transport, settings);
        thread::Builder::new().name("metier-telemetry".to_owned()).spawn(|| sender.run()).map_err(
            |error| JournalError::Telemetry { reason: format!("no thread can be started: {error}") },
        )?;
        Ok(Self { queue, timeout })
    }

    /// Sends the rest, as far as possible within the timeout of the settings. Spans of sessions that are still open end with
    /// their last record.
    pub fn close(&self) -> TelemetryReport {
        self.queue.close(self.timeout)
    }
}

impl Observer for Telemetry {
    /// Spans that do not fit into the queue are dropped and counted.
    fn recorded(&self, row: &RecordRef<'_>) {
        match Seen::read(row) {
            Some(seen) => self.queue.record(&seen),
            None => self.queue.miss("a record cannot be read"),
        }
    }
}

impl Drop for Telemetry {
    /// Lets the thread end without waiting for it.
    fn drop(&mut self) {
        self.queue.abandon();
    }
}

impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telemetry").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}
