//! Measures the resources of a script's processes through /proc, and enforces the limits that cgroups do not.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{Read, Seek};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{CWD, Mode as FileMode, OFlags};

use super::growth::Growth;
use super::memory;
use crate::executor::Limit;
use crate::plan::{Bounds, Kind, Mode, Plan};
use crate::stopwatch::Stopwatch;

/// The highest use that was measured.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ResourceUsage {
    pub(super) cpu_ms: u64,
    pub(super) memory: u64,
    pub(super) written: u64,
}

/// Compares resource use with the limits.
pub(super) struct Watch {
    bounds: Bounds,
    begun: Stopwatch,
    /// What this process, including everything it has reaped, has written.
    written: Option<File>,
    /// Whether all visible processes belong to the script.
    owns_all: bool,
    /// The private file systems.
    temporary: Vec<OwnedFd>,
    /// Other writable directories.
    writable: Vec<Growth>,
    /// The most free memory that the machine had since the script started: what others free must not hide what it takes.
    available: u64,
    peak: ResourceUsage,
    pages: u64,
    ticks_per_second: u64,
}

/// One process, from `/proc/PID/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    parent: i32,
    /// Whether it has ended and only waits to be reaped.
    ended: bool,
    pub(super) threads: u64,
    /// Its own CPU time, in ticks.
    ticks: u64,
    /// That of its ended children.
    ticks_of_children: u64,
    resident_pages: u64,
}

impl Watch {
    pub(super) fn new(plan: &Plan, written: Option<File>) -> Self {
        let open = |path: &Path| {
            rustix::fs::openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, FileMode::empty()).ok()
        };
        let owns_all = plan.mode == Mode::Full;
        let temporary = if owns_all { vec!["/tmp", "/dev/shm"] } else { Vec::new() };
        let writable = plan.binds.iter().filter(|bind| bind.kind == Kind::Write);
        Self {
            bounds: plan.bounds,
            begun: Stopwatch::start(),
            written,
            owns_all,
            temporary: temporary.into_iter().filter_map(|path| open(Path::new(path))).collect(),
            writable: writable.filter_map(|bind| Growth::watch(bind.path.path())).collect(),
            available: available_memory().unwrap_or(0),
            peak: ResourceUsage::default(),
            pages: rustix::param::page_size() as u64,
            ticks_per_second: rustix::param::clock_ticks_per_second().max(1),
        }
    }

    pub(super) const fn peak(&self) -> ResourceUsage {
        self.peak
    }

    /// The limit that was reached, if any.
    pub(super) fn check(&mut self) -> Option<Limit> {
        // A little later than metier itself would.
        if self.begun.elapsed() > Duration::from_millis(self.bounds.wall_ms.saturating_add(500)) {
            return Some(Limit::Wall);
        }
        let processes = processes(self.owns_all);
        self.check_processes(&processes).or_else(|| self.check_files())
    }

    /// The same after the script has ended, when its processes are already counted.
    pub(super) fn last_check(&mut self) -> Option<Limit> {
        let processes = processes(self.owns_all);
        let hit = self.check_cpu(&processes).or_else(|| self.check_written(&processes));
        hit.or_else(|| self.check_files())
    }

    fn check_processes(&mut self, processes: &BTreeMap<i32, Process>) -> Option<Limit> {
        let count: u64 = processes.values().map(|one| one.threads).sum();
        // Init does not count as the script's.
        let too_many = self.bounds.processes.is_some_and(|most| count.saturating_sub(1) > most);
        too_many
            .then_some(Limit::Processes)
            .or_else(|| self.check_memory(processes))
            .or_else(|| self.check_cpu(processes))
            .or_else(|| self.check_written(processes))
    }

    fn check_cpu(&mut self, processes: &BTreeMap<i32, Process>) -> Option<Limit> {
        let own = rustix::process::getpid().as_raw_nonzero().get();
        // Time for watching is not the script's.
        let of =
            |(pid, one): (&i32, &Process)| if *pid == own { 0 } else { one.ticks } + one.ticks_of_children;
        let ticks: u64 = processes.iter().map(of).sum();
        self.peak.cpu_ms = self.peak.cpu_ms.max(ticks * 1000 / self.ticks_per_second);
        (self.peak.cpu_ms >= self.bounds.cpu_ms).then_some(Limit::Cpu)
    }

    fn check_memory(&mut self, processes: &BTreeMap<i32, Process>) -> Option<Limit> {
        let resident = processes.values().map(|one| one.resident_pages).sum::<u64>() * self.pages;
        let temporary = self.temporary.iter().map(used_bytes).sum::<u64>();
        let rough = resident + temporary;
        let Some(bound) = self.bounds.memory else {
            self.peak.memory = self.peak.memory.max(rough);
            return None;
        };
        // This counts shared pages for each process, and ignores memory that no process has mapped; it is measured
        // precisely only if needed.
        let available = available_memory().unwrap_or(self.available);
        self.available = self.available.max(available);
        let taken = self.available - available;
        let used = if rough > bound || taken > bound || memory::may_hide(processes.keys()) > bound {
            // Processes are not measured at the same moment, so a limit counts only if exceeded twice.
            let look = || self.closer(&self::processes(self.owns_all), bound);
            let first = look();
            if first > bound { first.min(look()) + temporary } else { first + temporary }
        } else {
            rough
        };
        // Possible use counts for the limit, but is not reported as used.
        self.peak.memory = self.peak.memory.max(used.min(rough));
        (used > bound).then_some(Limit::Memory)
    }

    /// Each process's share of its memory, and memory that belongs to none: in pipes, sockets, tables and shared
    /// mappings. Stops when it exceeds `enough`.
    fn closer(&self, processes: &BTreeMap<i32, Process>, enough: u64) -> u64 {
        let mut nobodys = memory::Nobodys::default();
        let mut used = 0;
        for pid in processes.iter().filter(|(_, process)| !process.ended).map(|(pid, _)| pid) {
            // A process that cannot be inspected may just be ending; otherwise all of its memory counts.
            let all = || process(*pid).map_or(0, |now| now.resident_pages * self.pages);
            used += memory::share(*pid).unwrap_or_else(all);
            nobodys.collect(*pid);
            if used + nobodys.bytes > enough {
                break;
            }
        }
        used + nobodys.bytes
    }

    fn check_written(&mut self, processes: &BTreeMap<i32, Process>) -> Option<Limit> {
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let others = processes.keys().filter(|pid| **pid != own).filter_map(|pid| written(*pid)).sum::<u64>();
        let mut text = String::new();
        let reaped = self.written.as_mut().and_then(|file| {
            file.rewind().ok()?;
            file.read_to_string(&mut text).ok()?;
            write_bytes(&text)
        });
        let written = others + reaped.unwrap_or(0);
        self.peak.written = self.peak.written.max(written);
        (self.peak.written >= self.bounds.disk).then_some(Limit::Disk)
    }

    fn check_files(&mut self) -> Option<Limit> {
        let is_full = |place: &OwnedFd| {
            rustix::fs::fstatvfs(place)
                .is_ok_and(|stat| stat.f_bavail == 0 || (stat.f_files > 0 && stat.f_ffree == 0))
        };
        if self.temporary.iter().any(is_full) {
            return Some(Limit::Tmp);
        }
        let (bytes, files) = (self.bounds.disk, self.bounds.files);
        self.writable.iter_mut().find_map(|growth| growth.check(bytes, files))
    }
}

