//! `metier validate`: checks skills and reports every finding.

mod fixing;

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::ValueEnum;
use metier_catalog::{WalkItem, walk_skills};
use metier_host::Metier;
use metier_skill::{Location, Rules, SkillError, SkillName};

use self::fixing::{Fixed, Mode};
use crate::exit::{Exit, UsageError};
use crate::output::Output;
use crate::progress::Progress;
use crate::render::{self, Checked, from_here};

/// Check skills against the format's rules
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(after_help = "\
A PATH is a skill's directory, its SKILL.md, a single Markdown file, a directory that is
searched for skills, or `-` for a SKILL.md on standard input. Exits with 0 if all skills
are valid or the current directory has none, with 1 if one is not valid, and with 4 if a
PATH does not exist.

Examples:
  metier validate skills/
  metier validate --strict my-skill     the verdict of the reference validator
  metier validate --fix --diff skills/  show what --fix would change
  metier validate --fix skills/         fix what can be fixed automatically
  metier validate --format concise      one line per finding
  metier validate --format github       annotations on a pull request
  metier validate - --stdin-filename skills/pdf/SKILL.md < buffer     from an editor
  metier validate --json | jq '.skills[] | select(.valid | not) | .path'")]
pub(crate) struct Args {
    /// Paths to check
    #[arg(default_value = ".", value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Apply the rules of the reference validator
    #[arg(long, conflicts_with = "lenient")]
    strict: bool,

    /// Accept what other clients load, with warnings
    #[arg(long)]
    lenient: bool,

    /// Apply the fixes of findings, and change nothing else
    #[arg(long)]
    fix: bool,

    /// Show what `--fix` would change as a diff, without changing anything
    #[arg(long, conflicts_with_all = ["format", "json"])]
    diff: bool,

    /// Also exit with 1 if there are warnings
    #[arg(long)]
    deny_warnings: bool,

    /// Check only SKILL.md, not the files around it
    #[arg(long)]
    skill_md_only: bool,

    /// Path that standard input stands for; its directory must have the skill's name
    #[arg(long, value_name = "FILE")]
    stdin_filename: Option<PathBuf>,

    /// Format of the findings
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Same as `--format json`
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people, with the source underlined
    Text,
    /// One line per finding: `path:line:column: severity: code: message`
    Concise,
    /// For programs
    Json,
    /// For code-scanning tools
    Sarif,
    /// For GitHub Actions
    Github,
}

/// The path that means standard input.
const STDIN: &str = "-";

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let rules = match args {
        Args { strict: true, .. } => Rules::strict(),
        Args { lenient: true, .. } => Rules::lenient(),
        _ => Rules::standard(),
    };
    check_usage(args)?;
    let format = if args.json { Format::Json } else { args.format };
    let (mut checked, mut fixed, mut failures) = (Vec::new(), Vec::new(), Vec::new());
    let progress = Progress::begin(output, "checking skills");
    for path in &args.paths {
        let path = if format == Format::Json { path.clone() } else { from_here(path) };
        for outcome in check_all(&path, &rules, args, &progress)? {
            checked.push(outcome.skill);
            match outcome.fixed {
                Ok(done) => fixed.extend(done),
                Err(error) => failures.push(error),
            }
        }
    }
    drop(progress);
    match format {
        _ if args.diff => {}
        Format::Text => render::text(&checked, output)?,
        Format::Concise => render::concise(&checked, output)?,
        Format::Json => render::json(&checked, output)?,
        Format::Sarif => render::sarif(&checked, output)?,
        Format::Github => render::github(&checked, output)?,
    }
    if checked.is_empty() {
        output.note("no skills found in this directory; `metier new` starts one")?;
    } else if args.fix || args.diff {
        report_fixes(&fixed, args, output)?;
    }
    if !failures.is_empty() {
        for error in &failures {
            output.error(&format!("{error:#}"));
        }
        return Ok(Exit::Environment);
    }
    let is_missing = |path: &PathBuf| !is_stdin(path) && path.symlink_metadata().is_err();
    let missing: Vec<&PathBuf> = args.paths.iter().filter(|path| is_missing(path)).collect();
    if !missing.is_empty() {
        missing.into_iter().try_for_each(|path| note_skill(path, output))?;
        return Ok(Exit::NotFound);
    }
    let is_fine = |skill: &Checked| skill.is_valid && !(args.deny_warnings && skill.has_findings());
    let all_valid = checked.iter().all(is_fine);
    Ok(if all_valid { Exit::Done } else { Exit::Findings })
}

