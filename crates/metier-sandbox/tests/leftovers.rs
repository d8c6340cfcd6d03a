//! Nothing is left of a script, whatever it does to stay and however it ends: no processes, groups, files,
//! descriptors or threads.
//!
//! Each round is one way to stay with one way to end; `METIER_ROUNDS` says how many there are. What is left is looked
//! for from outside: whatever a script starts has a number in its command line that nothing else has, and whatever is
//! below the launcher when the script says that it is ready is remembered.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "support/common.rs"]
mod common;
#[path = "leftovers/kinds.rs"]
mod kinds;
#[path = "leftovers/processes.rs"]
mod processes;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use metier_sandbox::{
    Cancel, Destination, Ending, Executor, Job, Limit, Local, Network, RunOutcome, SandboxError, Sink, Stream,
};
use rustix::process::{Pid, Signal, kill_process};

use crate::kinds::{KINDS, Kind};
use crate::processes::{
    Id, Process, alive, below_launcher, is_running, left, named_launcher, number, processes, soon,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// The script's first process ends.
    Exit,
    /// It takes too long.
    Wall,
    /// Somebody cancels it.
    Cancel,
    /// The process that runs the sandbox is killed.
    HostKilled,
    /// The launcher is killed.
    LauncherKilled,
}

const WAYS: [Way; 5] = [Way::Exit, Way::Wall, Way::Cancel, Way::HostKilled, Way::LauncherKilled];

/// What is done once a script is ready, and what it has printed.
struct OnceReady<F>(Option<F>, Vec<u8>);

impl<F: FnOnce()> Sink for OnceReady<F> {
    fn take(&mut self, stream: Stream, bytes: &[u8]) {
        if stream == Stream::Output {
            self.1.extend(bytes);
        }
        if self.1.starts_with(b"ready\n")
            && let Some(act) = self.0.take()
        {
            act();
        }
    }
}

fn rounds() -> usize {
    asked("METIER_ROUNDS").map_or(24, |text| text.parse().unwrap())
}

#[expect(clippy::disallowed_methods, reason = "a person asks for rounds by a variable, a test for a host")]
fn asked(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[test]
fn nothing_is_left() {
    let mut all = Vec::new();
    for index in 0..rounds() {
        let (kind, way) = (&KINDS[index % KINDS.len()], WAYS[index % WAYS.len()]);
        all.extend(round(kind, way).into_iter().map(|one| format!("{}, {way:?}: {one:?}", kind.name())));
    }
    println!(
        "leftovers: {} rounds, {} kinds, {} endings, {} processes left",
        rounds(),
        KINDS.len(),
        WAYS.len(),
        all.len()
    );
    assert!(all.is_empty(), "{}", all.join("\n"));
}

/// One round; what is left of it.
fn round(kind: &Kind, way: Way) -> Vec<Process> {
    let work = common::work();
    let number = number();
    let known = match way {
        Way::HostKilled => kill_host(kind, &number, work.path()).1,
        _ => run_here(kind, way, &number, work.path()),
    };
    // Two more than the launcher and init: the script's first process and the one that stays.
    assert!(known.len() >= 4, "{} was not there to be ended: {known:?}", kind.name());
    match way {
        Way::HostKilled => {
            soon(|| alive(&number, &known).is_empty());
            alive(&number, &known)
        }
        // Whoever adopts what the launcher leaves reaps it, some time.
        Way::LauncherKilled => alive(&number, &known),
        Way::Exit | Way::Wall | Way::Cancel => left(&number, &known),
    }
}

/// Runs it in this process; returns what was there when it was ready.
fn run_here(kind: &Kind, way: Way, number: &str, work: &Path) -> BTreeSet<Id> {
    let mut wall = if way == Way::Wall { Duration::from_millis(400) } else { Duration::from_mins(1) };
    loop {
        let (outcome, known) = run_until(kind, way, number, work, wall);
        let Some(known) = known else {
            assert!(way == Way::Wall && wall.as_secs() < 30, "{} {way:?}: {outcome:?}", kind.name());
            wall *= 2;
            continue;
        };
        let expected = match way {
            Way::Exit => Ending::Exited(0),
            Way::Wall => Ending::Limit(Limit::Wall),
            Way::Cancel => Ending::Cancelled,
            Way::HostKilled | Way::LauncherKilled => Ending::Killed(9),
        };
        assert_eq!(outcome.ending, expected, "{} {way:?}: {outcome:?}", kind.name());
        return known;
    }
}

fn run_until(
    kind: &Kind,
    way: Way,
    number: &str,
    work: &Path,
    wall: Duration,
) -> (RunOutcome, Option<BTreeSet<Id>>) {
    let mut job = kind.job(number, work);
    job.profile.limits.wall = wall;
    job.cancel = Cancel::new().unwrap();
    let cancel = job.cancel.clone();
    let (when_ready, ready) = channel();
    let (to_canceller, canceller) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || canceller.recv().map(|()| cancel.cancel()));
        let act = move || {
            let (launcher, known) = below_launcher(std::process::id(), number).unwrap();
            when_ready.send(known).unwrap();
            match way {
                Way::Exit => fs::write(work.join("go"), "").unwrap(),
                Way::Cancel => to_canceller.send(()).unwrap(),
                Way::LauncherKilled => {
                    kill_process(Pid::from_raw(launcher.cast_signed()).unwrap(), Signal::KILL).unwrap();
                }
                Way::Wall | Way::HostKilled => {}
            }
        };
        let mut sink = OnceReady(Some(act), Vec::new());
        let outcome = common::local().run(&job, &mut sink).unwrap();
        // Ends the canceller as well, if nobody needed it.
        drop(sink);
        (outcome, ready.try_recv().ok())
    })
}

