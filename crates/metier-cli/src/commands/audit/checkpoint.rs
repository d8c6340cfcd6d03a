//! `metier audit checkpoint`: the size and Merkle root of the journal, and proofs.

use std::path::PathBuf;

use metier_host::now;
use metier_journal::{Checkpoint, JournalReader};

use super::JournalArgs;
use crate::exit::{Exit, NotFoundError};
use crate::files::must_exist;
use crate::output::Output;

/// Print a checkpoint of the journal, to be kept elsewhere, or a proof
///
/// A checkpoint is the number of records and the Merkle root over them (RFC 6962). Keep it where
/// users who can change the journal cannot change it: `metier audit verify --since` then detects truncation and
/// rewriting. With a checkpoint, you can prove that one record is in the journal without showing the others.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metier audit checkpoint > monday.json
  metier audit checkpoint --record 17 > included.json      proof that record 17 is in the journal
  metier audit checkpoint --extends monday.json            proof that the journal extends that checkpoint
  metier audit verify --proof included.json")]
pub(super) struct Args {
    /// Prove that this record is in the journal
    #[arg(long, value_name = "SEQUENCE")]
    record: Option<u64>,

    /// Prove that the journal extends this checkpoint
    #[arg(long, value_name = "CHECKPOINT", conflicts_with = "record")]
    extends: Option<PathBuf>,

    #[command(flatten)]
    journal: JournalArgs,
}

pub(super) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let place = args.journal.place(output)?;
    let mut reader = JournalReader::open(&place)?;
    if let Some(sequence) = args.record {
        let Some(proof) = reader.prove_inclusion(sequence, now())? else {
            let message = match reader.first()? {
                first if sequence < first => super::where_is(sequence, &mut reader, "checkpoint --record")?,
                _ => format!("record {sequence} does not exist in {place}"),
            };
            return Err(NotFoundError(message).into());
        };
        // Another process may have added records meanwhile.
        anyhow::ensure!(
            proof.holds(),
            "no valid proof for record {sequence}; try again, or run `metier audit verify`"
        );
        output.json_lines(&proof)?;
        return Ok(Exit::Done);
    }
    if let Some(path) = &args.extends {
        must_exist([path])?;
        let old = Checkpoint::read(path)?;
        let size = old.size;
        let Some(proof) = reader.prove_consistency(old, now())? else {
            output.error(&match reader.first()? {
                first if size < first => format!(
                    "the checkpoint over {size} records is about archived records; the journal begins with record {first}"
                ),
                _ => format!("the journal has fewer than {size} records; it was truncated or is another journal"),
            });
            return Ok(Exit::Findings);
        };
        if !proof.holds() {
            output
                .error("the journal does not extend the checkpoint; it was rewritten or is another journal");
            return Ok(Exit::Findings);
        }
        output.json_lines(&proof)?;
        return Ok(Exit::Done);
    }
    let message = || NotFoundError(format!("{place} has no records yet"));
    let checkpoint = reader.checkpoint(now())?.ok_or_else(message)?;
    output.line(checkpoint.to_text())?;
    Ok(Exit::Done)
}
