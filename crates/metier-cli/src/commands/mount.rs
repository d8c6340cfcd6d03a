//! `metier mount`: copies skills into a directory, either all of them or none.

use std::path::PathBuf;

use metier_home::{HomeError, MountedSkill, add_skills, mount_skills};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::host::tell;
use crate::mounting::{Given, note_skipped};
use crate::output::Output;
use crate::progress::Progress;
use crate::table::counted;

/// Copy skills into a directory
///
/// If one of them cannot be copied, none is.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metier mount out skills/code-review notes.md
  metier mount out pdf=forms                         a skill of the catalog, under another name
  metier mount out --root skills                     all skills in a directory
  metier mount out --all                             all skills that `metier list` shows
  metier mount ~/agent/.claude/skills --add pdf")]
pub(crate) struct Args {
    /// Target directory; it must be empty or not exist
    directory: PathBuf,

    #[command(flatten)]
    given: Given,

    /// Add to the skills in the directory
    #[arg(long)]
    add: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let skills = args.given.chosen.skills(output)?;
    let (mounts, options) = (args.given.chosen.mounts(&skills, output)?, args.given.options(&skills));
    let directory = skills.metier().environment().absolute(&args.directory);
    let progress = Progress::begin(output, "copying skills");
    let mounted = if args.add {
        add_skills(&mounts, &directory, &options)?
    } else {
        mount_skills(&mounts, &directory, &options).map_err(|error| match error {
            HomeError::Occupied { .. } => {
                anyhow::Error::new(error).context("nothing was mounted; `--add` adds to it")
            }
            error => error.into(),
        })?
    };
    drop(progress);
    tell(&skills.metier().record_mounted(&mounted, &directory.to_string_lossy())?, output)?;
    note_skipped(&mounted, output)?;
    if args.json {
        let all: Vec<Value> = mounted.iter().map(as_json).collect();
        output.json(&json!({ "directory": directory, "skills": all }))?;
    } else {
        for skill in &mounted {
            output.line(skill.path.display())?;
        }
        let bytes: u64 = mounted.iter().map(|skill| skill.bytes).sum();
        output.summary(format!("{} mounted, {bytes} bytes", counted(mounted.len(), "skill")))?;
    }
    Ok(Exit::Done)
}

fn as_json(skill: &MountedSkill) -> Value {
    json!({
        "name": skill.name, "own_name": skill.own_name, "path": skill.path, "bytes": skill.bytes, "files": skill.files,
        "tree_digest": skill.tree_digest, "skipped": skill.skipped.iter().map(|one| &one.path).collect::<Vec<_>>(),
    })
}
