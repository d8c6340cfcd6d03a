//! `metier update`: brings installed skills up to date with their sources, after showing what changes.

use metier_host::{confirm, is_terminal_attached};
use metier_store::{ChangeKind, Installation, LockedSkill, PlannedChange};

use crate::exit::{Exit, UsageError};
use crate::installing::{Installing, checked, finish, notes, print, record, recorder, store, sum};
use crate::output::Output;
use crate::progress::Progress;

/// Update installed skills from their sources
///
/// The changes are shown first: files, signers and scan results. At a terminal you are then asked; elsewhere `--yes` is
/// needed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metier update --dry-run
  metier update pdf
  metier update --yes")]
pub(crate) struct Args {
    /// Skills to update [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    /// Update without asking
    #[arg(long, short)]
    yes: bool,

    #[command(flatten)]
    installing: Installing,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let store = store()?;
    let options = args.installing.options(&store)?;
    let update = |dry_run: bool,
                  agreed: Option<Vec<LockedSkill>>,
                  output: &mut Output|
     -> anyhow::Result<Installation> {
        let mut options = options.clone();
        (options.dry_run, options.agreed) = (dry_run, agreed);
        let progress = Progress::begin(output, "updating");
        let say = |text: &str| progress.say(text);
        let fetching = store.fetching().telling(&say);
        let updated = store.update(&args.names, &store.working(), &options, &fetching);
        drop(progress);
        checked(updated, &store, args.installing.dry_run, output)
    };
    let recorder = recorder(&store, args.installing.dry_run)?;
    let is_silent = args.yes && args.installing.json;
    if args.installing.dry_run || is_silent {
        let done = update(args.installing.dry_run, None, output)?;
        return finish(&done, &store, recorder, &args.installing, output);
    }
    let planned = update(true, None, output)?;
    if planned.changes.iter().all(|change| change.kind == ChangeKind::Unchanged) {
        return finish(&planned, &store, recorder, &args.installing, output);
    }
    if args.installing.json {
        return Err(UsageError("`--json` needs `--yes` or `--dry-run`".to_owned()).into());
    }
    notes(&planned, output)?;
    print(&planned.changes, output)?;
    output.flush()?;
    // Repairing an installed skill needs no new confirmation.
    let is_news =
        |change: &PlannedChange| !matches!(change.kind, ChangeKind::Unchanged | ChangeKind::Repaired);
    let is_asked = !args.yes && planned.changes.iter().any(is_news);
    if is_asked && !is_terminal_attached() {
        let message =
            "nothing was changed: updating needs confirmation, and no terminal is attached; `--yes` confirms";
        return Err(UsageError(message.to_owned()).into());
    }
    if is_asked && !confirm("Update these skills?") {
        output.note("nothing was changed")?;
        return Ok(Exit::Done);
    }
    // Only what was shown is installed, not what appeared since.
    let agreed = planned.changes.iter().filter_map(|change| change.after.clone()).collect();
    let done = update(false, Some(agreed), output)?;
    record(&done.changes, &store, recorder, output)?;
    output.summary(sum(&done.changes, false))?;
    Ok(Exit::Done)
}
