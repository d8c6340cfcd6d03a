//! How long to wait before a failed server is started again. Times are passed in.

use std::time::Duration;

/// The pauses before a server is started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RestartPauses {
    /// After the first failure. Each further failure doubles it.
    pub first: Duration,
    /// The longest pause.
    pub longest: Duration,
    /// A server that worked for this long begins with the first pause again.
    pub steady: Duration,
}

impl Default for RestartPauses {
    fn default() -> Self {
        Self {
            first: Duration::from_millis(500),
            longest: Duration::from_mins(1),
            steady: Duration::from_mins(1),
        }
    }
}

impl RestartPauses {
    /// Pauses that begin with this one.
    #[must_use]
    pub const fn starting_with(mut self, first: Duration) -> Self {
        self.first = first;
        self
    }
}

/// The failures of one server so far.
#[derive(Debug)]
pub(crate) struct Backoff {
    pauses: RestartPauses,
    failures: u32,
    /// Since when it works.
    working: Option<Duration>,
}

impl Backoff {
    pub(crate) const fn new(pauses: RestartPauses) -> Self {
        Self { pauses, failures: 0, working: None }
    }

    pub(crate) const fn started(&mut self, now: Duration) {
        self.working = Some(now);
    }

    /// Notes a failure; returns the pause before the next start.
    pub(crate) fn failed(&mut self, now: Duration) -> Duration {
        let worked = self.working.take().map_or(Duration::ZERO, |since| now.saturating_sub(since));
        if worked >= self.pauses.steady {
            self.failures = 0;
        }
        self.failures = self.failures.saturating_add(1);
        let factor = 1_u32.checked_shl(self.failures - 1).unwrap_or(u32::MAX);
        self.pauses.first.saturating_mul(factor).min(self.pauses.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_begin_again_after_steady_work() {
        let seconds = Duration::from_secs;
        let pauses = RestartPauses { first: seconds(1), longest: seconds(10), steady: seconds(60) };
        let mut backoff = Backoff::new(pauses);
        let mut pause = || backoff.failed(seconds(0)).as_secs();
        assert_eq!([pause(), pause(), pause(), pause(), pause(), pause()], [1, 2, 4, 8, 10, 10]);
        for _ in 0..100 {
            assert_eq!(pause(), 10);
        }
        backoff.started(seconds(100));
        assert_eq!(backoff.failed(seconds(159)).as_secs(), 10, "it did not work for long enough");
        backoff.started(seconds(200));
        assert_eq!(backoff.failed(seconds(260)).as_secs(), 1);
    }
}
