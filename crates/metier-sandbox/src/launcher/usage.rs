//! How much the processes of a script use, as /proc tells: what cgroups do not bound is watched.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{CWD, Mode as FileMode, OFlags};
use rustix::process::{Pid, Signal, WaitOptions};

use crate::plan::{Bounds, Hit, Kind, Mode, Plan};

/// The most that was seen in use.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Usage {
    pub(super) cpu_ms: u64,
    pub(super) memory: u64,
    pub(super) written: u64,
}

/// Compares what is in use with the bounds.
pub(super) struct Watch {
    bounds: Bounds,
    /// Whether all processes that can be seen are the script's.
    owns_all: bool,
    /// The private file systems, and how full they may be.
    temporary: Vec<OwnedFd>,
    /// The work directory, and how many files its file system had room for.
    work: Option<(OwnedFd, u64)>,
    /// Memory that the machine had free, below which a script that hides its memory is ended.
    least_available: u64,
    peak: Usage,
    pages: u64,
    ticks_per_second: u64,
}

/// One process, as `/proc/PID/stat` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    parent: i32,
    threads: u64,
    /// Its own and its ended children's, in ticks.
    ticks: u64,
    resident_pages: u64,
}

impl Watch {
    pub(super) fn new(plan: &Plan) -> Self {
        let open = |path: &Path| {
            rustix::fs::openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, FileMode::empty()).ok()
        };
        let owns_all = plan.mode == Mode::Full;
        let temporary = if owns_all { vec!["/tmp", "/dev/shm"] } else { Vec::new() };
        let work =
            plan.binds.iter().find(|bind| bind.kind == Kind::Write).and_then(|bind| open(bind.path.path()));
        Self {
            bounds: plan.bounds,
            owns_all,
            temporary: temporary.into_iter().filter_map(|path| open(Path::new(path))).collect(),
            work: work.and_then(|work| free_files(&work).map(|free| (work, free))),
            least_available: available_memory().map_or(0, |free| (free / 20).min(256 << 20)),
            peak: Usage::default(),
            pages: rustix::param::page_size() as u64,
            ticks_per_second: rustix::param::clock_ticks_per_second().max(1),
        }
    }

    pub(super) const fn peak(&self) -> Usage {
        self.peak
    }

    /// The limit that has been reached, if one has.
    pub(super) fn check(&mut self) -> Option<Hit> {
        let processes = processes(self.owns_all);
        self.check_processes(&processes).or_else(|| self.check_files())
    }

    /// The same once the script has ended, when what ended with it is already counted.
    pub(super) fn last_check(&mut self) -> Option<Hit> {
        let processes = processes(self.owns_all);
        let hit = self.check_cpu(&processes).or_else(|| self.check_written(&processes));
        hit.or_else(|| self.check_files())
    }

    fn check_processes(&mut self, processes: &BTreeMap<i32, Process>) -> Option<Hit> {
        let count: u64 = processes.values().map(|one| one.threads).sum();
        // Init itself is not the script's.
        let too_many = self.bounds.processes.is_some_and(|most| count.saturating_sub(1) >= most);
        too_many
            .then_some(Hit::Processes)
            .or_else(|| self.check_memory(processes))
            .or_else(|| self.check_cpu(processes))
            .or_else(|| self.check_written(processes))
    }

    fn check_cpu(&mut self, processes: &BTreeMap<i32, Process>) -> Option<Hit> {
        let ticks: u64 = processes.values().map(|one| one.ticks).sum();
        self.peak.cpu_ms = self.peak.cpu_ms.max(ticks * 1000 / self.ticks_per_second);
        (self.peak.cpu_ms >= self.bounds.cpu_ms).then_some(Hit::Cpu)
    }

    fn check_memory(&mut self, processes: &BTreeMap<i32, Process>) -> Option<Hit> {
        let resident = processes.values().map(|one| one.resident_pages).sum::<u64>() * self.pages;
        let bound = self.bounds.memory.unwrap_or(u64::MAX);
        // Resident pages that processes share are counted for each of them; a closer look only when that is too much.
        let used = if resident > bound { self.proportional(processes) } else { resident };
        let used = used + self.temporary.iter().map(used_bytes).sum::<u64>();
        let used = if self.bounds.memory.is_some() { used + hidden_in_descriptors(processes) } else { used };
        self.peak.memory = self.peak.memory.max(used);
        let hides_some = || available_memory().is_some_and(|free| free < self.least_available);
        (used > bound || (self.bounds.memory.is_some() && hides_some())).then_some(Hit::Memory)
    }

    /// Each process's share of the memory that files do not back.
    fn proportional(&self, processes: &BTreeMap<i32, Process>) -> u64 {
        let share = |(pid, process): (&i32, &Process)| {
            let Ok(text) = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")) else {
                // It cannot be looked into: then all of it counts.
                return process.resident_pages * self.pages;
            };
            let kilobytes = |name: &str| {
                let line = text.lines().find_map(|line| line.strip_prefix(name))?;
                line.trim_end_matches("kB").trim().parse::<u64>().ok()
            };
            let anonymous = kilobytes("Pss_Anon:").zip(kilobytes("Pss_Shmem:")).map(|(a, b)| a + b);
            anonymous
                .or_else(|| kilobytes("Pss:"))
                .map_or(process.resident_pages * self.pages, |kb| kb * 1024)
        };
        processes.iter().map(share).sum()
    }

    fn check_written(&mut self, processes: &BTreeMap<i32, Process>) -> Option<Hit> {
        let written: u64 = processes.keys().filter_map(|pid| written(*pid)).sum();
        self.peak.written = self.peak.written.max(written);
        (self.peak.written >= self.bounds.disk).then_some(Hit::Disk)
    }

    fn check_files(&self) -> Option<Hit> {
        let is_full = |place: &OwnedFd| {
            rustix::fs::fstatvfs(place)
                .is_ok_and(|stat| stat.f_bavail == 0 || (stat.f_files > 0 && stat.f_ffree == 0))
        };
        if self.temporary.iter().any(is_full) {
            return Some(Hit::Tmp);
        }
        let (work, before) = self.work.as_ref()?;
        let new = before.saturating_sub(free_files(work)?);
        (new > self.bounds.files).then_some(Hit::Files)
    }
}

