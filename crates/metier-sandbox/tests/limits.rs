//! Scripts that take all they can get: each ends at its limit, the outcome names it, little more than the limit was
//! taken, and nothing is left. The rows are in `tests/limits/`.
//!
//! With `--nocapture` it shows by how much each went over.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![expect(clippy::print_stdout, reason = "how far each goes over is for people to read")]

#[path = "support/common.rs"]
mod common;

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use metier_sandbox::{Ending, Executor, Job, Limit, RunLimits, RunOutcome, SandboxProfile, Sink, Stream};

/// A test for each row: a name, the limit, what is different from the usual limits, and the script.
macro_rules! ends_at {
    ($($name:ident: $limit:expr, $change:expr, $language:expr, $script:expr;)+) => {
        $(
            #[test]
            fn $name() {
                $crate::ends(stringify!($name), metier_sandbox::Ending::Limit($limit), $change, $language, $script);
            }
        )+
    };
}

/// The same, for what stays below every limit.
macro_rules! goes_well {
    ($($name:ident: $change:expr, $language:expr, $script:expr;)+) => {
        $(
            #[test]
            fn $name() {
                $crate::ends(stringify!($name), metier_sandbox::Ending::Exited(0), $change, $language, $script);
            }
        )+
    };
}

#[path = "limits/disk.rs"]
mod disk;
#[path = "limits/memory.rs"]
mod memory;
#[path = "limits/processes.rs"]
mod processes;
#[path = "limits/time.rs"]
mod time;

const MIB: u64 = 1 << 20;
const BASH: &[&str] = &["/bin/bash", "-c"];
const PYTHON: &[&str] = &["/usr/bin/python3", "-c"];

/// However loaded the machine is, nothing here takes longer.
const SENSIBLE: Duration = Duration::from_secs(20);

/// A variable that only the processes of one run have.
const MARK: &str = "METIER_TEST_RUN";

/// Nothing is different.
fn as_usual(_: &mut RunLimits) {}

/// A profile whose limits are small enough to be reached soon, and large enough for an interpreter.
fn small(work: &Path) -> SandboxProfile {
    let mut profile = common::profile(work);
    let limits = &mut profile.limits;
    limits.wall = Duration::from_secs(15);
    limits.cpu = Duration::from_secs(10);
    limits.memory = 96 * MIB;
    limits.processes = 40;
    limits.file = 256 * MIB;
    limits.disk = 64 * MIB;
    limits.files = 1_000_000;
    limits.tmp = 32 * MIB;
    limits.output = 256 << 10;
    profile
}

/// Runs a script that should end so.
fn ends(
    name: &str,
    ending: Ending,
    change: impl FnOnce(&mut RunLimits),
    language: &[&str],
    script: &str,
) -> RunOutcome {
    let work = common::work();
    let mut profile = small(work.path());
    change(&mut profile.limits);
    let outcome = measured(name, profile, language, script);
    let errors = outcome.errors.bytes.iter().take(2000).copied().collect();
    assert_eq!(outcome.ending, ending, "{}", String::from_utf8(errors).unwrap_or_default());
    outcome
}

/// Runs a script, looks at what it took and at what is left of it.
fn measured(name: &str, mut profile: SandboxProfile, language: &[&str], script: &str) -> RunOutcome {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let mark = format!("{}-{}", std::process::id(), RUNS.fetch_add(1, Ordering::Relaxed));
    profile.environment.insert(MARK.into(), mark.clone().into());
    let (limits, work) = (profile.limits.clone(), profile.directory.clone());

    let arguments = [language[1], script].map(Into::into).to_vec();
    let begun = now();
    let outcome = common::run_job(&Job::new(profile, language[0], arguments));
    let took = now().saturating_sub(begun);
    let (left, on_disk, usage) = (running(&mark), space(&work), outcome.usage);
    println!(
        "{name}: {:?} after {took:.1?}; CPU {:.1?} of {:.1?}, memory {} of {}, written {} of {}, on disk {} MiB",
        outcome.ending,
        usage.cpu,
        limits.cpu,
        usage.memory / MIB,
        limits.memory / MIB,
        usage.written / MIB,
        limits.disk / MIB,
        on_disk / MIB,
    );
    assert_eq!(left, 0, "processes are left");
    assert!(took < SENSIBLE, "it took {took:?}");
    // What is watched is looked at now and then, and less often on a loaded machine.
    assert!(usage.memory < 2 * limits.memory + 64 * MIB, "{} MiB of memory", usage.memory / MIB);
    assert!(usage.cpu < limits.cpu + Duration::from_secs(2), "{:?} of CPU time", usage.cpu);
    assert!(usage.written < 2 * limits.disk + 64 * MIB, "{} MiB written", usage.written / MIB);
    assert!(on_disk < 2 * limits.disk + 64 * MIB, "{} MiB on disk", on_disk / MIB);
    for captured in [&outcome.output, &outcome.errors] {
        assert!(captured.bytes.len() as u64 <= limits.output, "{} bytes of output", captured.bytes.len());
    }
    outcome
}