fn used_bytes(place: &OwnedFd) -> u64 {
    rustix::fs::fstatvfs(place).map_or(0, |stat| (stat.f_blocks - stat.f_bfree) * stat.f_frsize)
}

fn available_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().trim_end_matches("kB").trim().parse::<u64>().ok().map(|kb| kb * 1024)
}

/// The bytes that a process, and the children it has waited for, wrote to disks.
fn written(pid: i32) -> Option<u64> {
    write_bytes(&fs::read_to_string(format!("/proc/{pid}/io")).ok()?)
}

fn write_bytes(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("write_bytes:"))?.trim().parse().ok()
}

/// The script's processes and init.
pub(super) fn processes(owns_all: bool) -> BTreeMap<i32, Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return BTreeMap::new() };
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let found = numbers.filter_map(|pid| Some((pid, process(pid)?)));
    let all: BTreeMap<i32, Process> = found.collect();
    if owns_all { all } else { descendants(&all, rustix::process::getpid().as_raw_nonzero().get()) }
}

fn process(pid: i32) -> Option<Process> {
    parse_stat(&fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// `first` and all its descendants.
fn descendants(all: &BTreeMap<i32, Process>, first: i32) -> BTreeMap<i32, Process> {
    let mut known = BTreeSet::from([first]);
    loop {
        let before = known.len();
        known.extend(
            all.iter()
                .filter(|(_, one)| known.contains(&one.parent))
                .map(|(pid, _)| *pid)
                .collect::<Vec<_>>(),
        );
        if known.len() == before {
            return all
                .iter()
                .filter(|(pid, _)| known.contains(pid))
                .map(|(pid, one)| (*pid, *one))
                .collect();
        }
    }
}

/// Parses a line whose second field is the name of the process, which may contain anything.
fn parse_stat(stat: &[u8]) -> Option<Process> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // The manual counts fields from 1, starting with the pid; the first field here is its third.
    let field = |number: usize| fields.get(number - 3).copied();
    let number = |at: usize| field(at)?.parse::<u64>().ok();
    let sum = |fields: [usize; 2]| fields.into_iter().filter_map(number).sum();
    let (ticks, ticks_of_children) = (sum([14, 15]), sum([16, 17]));
    Some(Process {
        parent: field(4)?.parse().ok()?,
        ended: matches!(field(3), Some("Z" | "X")),
        threads: number(20)?,
        ticks,
        ticks_of_children,
        resident_pages: number(24)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_cannot_lie_by_its_name() {
        let stat = b"7 (a) S 99 (b)) R 3 7 7 0 -1 4194560 1 0 0 0 10 20 30 40 20 0 5 0 100 200 300 0\n";
        let read = parse_stat(stat).unwrap();
        assert_eq!(
            read,
            Process {
                parent: 3,
                ended: false,
                threads: 5,
                ticks: 30,
                ticks_of_children: 70,
                resident_pages: 300
            }
        );
        for bad in [&b""[..], b"7", b"7 (", b")", b"7 (a) S", b"7 (a) S x y z"] {
            assert_eq!(parse_stat(bad), None);
        }
    }

    #[test]
    fn only_what_was_started_counts() {
        let process = |parent| Process {
            parent,
            ended: false,
            threads: 1,
            ticks: 0,
            ticks_of_children: 0,
            resident_pages: 0,
        };
        let all = BTreeMap::from([
            (1, process(0)),
            (2, process(1)),
            (3, process(2)),
            (4, process(3)),
            (5, process(1)),
        ]);
        assert_eq!(descendants(&all, 2).into_keys().collect::<Vec<_>>(), [2, 3, 4]);
    }
}