/// What may lie in pipes and sockets, where it is nobody's: all that fits, once there are unusually many of them.
fn hidden_in_descriptors(processes: &BTreeMap<i32, Process>) -> u64 {
    const USUAL: u64 = 256;
    const MOST: u64 = 208 << 10;
    let open = processes.keys().filter_map(|pid| fs::metadata(format!("/proc/{pid}/fd")).ok());
    open.map(|directory| directory.len()).sum::<u64>().saturating_sub(USUAL) * MOST
}

fn used_bytes(place: &OwnedFd) -> u64 {
    rustix::fs::fstatvfs(place).map_or(0, |stat| (stat.f_blocks - stat.f_bfree) * stat.f_frsize)
}

fn free_files(place: &OwnedFd) -> Option<u64> {
    rustix::fs::fstatvfs(place).ok().filter(|stat| stat.f_files > 0).map(|stat| stat.f_ffree)
}

fn available_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().trim_end_matches("kB").trim().parse::<u64>().ok().map(|kb| kb * 1024)
}

/// The bytes that a process, and the children it has waited for, sent to disks.
fn written(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("write_bytes:"))?.trim().parse().ok()
}

/// The script's processes and init.
fn processes(owns_all: bool) -> BTreeMap<i32, Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return BTreeMap::new() };
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let found = numbers.filter_map(|pid| {
        let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
        Some((pid, parse_stat(&stat)?))
    });
    let all: BTreeMap<i32, Process> = found.collect();
    if owns_all { all } else { descendants(&all, rustix::process::getpid().as_raw_nonzero().get()) }
}

/// `first` and everything that it started.
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

/// Reads a line whose second field is a name of the process's own choice, which may contain anything.
fn parse_stat(stat: &[u8]) -> Option<Process> {
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // The manual counts from one and from the pid; the first here is its third.
    let field = |number: usize| fields.get(number - 3).copied();
    let number = |at: usize| field(at)?.parse::<u64>().ok();
    let ticks = [14, 15, 16, 17].into_iter().filter_map(number).sum();
    Some(Process {
        parent: field(4)?.parse().ok()?,
        threads: number(20)?,
        ticks,
        resident_pages: number(24)?,
    })
}

/// Ends every process below this one, also those that start others meanwhile.
pub(super) fn kill_descendants() {
    // Orphans come to this process, which adopts them, so that each round reaches one generation further.
    loop {
        let own = rustix::process::getpid().as_raw_nonzero().get();
        for pid in processes(false).into_keys().filter(|pid| *pid != own) {
            if let Some(pid) = Pid::from_raw(pid) {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            }
        }
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_cannot_lie_by_its_name() {
        let stat = b"7 (a) S 99 (b)) R 3 7 7 0 -1 4194560 1 0 0 0 10 20 30 40 20 0 5 0 100 200 300 0\n";
        let read = parse_stat(stat).unwrap();
        assert_eq!(read, Process { parent: 3, threads: 5, ticks: 100, resident_pages: 300 });
        for bad in [&b""[..], b"7", b"7 (", b")", b"7 (a) S", b"7 (a) S x y z"] {
            assert_eq!(parse_stat(bad), None);
        }
    }

    #[test]
    fn only_what_was_started_counts() {
        let process = |parent| Process { parent, threads: 1, ticks: 0, resident_pages: 0 };
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