/// Notes where the skill is whose name was given as a path.
fn note_skill(path: &Path, output: &mut Output) -> anyhow::Result<()> {
    let name = path.to_str().filter(|name| SkillName::new(*name).is_ok());
    // Without a catalog there is nothing to add to the finding.
    let catalog = name.and_then(|_| Metier::open().ok()?.catalog().ok());
    let entry = catalog.as_ref().zip(name).and_then(|(catalog, name)| catalog.by_name_or_id(name));
    let Some(entry) = entry.filter(|entry| entry.builtin().is_none()) else { return Ok(()) };
    let (name, path) = (entry.name(), entry.path().display());
    Ok(output.note(format_args!("note: `{name}` is a skill at {path}: `metier validate {path}`"))?)
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new(STDIN)
}

/// Checks that the options fit standard input.
fn check_usage(args: &Args) -> Result<(), UsageError> {
    let message = match args.paths.iter().filter(|path| is_stdin(path)).count() {
        0 if args.stdin_filename.is_some() => {
            "`--stdin-filename` needs the path `-`, which is standard input"
        }
        1 if args.fix && !args.diff => {
            "standard input cannot be fixed in place; `--fix --diff` shows the changes"
        }
        0 | 1 => return Ok(()),
        _ => "standard input can be checked only once; give `-` only once",
    };
    Err(UsageError(message.to_owned()))
}

/// Says what `--fix` changed, or shows what it would.
fn report_fixes(fixed: &[Fixed], args: &Args, output: &mut Output) -> io::Result<()> {
    let fixes = |count: usize| format!("{count} {}", if count == 1 { "fix" } else { "fixes" });
    for Fixed { diff, .. } in fixed {
        output.text(diff)?;
    }
    if fixed.is_empty() {
        return output.note("no finding can be fixed automatically");
    }
    for Fixed { path, count, .. } in fixed {
        let done = if args.diff { "would make" } else { "made" };
        output.note(format_args!("{done} {} in {}", fixes(*count), path.display()))?;
    }
    Ok(())
}

/// A skill as it is after fixing, with what was fixed or why it could not be.
struct Outcome {
    skill: Checked,
    fixed: anyhow::Result<Option<Fixed>>,
}

impl Outcome {
    fn failed(path: &Path, error: SkillError) -> Self {
        Self { skill: Checked::new(path, path, Err(error)), fixed: Ok(None) }
    }
}

/// The skill at a path, or the skills below it. A named directory without skills is checked as if it were a skill, which
/// reports what is missing; the current directory is not.
fn check_all(path: &Path, rules: &Rules, args: &Args, progress: &Progress) -> anyhow::Result<Vec<Outcome>> {
    if is_stdin(path) {
        return Ok(vec![check_stdin(rules, args)?]);
    }
    if !path.is_dir() {
        return Ok(vec![check(path, Location::find(path), rules, args)]);
    }
    let probe = |path: &Path| {
        let outcome = check(path, Location::directory(path), rules, args);
        (!outcome.skill.lacks_file()).then_some(outcome).inspect(|_| progress.count())
    };
    let found = walk_skills(path, &probe);
    if found.is_empty() && path != Path::new(".") {
        return Ok(vec![check(path, Location::directory(path), rules, args)]);
    }
    let outcome = |found| match found {
        WalkItem::Skill(outcome) => outcome,
        WalkItem::NotSearched(path, error) => Outcome::failed(&path, error),
    };
    Ok(found.into_iter().map(outcome).collect())
}

fn check(path: &Path, location: Result<Location, SkillError>, rules: &Rules, args: &Args) -> Outcome {
    let location = match location {
        Ok(location) => location,
        Err(error) => return Outcome::failed(path, error),
    };
    let mode = if args.diff { Mode::Diff } else { Mode::Write };
    let fixed = if args.fix || args.diff { fixing::fix(&location, rules, mode) } else { Ok(None) };
    let reading = if args.skill_md_only {
        location.load_with(rules, metier_policy::lint)
    } else {
        location.validate_with(rules, metier_policy::lint)
    };
    Outcome { skill: Checked::new(path, location.root(), reading), fixed }
}

/// One `SKILL.md` on standard input.
fn check_stdin(rules: &Rules, args: &Args) -> anyhow::Result<Outcome> {
    let path = args.stdin_filename.as_deref().map_or_else(|| PathBuf::from(STDIN), from_here);
    let location = Location::of_file(&path)?;
    let mut text = Vec::new();
    // One byte more than is allowed shows that there are too many.
    let most = rules.limits.skill_md_bytes.saturating_add(1);
    io::stdin().lock().take(most).read_to_end(&mut text).context("cannot read standard input")?;
    let reading = location.load_text(text, rules, metier_policy::lint);
    let fixed = if args.diff { fixing::fix_text(&location, rules, reading.clone()) } else { None };
    Ok(Outcome { skill: Checked::new(&path, location.root(), Ok(reading)), fixed: Ok(fixed) })
}
