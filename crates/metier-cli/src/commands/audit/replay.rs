//! `metier audit replay`: the journal compared with the kept skills.

use metier_host::Metier;
use metier_journal::{JournalReader, verify};
use metier_session::replay;

use super::{JournalArgs, QueryArgs};
use crate::exit::{Exit, UsageError};
use crate::output::Output;
use crate::progress::Progress;
use crate::table::{counted, one_line};

/// Check that every recorded activation, read and script run matches the kept skills, and name the first mismatch
///
/// Every skill that is used is kept by its digest. Its content is hashed again and compared with what was recorded.
/// The records themselves are verified first.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit code: 0 if everything matches, 1 if not.

Examples:
  metier audit replay
  metier audit replay --session work --json
  metier audit replay --journal archives/journal-….jsonl.gz")]
pub(super) struct Args {
    #[command(flatten)]
    query: QueryArgs,

    #[command(flatten)]
    journal: JournalArgs,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let place = args.journal.place(output)?;
    let metier = Metier::open()?;
    let message = "no home directory with a store; set HOME or XDG_DATA_HOME";
    let store = metier.installed().ok_or_else(|| UsageError(message.to_owned()))?;
    if let Some(damage) = verify(&place, &[])?.damage {
        output.error(&format!(
            "the journal is damaged: {}; run `metier audit verify` for details",
            damage.detail
        ));
        return Ok(Exit::Findings);
    }
    let mut reader = JournalReader::open(&place)?;
    let query = args.query.query(&mut reader, None, output)?;
    let progress = Progress::begin(output, "replaying records");
    let found = replay(&mut reader, &store, &query)?;
    drop(progress);
    let exit = if found.divergence.is_some() { Exit::Findings } else { Exit::Done };
    if args.json {
        output.json(&found)?;
        return Ok(exit);
    }
    let count = |number: u64, what: &str| counted(usize::try_from(number).unwrap_or(usize::MAX), what);
    if let Some(wrong) = found.divergence {
        let (sequence, kind, skill) = (wrong.sequence, &wrong.kind, one_line(&wrong.skill));
        let what = match wrong.code {
            "store-missing" => "cannot be checked",
            _ => "does NOT match",
        };
        output.line(format_args!(
            "record {sequence} ({}, {kind}, {skill}) {}: {}",
            wrong.time,
            output.colored(what, false),
            wrong.reason
        ))?;
        if wrong.code == "store-missing" && !metier.settings().recording.keep_skills.value {
            output.note("note: skills are not stored here (`keep_skills = false`)")?;
        }
        return Ok(exit);
    }
    let versions = if found.versions > found.skills {
        format!(" in {}", count(found.versions, "version"))
    } else {
        String::new()
    };
    output.line(format_args!(
        "replay matches the journal: {}, {} and {} of {}{versions}",
        count(found.activations, "activation"),
        count(found.reads, "read"),
        count(found.scripts, "script run"),
        count(found.skills, "skill"),
    ))?;
    Ok(exit)
}
