//! `metier gc`: removes unused content from the store.

use serde_json::json;

use crate::exit::Exit;
use crate::host::tell;
use crate::installing::store;
use crate::output::Output;
use crate::progress::Progress;
use crate::table::counted;

/// Remove unused content from the store
///
/// Content is unused if it is neither installed nor referred to by the journal. What was added within the last hour
/// stays.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metier gc --dry-run
  metier gc")]
pub(crate) struct Args {
    /// Show what would be removed, without removing it
    #[arg(long)]
    dry_run: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let store = store()?;
    let progress = Progress::begin(output, "looking for unused content");
    let (swept, notes) = store.collect_garbage(args.dry_run)?;
    drop(progress);
    tell(&notes, output)?;
    if args.json {
        output.json(&json!({ "dry_run": args.dry_run, "trees": swept.trees, "objects": swept.objects, "bytes": swept.bytes, "young": swept.young }))?;
    } else {
        let word = if args.dry_run { "would be removed" } else { "removed" };
        output.line(format_args!(
            "{} and {} {word}, {} bytes",
            counted(swept.trees, "skill"),
            counted(swept.objects, "file"),
            swept.bytes
        ))?;
        if swept.young > 0 {
            output.summary(format_args!(
                "{} more not in use, kept because they are younger than an hour",
                swept.young
            ))?;
        }
    }
    Ok(Exit::Done)
}
