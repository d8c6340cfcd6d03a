//! The user ids of a script: a user that owns nothing, even if root starts it.

use crate::plan::Identity;

/// The user and group that a script sees as its own.
const INNER: u32 = 1000;

/// The id of scripts that root starts, as the kernel sees it: `meti` in ASCII, far from the ids of real users.
const UNUSED: u32 = 0x6d65_7469;

/// The ids of a script that this process starts.
pub(super) fn identity() -> Identity {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    let inner = (INNER, INNER);
    if user.is_root()
        && let Some(outer) = unused("/proc/self/uid_map").zip(unused("/proc/self/gid_map"))
    {
        return Identity { inner, outer, from_root: true };
    }
    Identity { inner, outer: (user.as_raw(), group.as_raw()), from_root: false }
}

/// An available id that is not root's, if there is one: a container may have few.
fn unused(map: &str) -> Option<u32> {
    choose(&ranges(&std::fs::read_to_string(map).ok()?))
}

/// Whether root here is root outside of every container.
pub(super) fn is_really_root(id: u32) -> bool {
    let Ok(text) = std::fs::read_to_string("/proc/self/uid_map") else { return true };
    let outside = ranges(&text).into_iter().find(|(first, _, count)| id >= *first && id - first < *count);
    outside.is_none_or(|(first, outside, _)| outside + (id - first) == 0)
}

/// First id here, first id outside, count.
fn ranges(text: &str) -> Vec<(u32, u32, u32)> {
    let line = |line: &str| {
        let mut numbers = line.split_ascii_whitespace().map(|number| number.parse().ok());
        Some((numbers.next()??, numbers.next()??, numbers.next()??))
    };
    text.lines().filter_map(line).collect()
}

fn choose(ranges: &[(u32, u32, u32)]) -> Option<u32> {
    let holds = |id: u32| ranges.iter().any(|(first, _, count)| id >= *first && id - first < *count);
    if holds(UNUSED) {
        return Some(UNUSED);
    }
    ranges
        .iter()
        .filter(|(first, _, count)| first.saturating_add(*count) > 1)
        .map(|(first, _, count)| first + (count - 1))
        .max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_takes_an_unused_id() {
        let of = |text: &str| choose(&ranges(text));
        assert_eq!(of("         0          0 4294967295\n"), Some(UNUSED));
        assert_eq!(of("0 100000 65536\n"), Some(65_535));
        assert_eq!(of("0 1000 1\n1 100000 65536\n"), Some(65_536));
        assert_eq!(of("0 1000 1\n"), None);
        assert_eq!(of(""), None);
    }
}
