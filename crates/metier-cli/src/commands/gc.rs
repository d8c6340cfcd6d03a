//! `metier gc`: what the store has that nobody needs any more.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::time::Duration;

use metier_journal::{JournalError, JournalReader};
use metier_skill::Digest;
use serde_json::json;

use crate::exit::Exit;
use crate::installing::Place;
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
    let place = Place::find()?;
    let kept = referred(&place)?;
    let swept = place.store.sweep(&kept, place.environment.now, args.dry_run, PATIENCE)?;
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

/// Every digest that stands anywhere in the journal: more than needed, and nothing that is.
fn referred(place: &Place) -> anyhow::Result<HashSet<Digest>> {
    let mut digests = HashSet::new();
    let mut reader = match JournalReader::open(place.config.recording.place()?) {
        Ok(reader) => reader,
        Err(JournalError::NotFound { .. }) => return Ok(digests),
        Err(error) => return Err(error.into()),
    };
    reader.each(|row, _| {
        let text = row.event;
        for (at, _) in text.match_indices("sha256:") {
            digests.extend(text.get(at..at + 71).and_then(|digest| digest.parse::<Digest>().ok()));
        }
        ControlFlow::Continue(())
    })?;
    Ok(digests)
}
