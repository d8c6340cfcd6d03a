//! Memory that `/proc/PID/stat` does not show correctly: shared between processes, or owned by none.

use std::collections::BTreeMap;
use std::fs;

/// The capacity of a pipe and of one end of a socket, unless it was enlarged.
const PIPE: u64 = 64 << 10;
const SOCKET: u64 = 208 << 10;

/// A process's share of memory without a file, with its page tables; `None` if the process cannot be inspected.
pub(super) fn share(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    // Shared memory without a file is counted separately below.
    let anonymous = kilobytes(&text, "Pss_Anon:");
    let tables =
        fs::read_to_string(format!("/proc/{pid}/status")).ok().and_then(|text| kilobytes(&text, "VmPTE:"));
    Some((anonymous.or_else(|| kilobytes(&text, "Pss:"))? + tables.unwrap_or(0)) * 1024)
}

pub(super) fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

/// The maximum that open pipes and sockets can contain, if there are unusually many.
pub(super) fn may_hide<'a>(processes: impl Iterator<Item = &'a i32>) -> u64 {
    const USUAL: u64 = 256;
    let open = processes.filter_map(|pid| fs::metadata(format!("/proc/{pid}/fd")).ok());
    open.map(|directory| directory.len()).sum::<u64>().saturating_sub(USUAL) * SOCKET
}

/// The memory in pipes, sockets and shared mappings, each counted once.
#[derive(Debug, Default)]
pub(super) struct Nobodys {
    found: BTreeMap<String, u64>,
    pub(super) bytes: u64,
}

impl Nobodys {
    /// Adds those of a process.
    pub(super) fn collect(&mut self, pid: i32) {
        for entry in fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten() {
            let Ok(target) = fs::read_link(entry.path()) else { continue };
            match target.to_str() {
                Some(name) if name.starts_with("pipe:") => self.add(name, PIPE),
                Some(name) if name.starts_with("socket:") => self.add(name, SOCKET),
                _ => {}
            }
        }
        let maps = fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
        for line in String::from_utf8_lossy(&maps).lines() {
            if let Some((name, size)) = shared_mapping(line) {
                self.add(&name, size);
            }
        }
    }

    fn add(&mut self, name: &str, size: u64) {
        let largest = self.found.entry(name.to_owned()).or_default();
        self.bytes += size.saturating_sub(*largest);
        *largest = size.max(*largest);
    }
}

/// A shared mapping without a file: its identity and size.
fn shared_mapping(line: &str) -> Option<(String, u64)> {
    let mut fields = line.split_ascii_whitespace();
    let (range, mode) = (fields.next()?, fields.next()?);
    let (_, device, inode, name) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    if !mode.ends_with('s') || !(name == "/dev/zero" || name.starts_with("/memfd:")) {
        return None;
    }
    let (begin, end) = range.split_once('-')?;
    let size = u64::from_str_radix(end, 16).ok()?.checked_sub(u64::from_str_radix(begin, 16).ok()?)?;
    Some((format!("{device} {inode}"), size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_shared_memory_without_a_file_counts() {
        let line = "7f0000000000-7f0000100000 rw-s 00000000 00:01 1234 /dev/zero (deleted)";
        assert_eq!(shared_mapping(line), Some(("00:01 1234".into(), 1 << 20)));
        for other in [
            "7f0000000000-7f0000100000 rw-p 00000000 00:00 0 ",
            "7f0000000000-7f0000100000 r--s 00000000 fe:00 7 /usr/lib/locale",
            "7f0000100000-7f0000000000 rw-s 00000000 00:01 1 /dev/zero",
            "x-y rw-s 0 0 0 /dev/zero",
            "",
        ] {
            assert_eq!(shared_mapping(other), None, "{other}");
        }
    }

    #[test]
    fn kilobytes_are_read() {
        assert_eq!(kilobytes("Rss:  9 kB\nPss:   12 kB\n", "Pss:"), Some(12));
        assert_eq!(kilobytes("Rss:  9 kB\n", "Pss:"), None);
    }
}
