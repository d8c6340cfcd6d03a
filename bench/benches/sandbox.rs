//! Measures starting a program: directly, under bubblewrap with the same files, and in metier's sandbox with
//! all layers.
//!
//! All in one run, in random order within each round, because cleanup by the kernel after one start slows down
//! the next. `metier` is measured as a library (with the binary as launcher) and as a command.

#![expect(clippy::print_stdout, reason = "printing is this program's purpose")]
#![expect(clippy::disallowed_methods, reason = "this is where time is measured")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use metier_sandbox::{Ending, Executor as _, Job, Local, ReservedPaths, SandboxProfile, WorkDirectory};
use metier_skill::Tier;

const ROUNDS: usize = 200;
const PROGRAMS: [(&str, &[&str]); 2] = [("/usr/bin/true", &[]), ("/usr/bin/python3", &["-c", "pass"])];

/// How a program is started.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Bare,
    Bubblewrap,
    Library,
    Command,
}

const WAYS: [(Way, &str); 4] = [
    (Way::Bare, "bare"),
    (Way::Bubblewrap, "bwrap"),
    (Way::Library, "metier"),
    (Way::Command, "metier, command"),
];

fn main() -> anyhow::Result<()> {
    // Cargo builds the benchmark and not the binary beside it.
    let metier = metier().context("build it first: cargo build --release")?;
    let work = tempfile::tempdir()?;
    let work = work.path().canonicalize()?;
    let user = if rustix::process::geteuid().is_root() { "root" } else { "an ordinary user" };
    println!("started by {user}, {ROUNDS} starts each, median (and tenth percentile) in ms\n");
    println!(
        "| program | bare | bwrap | metier | metier, command | metier ÷ bwrap | metier ÷ bare | bwrap ÷ bare |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (program, arguments) in PROGRAMS {
        row(&metier, &work, program, arguments)?;
    }
    Ok(())
}

fn metier() -> Option<PathBuf> {
    let executable = std::env::current_exe().ok()?;
    // target/release/deps/sandbox-… lies beside target/release/metier.
    let found = executable.parent()?.parent()?.join("metier");
    found.exists().then_some(found)
}

fn row(metier: &Path, work: &Path, program: &str, arguments: &[&str]) -> anyhow::Result<()> {
    let mut times: [Vec<Duration>; WAYS.len()] = Default::default();
    let mut seed: u64 = 42;
    for _ in 0..ROUNDS {
        let mut order: Vec<usize> = (0..WAYS.len()).collect();
        for last in (1..order.len()).rev() {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            order.swap(last, usize::try_from(seed >> 33)? % (last + 1));
        }
        for index in order {
            let started = Instant::now();
            start(WAYS[index].0, metier, work, program, arguments)?;
            times[index].push(started.elapsed());
        }
    }
    let of = |index: usize, percent: usize| -> f64 {
        let mut sorted = times[index].clone();
        sorted.sort_unstable();
        sorted[(sorted.len() - 1) * percent / 100].as_secs_f64() * 1000.0
    };
    let shown: Vec<String> =
        (0..WAYS.len()).map(|way| format!("{:.2} ({:.2})", of(way, 50), of(way, 10))).collect();
    let ratio = |a: usize, b: usize| of(a, 50) / of(b, 50);
    let name = Path::new(program).file_name().unwrap_or_default().to_string_lossy();
    let line = [&[name.as_ref()][..], arguments].concat().join(" ");
    println!(
        "| `{line}` | {} | {:.2} | {:.2} | {:.2} |",
        shown.join(" | "),
        ratio(2, 1),
        ratio(2, 0),
        ratio(1, 0)
    );
    Ok(())
}

fn start(way: Way, metier: &Path, work: &Path, program: &str, arguments: &[&str]) -> anyhow::Result<()> {
    let mut command = match way {
        Way::Bare => Command::new(program),
        Way::Bubblewrap => bubblewrap(work, program),
        Way::Command => {
            let mut command = Command::new(metier);
            command.args(["sandbox", "run", "--work"]).arg(work).args(["--", program]);
            command
        }
        Way::Library => {
            let profile =
                SandboxProfile::new(Tier::ThirdParty, WorkDirectory::open(work, &ReservedPaths::default())?);
            let job = Job::new(profile, program, arguments.iter().map(Into::into).collect());
            let outcome = Local::with_launcher(metier).run(&job, &mut ())?;
            ensure!(outcome.ending == Ending::Exited(0), "{:?}", outcome.ending);
            ensure!(outcome.protections.missing().count() == 0, "protections are missing");
            return Ok(());
        }
    };
    let output = command.args(arguments).stdin(Stdio::null()).output().context("starting")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// Bubblewrap with the files that metier shows, and the protections that it has.
fn bubblewrap(work: &Path, program: &str) -> Command {
    let mut command = Command::new("bwrap");
    command.args(["--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"]);
    command.args([
        "--setenv",
        "PATH",
        "/usr/bin:/bin",
        "--hostname",
        "sandbox",
        "--uid",
        "1000",
        "--gid",
        "1000",
    ]);
    for path in metier_sandbox::system_paths() {
        match std::fs::read_link(&path) {
            Ok(target) => command.arg("--symlink").arg(target).arg(&path),
            Err(_) => command.arg("--ro-bind").arg(&path).arg(&path),
        };
    }
    command.args(["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/dev/shm"]);
    command.arg("--bind").arg(work).arg(work).arg("--chdir").arg(work).args(["--", program]);
    command
}
