//! `metier remove`: removes installed skills.

use metier_home::Agent;
use serde_json::json;

use crate::exit::Exit;
use crate::installing::{notes, print, record, recorder, store};
use crate::output::Output;

/// Remove installed skills
#[derive(Debug, clap::Args)]
#[command(after_help = "\
If one of them is not installed, none is removed. Their content stays in the store until
`metier gc`.

Examples:
  metier remove pdf ocr
  metier remove pdf --missing-ok")]
pub(crate) struct Args {
    /// Skills to remove
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,

    /// Ignore names that are not installed
    #[arg(long)]
    missing_ok: bool,

    /// Show what would be removed, without removing it
    #[arg(long)]
    dry_run: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let store = store()?;
    let mut options = store.plain_options();
    options.dry_run = args.dry_run;
    options.missing_ok = args.missing_ok;
    let recorder = recorder(&store, args.dry_run)?;
    let outcome = store.remove(&args.names, &options)?;
    record(&outcome.changes, &store, recorder, output)?;
    notes(&outcome, output)?;
    if args.json {
        output.json(&json!({ "dry_run": args.dry_run, "changes": outcome.changes }))?;
    } else {
        print(&outcome.changes, output)?;
        output.summary(crate::installing::sum(&outcome.changes, args.dry_run))?;
    }
    for agent in Agent::ALL {
        let names = args.names.iter().map(String::as_str);
        let links = store.metier().broken_links(agent);
        let is_broken = |name: &&str| links.iter().any(|link| link.ends_with(name));
        let names: Vec<&str> = names.filter(is_broken).collect();
        if !names.is_empty() {
            let (title, names) = (agent.title(), names.join(" "));
            output.note(format_args!(
                "note: links of {title} to it are broken now; remove them: metier link {agent} {names} --undo"
            ))?;
        }
    }
    Ok(Exit::Done)
}
