//! `metier audit export`: the journal as JSON lines.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use metier_journal::JournalReader;

use super::JournalArgs;
use crate::exit::{Exit, UsageError};
use crate::files::cannot_write;
use crate::output::Output;
use crate::progress::Progress;
use crate::table::counted;

/// Write every record as a line of canonical JSON, which other programs can verify
///
/// docs/journal.md describes the format; docs/verify-journal.py verifies it. If older records are in archives, the first
/// line says where the export begins.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metier audit export > journal.jsonl
  metier audit export --output journal.jsonl
  metier audit verify journal.jsonl")]
pub(super) struct Args {
    /// File to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Overwrite the file if it exists
    #[arg(long, requires = "output")]
    force: bool,

    #[command(flatten)]
    journal: JournalArgs,
}

pub(super) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let mut reader = JournalReader::open(&args.journal.place(output)?)?;
    let Some(path) = &args.output else {
        // At a terminal the records themselves show the progress.
        if output.columns().is_some() {
            reader.export(&mut output.raw())??;
            return Ok(Exit::Done);
        }
        let progress = Progress::begin(output, "exporting records");
        reader.export(&mut progress.counting_lines(output.raw()))??;
        return Ok(Exit::Done);
    };
    let written = cannot_write(path);
    let opened = if args.force { File::create(path) } else { File::create_new(path) };
    let opened = opened.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => anyhow::Error::from(UsageError(format!(
            "`{}` already exists; `--force` overwrites it",
            path.display()
        ))),
        _ => written(error),
    });
    let mut file = BufWriter::new(opened?);
    let progress = Progress::begin(output, "exporting records");
    let count = reader.export(&mut progress.counting_lines(&mut file))?.map_err(&written)?;
    file.flush().and_then(|()| file.get_ref().sync_all()).map_err(&written)?;
    drop(progress);
    let count = counted(usize::try_from(count).unwrap_or(usize::MAX), "record");
    output.note(format_args!("wrote {count} to {}", path.display()))?;
    Ok(Exit::Done)
}
