//! Measures from outside which protections are active, while the script waits to start.

use std::fs;
use std::path::Path;

use rustix::process::Pid;

use super::cgroup::Group;
use super::ids;
use crate::plan::{Mode, Net, Plan};
use crate::profile::RunLimits;
use crate::protection::{Protection, Protections};

/// What the script's process reports in addition.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tried {
    pub(super) landlock: bool,
    pub(super) seccomp: bool,
}

/// Examines the process that is to become the script.
pub(super) fn measure(
    pid: Pid,
    plan: &Plan,
    limits: &RunLimits,
    group: Option<&Group>,
    tried: Tried,
) -> Protections {
    let number = pid.as_raw_nonzero().to_string();
    let process = Path::new("/proc").join(&number);
    let read = |file: &str| fs::read_to_string(process.join(file)).unwrap_or_default();
    let status = read("status");
    let field =
        |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim();
    let mut found = Protections::default();

    let own = |name: &str| {
        let of = |process: &Path| fs::read_link(process.join("ns").join(name)).ok();
        let (inside, outside) = (of(&process), of(Path::new("/proc/self")));
        inside.is_some() && outside.is_some() && inside != outside
    };
    let mut namespace = |protection, name: &str, wanted: bool| {
        let active = own(name);
        let detail = match (active, wanted) {
            (true, _) => "its own",
            (false, true) => "shared with this machine",
            (false, false) => "shared, as the profile requires",
        };
        found.record(protection, active || !wanted, detail);
    };
    namespace(Protection::UserNamespace, "user", true);
    namespace(Protection::MountNamespace, "mnt", true);
    namespace(Protection::ProcessNamespace, "pid", true);
    namespace(Protection::NetworkNamespace, "net", plan.network != Net::Host);
    namespace(Protection::IpcNamespace, "ipc", true);
    namespace(Protection::HostnameNamespace, "uts", true);

    let is_full = plan.mode == Mode::Full;
    let apart = own("mnt");
    found.record(
        Protection::ProtectedPaths,
        apart,
        if apart { "read-only mounts" } else { "needs its own file tree" },
    );
    let ids: Vec<u32> = field("Uid:").split_ascii_whitespace().filter_map(|id| id.parse().ok()).collect();
    let is_plain = ids.len() == 4 && ids.iter().all(|id| !ids::is_really_root(*id));
    found.record(
        Protection::UnprivilegedUser,
        is_plain,
        ids.first().map_or("unknown".into(), |id| format!("user id {id}")),
    );

    let sets = ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:"];
    let none = |name: &&str| u64::from_str_radix(field(name), 16) == Ok(0);
    // The bounding set matters only together with set-user-id programs, which the next protection rules out.
    let bounding = !is_full || none(&"CapBnd:");
    let powerless = bounding && sets.iter().all(none);
    found.record(
        Protection::NoCapabilities,
        powerless,
        if powerless { "all sets empty" } else { "some sets are not empty" },
    );
    let settled = field("NoNewPrivs:") == "1";
    found.record(Protection::NoNewPrivileges, settled, if settled { "set" } else { "not set" });
    let version = plan.landlock_abi;
    let landlock = if tried.landlock { format!("version {version}") } else { "not in force".to_owned() };
    found.record(Protection::Landlock, tried.landlock, landlock);
    let filters: usize = field("Seccomp_filters:").parse().unwrap_or(0);
    let filtered = field("Seccomp:") == "2" && filters >= plan.filters.len() && !plan.filters.is_empty();
    found.record(Protection::Seccomp, filtered && tried.seccomp, format!("{filters} filters"));

    let text = read("limits");
    let limit = |name: &str| -> Option<u64> {
        text.lines().find_map(|line| line.strip_prefix(name))?.split_ascii_whitespace().nth(1)?.parse().ok()
    };
    let bounded = limit("Max file size").is_some_and(|most| most <= limits.file)
        && limit("Max open files").is_some_and(|most| most <= limits.open_files)
        && limit("Max core file size") == Some(0)
        && limit("Max cpu time").is_some();
    found.record(Protection::ResourceLimits, bounded, "CPU time, file size, open files, no core files");

    let (memory, processes) = group.map_or((None, None), |group| group.bounds(pid, limits));
    let watched = |is_watched: bool| is_watched.then(|| "watched".to_owned());
    let memory = memory.or_else(|| watched(plan.bounds.memory.is_some()));
    let processes = processes.or_else(|| watched(plan.bounds.processes.is_some()));
    for (protection, how) in [(Protection::MemoryLimit, memory), (Protection::ProcessLimit, processes)] {
        found.record(protection, how.is_some(), how.unwrap_or_else(|| "no limit".into()));
    }

    let stat = read("stat");
    let rest: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_ascii_whitespace().collect();
    let (session, terminal) = (rest.get(3).copied(), rest.get(4).copied());
    found.record(
        Protection::NoTerminal,
        session == Some(number.as_str()) && terminal == Some("0"),
        "its own session",
    );
    let open = fs::read_dir(process.join("fd")).map(|entries| {
        let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        // The fourth is the socket it waits on, closed when it starts.
        numbers.filter(|number| *number > 3).count()
    });
    found.record(Protection::NoDescriptors, open.as_ref().is_ok_and(|more| *more == 0), "three streams");
    found.record(
        Protection::EndsTogether,
        own("pid"),
        if own("pid") { "with its own first process" } else { "only processes that can be found" },
    );
    found
}
