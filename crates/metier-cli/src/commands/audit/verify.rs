//! `metier audit verify`: whether the journal, exports and archives are as they were written.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use metier_host::read_named;
use metier_journal::{
    Checkpoint, Consistency, Inclusion, JournalAddress, JournalReader, Verification, archives_in, verify,
    verify_archives, verify_export,
};
use serde_json::json;

use super::JournalArgs;
use crate::exit::{Exit, UsageError};
use crate::files::must_exist;
use crate::output::Output;
use crate::progress::Progress;
use crate::table::counted;

/// Check that no record was changed, removed, inserted or moved
///
/// Truncation and a rewritten journal are detected with a checkpoint from before. metier stores the last one outside of
/// the journal and compares with it. Keep others elsewhere (`metier audit checkpoint`) and pass them with --since.
/// A user who can change the journal and all checkpoints can forge it.
///
/// With FILE, exports and archives are verified: one alone, several together. With --archives, the journal is verified
/// together with its archives: each continues the one before it, and none is missing between them.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit code: 0 if everything is intact, 1 if not.

Examples:
  metier audit verify
  metier audit verify --since monday.json
  metier audit verify exported.jsonl --since monday.json
  metier audit verify --archives ~/archives             the journal with its archives
  metier audit verify ~/archives/*.jsonl.gz             the archives without the journal
  metier audit verify --proof included.json --since monday.json")]
pub(super) struct Args {
    /// Exports and archives to verify instead of the journal
    #[arg(value_name = "FILE", conflicts_with_all = ["journal", "archives"])]
    files: Vec<PathBuf>,

    /// An archive of the journal, or a directory with its archives, to verify with it. Can be repeated
    #[arg(long, value_name = "PATH")]
    archives: Vec<PathBuf>,

    /// A checkpoint that the journal must extend. Can be repeated
    #[arg(long, value_name = "CHECKPOINT")]
    since: Vec<PathBuf>,

    /// Check a proof of `metier audit checkpoint --record` or `--extends` instead, which needs no journal; with `--since`, that it is about
    /// this checkpoint
    #[arg(long, value_name = "FILE", conflicts_with_all = ["files", "journal", "archives"])]
    proof: Option<PathBuf>,

    #[command(flatten)]
    journal: JournalArgs,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    must_exist(&args.since)?;
    must_exist(&args.proof)?;
    must_exist(&args.files)?;
    must_exist(&args.archives)?;
    let mut since = args.since.iter().map(|path| Checkpoint::read(path)).collect::<Result<Vec<_>, _>>()?;
    if let Some(path) = &args.proof {
        return check_proof(path, &since, args.json, output);
    }
    if !args.files.is_empty() {
        let progress = Progress::begin(output, "checking records");
        let found = of_files(&args.files, &since)?;
        drop(progress);
        return report(&found, args, output);
    }
    let (metier, place) = args.journal.open(output)?;
    let mut unusable = None;
    match metier.last_checkpoint(&place) {
        Ok(checkpoint) => since.extend(checkpoint),
        Err(error) => unusable = Some(error),
    }
    let archives = archives(&args.archives, &place)?;
    let progress = Progress::begin(output, "checking records");
    let found = match archives.as_slice() {
        [] => verify(&place, &since)?,
        archives => verify_archives(archives, Some(&place), &since)?,
    };
    drop(progress);
    let exit = report(&found, args, output)?;
    let Some(error) = unusable else { return Ok(exit) };
    output.error(&format!(
        "the stored checkpoint cannot be read, so nothing was compared with it: {:#}; if the journal is intact, remove it",
        anyhow::Error::new(error)
    ));
    Ok(Exit::Findings)
}

/// One file may be a pipe; several are read more than once.
fn of_files(files: &[PathBuf], since: &[Checkpoint]) -> anyhow::Result<Verification> {
    let [path] = files else { return Ok(verify_archives(files, None, since)?) };
    let read = || format!("cannot read {}", path.display());
    let mut lines = BufReader::new(File::open(path).with_context(read)?);
    if lines.fill_buf().with_context(read)?.starts_with(b"SQLite format 3") {
        let path = path.display();
        let message =
            format!("{path} is a journal, not an export; run `metier audit verify --journal {path}`");
        return Err(UsageError(message).into());
    }
    verify_export(&mut lines, since).with_context(read)
}

/// The archives that are named, and those of this journal in the directories that are.
fn archives(paths: &[PathBuf], place: &JournalAddress) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in paths {
        if !path.is_dir() {
            found.push(path.clone());
            continue;
        }
        let archives = archives_in(path, JournalReader::open(place)?.journal()?)?;
        if archives.is_empty() {
            return Err(UsageError(format!("{} has no archives of this journal", path.display())).into());
        }
        found.extend(archives);
    }
    Ok(found)
}

fn report(found: &Verification, args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let exit = if found.damage.is_some() { Exit::Findings } else { Exit::Done };
    if args.json {
        output.json(found)?;
        return Ok(exit);
    }
    for skipped in &found.skipped {
        output.note(format_args!("note: not checked: {skipped}"))?;
    }
    let records = counted(usize::try_from(found.records).unwrap_or(usize::MAX), "record");
    let first = found.first;
    let from = if first == 0 { String::new() } else { format!(" from record {first}") };
    if let Some(damage) = &found.damage {
        output.error(&damage.detail);
        let failed = output.colored("FAILED", false);
        output.line(format_args!("{failed} (intact before that: {records}{from})"))?;
        output.note("note: what to do now: \"When the journal is damaged\" in docs/journal.md")?;
        return Ok(exit);
    }
    let against = match found.checkpoints {
        0 => "no checkpoint to compare with, so truncation would not be detected".to_owned(),
        count => format!("{} matched", counted(count, "checkpoint")),
    };
    let fine = output.colored("OK", true);
    output.line(format_args!("{fine}: {records} intact{from}, {against}"))?;
    output.row("root", &found.root.to_string())?;
    if first > 0 {
        let with = if args.files.is_empty() { "; `--archives PATH` checks them too" } else { "" };
        output
            .note(format_args!("note: not checked: records before {first}, which are in archives{with}"))?;
    }
    Ok(exit)
}

/// Checks a proof. It contains its own checkpoints; only the user knows whether to trust them.
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
                format!("record {} is one of the {size} records with root {root}", proof.record.sequence);
            (proof.holds(), vec![proof.checkpoint], what)
        }
        (_, Some(proof)) => {
            let (old, new) = (&proof.old, &proof.new);
            let what = format!(
                "the {} records with root {} extend the {} with root {}",
                new.size, new.root, old.size, old.root
            );
            (proof.holds(), vec![proof.old, proof.new], what)
        }
        (None, None) => {
            let message =
                format!("{} is not a proof; `metier audit checkpoint --record N` prints one", path.display());
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
        let word = output.colored("NOT proven", false);
        output.line(format_args!(
            "{word}: the proof is not about the given checkpoint over {} records",
            other.size
        ))?;
    } else {
        let word = output.colored(if holds { "proven" } else { "NOT proven" }, holds);
        output.line(format_args!("{word}: {what}"))?;
        if since.is_empty() && holds {
            output.note(
                "note: compare the root with a checkpoint that you trust, or pass the checkpoint with --since",
            )?;
        }
    }
    Ok(if holds { Exit::Done } else { Exit::Findings })
}
