//! Ending processes where no namespace ends them: those that are below this one, however they try to stay.

use std::fs;
use std::os::unix::fs::MetadataExt;

use rustix::event::Timespec;
use rustix::process::{Pid, Signal, WaitOptions};

use super::usage;
use crate::plan::Identity;
use crate::sys::{self, Fork};

/// Rounds after which a process that is still there must be one that goes on in ever new ones.
const PATIENCE: u32 = 50;
/// What the kernel needs to end one, about.
const MOMENT: Timespec = Timespec { tv_sec: 0, tv_nsec: 500_000 };

/// Ends every process below this one. `room` is how many more processes this user may have by the script's limit.
///
/// Orphans come to this process, which adopts them, so that each round reaches them. One that forks and ends at once can
/// always be elsewhere when it is looked for; then the room for new processes is taken away, so that it cannot.
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

/// The children of this process, to which what they leave behind will come; or, where the kernel does not list them, all
/// that is below.
pub(super) fn below() -> Vec<Pid> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let numbers: Vec<i32> = match fs::read_to_string("/proc/thread-self/children") {
        Ok(text) => text.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect(),
        Err(_) => usage::processes(false).into_keys().filter(|pid| *pid != own).collect(),
    };
    numbers.into_iter().filter_map(Pid::from_raw).collect()
}

/// Reaps whatever has ended; whether there are other children yet.
fn reap(fillers: &[Pid]) -> bool {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            // There are children, and none has ended: perhaps they are only those that fill.
            Ok(None) => return fillers.is_empty(),
            Err(_) => return false,
        }
    }
}

/// Processes of the script's user that do nothing but count.
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
                // Whoever it counts for may be gone already.
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
