//! A stopwatch: deadlines, silence and the time that an agent has to end. The only file of this crate that reads a clock.

use std::time::{Duration, Instant};

/// The time since something began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "durations only; the time of day is the session's clock")]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    /// What is left of a duration; zero once it is over.
    pub(crate) fn left_of(&self, whole: Duration) -> Duration {
        whole.saturating_sub(self.elapsed())
    }
}
