//! `metier audit archive`: old records are moved into files that verify by themselves.

use std::path::PathBuf;

use clap::ValueEnum;
use metier_host::{ArchivePeriod, Metier, now};
use metier_journal::{
    ArchiveReport, ArchiveRequest, ArchivedRecords, JournalReader, PlannedArchive, RecordContext, Time,
};
use serde_json::json;

use crate::exit::{Exit, UsageError};
use crate::host::tell;
use crate::output::Output;
use crate::table::counted;

/// Move the oldest records into archives, which verify alone and together with the journal
///
/// An archive is a compressed export. It is written, synced, read back and verified; only then are its records removed
/// from the journal, which records the archive with its SHA-256. If this is interrupted, no record is lost; run it again.
///
/// Without options, the settings say what to archive: `keep`, `directory` and `by` in `[archive]` of `config.toml`.
/// Nothing is ever archived without this command; `metier doctor` reports when it is due.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metier audit archive --before 2026-10-01 --to ~/archives
  metier audit archive --before 90d --by month       one archive for each complete month
  metier audit archive --before 90d --dry-run
  metier audit archive                               what the settings say
  metier audit verify --archives ~/archives          the journal with its archives
  metier audit log --journal ~/archives/journal-…-2026-09.jsonl.gz")]
pub(super) struct Args {
    /// Archive records from before this time: 90d, 12w, 2026-10-01 or 2026-10-01T09:30Z
    #[arg(long, value_name = "TIME")]
    before: Option<String>,

    /// The directory for the archives; `archives` beside the journal if nothing is set
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,

    /// Write one archive for each of these periods, and only for complete ones
    #[arg(long, value_name = "PERIOD")]
    by: Option<Period>,

    /// Show what would be archived, and change nothing
    #[arg(long)]
    dry_run: bool,

    /// Print the archives as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Period {
    /// A calendar month in UTC
    Month,
}

pub(super) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let metier = Metier::open()?;
    tell(&metier.settings().notes, output)?;
    let request = request(args, &metier)?;
    let mut reader = JournalReader::open(&metier.journal_address()?)?;
    let plans = reader.plan_archives(request.before, request.by_month)?;
    if plans.is_empty() {
        let (before, by) = (day(request.before), if request.by_month { " in a complete month" } else { "" });
        if args.json {
            print_json(args, &plans, &ArchiveReport::default(), output)?;
        } else {
            output.summary(format_args!("nothing to archive: no record is from before {before}{by}"))?;
        }
        return Ok(Exit::Done);
    }
    if args.dry_run {
        if args.json {
            print_json(args, &plans, &ArchiveReport::default(), output)?;
            return Ok(Exit::Done);
        }
        for plan in &plans {
            let records = counted(usize::try_from(plan.records).unwrap_or(usize::MAX), "record");
            output.line(format_args!(
                "would archive {records} from {} to {}",
                day(plan.oldest),
                day(plan.newest)
            ))?;
        }
        return Ok(Exit::Done);
    }
    let recorder = metier.recorder()?;
    let report = recorder.journal().archive(&request)?;
    tell(&recorder.close(), output)?;
    if args.json {
        print_json(args, &plans, &report, output)?;
        return Ok(Exit::Done);
    }
    for archive in &report.archives {
        print(archive, output)?;
    }
    if let Some(reason) = &report.not_shrunk {
        output.note(format_args!(
            "note: the journal file keeps its size, and new records use the space: {reason}"
        ))?;
    }
    let first = reader.first()?;
    output.summary(format_args!("the journal now begins with record {first}"))?;
    Ok(Exit::Done)
}

/// What the options say, and otherwise the settings.
fn request(args: &Args, metier: &Metier) -> anyhow::Result<ArchiveRequest> {
    let now = now();
    let before = match &args.before {
        Some(text) => {
            let wrong = || {
                UsageError(format!("invalid time `{text}`; use 90d, 12w, 2026-10-01 or 2026-10-01T09:30Z"))
            };
            Time::parse_near(text, now).ok_or_else(wrong)?
        }
        None => {
            let message = "no time is set; add `--before TIME`, or set `keep` in `[archive]` of config.toml";
            metier.archive_before().ok_or_else(|| UsageError(message.to_owned()))?
        }
    };
    let setting = metier.settings().recording.archive.value.as_ref();
    let by_month =
        args.by.is_some() || setting.is_some_and(|setting| setting.by == Some(ArchivePeriod::Month));
    let directory = match &args.to {
        Some(directory) => metier.environment().absolute(directory),
        None => metier.archive_directory()?,
    };
    let context = RecordContext { identity: Some(metier.identity()), ..RecordContext::default() };
    Ok(ArchiveRequest { directory, before, by_month, context })
}

fn print(archive: &ArchivedRecords, output: &mut Output) -> std::io::Result<()> {
    let records = counted(usize::try_from(archive.records).unwrap_or(usize::MAX), "record");
    output.line(format_args!(
        "archived {records} from {} to {}: {} ({} KiB)",
        day(archive.oldest),
        day(archive.newest),
        archive.path,
        archive.bytes.div_ceil(1024)
    ))
}

fn print_json(
    args: &Args,
    plans: &[PlannedArchive],
    report: &ArchiveReport,
    output: &mut Output,
) -> anyhow::Result<()> {
    let planned = if args.dry_run { plans } else { &[] };
    let ArchiveReport { archives, not_shrunk, .. } = report;
    output.json(&json!({ "dry_run": args.dry_run, "planned": planned, "archives": archives, "not_shrunk": not_shrunk }))?;
    Ok(())
}

/// The day of a time in UTC.
fn day(time: Time) -> String {
    time.to_string().chars().take(10).collect()
}
