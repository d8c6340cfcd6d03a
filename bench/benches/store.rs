//! Measures installing, compared with unpacking the same archive with `unzip` and hashing the files with
//! `sha256sum`.
//!
//! `scripts/bench-store` prints the table of `docs/benchmarks.md`. Both run in turns, each in its own
//! directory; each figure is the best of the rounds.

#![expect(clippy::print_stdout, reason = "the table is the result")]
#![expect(clippy::disallowed_methods, reason = "a benchmark looks at the clock")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use metier_bench::generate;
use metier_bench::run::build_metier;
use metier_bench::table::{ratio, time};

const SKILLS: usize = 1_000;
const ROUNDS: usize = 7;

/// Does the work in a directory.
type Run<'r> = dyn Fn(&Path) -> anyhow::Result<()> + 'r;

fn main() -> anyhow::Result<()> {
    let metier = build_metier(env!("CARGO"), Path::new(env!("CARGO_BIN_EXE_bare-mcp")))?;
    let place = tempfile::tempdir()?;
    let skills = place.path().join("skills");
    generate(&skills, SKILLS, 7)?;
    let archive = place.path().join("skills.zip");
    run(Command::new("zip").args(["-qr"]).arg(&archive).arg(".").current_dir(&skills))?;
    let (mut files, mut bytes) = (0, 0);
    count(&skills, &mut files, &mut bytes)?;
    let unzip = |place: &Path| -> anyhow::Result<()> {
        run(Command::new("unzip").arg("-q").arg(&archive).arg("-d").arg(place))?;
        let sums = "find . -type f -print0 | xargs -0 sha256sum > /dev/null";
        run(Command::new("sh").args(["-c", sums]).current_dir(place))
    };
    let install = |home: &Path| {
        let mut command = Command::new(&metier);
        command.arg("install").arg(&archive).args(["--all", "--quiet"]);
        run(command.env_clear().env("HOME", home).env("PATH", "/usr/bin:/bin").stdout(Stdio::null()))
    };
    let runs: [(&str, &Run<'_>); 2] = [
        ("`unzip`, and `sha256sum` of every file", &unzip),
        ("`metier install`: unpacked, digested, checked, scanned, locked, on the disk, recorded", &install),
    ];
    let mut best = [Duration::MAX; 2];
    for round in 0..ROUNDS {
        for (index, (_, run)) in runs.iter().enumerate() {
            // Nothing is removed before the end: some file systems take longer to make files for some seconds after others were removed.
            let fresh = place.path().join(format!("{round}-{index}"));
            fs::create_dir(&fresh)?;
            let start = Instant::now();
            run(&fresh)?;
            best[index] = best[index].min(start.elapsed());
        }
    }
    // Trees are closed to everybody; only root may remove them as they are.
    run(Command::new("chmod").args(["-R", "u+w"]).arg(place.path()))?;
    println!(
        "| {SKILLS} skills in one archive, {files} files, {} kB | time | ratio |\n|---|---|---|",
        bytes / 1_000
    );
    for ((title, _), took) in runs.iter().zip(&best) {
        println!("| {title} | {} | {} |", time(*took), ratio(took.as_secs_f64(), best[0].as_secs_f64()));
    }
    Ok(())
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let output = command.output().with_context(|| format!("{command:?}"))?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

fn count(directory: &Path, files: &mut usize, bytes: &mut u64) -> anyhow::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            count(&entry.path(), files, bytes)?;
        } else {
            *files += 1;
            *bytes += entry.metadata()?.len();
        }
    }
    Ok(())
}
