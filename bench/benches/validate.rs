//! Compares validation in metier, in the reference validator, and a program that only reads, in one run.
//!
//! `cargo bench -p metier-bench` prints the tables of `docs/benchmarks.md`. All programs run in turns, so that
//! a busy moment affects all of them; each figure is the best of the rounds, which has the least noise.

#![expect(clippy::print_stdout, reason = "the tables are the result")]
#![expect(clippy::disallowed_methods, reason = "a benchmark looks at the clock")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use metier_bench::run::{Outcome, Program, build_metier, in_turns};
use metier_bench::{Random, generate};
use metier_skill::{Rules, validate_skill};

fn main() -> anyhow::Result<()> {
    let place = tempfile::tempdir()?;
    let reader = PathBuf::from(env!("CARGO_BIN_EXE_metier-bench"));
    let metier = build_metier(env!("CARGO"), &reader)?;
    let reference = reference(place.path());
    println!("| | {} skills | {} skills |", COUNTS[0], COUNTS[1]);
    println!("|---|---|---|");
    let mut columns = Vec::new();
    for count in COUNTS {
        let skills = place.path().join(count.to_string());
        generate(&skills, count, 1)?;
        let mut programs = vec![
            program(&reader, &["read-known"], &skills),
            program(&reader, &["read"], &skills),
            program(&metier, &["validate", "--skill-md-only"], &skills),
            program(&metier, &["validate"], &skills),
        ];
        programs.extend(reference.as_deref().map(|python| program(python, &["-c", REFERENCE], &skills)));
        columns.push(best(&mut programs, 25)?);
    }
    rows(&columns);
    worst_inputs(&place.path().join("worst"))
}

/// The numbers of skills to validate.
const COUNTS: [usize; 2] = [1_000, 10_000];

/// One row per program, one column per number of skills, and the ratios that the goals refer to.
fn rows(columns: &[Vec<Duration>]) {
    let row = |title: &str, cell: &dyn Fn(&[Duration]) -> Option<String>| {
        let cells: Vec<String> =
            columns.iter().map(|times| cell(times).unwrap_or_else(|| "skipped".to_owned())).collect();
        println!("| {title} | {} |", cells.join(" | "));
    };
    let ms = |time: &Duration| format!("{:.1} ms", time.as_secs_f64() * 1e3);
    let time = |index: usize| move |times: &[Duration]| times.get(index).map(ms);
    let ratio = |a: usize, b: usize| {
        move |times: &[Duration]| {
            Some(format!("{:.2}×", times.get(a)?.as_secs_f64() / times.get(b)?.as_secs_f64()))
        }
    };
    row("only reading every `SKILL.md`, paths known", &time(0));
    row("only finding and reading every `SKILL.md`", &time(1));
    row("`metier validate --skill-md-only`", &time(2));
    row("`metier validate`, with all advice", &time(3));
    row("`skills-ref`, one process", &time(4));
    row("**`--skill-md-only` against only reading**", &ratio(2, 0));
    row("**`--skill-md-only` against finding and reading**", &ratio(2, 1));
    row("**`validate` against finding and reading**", &ratio(3, 1));
    row("**`skills-ref` against `--skill-md-only`**", &ratio(4, 2));
    row("**`skills-ref` against `validate`**", &ratio(4, 3));
}

/// All skills of a directory through the reference, in one process.
const REFERENCE: &str = "import sys, pathlib
from skills_ref.validator import validate
bad = [d for d in sorted(pathlib.Path(sys.argv[1]).iterdir()) if validate(d)]
sys.exit(1 if bad else 0)";

fn program(path: &Path, args: &[&str], skills: &Path) -> Program {
    let mut command = Command::new(path);
    command.args(args).arg(skills);
    Program::new("", command)
}

/// The best times; a program that fails here ends the benchmark.
fn best(programs: &mut [Program], rounds: usize) -> anyhow::Result<Vec<Duration>> {
    let outcomes = in_turns(programs, rounds)?;
    let time = |(outcome, program): (Outcome, &Program)| {
        outcome.time().with_context(|| format!("{:?}: {outcome:?}", program.command))
    };
    outcomes.into_iter().zip(programs.iter()).map(time).collect()
}

/// A Python that has the reference validator; without one its columns say "skipped".
fn reference(place: &Path) -> Option<PathBuf> {
    let environment = place.join("python");
    let made = Command::new("python3").args(["-m", "venv"]).arg(&environment).status();
    let python = environment.join("bin/python");
    let installed = made.is_ok_and(|status| status.success())
        && Command::new(&python)
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "skills-ref==0.1.1"])
            .status()
            .is_ok_and(|status| status.success());
    if !installed {
        println!("SKIPPED: the reference validator skills-ref cannot be installed here\n");
    }
    installed.then_some(python)
}

