//! Measures the cost of recording which files of a work directory a script changed: the same script in a
//! directory of 10,000 files, with and without recording, in turns.

#![expect(clippy::print_stdout, reason = "printing is this program's purpose")]
#![expect(clippy::disallowed_methods, reason = "this is where time is measured")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use metier_sandbox::{
    Ending, Executor as _, Job, Local, ReservedPaths, RunOutcome, SandboxProfile, WorkDirectory,
};
use metier_skill::Tier;

const ROUNDS: usize = 100;
const DIRECTORIES: usize = 100;
const FILES: usize = 100;

/// What a script does in the directory.
const SCRIPTS: [(&str, &str); 4] = [
    ("nothing (`true`)", ":"),
    ("starts Python", "python3 -c pass"),
    ("reads every file (`grep -r`)", "grep -rq nowhere . || :"),
    (
        "changes 100 files",
        "for n in 0 1 2 3 4 5 6 7 8 9; do for m in 0 1 2 3 4 5 6 7 8 9; do echo x >> d$n/f$m; done; done",
    ),
];

fn main() -> anyhow::Result<()> {
    let launcher = launcher().context("build it first: cargo build --release")?;
    let work = tempfile::tempdir()?;
    let work = work.path().canonicalize()?;
    fill(&work)?;
    println!("{} files, {ROUNDS} runs each in turns, median in ms\n", DIRECTORIES * FILES);
    println!("| the script | without | with | with ÷ without |");
    println!("|---|---|---|---|");
    for (name, script) in SCRIPTS {
        row(&launcher, &work, name, script)?;
    }
    Ok(())
}

fn launcher() -> Option<PathBuf> {
    let executable = std::env::current_exe().ok()?;
    // target/release/deps/touched-… lies beside target/release/metier.
    let found = executable.parent()?.parent()?.join("metier");
    found.exists().then_some(found)
}

fn fill(work: &Path) -> anyhow::Result<()> {
    for directory in 0..DIRECTORIES {
        let directory = work.join(format!("d{directory}"));
        fs::create_dir(&directory)?;
        for file in 0..FILES {
            fs::write(directory.join(format!("f{file}")), format!("file {file}\n").repeat(100))?;
        }
    }
    Ok(())
}

fn row(launcher: &Path, work: &Path, name: &str, script: &str) -> anyhow::Result<()> {
    let with = Local::with_launcher(launcher);
    let without = with.clone().without_touched_files();
    let mut times: [Vec<Duration>; 2] = Default::default();
    // The first runs only warm up.
    for round in 0..ROUNDS + 5 {
        // Whichever comes second may be slower.
        let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
        for way in order {
            let started = Instant::now();
            let outcome = run([&without, &with][way], work, script)?;
            let took = started.elapsed();
            ensure!(outcome.touched.is_some() == (way == 1), "the wrong one was measured");
            if round >= 5 {
                times[way].push(took);
            }
        }
    }
    let [without, with] = times.map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2].as_secs_f64() * 1000.0
    });
    println!("| {name} | {without:.2} | {with:.2} | {:.3} |", with / without);
    Ok(())
}

fn run(executor: &Local, work: &Path, script: &str) -> anyhow::Result<RunOutcome> {
    let profile =
        SandboxProfile::new(Tier::ThirdParty, WorkDirectory::open(work, &ReservedPaths::default())?);
    let job = Job::new(profile, "/bin/sh", vec!["-c".into(), script.into()]);
    let outcome = executor.run(&job, &mut ())?;
    ensure!(outcome.ending == Ending::Exited(0), "{:?}", outcome.ending);
    Ok(outcome)
}
