//! Leftovers of killed processes: directories whose names contain the process that created them. The next process
//! removes those whose creator is gone.
//!
//! A process is identified by its number, its start time, and the boot of the machine.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use metier_skill::disk::remove_all;

/// The result of removing leftovers.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Leftovers {
    /// How many were removed.
    pub removed: usize,
    /// What could not be removed, and why.
    pub left: Vec<(PathBuf, io::Error)>,
}

impl Leftovers {
    /// Removes these directories with everything in them.
    pub fn remove(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut all = Self::default();
        for path in paths {
            match remove_all(&path) {
                Ok(()) => all.removed += 1,
                Err(error) => all.left.push((path, error)),
            }
        }
        all
    }

    /// The entries of a directory that were created by a process that is gone; `owner` extracts the process from a
    /// name.
    pub fn find(parent: &Path, owner: impl Fn(&str) -> Option<Owner>) -> Vec<PathBuf> {
        let entries = fs::read_dir(parent).into_iter().flatten().flatten();
        let dead = entries.filter(|entry| {
            entry.file_name().to_str().and_then(&owner).is_some_and(|owner| !owner.is_alive())
        });
        dead.map(|entry| entry.path()).collect()
    }
}

/// Whether a directory belongs to this user and is not a link.
pub fn is_own_directory(path: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir() && meta.uid() == own)
}

/// A process, distinguished from later ones with the same number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    pid: u32,
    /// In ticks since the boot, because process numbers are reused.
    began: u64,
    /// The PID namespace, because numbers are only unique in one.
    namespace: u64,
    boot: String,
}

impl Owner {
    /// This process.
    pub fn own() -> Self {
        Self::of(std::process::id()).unwrap_or(Self {
            pid: std::process::id(),
            began: 0,
            namespace: 0,
            boot: boot(),
        })
    }

    /// An existing process, as seen from here.
    pub fn of(pid: u32) -> Option<Self> {
        Some(Self { pid, began: began(pid)?, namespace: namespace(), boot: boot() })
    }

    /// The form used in names: `12-345-4026531836-0123abcd`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(4, '-');
        let mut number = || parts.next().filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
        let (pid, began, namespace) =
            (number()?.parse().ok()?, number()?.parse().ok()?, number()?.parse().ok()?);
        let boot = parts.next()?;
        let is_boot = boot.len() == BOOT && boot.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_boot.then(|| Self { pid, began, namespace, boot: boot.to_owned() })
    }

    /// The process in a name that ends with one and a number, for example `claude-agent-12-345-4026531836-0123abcd.0`,
    /// or with one and 16 hexadecimal digits.
    pub fn of_name(name: &str) -> Option<Self> {
        let (name, ending) = name.rsplit_once('.')?;
        let is_random = ending.len() == 16 && ending.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_random && ending.parse::<u32>().is_err() {
            return None;
        }
        let at = name.rmatch_indices('-').nth(3)?.0;
        Self::parse(&name[at + 1..])
    }

    /// Whether it still exists. If that cannot be determined, it counts as existing.
    pub fn is_alive(&self) -> bool {
        let own = Self::own();
        if own.began == 0 || own.boot.len() != BOOT {
            return true;
        }
        self.boot == own.boot && (self.namespace != own.namespace || began(self.pid) == Some(self.began))
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pid, began, namespace, boot } = self;
        write!(f, "{pid}-{began}-{namespace}-{boot}")
    }
}

/// The start time of a process in system ticks; `None` if there is no running process.
fn began(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The program's name is in parentheses, and may contain anything.
    let mut after = stat.rsplit_once(')')?.1.split_whitespace();
    let is_dead = matches!(after.next()?, "Z" | "X");
    // The first field is the state.
    after.nth(18)?.parse().ok().filter(|_| !is_dead)
}

/// The PID namespace of this process.
fn namespace() -> u64 {
    fs::metadata("/proc/self/ns/pid").map_or(0, |meta| meta.ino())
}

/// How much of the boot id is in names, which must be short because socket paths are.
const BOOT: usize = 8;

fn boot() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.chars().take(BOOT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_name_and_nothing_else_is() {
        let own = Owner::own();
        assert!(own.is_alive());
        assert_eq!(Owner::parse(&own.to_string()), Some(own.clone()));
        assert_eq!(Owner::of_name(&format!("claude-agent-{own}.12")), Some(own.clone()));
        for name in [
            "backup-2024-01-15.d",
            "2024-01-15.old",
            "a-12-foo-bar.0",
            "x-1-2-3-4.0",
            "x-1-2-3-0123abcd",
            "+1-2-3-0123abcd.0",
        ] {
            assert_eq!(Owner::of_name(name), None, "{name}");
        }
        let other = |change: fn(&mut Owner)| {
            let mut other = own.clone();
            change(&mut other);
            other.is_alive()
        };
        assert!(!other(|one| one.began += 1), "another of the same number");
        assert!(!other(|one| one.boot = "00000000".to_owned()), "before the machine was started");
        assert!(other(|one| (one.namespace, one.pid) = (one.namespace + 1, 0)), "nobody knows from here");
    }
}