/// Starts one test of this program in a process of its own.
fn again(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"]).stdin(Stdio::null());
    command
}

/// A process that runs this script. It says `begins` and, when the script is ready, `ready`.
fn start_host(kind: &Kind, number: &str, work: &Path, launcher: &Path) -> Child {
    let what = format!("{}\n{number}\n{}\n{}", kind.name(), work.display(), launcher.display());
    again("host").env("METIER_HOST", what).stdout(Stdio::piped()).spawn().unwrap()
}

fn wait_until_it_says(host: &mut Child, word: &str) {
    let lines = BufReader::new(host.stdout.as_mut().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.ends_with(word)), "it never said `{word}`");
}

/// Runs it in another process, and kills that when the script is ready; which it was, and what was there.
fn kill_host(kind: &Kind, number: &str, work: &Path) -> (u32, BTreeSet<Id>) {
    let mut host = start_host(kind, number, work, Path::new(""));
    wait_until_it_says(&mut host, "ready");
    let known = below_launcher(host.id(), number);
    host.kill().unwrap();
    host.wait().unwrap();
    (host.id(), known.unwrap().1)
}

/// Not a test: what [`start_host`] starts.
#[test]
#[ignore = "started by other tests"]
fn host() {
    let Some(what) = asked("METIER_HOST") else { return };
    let parts: Vec<&str> = what.splitn(4, '\n').collect();
    let kind = KINDS.iter().find(|kind| kind.name() == parts[0]).unwrap();
    let local = if parts[3].is_empty() { common::local() } else { Local::with_launcher(parts[3]) };
    let say = |word: &str| {
        println!("{word}");
        std::io::stdout().flush().unwrap();
    };
    let mut sink = OnceReady(Some(|| say("ready")), Vec::new());
    say("begins");
    local.run(&kind.job(parts[1], Path::new(parts[2])), &mut sink).unwrap();
}

