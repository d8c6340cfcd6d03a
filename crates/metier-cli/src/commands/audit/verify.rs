//! `metier audit verify`: is it still what was written?

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use metier_host::read_named;
use metier_journal::{Checkpoint, Consistency, Inclusion, Verification, verify, verify_export};
use serde_json::json;

use super::JournalArgs;
use crate::exit::{Exit, UsageError};
use crate::output::Output;
use crate::table::counted;

/// Check that no record was changed, removed, inserted, moved or cut off, and name the first that was
///
/// What was cut off at the end, and a journal that was rewritten as a whole, can only be told by a checkpoint from before. metier remembers the
/// last one outside of the journal and compares with it; keep others elsewhere (`metier audit checkpoint`) and give them by `--since`.
/// Whoever can change the journal and every checkpoint can forge.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exits with 0 if all is as it was written, with 1 if something is not.

Examples:
  metier audit verify
  metier audit verify --since monday.json
  metier audit verify exported.jsonl --since monday.json
  metier audit verify --proof included.json --since monday.json")]
pub(super) struct Args {
    /// An exported journal instead of the one that is written to
    #[arg(value_name = "FILE", conflicts_with = "journal")]
    file: Option<PathBuf>,

    /// A checkpoint that the journal must go on from. Can be repeated
    #[arg(long, value_name = "CHECKPOINT")]
    since: Vec<PathBuf>,

    /// Check a proof of `metier audit checkpoint --record` or `--extends` instead, which needs no journal; with `--since`, that it is about
    /// this checkpoint
    #[arg(long, value_name = "FILE", conflicts_with_all = ["file", "journal"])]
    proof: Option<PathBuf>,

    #[command(flatten)]
    journal: JournalArgs,

    /// Print what was found as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let mut since = args.since.iter().map(|path| Checkpoint::read(path)).collect::<Result<Vec<_>, _>>()?;
    let mut unusable = None;
    if let Some(path) = &args.proof {
        return check_proof(path, &since, args.json, output);
    }
    let verification = match &args.file {
        Some(path) => {
            let read = || format!("cannot read {}", path.display());
            let mut lines = BufReader::new(File::open(path).with_context(read)?);
            // Looked at and not taken: it may be a pipe.
            if lines.fill_buf().with_context(read)?.starts_with(b"SQLite format 3") {
                let path = path.display();
                let message =
                    format!("{path} is a journal, not an export: use `metier audit verify --journal {path}`");
                return Err(UsageError(message).into());
            }
            verify_export(&mut lines, &since).with_context(read)?
        }
        None => {
            let (metier, place) = args.journal.open(output)?;
            match metier.last_checkpoint(&place) {
                Ok(checkpoint) => since.extend(checkpoint),
                Err(error) => unusable = Some(error),
            }
            verify(&place, &since)?
        }
    };
    let exit = report(&verification, args.json, output)?;
    let Some(error) = unusable else { return Ok(exit) };
    output.error(&format!(
        "nothing was compared with the remembered checkpoint: {:#}; if the journal is whole, remove it",
        anyhow::Error::new(error)
    ));
    Ok(Exit::Findings)
}

fn report(found: &Verification, as_json: bool, output: &mut Output) -> anyhow::Result<Exit> {
    let exit = if found.damage.is_some() { Exit::Findings } else { Exit::Done };
    if as_json {
        output.json(found)?;
        return Ok(exit);
    }
    for skipped in &found.skipped {
        output.note(format_args!("note: not checked: {skipped}"))?;
    }
    let records = counted(usize::try_from(found.records).unwrap_or(usize::MAX), "record");
    match &found.damage {
        Some(damage) => {
            output.error(&damage.detail);
            output.line(format_args!("damaged; whole before that: {records}"))?;
        }
        None => {
            let against = match found.checkpoints {
                0 => "compared with no checkpoint: what was cut off at the end would not be seen".to_owned(),
                count => format!("compared with {}", counted(count, "checkpoint")),
            };
            output.line(format_args!("whole: {records}, {against}"))?;
            output.row("root", &found.root.to_string())?;
        }
    }
    Ok(exit)
}

/// A proof brings its checkpoints along; whether these are the ones that somebody trusts, only they can say.
fn check_proof(
    path: &Path,
    since: &[Checkpoint],
    as_json: bool,
    output: &mut Output,
) -> anyhow::Result<Exit> {
    let text = read_named(path).with_context(|| format!("cannot read {}", path.display()))?;
    let inclusion = serde_json::from_str::<Inclusion>(&text).ok();
    let consistency = serde_json::from_str::<Consistency>(&text).ok();
    let (holds, about, what) = match (inclusion, consistency) {
        (Some(proof), _) => {
            let Checkpoint { size, root, .. } = &proof.checkpoint;
            let what =
                format!("record {} is among the {size} records with root {root}", proof.record.sequence);
            (proof.holds(), vec![proof.checkpoint], what)
        }
        (_, Some(proof)) => {
            let (old, new) = (&proof.old, &proof.new);
            let what = format!(
                "the {} records with root {} go on from the {} with root {}",
                new.size, new.root, old.size, old.root
            );
            (proof.holds(), vec![proof.old, proof.new], what)
        }
        (None, None) => {
            let message =
                format!("{} is no proof; `metier audit checkpoint --record` makes one", path.display());
            return Err(UsageError(message).into());
        }
    };
    let key = |checkpoint: &Checkpoint| (checkpoint.journal, checkpoint.size, checkpoint.root);
    let is_about = |wanted: &Checkpoint| about.iter().any(|one| key(one) == key(wanted));
    let other = since.iter().find(|wanted| !is_about(wanted));
    let holds = holds && other.is_none();
    if as_json {
        output.json(&json!({ "holds": holds, "statement": what }))?;
    } else if let Some(other) = other {
        output.line(format_args!(
            "NOT proven: it is about another checkpoint than that of {} records",
            other.size
        ))?;
    } else {
        output.line(format_args!("{}: {what}", if holds { "proven" } else { "NOT proven" }))?;
        if since.is_empty() && holds {
            output.note(
                "note: compare the root with that of a checkpoint that you trust, or give it by --since",
            )?;
        }
    }
    Ok(if holds { Exit::Done } else { Exit::Findings })
}
