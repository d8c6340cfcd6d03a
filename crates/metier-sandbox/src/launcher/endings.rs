//! Kills all processes below this one where no namespace does, even if they try to stay.

use std::fs;
use std::os::unix::fs::MetadataExt;

use rustix::event::Timespec;
use rustix::process::{Pid, Signal, WaitOptions};

use super::usage;
use crate::plan::Identity;
use crate::sys::{self, Fork};

/// Rounds after which a remaining process must be one that keeps forking.
const PATIENCE: u32 = 50;
/// About how long the kernel needs to end a process.
const MOMENT: Timespec = Timespec { tv_sec: 0, tv_nsec: 500_000 };

/// Kills every process below this one. `room` is how many more processes this user may have by the script's limit.
///
/// Orphans are adopted by this process, so that each round reaches them. A process that forks and exits at once can
/// always escape; then the remaining process limit is filled up, so that it cannot fork.
pub(super) fn kill_descendants(room: u64, identity: Identity) {
    let mut fillers = Vec::new();
    for round in 0_u32.. {
        if round == PATIENCE {
            fillers = fill(room, identity);
        }
        let left: Vec<Pid> = below().into_iter().filter(|pid| !fillers.contains(pid)).collect();
        for pid in &left {
            let _ = rustix::process::kill_process(*pid, Signal::KILL);
        }
        let is_alone = !reap(&fillers);
        if left.is_empty() && is_alone {
            break;
        }
        let _ = rustix::thread::nanosleep(&MOMENT);
    }
    for filler in fillers {
        let _ = rustix::process::kill_process(filler, Signal::KILL);
        let _ = rustix::process::waitpid(Some(filler), WaitOptions::empty());
    }
}

/// The children of this process, which will also get their orphans; or all descendants, if the kernel does not list
/// children.
pub(super) fn below() -> Vec<Pid> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let numbers: Vec<i32> = match fs::read_to_string("/proc/thread-self/children") {
        Ok(text) => text.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect(),
        Err(_) => usage::processes(false).into_keys().filter(|pid| *pid != own).collect(),
    };
    numbers.into_iter().filter_map(Pid::from_raw).collect()
}

/// Reaps ended processes; returns whether other children remain.
fn reap(fillers: &[Pid]) -> bool {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            // There are children, and none has ended: perhaps only the fillers.
            Ok(None) => return fillers.is_empty(),
            Err(_) => return false,
        }
    }
}

/// Processes of the script's user that only fill the limit.
fn fill(room: u64, identity: Identity) -> Vec<Pid> {
    let own = rustix::process::getpid();
    let mut fillers = Vec::new();
    for _ in 0..room {
        match sys::fork() {
            Ok(Fork::Parent(pid)) => fillers.push(pid),
            Ok(Fork::Child) => {
                if rustix::process::geteuid().is_root() {
                    let _ = sys::become_user(identity.outer.0, identity.outer.1, true);
                }
                let tied = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
                // The process that it counts for may already be gone.
                if tied.is_ok() && rustix::process::getppid() == Some(own) {
                    rustix::event::pause();
                }
                sys::leave(0)
            }
            Err(_) => break,
        }
    }
    fillers
}

/// How many processes and threads a user has now.
pub(super) fn tasks_of(user: u32) -> u64 {
    let Ok(entries) = fs::read_dir("/proc") else { return 0 };
    let own = entries.flatten().filter(|entry| entry.metadata().is_ok_and(|found| found.uid() == user));
    own.filter_map(|entry| Some(fs::read_dir(entry.path().join("task")).ok()?.count() as u64)).sum()
}
