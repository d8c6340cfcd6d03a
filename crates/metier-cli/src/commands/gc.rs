//! `metier gc`: what the store has that nobody needs any more.

use std::time::Duration;

use metier_host::SystemClock;
use serde_json::json;

use crate::exit::Exit;
use crate::installing::store;
use crate::output::Output;
use crate::table::counted;

/// Remove what is neither installed nor referred to by the journal
///
/// What was put into the store within the last hour stays.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metier gc --dry-run
  metier gc")]
pub(crate) struct Args {
    /// Say what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,

    /// Print what was removed as JSON
    #[arg(long)]
    json: bool,
}

/// How long another process is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let store = store()?;
    let (kept, missing) = store.referred_digests()?;
    for archive in missing {
        output.note(format_args!(
            "note: the archive {} was not found; skills that only its records mention are not kept",
            archive.display()
        ))?;
    }
    let swept = store.sweep(&kept, SystemClock::time(), args.dry_run, PATIENCE)?;
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
            output
                .summary(format_args!("{} more of what nobody needs: younger than an hour", swept.young))?;
        }
    }
    Ok(Exit::Done)
}
