//! `metier audit verify`: is it still what was written?

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use metier_journal::{Checkpoint, Consistency, Inclusion, Verification, verify, verify_export};
use serde_json::{Value, json};

use super::JournalArgs;
use crate::config::read_bounded;
use crate::environment::Environment;
use crate::exit::{Exit, UsageError};
use crate::output::Output;
use crate::recording;
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
  metier audit verify --proof included.json")]
pub(super) struct Args {
    /// An exported journal instead of the one that is written to
    #[arg(value_name = "FILE", conflicts_with = "journal")]
    file: Option<PathBuf>,

    /// A checkpoint that the journal must go on from. Can be repeated
    #[arg(long, value_name = "CHECKPOINT")]
    since: Vec<PathBuf>,

    /// Check a proof of `metier audit checkpoint --record` or `--extends` instead, which needs no journal
    #[arg(long, value_name = "FILE", conflicts_with_all = ["file", "since", "journal"])]
    proof: Option<PathBuf>,

    #[command(flatten)]
    journal: JournalArgs,

    /// Print what was found as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    if let Some(path) = &args.proof {
        return check_proof(path, args.json, output);
    }
    let environment = Environment::read();
    let mut since = args.since.iter().map(|path| Checkpoint::read(path)).collect::<Result<Vec<_>, _>>()?;
    let verification = match &args.file {
        Some(path) => {
            let read = || format!("cannot read {}", path.display());
            verify_export(&mut BufReader::new(File::open(path).with_context(read)?), &since)
                .with_context(read)?
        }
        None => {
            let place = args.journal.place(&environment, output)?;
            since.extend(recording::last_checkpoint(&environment, &place)?);
            verify(&place, &since)?
        }
    };
    report(&verification, args.json, output)
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
            output.line(format_args!("damaged: {records} before that are whole"))?;
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

fn check_proof(path: &Path, as_json: bool, output: &mut Output) -> anyhow::Result<Exit> {
    let text = read_bounded(path).with_context(|| format!("cannot read {}", path.display()))?;
    let value: Value = serde_json::from_str(&text).unwrap_or_default();
    let inclusion = serde_json::from_value::<Inclusion>(value.clone()).ok();
    let consistency = serde_json::from_value::<Consistency>(value).ok();
    let (holds, what) = match (inclusion, consistency) {
        (Some(proof), _) => {
            let (sequence, size) = (proof.record.sequence, proof.checkpoint.size);
            (proof.holds(), format!("record {sequence} is among the {size} records of the checkpoint"))
        }
        (_, Some(proof)) => {
            let (old, new) = (proof.old.size, proof.new.size);
            (proof.holds(), format!("the journal of {new} records begins with the one of {old}"))
        }
        (None, None) => {
            let message =
                format!("{} is no proof; `metier audit checkpoint --record` makes one", path.display());
            return Err(UsageError(message).into());
        }
    };
    if as_json {
        output.json(&json!({ "holds": holds, "statement": what }))?;
    } else {
        output.line(format_args!("{}: {what}", if holds { "proven" } else { "NOT proven" }))?;
    }
    Ok(if holds { Exit::Done } else { Exit::Findings })
}
