//! Traces and metrics of what is recorded, for a collector that takes OTLP. What is sent is in `docs/telemetry.md`.
//!
//! Records are made into spans after the fact, with ids that follow from the records and the times that stand in them, so the messages are written
//! directly instead of through an SDK that watches spans begin and end. One thread sends them; nobody who records waits for it, and nothing fails
//! because a collector is not there.

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

/// Sends what is recorded to a collector, in the background.
pub struct Telemetry {
    queue: Arc<Queue>,
    timeout: Duration,
}

/// What became of the spans.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TelemetryReport {
    /// Spans that a collector has taken.
    pub sent: u64,
    /// Spans that did not arrive.
    pub dropped: u64,
    /// Why the last thing that was lost was lost.
    pub last_error: Option<String>,
}

impl Telemetry {
    /// Starts the thread that sends. Nothing is sent before the first record.
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

    /// Sends what is left, as far as that works within the timeout of the settings. Sessions that began here and are still open end with their last
    /// record.
    pub fn close(&self) -> TelemetryReport {
        self.queue.close(self.timeout)
    }
}

impl Observer for Telemetry {
    /// What does not fit into the queue is dropped and counted.
    fn recorded(&self, row: &RecordRef<'_>) {
        match Seen::read(row) {
            Some(seen) => self.queue.record(&seen),
            None => self.queue.miss("there was a record that cannot be read"),
        }
    }
}

impl Drop for Telemetry {
    /// Lets the thread end without anybody waiting for it.
    fn drop(&mut self) {
        self.queue.abandon();
    }
}

impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telemetry").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}
