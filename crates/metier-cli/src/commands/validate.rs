//! `metier validate`: every finding about every skill below some paths.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, fchown};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::ValueEnum;
use metier_catalog::{WalkItem, walk_skills};
use metier_skill::{Location, Rules, SkillError, apply_fixes};

use crate::exit::Exit;
use crate::output::Output;
use crate::render::{self, Checked};

/// Check skills against the format's rules
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(after_help = "\
A PATH is a skill's directory, its SKILL.md, a single markdown file, or a directory
that is searched for skills. Exits with 0 if all skills are valid, with 1 if one is not,
with 4 if there is nothing at a PATH.

Examples:
  metier validate skills/
  metier validate --strict my-skill     before publishing, after a plain validate
  metier validate --fix skills/         mend what has one obvious fix
  metier validate --format github       annotations on a pull request
  metier validate --json | jq '.skills[] | select(.valid | not) | .path'")]
pub(crate) struct Args {
    /// Where to look
    #[arg(default_value = ".", value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Give the reference validator's verdict, which is milder in some points
    #[arg(long, conflicts_with = "lenient")]
    strict: bool,

    /// Let pass what other clients load, with warnings
    #[arg(long)]
    lenient: bool,

    /// Apply the fixes that findings carry, and change nothing else
    #[arg(long)]
    fix: bool,

    /// Exit with 1 for warnings too
    #[arg(long)]
    deny_warnings: bool,

    /// Look at SKILL.md alone, not at the files around it
    #[arg(long)]
    skill_md_only: bool,

    /// How to print findings
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// The same as `--format json`
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people, with the source underlined
    Text,
    /// For programs
    Json,
    /// For code-scanning tools
    Sarif,
    /// For GitHub Actions
    Github,
}

/// How often fixes are applied to one file: mending one finding can show another.
const ROUNDS: usize = 10;

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let rules = match args {
        Args { strict: true, .. } => Rules::strict(),
        Args { lenient: true, .. } => Rules::lenient(),
        _ => Rules::standard(),
    };
    let mut checked = Vec::new();
    let mut fixed = 0;
    let mut failures = Vec::new();
    for path in &args.paths {
        for (skill, mended) in check_all(path, &rules, args) {
            checked.push(skill);
            match mended {
                Ok(count) => fixed += count,
                Err(error) => failures.push(error),
            }
        }
    }
    match if args.json { Format::Json } else { args.format } {
        Format::Text => render::text(&checked, output)?,
        Format::Json => render::json(&checked, output)?,
        Format::Sarif => render::sarif(&checked, output)?,
        Format::Github => render::github(&checked, output)?,
    }
    if args.fix {
        output.note(format_args!("made {fixed} {}", if fixed == 1 { "fix" } else { "fixes" }))?;
    }
    if !failures.is_empty() {
        for error in &failures {
            output.error(&format!("{error:#}"));
        }
        return Ok(Exit::Environment);
    }
    if args.paths.iter().any(|path| path.symlink_metadata().is_err()) {
        return Ok(Exit::NotFound);
    }
    let is_fine = |skill: &Checked| skill.is_valid && !(args.deny_warnings && skill.has_findings());
    let all_valid = checked.iter().all(is_fine);
    Ok(if all_valid { Exit::Done } else { Exit::Findings })
}

/// A skill as it is after mending, and how many findings were fixed or why they could not be.
type Outcome = (Checked, anyhow::Result<usize>);

/// The skill at a path, or those below it. A directory without any is checked as if it were one, which says
/// what is missing.
fn check_all(path: &Path, rules: &Rules, args: &Args) -> Vec<Outcome> {
    if !path.is_dir() {
        return vec![check(path, Location::find(path), rules, args)];
    }
    let probe = |path: &Path| {
        let outcome = check(path, Location::directory(path), rules, args);
        (!outcome.0.lacks_file()).then_some(outcome)
    };
    let found = walk_skills(path, &probe);
    if found.is_empty() {
        return vec![check(path, Location::directory(path), rules, args)];
    }
    let outcome = |found| match found {
        WalkItem::Skill(outcome) => outcome,
        WalkItem::NotSearched(path, error) => (Checked::new(&path, &path, Err(error)), Ok(0)),
    };
    found.into_iter().map(outcome).collect()
}

fn check(path: &Path, location: Result<Location, SkillError>, rules: &Rules, args: &Args) -> Outcome {
    let location = match location {
        Ok(location) => location,
        Err(error) => return (Checked::new(path, path, Err(error)), Ok(0)),
    };
    let fixed = if args.fix { mend(&location, rules) } else { Ok(0) };
    let reading = if args.skill_md_only {
        location.load_with(rules, metier_policy::lint)
    } else {
        location.validate_with(rules, metier_policy::lint)
    };
    (Checked::new(path, location.root(), reading), fixed)
}

/// Applies the fixes to a skill's file until none is left, and says how many there were.
fn mend(location: &Location, rules: &Rules) -> anyhow::Result<usize> {
    let mut fixed = 0;
    for _ in 0..ROUNDS {
        let Ok(reading) = location.load(rules) else { break };
        let Some(first) = reading.diagnostics.iter().find(|found| found.fix.is_some()) else { break };
        // A single file's name need not be text.
        let path = if location.is_single_file() {
            location.path().to_owned()
        } else {
            location.path().join(&first.file)
        };
        let (text, count) = apply_fixes(&reading.text, &reading.diagnostics);
        if count == 0 {
            break;
        }
        replace(&path, &reading.text, &text).with_context(|| format!("cannot mend {}", path.display()))?;
        fixed += count;
    }
    Ok(fixed)
}

/// Puts a new text in the place of the old one, whole or not at all, with its owner and permissions.
fn replace(path: &Path, old: &str, new: &str) -> anyhow::Result<()> {
    let meta = fs::symlink_metadata(path)?;
    anyhow::ensure!(!meta.is_symlink(), "it is a symbolic link; mend the file that it leads to");
    anyhow::ensure!(
        meta.nlink() == 1,
        "it has other names (hard links) that would keep the old text; mend it by hand"
    );
    let directory = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    // The name of a temporary file is nothing to bother anybody with.
    let mut file =
        tempfile::NamedTempFile::new_in(directory).map_err(|error| std::io::Error::from(error.kind()))?;
    file.write_all(new.as_bytes())?;
    let made = file.as_file().metadata()?;
    if (made.uid(), made.gid()) != (meta.uid(), meta.gid()) {
        fchown(file.as_file(), Some(meta.uid()), Some(meta.gid())).context("its owner cannot be kept")?;
    }
    file.as_file().set_permissions(meta.permissions())?;
    file.as_file().sync_all()?;
    anyhow::ensure!(fs::read(path)? == old.as_bytes(), "it has changed meanwhile; run the command again");
    file.persist(path).map_err(|error| std::io::Error::from(error.error.kind()))?;
    Ok(())
}
