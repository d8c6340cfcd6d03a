//! `metier link`: makes skills visible to an agent in the person's own home, and removes the links again.

use metier_home::Agent;
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::host::tell;
use crate::mounting::{Chosen, agent};
use crate::output::Output;
use crate::table::counted;

/// Make skills visible to an agent by links in your home
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The links point to the skills where they are, so the agent sees every later change. Skills inside
metier cannot be linked: `metier mount --add` copies them. What is linked is recorded.

Examples:
  metier link claude code-review
  metier link claude ~/skills/pdf ~/skills/ocr
  metier link codex --root ~/skills
  metier link codex --all
  metier link codex --all --undo")]
pub(crate) struct Args {
    /// Agent: claude, codex, opencode, gemini, goose or copilot
    #[arg(value_parser = agent)]
    agent: Agent,

    #[command(flatten)]
    chosen: Chosen,

    /// Remove the links again; nothing else is changed
    #[arg(long)]
    undo: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let skills = args.chosen.skills(output)?;
    let change = if args.undo {
        // What was left out when links were made has none to remove.
        skills.unlink(args.agent, &args.chosen.mounts_to_remove(args.agent, &skills)?)?
    } else {
        skills.link(args.agent, &args.chosen.mounts(&skills, output)?, args.chosen.is_all())?
    };
    tell(&change.notes, output)?;
    let (done, directory) = (change.links, change.directory);
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
        let what = if args.undo { "removed" } else { "created" };
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
