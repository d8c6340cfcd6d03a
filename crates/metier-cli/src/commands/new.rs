//! `metier new`: starts a skill from a template.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use metier_host::{ask_line, is_terminal_attached};
use metier_skill::{Skill, SkillName};

use crate::exit::{Exit, UsageError};
use crate::output::Output;

/// Start a new skill
#[derive(Debug, clap::Args)]
#[command(after_help = "\
On a terminal, it asks for the name, what the skill does and when to use it, unless they are
given. What is left for you to write is marked with TODO, and `metier validate` reports it.

Examples:
  metier new
  metier new code-review
  metier new code-review --in ~/.claude/skills --description \"Reviews code. Use when …\"
  metier new release-notes --script collect.sh")]
pub(crate) struct Args {
    /// Name of the skill: lower-case letters, digits and single hyphens
    name: Option<String>,

    /// Directory to create it in
    #[arg(long = "in", value_name = "DIR", default_value = ".")]
    directory: PathBuf,

    /// What the skill does, and when to use it
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,

    /// Add a shell script with this name
    #[arg(long, value_name = "FILE")]
    script: Option<String>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let name = args.name.as_deref().map_or_else(|| ask_name(output), checked_name)?;
    let script = args.script.as_deref().map(checked_script).transpose()?;
    let here = args.directory == Path::new(".");
    let target = if here { PathBuf::from(name.as_str()) } else { args.directory.join(name.as_str()) };
    if target.symlink_metadata().is_ok() {
        return Err(UsageError(format!(
            "{} already exists; choose another name, or another directory with `--in`",
            target.display()
        ))
        .into());
    }
    let description = args.description.clone().map_or_else(ask_description, |given| Ok(Some(given)))?;
    let skill = template(&name, description.as_deref(), script)?;
    // Created in a temporary directory and moved, so that a failure leaves nothing behind.
    fs::create_dir_all(&args.directory)
        .with_context(|| format!("cannot create {}", args.directory.display()))?;
    let staging = tempfile::Builder::new().prefix(".metier-new-").tempdir_in(&args.directory);
    let staging = staging.with_context(|| format!("cannot create {}", target.display()))?;
    let made = staging.path().join(name.as_str());
    write(&made, &skill, script).with_context(|| format!("cannot create {}", target.display()))?;
    fs::rename(&made, &target).with_context(|| format!("cannot create {}", target.display()))?;
    output.line(target.join("SKILL.md").display())?;
    output.note(format_args!(
        "Replace each `TODO:` in it; `metier validate {}` reports those that are left.",
        target.display()
    ))?;
    Ok(Exit::Done)
}

/// How often a name is asked for.
const TRIES: usize = 3;

fn checked_name(name: &str) -> Result<SkillName, UsageError> {
    SkillName::new(name).map_err(|error| {
        let hint = SkillName::slug(name).map(|slug| format!("; try `{slug}`")).unwrap_or_default();
        UsageError(format!("{error}{hint}"))
    })
}

/// Asks the person at the terminal for a name, and again if it is not valid.
fn ask_name(output: &mut Output) -> Result<SkillName, UsageError> {
    if !is_terminal_attached() {
        return Err(UsageError("a skill needs a name: `metier new code-review`".to_owned()));
    }
    for _ in 0..TRIES {
        let typed = ask_line("Name (lower-case letters, digits and hyphens): ").ok_or_else(cancelled)?;
        match checked_name(&typed) {
            Ok(name) => return Ok(name),
            Err(error) => output.error(&error.0),
        }
    }
    Err(cancelled())
}

/// Asks the person at the terminal what the skill does and when to use it; `None` if it is left for later, or no terminal is
/// attached.
fn ask_description() -> Result<Option<String>, UsageError> {
    if !is_terminal_attached() {
        return Ok(None);
    }
    let what = ask_line("What does the skill do? (Enter to write it later) ").ok_or_else(cancelled)?;
    let what = what.trim_end_matches(['.', ' ']);
    if what.is_empty() {
        return Ok(None);
    }
    let when = ask_line("When should an agent use it? Use when ").ok_or_else(cancelled)?;
    let is_repeated = when.get(..9).is_some_and(|begin| begin.eq_ignore_ascii_case("use when "));
    let when = if is_repeated { &when[9..] } else { &when };
    let when = when.trim_end_matches(['.', ' ']);
    Ok(Some(if when.is_empty() { format!("{what}.") } else { format!("{what}. Use when {when}.") }))
}

fn cancelled() -> UsageError {
    UsageError("cancelled; nothing was created".to_owned())
}

/// Writes the skill's files into a directory.
fn write(directory: &Path, skill: &Skill, script: Option<&str>) -> io::Result<()> {
    fs::create_dir(directory)?;
    fs::write(directory.join("SKILL.md"), skill.to_skill_md())?;
    let Some(script) = script else { return Ok(()) };
    fs::create_dir(directory.join("scripts"))?;
    let path = directory.join("scripts").join(script);
    fs::write(
        &path,
        "#!/usr/bin/env bash\nset -euo pipefail\n\n# TODO: print what the agent needs.\n\
         echo \"this script is not written yet\" >&2\nexit 1\n",
    )?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
}

/// The script's name, if it is one file in one directory.
fn checked_script(name: &str) -> Result<&str, UsageError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let is_shell = name.rsplit_once('.').is_none_or(|(_, ending)| ending == "sh");
    if name.chars().all(plain) && !name.starts_with('.') && !name.is_empty() && is_shell {
        Ok(name)
    } else {
        Err(UsageError(format!("invalid script name `{name}`; use a name such as `run.sh`")))
    }
}

/// What a person replaces by the steps of the skill.
const STEPS: [&str; 2] =
    ["TODO: say what the agent should do first.", "TODO: say how the agent knows that it is done."];

fn template(name: &SkillName, description: Option<&str>, script: Option<&str>) -> Result<Skill, UsageError> {
    let title = name.as_str().replace('-', " ");
    let default = format!("TODO: say in one sentence what {title} does. Use when the user asks for {title}.");
    let description = description.unwrap_or(&default).trim();
    let length = description.chars().count();
    if length == 0 || length > metier_skill::DESCRIPTION_MAX {
        let most = metier_skill::DESCRIPTION_MAX;
        return Err(UsageError(format!("the description has {length} characters; use 1 to {most}")));
    }
    let mut skill = Skill::new(name.clone(), description);
    let run = script.map(|script| {
        format!("TODO: write `scripts/{script}`; then this step is: run it and read what it prints.")
    });
    let steps = run.into_iter().chain(STEPS.map(str::to_owned));
    let steps: Vec<String> = (1..).zip(steps).map(|(number, step)| format!("{number}. {step}\n")).collect();
    let heading: String =
        title.chars().take(1).flat_map(char::to_uppercase).chain(title.chars().skip(1)).collect();
    skill.body = format!(
        "\n# {heading}\n\n## Steps\n\n{}\n## Examples\n\nTODO: show one request and the answer you want.\n",
        steps.concat()
    )
    .into();
    Ok(skill)
}
