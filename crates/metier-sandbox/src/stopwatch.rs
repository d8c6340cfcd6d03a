//! Measures elapsed time with a monotonic clock.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// A stopwatch that runs from its creation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stopwatch(Duration);

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self(now())
    }

    pub(crate) fn elapsed(self) -> Duration {
        now().saturating_sub(self.0)
    }
}

fn now() -> Duration {
    let time = clock_gettime(ClockId::Monotonic);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}
