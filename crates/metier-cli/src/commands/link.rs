//! `metier link`: skills made visible to an agent in the person's own home, and taken away again.

use metier_home::{Agent, HomeError, LinkedSkill, link_skill, unlink_skill};
use metier_prompt::{MountSource, SkillMount};
use serde_json::{Value, json};

use crate::exit::{Exit, UsageError};
use crate::mounting::{Chosen, agent};
use crate::output::Output;
use crate::table::counted;

/// Make skills visible to an agent in your own home, by links
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Links lead to the skills where they are; a change there is a change for the agent.

Examples:
  metier link claude code-review
  metier link claude ~/skills/pdf ~/skills/ocr
  metier link codex --root ~/skills
  metier link codex --all
  metier link codex --all --undo")]
pub(crate) struct Args {
    /// The agent: claude, codex, opencode, gemini, goose, copilot
    #[arg(value_parser = agent)]
    agent: Agent,

    #[command(flatten)]
    chosen: Chosen,

    /// Take the links away again; nothing else is touched
    #[arg(long)]
    undo: bool,

    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let skills = args.chosen.skills(output)?;
    let home = skills.metier().environment().home.clone();
    let home = home.ok_or_else(|| UsageError("there is no home to link into; set HOME".to_owned()))?;
    let directory = home.join(args.agent.skills_directory());
    let mut done = Vec::new();
    // What was left out when links were made has none to take away.
    let mounts = if args.undo {
        args.chosen.mounts_to_remove(&skills)?
    } else {
        args.chosen.mounts(&skills, output)?
    };
    let cache = skills.metier().environment().cache_directory();
    for mount in mounts {
        let path = match mount.source() {
            MountSource::Path(path) => path.as_path(),
            _ => continue,
        };
        // A link is not what it leads to.
        if args.undo && path.starts_with(&directory) {
            continue;
        }
        // What is inside metier is only unpacked in the cache, and would be gone with it.
        if args.chosen.is_all() && cache.as_ref().is_some_and(|cache| path.starts_with(cache)) {
            let name = mount.effective_name().unwrap_or_default();
            output
                .note(format_args!("note: left out: `{name}` is inside metier; `metier mount` copies it"))?;
            continue;
        }
        done.push(link(&mount, &directory, args.undo)?);
    }
    let new = done.iter().filter(|one| one.is_new).count();
    if args.json {
        let links: Vec<Value> = done
            .iter()
            .map(|one| json!({ "link": one.link, "target": one.target, "changed": one.is_new }))
            .collect();
        output.json(&json!({ "directory": directory, "links": links }))?;
    } else {
        for one in done.iter().filter(|one| one.is_new) {
            output.line(one.link.display())?;
        }
        let what = if args.undo { "removed" } else { "made" };
        let same = done.len() - new;
        let rest = match (same, args.undo) {
            (0, _) => String::new(),
            (same, false) => format!(", {same} already visible"),
            (same, true) => format!(", {same} without a link"),
        };
        output.summary(format!("{} {what}{rest}", counted(new, "link")))?;
    }
    Ok(Exit::Done)
}

fn link(mount: &SkillMount, directory: &std::path::Path, undo: bool) -> Result<LinkedSkill, HomeError> {
    let name = mount.effective_name().unwrap_or_default();
    let MountSource::Path(path) = mount.source() else {
        return Err(HomeError::NotFound { path: name.into() });
    };
    // The directory is what is linked, also where its file was named.
    let is_file = path.file_name().is_some_and(|file| file.eq_ignore_ascii_case("SKILL.md"));
    let path = if is_file { path.parent().unwrap_or(path) } else { path };
    if undo { unlink_skill(&name, path, directory) } else { link_skill(&name, path, directory) }
}
