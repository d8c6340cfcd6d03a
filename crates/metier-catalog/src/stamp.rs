//! File metadata that shows whether a file or directory has changed since it was read.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::Stat;
use serde::{Deserialize, Serialize};

/// How long after a change another change may get the same times. File systems store nanoseconds, but use a
/// clock that ticks a hundred times a second. Some store whole seconds, and one stores pairs of seconds.
const GRANULARITY: Duration = Duration::from_secs(2);

/// Inode, size and times of a file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Stamp {
    inode: u64,
    size: u64,
    modified: i64,
    changed: i64,
}

impl Stamp {
    pub(crate) fn of(stat: &Stat) -> Self {
        Self {
            inode: stat.st_ino,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
            changed: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
        }
    }

    /// Whether any change after `when` is certain to change these times.
    pub(crate) fn is_settled_at(&self, when: Moment) -> bool {
        is_settled(self.changed, when)
    }

    /// When the content was last modified.
    pub(crate) fn modified(&self) -> SystemTime {
        let since = Duration::from_nanos(self.modified.unsigned_abs());
        let time =
            if self.modified < 0 { UNIX_EPOCH.checked_sub(since) } else { UNIX_EPOCH.checked_add(since) };
        time.unwrap_or(UNIX_EPOCH)
    }
}

/// Whether any change after `when` is certain to change this time, in nanoseconds since 1970.
pub(crate) fn is_settled(changed: i64, when: Moment) -> bool {
    let granularity = i64::try_from(GRANULARITY.as_nanos()).unwrap_or(i64::MAX);
    changed < when.0.saturating_sub(granularity)
}

/// A point in time, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub(crate) struct Moment(i64);

impl From<SystemTime> for Moment {
    fn from(time: SystemTime) -> Self {
        // With a clock before 1970 no time is certain, and everything is read again.
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
    }
}

/// The field types differ between systems.
fn nanoseconds(seconds: impl TryInto<i64>, nanoseconds: impl TryInto<i64>) -> i64 {
    let seconds = seconds.try_into().unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds.try_into().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_a_moment_ago_is_not_settled() {
        let stamp = |changed| Stamp { inode: 1, size: 1, modified: 0, changed };
        let now = Moment(10_000_000_000);
        assert!(stamp(7_999_999_999).is_settled_at(now));
        assert!(!stamp(8_000_000_000).is_settled_at(now));
        assert!(!stamp(11_000_000_000).is_settled_at(now), "a time to come settles nothing");
        assert!(!stamp(0).is_settled_at(Moment::from(UNIX_EPOCH - Duration::from_secs(9))));
    }
}
