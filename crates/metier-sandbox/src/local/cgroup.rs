//! Control groups: limits for all processes of a script together, if this user may set them. Both versions.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Mode, OFlags};
use rustix::process::Pid;

use crate::executor::Limit;
use crate::profile::RunLimits;

/// The groups of one run; removed with it.
#[derive(Debug)]
pub(super) struct Group {
    version: u8,
    memory: Option<PathBuf>,
    processes: Option<PathBuf>,
}

/// Our own processes in the group: the launcher and init.
const OURS: u64 = 2;

/// The prefix of our groups' names, before the number of the process that created them.
const PREFIX: &str = "metier-";

impl Group {
    /// Creates a group with these limits, as far as possible.
    pub(super) fn create(limits: &RunLimits) -> Option<Self> {
        static CLEANED: Once = Once::new();
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let unified = own_path(&own, "").and_then(|path| version_2(&path));
        CLEANED.call_once(|| {
            let old = [
                own_path(&own, "memory").map(|path| version_1("memory", &path)),
                own_path(&own, "pids").map(|path| version_1("pids", &path)),
                unified.clone(),
            ];
            old.iter().flatten().for_each(|parent| remove_abandoned(parent));
        });
        if let Some(parent) = unified
            && let Some(group) = Self::in_version_2(&parent, limits)
        {
            return Some(group);
        }
        let memory = own_path(&own, "memory").and_then(|path| make(&version_1("memory", &path)));
        let processes = own_path(&own, "pids").and_then(|path| make(&version_1("pids", &path)));
        let mut group = Self { version: 1, memory, processes };
        let bounded = |directory: &Option<PathBuf>, file: &str, most: u64| {
            directory.as_ref().is_some_and(|directory| set(directory, file, most).is_ok())
        };
        if bounded(&group.memory, "memory.limit_in_bytes", limits.memory) {
            // Only if swap is counted at all.
            bounded(&group.memory, "memory.memsw.limit_in_bytes", limits.memory);
        } else {
            remove(group.memory.take());
        }
        if !bounded(&group.processes, "pids.max", limits.processes.saturating_add(OURS)) {
            remove(group.processes.take());
        }
        (group.memory.is_some() || group.processes.is_some()).then_some(group)
    }

    fn in_version_2(parent: &Path, limits: &RunLimits) -> Option<Self> {
        let directory = make(parent)?;
        let group = Self { version: 2, memory: Some(directory.clone()), processes: Some(directory.clone()) };
        // Dropping it removes the directory.
        set(&directory, "memory.max", limits.memory).ok()?;
        set(&directory, "pids.max", limits.processes.saturating_add(OURS)).ok()?;
        let _ = set(&directory, "memory.swap.max", 0);
        let _ = set(&directory, "memory.oom.group", 1);
        Some(group)
    }

    pub(super) const fn bounds_memory(&self) -> bool {
        self.memory.is_some()
    }

    pub(super) const fn bounds_processes(&self) -> bool {
        self.processes.is_some()
    }

    /// The files that the launcher writes to, in order to join the group with everything that it starts.
    ///
    /// The launcher does that itself: a thread can move itself without the kernel stopping all others first.
    pub(super) fn doors(&self) -> io::Result<Vec<OwnedFd>> {
        let file = if self.version == 2 { "cgroup.procs" } else { "tasks" };
        let open = |directory: &PathBuf| {
            let path = directory.join(file);
            Ok(rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?)
        };
        self.directories().map(open).collect()
    }

    /// A limit that was reached.
    pub(super) fn hit(&self) -> Option<Limit> {
        let count = |directory: &Option<PathBuf>, file: &str, name: &str| -> u64 {
            let text = directory.as_ref().and_then(|directory| fs::read_to_string(directory.join(file)).ok());
            text.and_then(|text| field(&text, name)).unwrap_or(0)
        };
        let memory = if self.version == 2 { "memory.events" } else { "memory.oom_control" };
        if count(&self.memory, memory, "oom_kill") > 0 {
            return Some(Limit::Memory);
        }
        (count(&self.processes, "pids.events", "max") > 0).then_some(Limit::Processes)
    }

    /// Prevents new processes in the group.
    pub(super) fn stop_forking(&self) {
        if let Some(directory) = &self.processes {
            let _ = set(directory, "pids.max", 0);
        }
    }

