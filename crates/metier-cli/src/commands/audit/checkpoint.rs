//! `metier audit checkpoint`: a few bytes that hold the journal to what it is now, and proofs.

use std::path::PathBuf;

use metier_host::now;
use metier_journal::{Checkpoint, JournalReader};

use super::JournalArgs;
use crate::exit::{Exit, NotFoundError};
use crate::output::Output;

/// Print what the journal is now in a few bytes, to be kept where nobody changes it
///
/// A checkpoint is the number of records and the Merkle root over them (RFC 6962). Kept elsewhere, it shows what was cut off or rewritten since:
/// `metier audit verify --since`. With it, one record can be shown to somebody without the others, and proven to be among them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metier audit checkpoint > monday.json
  metier audit checkpoint --record 17 > included.json      that record 17 is in the journal
  metier audit checkpoint --extends monday.json            that the journal begins with what it was then
  metier audit verify --proof included.json")]
pub(super) struct Args {
    /// Prove that this record is in the journal
    #[arg(long, value_name = "SEQUENCE")]
    record: Option<u64>,

    /// Prove that the journal begins with the one of this checkpoint
    #[arg(long, value_name = "CHECKPOINT", conflicts_with = "record")]
    extends: Option<PathBuf>,

    #[command(flatten)]
    journal: JournalArgs,
}

pub(super) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let place = args.journal.place(output)?;
    let mut reader = JournalReader::open(&place)?;
    if let Some(sequence) = args.record {
        let message = || NotFoundError(format!("there is no record {sequence} in {place}"));
        let proof = reader.prove_inclusion(sequence, now())?.ok_or_else(message)?;
        // Somebody may have added to the journal while it was read.
        anyhow::ensure!(
            proof.holds(),
            "record {sequence} cannot be proven: try again, or see `metier audit verify`"
        );
        output.json_lines(&proof)?;
        return Ok(Exit::Done);
    }
    if let Some(path) = &args.extends {
        let old = Checkpoint::read(path)?;
        let size = old.size;
        let Some(proof) = reader.prove_consistency(old, now())? else {
            output.error(&format!(
                "the journal has fewer than {size} records: it was cut off, or is another one"
            ));
            return Ok(Exit::Findings);
        };
        if !proof.holds() {
            output.error("the journal does not begin with the one of the checkpoint: it was rewritten, or is another one");
            return Ok(Exit::Findings);
        }
        output.json_lines(&proof)?;
        return Ok(Exit::Done);
    }
    let message = || NotFoundError(format!("there is nothing in {place} yet"));
    let checkpoint = reader.checkpoint(now())?.ok_or_else(message)?;
    output.line(checkpoint.to_text())?;
    Ok(Exit::Done)
}