fn now() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Duration::try_from(time).unwrap()
}

/// Processes of a run that there are now.
fn running(mark: &str) -> usize {
    let variable = format!("{MARK}={mark}");
    let has_it = |path: &Path| {
        let environment = fs::read(path.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|one| one == variable.as_bytes())
    };
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let processes = processes.filter(|entry| entry.file_name().as_bytes()[0].is_ascii_digit());
    processes.filter(|entry| has_it(&entry.path())).count()
}

/// What a directory really takes.
fn space(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).unwrap().flatten();
    let sizes = entries.map(|entry| {
        let metadata = entry.path().symlink_metadata().unwrap();
        metadata.blocks() * 512 + if metadata.is_dir() { space(&entry.path()) } else { 0 }
    });
    sizes.sum()
}

/// Without this, `running` might find nothing because it looks wrongly.
#[test]
fn what_runs_is_found_while_it_runs() {
    struct Look(PathBuf, usize);
    impl Sink for Look {
        fn take(&mut self, _: Stream, _: &[u8]) {
            // While a process becomes another program, it has no variables for a moment.
            let looks = (0..500).map(|_| running("looked-for"));
            self.1 =
                looks.inspect(|_| std::thread::yield_now()).find(|count| *count == 2).unwrap_or_default();
            fs::write(&self.0, "go on\n").unwrap();
        }
    }
    let work = common::work();
    let mut profile = small(work.path());
    profile.environment.insert(MARK.into(), "looked-for".into());
    let script = "mkfifo door; sleep 60 & echo started; read -r go <door";
    let job = Job::new(profile, "/bin/sh", vec!["-c".into(), script.into()]);
    let mut look = Look(work.path().join("door"), 0);
    let outcome = common::local().run(&job, &mut look).unwrap();
    assert_eq!((outcome.ending, look.1), (Ending::Exited(0), 2));
    assert_eq!(running("looked-for"), 0);
}

#[test]
fn endless_output() {
    for (name, script, expected) in [
        ("endless output", "yes", (true, false)),
        ("endless errors", "yes >&2", (false, true)),
        ("endless output of children", "while :; do (printf %4096s); done", (true, false)),
        ("output after its end", "(sleep 0.01; exec yes) & wait", (true, false)),
    ] {
        let outcome = ends(name, Ending::Limit(Limit::Output), as_usual, BASH, script);
        assert_eq!((outcome.output.cut, outcome.errors.cut), expected, "{name}");
        let longest = outcome.output.bytes.len().max(outcome.errors.bytes.len());
        assert_eq!(longest, 256 << 10, "{name}");
    }
    ends("endless both", Ending::Limit(Limit::Output), as_usual, BASH, "yes & yes >&2; wait");
}

#[test]
fn output_as_long_as_the_limit_is_whole() {
    let outcome = ends(
        "whole",
        Ending::Exited(0),
        |_| (),
        BASH,
        "head -c 262144 /dev/zero; head -c 262144 /dev/zero >&2",
    );
    assert_eq!((outcome.output.bytes.len(), outcome.output.cut), (256 << 10, false));
    assert_eq!((outcome.errors.bytes.len(), outcome.errors.cut), (256 << 10, false));
}

#[test]
fn as_an_ordinary_user() {
    common::again_as_ordinary_user();
}