    /// The highest memory use.
    pub(super) fn most_memory(&self) -> Option<u64> {
        let file = if self.version == 2 { "memory.peak" } else { "memory.max_usage_in_bytes" };
        fs::read_to_string(self.memory.as_ref()?.join(file)).ok()?.trim().parse().ok()
    }

    /// Whether `process` is in the group with the expected limits; returns how it is done.
    pub(super) fn bounds(&self, process: Pid, limits: &RunLimits) -> (Option<String>, Option<String>) {
        let own =
            fs::read_to_string(format!("/proc/{}/cgroup", process.as_raw_nonzero())).unwrap_or_default();
        let describe = |directory: &Option<PathBuf>, file: &str, controller: &str, most: u64| {
            let directory = directory.as_ref()?;
            let name = directory.file_name()?.to_str()?;
            let controller = if self.version == 2 { "" } else { controller };
            let is_in = own_path(&own, controller)?.ends_with(name);
            let now: u64 = fs::read_to_string(directory.join(file)).ok()?.trim().parse().ok()?;
            // The kernel rounds memory to pages.
            (is_in && now <= most && now > 0).then(|| format!("cgroup v{}", self.version))
        };
        let file = if self.version == 2 { "memory.max" } else { "memory.limit_in_bytes" };
        (
            describe(&self.memory, file, "memory", limits.memory),
            describe(&self.processes, "pids.max", "pids", limits.processes.saturating_add(OURS)),
        )
    }

    fn directories(&self) -> impl Iterator<Item = &PathBuf> {
        let second = self.processes.as_ref().filter(|other| Some(*other) != self.memory.as_ref());
        self.memory.iter().chain(second)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // By now the groups are empty.
        for directory in self.directories() {
            let _ = fs::remove_dir(directory);
        }
    }
}

fn remove(directory: Option<PathBuf>) {
    if let Some(directory) = directory {
        let _ = fs::remove_dir(directory);
    }
}

/// A directory for a new group.
fn make(parent: &Path) -> Option<PathBuf> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let directory = parent.join(format!("{PREFIX}{}-{number}", std::process::id()));
    fs::create_dir(&directory).ok()?;
    Some(directory)
}

fn set(directory: &Path, file: &str, value: u64) -> io::Result<()> {
    fs::write(directory.join(file), value.to_string())
}

/// The groups of processes that were killed before they could clean up.
fn remove_abandoned(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let maker =
            name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split_once('-')?.0.parse::<u32>().ok());
        if maker.is_some_and(|maker| !Path::new("/proc").join(maker.to_string()).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// This process's path in the hierarchy of a controller; the empty name is version 2.
fn own_path(text: &str, controller: &str) -> Option<PathBuf> {
    text.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let fits = if controller.is_empty() {
            number == "0"
        } else {
            controllers.split(',').any(|one| one == controller)
        };
        fits.then(|| PathBuf::from(path.trim_start_matches('/')))
    })
}

fn version_1(controller: &str, own: &Path) -> PathBuf {
    Path::new("/sys/fs/cgroup").join(controller).join(own)
}

/// Where a version 2 group with both controllers can be created: below this process's group, or beside it.
fn version_2(own: &Path) -> Option<PathBuf> {
    let top = Path::new("/sys/fs/cgroup");
    let own = top.join(own);
    let gives = |directory: &Path| {
        let given = fs::read_to_string(directory.join("cgroup.subtree_control")).unwrap_or_default();
        ["memory", "pids"].iter().all(|one| given.split_ascii_whitespace().any(|other| other == *one))
    };
    let candidates = [Some(own.as_path()), own.parent().filter(|parent| parent.starts_with(top))];
    candidates.into_iter().flatten().find(|directory| gives(directory)).map(Path::to_owned)
}

fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_paths() {
        let text = "8:pids:/a\n4:memory,other:/b/c\n0::/d\n";
        assert_eq!(own_path(text, "memory"), Some("b/c".into()));
        assert_eq!(own_path(text, "pids"), Some("a".into()));
        assert_eq!(own_path(text, ""), Some("d".into()));
        assert_eq!(own_path(text, "cpu"), None);
        assert_eq!(field("low 0\nmax 3\n", "max"), Some(3));
        assert_eq!(field("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n", "oom_kill"), Some(2));
    }
}