/// While the sandbox is still being set up, or just when the script begins.
#[test]
fn nothing_is_left_whenever_it_is_ended() {
    let place = common::work();
    let (launcher, name) = named_launcher(place.path());
    let (mut early, mut begun) = (0, 0);
    let mut end_after = |delay: Duration| {
        let had_begun = end_host_after(delay, &launcher, &name);
        *(if had_begun { &mut begun } else { &mut early }) += 1;
        (early, begun)
    };
    for index in 0..rounds() {
        let delay = Duration::from_millis(2) * u32::try_from(index % 25).unwrap();
        if index % 2 == 0 {
            end_after(delay);
        } else {
            cancel_after(delay, &launcher, &name);
        }
    }
    // On a slow machine none may have begun, and on a fast one all: then it takes more or less time.
    let mut delay = Duration::from_millis(50);
    while end_after(delay).1 == 0 {
        delay *= 2;
        assert!(delay < Duration::from_mins(1), "no script has ever begun");
    }
    let mut tries = 0;
    while end_after(Duration::ZERO).0 == 0 {
        tries += 1;
        assert!(tries < 1000, "every script had begun");
    }
    println!("leftovers: {early} ended while they were set up, {begun} when the script had begun");
}

/// Kills the process that runs a script after some time; whether the script had begun.
fn end_host_after(delay: Duration, launcher: &Path, name: &str) -> bool {
    let (work, number) = (common::work(), number());
    let mut host = start_host(&KINDS[3], &number, work.path(), launcher);
    wait_until_it_says(&mut host, "begins");
    std::thread::sleep(delay);
    let has_begun = !left(&number, &BTreeSet::new()).is_empty();
    host.kill().unwrap();
    host.wait().unwrap();
    assert_nothing_runs(name, &number, delay);
    has_begun
}

/// Cancels a script after some time.
fn cancel_after(delay: Duration, launcher: &Path, name: &str) {
    let (work, number) = (common::work(), number());
    let mut job = KINDS[3].job(&number, work.path());
    job.cancel = Cancel::new().unwrap();
    let cancel = job.cancel.clone();
    let canceller = std::thread::spawn(move || {
        std::thread::sleep(delay);
        cancel.cancel();
    });
    let outcome = Local::with_launcher(launcher).run(&job, &mut ()).unwrap();
    assert_eq!(outcome.ending, Ending::Cancelled);
    canceller.join().unwrap();
    assert_nothing_runs(name, &number, delay);
}

fn assert_nothing_runs(launcher: &str, number: &str, delay: Duration) {
    let is_gone = || !is_running(launcher) && alive(number, &BTreeSet::new()).is_empty();
    assert!(soon(is_gone), "{delay:?}: {:?}", alive(number, &BTreeSet::new()));
}

/// A launcher that does not hear that it is to end is killed, and what it started ends with it.
#[test]
fn a_launcher_that_is_stopped_holds_nobody_up() {
    let (work, number) = (common::work(), number());
    let mut job = KINDS[0].job(&number, work.path());
    job.cancel = Cancel::new().unwrap();
    let (cancel, known) = (job.cancel.clone(), std::cell::RefCell::new(BTreeSet::new()));
    let act = || {
        let (launcher, below) = below_launcher(std::process::id(), &number).unwrap();
        known.replace(below);
        kill_process(Pid::from_raw(launcher.cast_signed()).unwrap(), Signal::STOP).unwrap();
        cancel.cancel();
    };
    let outcome = common::local().run(&job, &mut OnceReady(Some(act), Vec::new())).unwrap();
    assert_eq!(outcome.ending, Ending::Cancelled);
    assert!(soon(|| alive(&number, &known.borrow()).is_empty()), "{:?}", alive(&number, &known.borrow()));
}

/// What this process has: descriptors, threads, children, groups, and files in its directory for temporary ones.
fn belongings(temporary: &Path) -> Vec<(&'static str, usize)> {
    let count = |path: &str| fs::read_dir(path).unwrap().count();
    let own = std::process::id();
    vec![
        ("descriptors", count("/proc/self/fd")),
        ("threads", count("/proc/self/task")),
        ("children", processes().iter().filter(|one| one.parent == own).count()),
        ("groups", groups(own).len()),
        ("files", fs::read_dir(temporary).unwrap().count()),
    ]
}

