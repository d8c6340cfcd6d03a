//! Measures mounting skills, compared with copying the same files with `cp -r`.
//!
//! `scripts/bench-home` prints the table of `docs/benchmarks.md`. Both run in turns; each figure is the best of
//! the rounds.

#![expect(clippy::print_stdout, reason = "the table is the result")]
#![expect(clippy::disallowed_methods, reason = "a benchmark looks at the clock")]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use metier_bench::{Random, skill_md};
use metier_home::{MountOptions, mount_skills};
use metier_prompt::SkillMount;

const SKILLS: usize = 200;
const ROUNDS: usize = 25;

fn main() -> anyhow::Result<()> {
    let place = tempfile::tempdir()?;
    let source = place.path().join("skills");
    let mut random = Random::new(7);
    let mut bytes = 0;
    for number in 0..SKILLS {
        let name = format!("skill-{number}");
        let directory = source.join(&name);
        fs::create_dir_all(directory.join("references"))?;
        fs::create_dir_all(directory.join("scripts"))?;
        let text = skill_md(&name, &[], &mut random);
        bytes += text.len() + 4_000;
        fs::write(directory.join("SKILL.md"), text)?;
        fs::write(directory.join("references/guide.md"), vec![b'x'; 3_000])?;
        fs::write(directory.join("scripts/run.sh"), vec![b'x'; 1_000])?;
    }
    let mounts: Vec<SkillMount> =
        (0..SKILLS).map(|number| SkillMount::new(source.join(format!("skill-{number}")))).collect();
    let options = MountOptions::default();
    let writable = MountOptions { is_writable: true, ..options.clone() };
    let unchecked = MountOptions { validate: false, ..options.clone() };
    let out = place.path().join("out");
    let mount = |options| Ok(mount_skills(&mounts, &out, options).map(drop)?);
    let runs: [(&str, &dyn Fn() -> anyhow::Result<()>); 4] = [
        ("`cp -r`", &|| copy(&source, &out)),
        ("mounting, each skill checked and digested, copies that cannot be written to", &|| mount(&options)),
        ("the same, copies that can be written to", &|| mount(&writable)),
        ("the same, not checked, copies that cannot be written to", &|| mount(&unchecked)),
    ];
    let mut best = [Duration::MAX; 4];
    for _ in 0..ROUNDS {
        for ((_, run), best) in runs.iter().zip(&mut best) {
            let start = Instant::now();
            run()?;
            *best = (*best).min(start.elapsed());
            remove(&out)?;
        }
    }
    println!(
        "| {SKILLS} skills, {} files, {} kB | time | against `cp -r` |\n|---|---|---|",
        3 * SKILLS,
        bytes / 1_000
    );
    for ((title, _), time) in runs.iter().zip(best) {
        let ratio = time.as_secs_f64() / best[0].as_secs_f64();
        println!("| {title} | {:.1} ms | {ratio:.2}× |", time.as_secs_f64() * 1e3);
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    anyhow::ensure!(Command::new("cp").arg("-r").args([from, to]).status()?.success());
    Ok(())
}

/// Also what is closed to writing.
fn remove(directory: &Path) -> anyhow::Result<()> {
    anyhow::ensure!(Command::new("chmod").args(["-R", "u+w"]).arg(directory).status()?.success());
    Ok(fs::remove_dir_all(directory)?)
}
