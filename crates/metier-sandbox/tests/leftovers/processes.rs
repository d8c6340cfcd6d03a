//! Processes as they are seen from outside.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

// Not every suite needs all of it.
const _: fn(u32, &str) -> Option<Below> = below_launcher;
const _: fn(&str, &BTreeSet<Id>) -> Vec<Process> = alive;
const _: fn(fn() -> bool) -> bool = soon;
const _: fn(&str) -> bool = is_running;
const _: fn() -> String = number;
const _: fn(&Path) -> (PathBuf, String) = named_launcher;

/// How long the kernel may take to end what somebody killed.
const DEADLINE: Duration = Duration::from_secs(5);

/// A process's number, and when it started: this tells it from a later one with the same number.
pub(crate) type Id = (u32, u64);

#[derive(Debug, Clone)]
pub(crate) struct Process {
    pub(crate) id: Id,
    pub(crate) parent: u32,
    pub(crate) is_zombie: bool,
    /// The first fifteen letters of the file it runs.
    name: String,
    /// What it was started with, all in one.
    command: String,
}

/// Every process.
pub(crate) fn processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").unwrap();
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    numbers.filter_map(process).collect()
}

fn process(pid: u32) -> Option<Process> {
    let read = |file: &str| fs::read(format!("/proc/{pid}/{file}")).ok();
    let (stat, command) = (read("stat")?, read("cmdline")?);
    let stat = String::from_utf8_lossy(&stat);
    let (start, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    Some(Process {
        id: (pid, fields.get(19)?.parse().ok()?),
        parent: fields.get(1)?.parse().ok()?,
        is_zombie: *fields.first()? == "Z",
        name: start.split_once('(')?.1.to_owned(),
        command: String::from_utf8_lossy(&command).into_owned(),
    })
}

/// A launcher, and everything below it.
type Below = (u32, BTreeSet<Id>);

/// The launcher that `host` started for the script with this number, and everything below it.
pub(crate) fn below_launcher(host: u32, number: &str) -> Option<Below> {
    let all = processes();
    let mut launcher = all.iter().find(|one| one.command.contains(number))?;
    while launcher.parent != host {
        launcher = all.iter().find(|one| one.id.0 == launcher.parent)?;
    }
    let mut found = BTreeSet::from([launcher.id]);
    loop {
        let is_new = |one: &&Process| !found.contains(&one.id) && found.iter().any(|id| id.0 == one.parent);
        let more: Vec<Id> = all.iter().filter(is_new).map(|one| one.id).collect();
        if more.is_empty() {
            return Some((launcher.id.0, found));
        }
        found.extend(more);
    }
}

/// The processes with this number in their command, and those of the known ones that are still there.
pub(crate) fn left(number: &str, known: &BTreeSet<Id>) -> Vec<Process> {
    let is_left = |one: &Process| one.command.contains(number) || known.contains(&one.id);
    processes().into_iter().filter(is_left).collect()
}

/// The same for those that nobody here can reap: whoever adopted them does, some time.
pub(crate) fn alive(number: &str, known: &BTreeSet<Id>) -> Vec<Process> {
    left(number, known).into_iter().filter(|one| !one.is_zombie).collect()
}

/// Whether a program of this name runs.
pub(crate) fn is_running(name: &str) -> bool {
    processes().iter().any(|one| one.name == name && !one.is_zombie)
}

/// A number that no other script has, as something to sleep for.
pub(crate) fn number() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    format!("86400.{:08}{:06}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// The launcher by a name of its own in `place`, to know by it what runs: the path, and the name.
pub(crate) fn named_launcher(place: &Path) -> (PathBuf, String) {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    let name = format!("l{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let beside = std::env::current_exe().unwrap().with_file_name("metier-launcher");
    let real = if beside.exists() { beside } else { env!("CARGO_BIN_EXE_metier-launcher").into() };
    std::os::unix::fs::symlink(real, place.join(&name)).unwrap();
    (place.join(&name), name)
}

/// Asks until it is so, for as long as the deadline; whether it has become so.
#[expect(clippy::disallowed_methods, reason = "the kernel does it when it does it")]
pub(crate) fn soon<F: FnMut() -> bool>(mut condition: F) -> bool {
    let begun = Instant::now();
    while !condition() {
        if begun.elapsed() > DEADLINE {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}
