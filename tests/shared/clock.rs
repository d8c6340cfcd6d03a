//! A clock for tests. It starts at a fixed time and counts, so that the same calls give the same times and ids.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use metier_journal::{Clock, Time};
use uuid::Uuid;

/// Each call is a microsecond later than the one before; ids are counted.
#[derive(Debug)]
pub(crate) struct TestClock {
    calls: AtomicU64,
    number: u64,
}

impl TestClock {
    /// Clocks with different numbers give different ids.
    pub(crate) fn new(number: u64) -> Arc<Self> {
        Arc::new(Self { calls: AtomicU64::new(0), number })
    }

    fn tick(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::Relaxed)
    }
}

impl Clock for TestClock {
    fn now(&self) -> Time {
        Time::from_micros(1_800_000_000_000_000 + self.tick().cast_signed())
    }

    fn id(&self) -> Uuid {
        // Version 7, with the number where the time would be.
        Uuid::from_u128(u128::from(self.number) << 80 | 7 << 76 | 2 << 62 | u128::from(self.tick()))
    }
}
