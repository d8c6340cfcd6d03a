//! `metier remove`: installed skills taken away again.

use serde_json::json;

use crate::exit::Exit;
use crate::installing::{notes, print, record, recorder, store};
use crate::output::Output;

/// Remove installed skills: all that are named, or none
#[derive(Debug, clap::Args)]
#[command(after_help = "\
What they consisted of stays in the store until `metier gc`.

Examples:
  metier remove pdf ocr
  metier remove pdf --missing-ok")]
pub(crate) struct Args {
    /// Which
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,

    /// It is all right if one is not installed
    #[arg(long)]
    missing_ok: bool,

    /// Say what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,

    /// Print what was removed as JSON
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
    Ok(Exit::Done)
}