/// The groups of sandboxes that this process made.
fn groups(maker: u32) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut directories = vec![PathBuf::from("/sys/fs/cgroup")];
    while let Some(directory) = directories.pop() {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        let inner = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        directories.extend(inner.map(|entry| entry.path()));
        let prefix = format!("metier-{maker}-");
        let is_ours =
            |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix));
        found.extend(directories.iter().filter(|path| is_ours(path)).cloned());
    }
    found.sort();
    found.dedup();
    found
}

/// Asks the proxy for a connection that nobody answers.
const PROXIED: &str = r#"exec python3 -c '
import os, socket
host, port = os.environ["http_proxy"].removeprefix("http://").split(":")
proxy = socket.create_connection((host, int(port)))
proxy.send(b"CONNECT 127.0.0.1:9 HTTP/1.1\r\n\r\n")
proxy.recv(100)'"#;

/// Every tenth run of each sort, the others come to their end.
fn various(runs: usize) {
    for index in 0..runs {
        let work = common::work();
        let here = |way| drop(run_here(&KINDS[0], way, &number(), work.path()));
        let refused = |program: &str| {
            let job = Job::new(common::profile(work.path()), program, Vec::new());
            common::local().run(&job, &mut ()).unwrap_err()
        };
        match index % 10 {
            1 => {
                let error = refused("/none");
                assert!(matches!(error, SandboxError::Program { .. }), "{error:?}");
            }
            3 => {
                let gone = common::profile(work.path());
                drop(work);
                let error =
                    common::local().run(&Job::new(gone, "/bin/true", Vec::new()), &mut ()).unwrap_err();
                assert!(matches!(error, SandboxError::Path { .. }), "{error:?}");
            }
            5 => {
                let mut profile = common::profile(work.path());
                profile.network = Network::Proxy(vec![Destination::parse("127.0.0.1:9").unwrap()]);
                let outcome = common::sh(profile, PROXIED);
                assert_eq!(outcome.connections.len(), 1, "{outcome:?}");
            }
            4 => here(Way::Wall),
            6 => here(Way::Cancel),
            8 => here(Way::LauncherKilled),
            _ => here(Way::Exit),
        }
    }
}

/// Not a test: what the next one starts.
#[test]
#[ignore = "started by the next test"]
fn alone() {
    let Some(temporary) = asked("METIER_ALONE") else { return };
    let temporary = Path::new(&temporary);
    // What is opened once and stays is not left over.
    various(2);
    let before = belongings(temporary);
    various(50);
    // Threads and what killed launchers leave are gone soon, not at once.
    soon(|| belongings(temporary) == before);
    assert_eq!(belongings(temporary), before);
    println!("leftovers: after 50 runs as before: {before:?}");
}

#[test]
fn nothing_is_left_in_the_process_that_runs_them() {
    let temporary = common::work();
    let status =
        again("alone").env("METIER_ALONE", temporary.path()).env("TMPDIR", temporary.path()).status();
    assert!(status.unwrap().success());
}

#[test]
fn the_next_removes_groups_that_a_killed_one_left() {
    let first_number = number();
    let (first, known) = kill_host(&KINDS[0], &first_number, common::work().path());
    assert!(
        soon(|| alive(&first_number, &known).is_empty()),
        "still there: {:?}",
        alive(&first_number, &known)
    );
    let before = groups(first);
    // Another process, since each looks only once.
    kill_host(&KINDS[0], &number(), common::work().path());
    assert_eq!(groups(first), Vec::<PathBuf>::new());
    println!("leftovers: {} groups of a killed process, removed by the next", before.len());
}

#[test]
fn what_is_left_is_found() {
    let number = number();
    let mut child = Command::new("sleep").arg(&number).spawn().unwrap();
    let is_found = soon(|| left(&number, &BTreeSet::new()).iter().any(|one| one.id.0 == child.id()));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(is_found && left(&number, &BTreeSet::new()).is_empty());
}

#[test]
fn as_an_ordinary_user() {
    common::again_as_ordinary_user();
}
