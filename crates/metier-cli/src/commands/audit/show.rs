//! `metier audit show`: one record in full.

use metier_journal::JournalReader;

use super::JournalArgs;
use crate::exit::{Exit, NotFoundError};
use crate::output::Output;

/// Show one record in full, as JSON
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The record's hash and that of the record after it are checked. `metier audit verify` checks all.

Examples:
  metier audit show 17
  metier audit show 17 | jq .event.touched")]
pub(super) struct Args {
    /// The number of the record: the first column of `metier audit log`
    #[arg(value_name = "NUMBER")]
    number: u64,

    #[command(flatten)]
    journal: JournalArgs,
}

pub(super) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let place = args.journal.place(output)?;
    let mut reader = JournalReader::open(&place)?;
    let Some(record) = reader.record(args.number)? else {
        let (number, size) = (args.number, reader.size()?);
        let message = match size {
            _ if number < reader.first()? => super::where_is(number, &mut reader, "show")?,
            0 => format!("record {number} does not exist; the journal is empty"),
            _ => format!("record {number} does not exist; the last record is {}", size - 1),
        };
        return Err(NotFoundError(message).into());
    };
    // A changed record that has a new hash does not match the record after it.
    let next = args.number.checked_add(1).map(|next| reader.record(next)).transpose()?.flatten();
    let changed = match next {
        _ if !record.is_whole() => Some(args.number),
        Some(next) if !next.is_whole() => Some(next.sequence),
        _ => None,
    };
    output.json(&record)?;
    let Some(changed) = changed else { return Ok(Exit::Done) };
    output.error(&format!(
        "record {changed} was changed after it was written, or the one before it: their hashes do not match"
    ));
    output.note("hint: metier audit verify")?;
    Ok(Exit::Findings)
}