/// A file of the largest size that is read, full of one thing, for each thing that could be slow; and the
/// same with a frontmatter of just the size that is still parsed. Beside it lie a few resources, so that all
/// advice is asked for too.
fn worst_inputs(place: &Path) -> anyhow::Result<()> {
    let skill = place.join("a");
    fs::create_dir_all(skill.join("scripts"))?;
    for number in 0..100 {
        fs::write(skill.join(format!("scripts/s{number}.sh")), "#!/bin/sh\n")?;
    }
    println!("\n| a file full of | bytes | strict | standard | lenient |");
    println!("|---|---|---|---|---|");
    for (what, bytes) in inputs(1 << 20).into_iter().chain(inputs(120 << 10)).chain(inputs(60 << 10)) {
        fs::write(skill.join("SKILL.md"), &bytes)?;
        let mut columns = Vec::new();
        for rules in [Rules::strict(), Rules::standard(), Rules::lenient()] {
            let mut best = Duration::MAX;
            for _ in 0..5 {
                let start = Instant::now();
                std::hint::black_box(validate_skill(&skill, &rules)?);
                best = best.min(start.elapsed());
            }
            columns.push(format!("{:.1} ms", best.as_secs_f64() * 1e3));
        }
        println!("| {what} | {} | {} |", bytes.len(), columns.join(" | "));
    }
    Ok(())
}

fn inputs(size: usize) -> Vec<(&'static str, Vec<u8>)> {
    let head = "---\nname: a\ndescription: Use when.\n";
    let fill = |begin: &str, unit: &str, end: &str| {
        let count = (size - begin.len() - end.len()) / unit.len();
        format!("{begin}{}{end}", unit.repeat(count)).into_bytes()
    };
    let distinct = |line: fn(usize) -> String| {
        let mut text = head.to_owned();
        for number in 0.. {
            let line = line(number);
            if text.len() + line.len() + 4 > size {
                break;
            }
            text.push_str(&line);
        }
        (text + "---\n").into_bytes()
    };
    let body = format!("{head}---\n");
    let mut random = Random::new(7);
    let noise = (0..size).map(|_| random.number().to_le_bytes()[0]).collect();
    vec![
        ("random bytes", noise),
        ("zeros", vec![0; size]),
        ("fields without a second fence", fill("---\n", "a: b\n", "")),
        ("different fields", distinct(|number| format!("k{number}: v\n"))),
        ("one field again and again", fill(head, "a: b\n", "---\n")),
        ("unquoted colons", fill(head, "a: b: c\n", "---\n")),
        ("different unquoted colons", distinct(|number| format!("k{number}: b: c\n"))),
        ("misspelt fields", fill(head, "Allowed_Tools: b\n", "---\n")),
        (
            "numbers below metadata",
            distinct(
                |number| if number == 0 { "metadata:\n".to_owned() } else { format!("  k{number}: 1\n") },
            ),
        ),
        ("block scalars", distinct(|number| format!("k{number}: |\n\n  |\n"))),
        ("anchors and aliases", fill(head, "a: [&a b, *a]\n", "---\n")),
        ("open brackets", fill(&format!("{head}x: "), "[", "\n---\n")),
        ("flow lists", fill(&format!("{head}x: ["), "[a], ", "]\n---\n")),
        ("blocks, nested", distinct(|number| " ".repeat(number) + "a:\n")),
        ("escapes", fill(&format!("{head}x: \""), "\\n", "\"\n---\n")),
        ("tabs", fill(&format!("{head}x: a"), "\t", "b\n---\n")),
        ("blank lines", fill(&format!("{head}x: |\n"), "\n", " b\n---\n")),
        ("comments", fill(head, "# c\n", "---\n")),
        ("control characters", fill(head, "\u{1}", "\n---\n")),
        ("angle brackets", fill(&format!("{head}x: |\n "), "<a", "\n---\n")),
        ("ligatures in the name", fill("---\nname: ", "\u{fdfa}", "\ndescription: x\n---\n")),
        ("hyphens in the name", fill("---\nname: ", "-", "\ndescription: x\n---\n")),
        ("fences after the frontmatter", fill(&body, "---\n", "")),
        ("links", fill(&body, "[a](b.md)", "")),
        (
            "different links",
            distinct(|number| if number == 0 { "---\n".to_owned() } else { format!("[a]({number}.md)") }),
        ),
        ("code fences", fill(&body, "```\n", "")),
        ("quoted code fences", fill(&body, "> > ```", "")),
        ("paths", fill(&body, "scripts/a.sh ", "")),
        ("slashes", fill(&body, "/", "")),
        ("one path", fill(&body, "scripts/", "")),
        ("percent signs", fill(&body, "](%41%", "")),
        ("brackets", fill(&body, "](", "")),
        ("text after the frontmatter", fill(&body, "All work and no play. ", "")),
    ]
}
