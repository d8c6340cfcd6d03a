//! `metier new`: a skill to start from, which passes `validate --strict`.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use metier_skill::{Skill, SkillName};

use crate::exit::{Exit, UsageError};
use crate::output::Output;

/// Start a new skill
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metier new code-review
  metier new code-review --in ~/.claude/skills --description \"Reviews code. Use when …\"
  metier new release-notes --script collect.sh")]
pub(crate) struct Args {
    /// The skill's name: lower-case letters, digits and single hyphens
    name: String,

    /// The directory to make it in
    #[arg(long = "in", value_name = "DIR", default_value = ".")]
    directory: PathBuf,

    /// What the skill does and when to use it
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,

    /// Add a shell script of this name
    #[arg(long, value_name = "FILE")]
    script: Option<String>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let name = SkillName::new(&args.name).map_err(|error| {
        let hint = SkillName::slug(&args.name).map(|slug| format!("; try `{slug}`")).unwrap_or_default();
        UsageError(format!("{error}{hint}"))
    })?;
    let script = args.script.as_deref().map(checked_script).transpose()?;
    let skill = template(&name, args.description.as_deref(), script)?;
    let here = args.directory == Path::new(".");
    let target = if here { PathBuf::from(name.as_str()) } else { args.directory.join(name.as_str()) };
    if target.symlink_metadata().is_ok() {
        return Err(UsageError(format!(
            "{} already exists; choose another name, or another directory with `--in`",
            target.display()
        ))
        .into());
    }
    // Made beside its place and moved there whole, so that a failure leaves nothing behind.
    fs::create_dir_all(&args.directory)
        .with_context(|| format!("cannot make {}", args.directory.display()))?;
    let staging = tempfile::Builder::new().prefix(".metier-new-").tempdir_in(&args.directory);
    let staging = staging.with_context(|| format!("cannot make {}", target.display()))?;
    let made = staging.path().join(name.as_str());
    write(&made, &skill, script).with_context(|| format!("cannot make {}", target.display()))?;
    fs::rename(&made, &target).with_context(|| format!("cannot make {}", target.display()))?;
    output.line(target.join("SKILL.md").display())?;
    output.note(format_args!(
        "Write the instructions there, then run `metier validate {}`.",
        target.display()
    ))?;
    Ok(Exit::Done)
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
        "#!/usr/bin/env bash\nset -euo pipefail\n\necho \"TODO: print what the agent needs.\"\n",
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
        Err(UsageError(format!("`{name}` cannot be a shell script's name; write something like `run.sh`")))
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
        return Err(UsageError(format!("a description has 1 to {most} characters, and this one {length}")));
    }
    let mut skill = Skill::new(name.clone(), description);
    let run = script.map(|script| format!("Run `scripts/{script}` and read what it prints."));
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
