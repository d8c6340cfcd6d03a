//! What the commands of the store have in common: options, results and exit codes.

use std::io;
use std::path::{Path, PathBuf};

use metier_host::{HostStore, Metier, Recorder, read_regular};
use metier_journal::CheckReport;
use metier_skill::{Profile, Tier};
use metier_store::{
    ChangeKind, InstallOptions, Installation, LOCK_FILE, LockedSkill, Lockfile, PlannedChange,
    SignatureError, StoreError,
};
use serde_json::json;

use crate::exit::{Exit, NotFoundError, of_skill};
use crate::files::{cannot_read, is_missing};
use crate::host::tell;
use crate::output::Output;
use crate::table::{counted, one_line, pad, width_of};

/// How skills are installed.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Installing {
    /// Trust tier: user or `third_party` [default: the signer's tier, or `third_party` if unsigned]
    #[arg(long, value_name = "TIER")]
    tier: Option<Tier>,

    /// Profile that skills are checked against: strict, standard or lenient [default: the one in the lock, else standard]
    #[arg(long, value_name = "PROFILE", value_parser = crate::host::profile)]
    profile: Option<Profile>,

    /// Install skills that the scan blocks; this is recorded
    #[arg(long)]
    accept_risk: bool,

    /// Allow a skill to go back to an earlier content or an older version
    #[arg(long)]
    allow_rollback: bool,

    /// Allow a tag that points to another commit than before
    #[arg(long)]
    allow_moved_tag: bool,

    /// Show what would change, without changing anything
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Print the changes as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl Installing {
    /// How skills are installed, with what these flags say.
    pub(crate) fn options(&self, store: &HostStore) -> anyhow::Result<InstallOptions> {
        let mut options = store.install_options()?;
        (options.profile, options.tier) = (self.profile, self.tier);
        (options.accept_risk, options.dry_run) = (self.accept_risk, self.dry_run);
        (options.allow_rollback, options.allow_moved_tag) = (self.allow_rollback, self.allow_moved_tag);
        Ok(options)
    }
}

/// The store that a command works with.
pub(crate) fn store() -> anyhow::Result<HostStore> {
    Ok(Metier::open()?.store()?)
}

/// A larger lock is something else.
const LOCK_MOST: u64 = 64 << 20;

/// The lock at a path, or the one of the project, and where it is.
pub(crate) fn read_lock(store: &HostStore, path: &Path) -> anyhow::Result<(PathBuf, Lockfile)> {
    let path = store.lock_file(path);
    let text = read_regular(&path, LOCK_MOST).map_err(|error| no_lock(&path, error))?;
    let lock = Lockfile::parse(&text, &path)?;
    Ok((path, lock))
}

/// The error for a lock file that cannot be read, and what makes one.
fn no_lock(path: &Path, error: io::Error) -> anyhow::Error {
    if !is_missing(&error) {
        return cannot_read(path)(error);
    }
    let also =
        if path.ends_with(LOCK_FILE) { ", nor in a directory above it in this repository" } else { "" };
    let message = format!(
        "{} does not exist{also}; `metier lock --output {LOCK_FILE}` writes the lock of what is installed",
        path.display()
    );
    NotFoundError(message).into()
}

/// The journal that changes are recorded in; opened first, so that nothing is done that cannot be recorded.
pub(crate) fn recorder(store: &HostStore, dry_run: bool) -> anyhow::Result<Option<Recorder>> {
    Ok((!dry_run).then(|| store.metier().recorder()).transpose()?)
}

/// Records and prints the changes.
pub(crate) fn finish(
    outcome: &Installation,
    store: &HostStore,
    recorder: Option<Recorder>,
    flags: &Installing,
    output: &mut Output,
) -> anyhow::Result<Exit> {
    record(&outcome.changes, store, recorder, output)?;
    notes(outcome, output)?;
    if flags.json {
        output.json(&json!({ "dry_run": flags.dry_run, "changes": outcome.changes }))?;
        return Ok(Exit::Done);
    }
    print(&outcome.changes, output)?;
    // An answer is about a content, which may have been here before.
    for skill in outcome.changes.iter().filter_map(|change| change.after.as_ref()) {
        for refusal in store.metier().refusals(&skill.name, &skill.digest) {
            output.note(format_args!("note: {}", refusal.message))?;
        }
    }
    output.summary(sum(&outcome.changes, flags.dry_run))?;
    Ok(Exit::Done)
}

/// Prints the notes of an installation.
pub(crate) fn notes(outcome: &Installation, output: &mut Output) -> anyhow::Result<()> {
    Ok(outcome.notes.iter().try_for_each(|note| output.note(format_args!("note: {note}")))?)
}

/// Records failed checks. Their findings are printed in any case.
pub(crate) fn record_failed(store: &HostStore, findings: Vec<CheckReport>, output: &mut Output) {
    let recorded = store.record_failed(findings).map_err(Into::into).and_then(|notes| tell(&notes, output));
    if let Err(error) = recorded {
        output.error(&format!("the findings could not be recorded: {error:#}"));
    }
}

/// Returns the result. If a skill failed a check, that is recorded first.
pub(crate) fn checked(
    result: Result<Installation, StoreError>,
    store: &HostStore,
    is_dry: bool,
    output: &mut Output,
) -> anyhow::Result<Installation> {
    let failed = result.as_ref().err().filter(|_| !is_dry).and_then(HostStore::failed_check);
    if let Some(failed) = failed {
        record_failed(store, vec![failed], output);
    }
    Ok(result?)
}

/// Records the changes.
pub(crate) fn record(
    changes: &[PlannedChange],
    store: &HostStore,
    recorder: Option<Recorder>,
    output: &mut Output,
) -> anyhow::Result<()> {
    let Some(recorder) = recorder else { return Ok(()) };
    tell(&store.record(changes, recorder)?, output)
}

/// Prints one line per skill, and its differences.
pub(crate) fn print(changes: &[PlannedChange], output: &mut Output) -> anyhow::Result<()> {
    // Of several skills, unchanged ones are only counted.
    let is_shown = |change: &&PlannedChange| changes.len() == 1 || change.kind != ChangeKind::Unchanged;
    let columns = changes.iter().filter(is_shown).map(|change| width_of(&change.name)).max().unwrap_or(0);
    let skills = || {
        changes.iter().filter(is_shown).filter_map(|change| change.after.as_ref().or(change.before.as_ref()))
    };
    let versions = skills().filter_map(|skill| skill.version.as_deref()).map(width_of).max().unwrap_or(0);
    for change in changes.iter().filter(is_shown) {
        let word = match change.kind {
            ChangeKind::Installed => output.colored("new     ", true),
            ChangeKind::Changed => output.warning("changed "),
            ChangeKind::Removed => output.warning("removed "),
            ChangeKind::Repaired => output.colored("repaired", true),
            _ => "same    ".to_owned(),
        };
        // An unchanged skill keeps its source, even if it was offered from another one now.
        let kept = change.before.as_ref().filter(|_| change.kind == ChangeKind::Unchanged);
        let skill = kept.or(change.after.as_ref()).or(change.before.as_ref());
        let text = skill.map(|skill| described(skill, versions)).unwrap_or_default();
        let line = format!("{word}  {}  {text}", pad(&change.name, columns));
        output.line(line.trim_end())?;
        for file in change.files.iter().filter(|_| change.kind == ChangeKind::Changed) {
            output.line(format_args!("          {}", one_line(file)))?;
        }
        if let (Some(before), Some(after)) = (&change.before, &change.after) {
            tell_differences(before, after, output)?;
        }
        if let Some(scan) = change
            .scan
            .as_ref()
            .filter(|scan| scan.verdict != "clean" && change.kind != ChangeKind::Unchanged)
        {
            let accepted = if scan.is_accepted { " (accepted)" } else { "" };
            output.line(format_args!(
                "          scan: {}{accepted}: {}",
                scan.verdict,
                scan.rules.join(", ")
            ))?;
        }
    }
    Ok(())
}

/// A skill in columns; `versions` is the width of the column of versions.
fn described(skill: &LockedSkill, versions: usize) -> String {
    let version = if versions == 0 {
        String::new()
    } else {
        format!("{}  ", pad(skill.version.as_deref().unwrap_or("-"), versions))
    };
    let (tier, digest) = (pad(skill.tier.as_str(), 11), skill.digest.to_string());
    format!("{version}{tier}  {}  {}", &digest[..19], skill.origin())
}

/// Differences of version, signer and tier.
fn tell_differences(before: &LockedSkill, after: &LockedSkill, output: &mut Output) -> anyhow::Result<()> {
    let signer = |text: &Option<String>| {
        text.as_ref().map_or_else(|| "unsigned".to_owned(), |signer| format!("signed by {signer}"))
    };
    if let (Some(old), Some(new)) = (&before.version, &after.version)
        && old != new
    {
        output.line(format_args!("          version {new} (before: {old})"))?;
    }
    if before.signer != after.signer {
        output.line(format_args!(
            "          {} (before: {})",
            signer(&after.signer),
            signer(&before.signer)
        ))?;
    }
    if before.tier != after.tier {
        output.line(format_args!("          tier {} (before: {})", after.tier, before.tier))?;
    }
    Ok(())
}

pub(crate) fn sum(changes: &[PlannedChange], dry_run: bool) -> String {
    let count = |kind: ChangeKind| changes.iter().filter(|change| change.kind == kind).count();
    let parts = [
        (ChangeKind::Installed, "installed"),
        (ChangeKind::Changed, "changed"),
        (ChangeKind::Removed, "removed"),
        (ChangeKind::Repaired, "repaired"),
        (ChangeKind::Unchanged, "unchanged"),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(kind, _)| count(*kind) > 0)
        .map(|(kind, word)| format!("{} {word}", counted(count(*kind), "skill")))
        .collect();
    let parts = if parts.is_empty() { "nothing to do".to_owned() } else { parts.join(", ") };
    if dry_run { format!("dry run, nothing was changed: {parts}") } else { parts }
}

/// How an error of the store ends a command.
pub(crate) const fn exit_of(error: &StoreError) -> Exit {
    match error {
        StoreError::Missing { .. }
        | StoreError::NoSource { .. }
        | StoreError::NotInstalled { .. }
        | StoreError::NoSuchSkill { .. } => Exit::NotFound,
        StoreError::Source { .. }
        | StoreError::Ambiguous { .. }
        | StoreError::Several { .. }
        | StoreError::Twice { .. }
        | StoreError::Lock { .. }
        | StoreError::Occupied { .. }
        | StoreError::RaisedTier { .. }
        | StoreError::Trust(_) => Exit::Usage,
        StoreError::Risk { .. }
        | StoreError::Rollback { .. }
        | StoreError::NotAsShown { .. }
        | StoreError::TagMoved { .. } => Exit::Denied,
        StoreError::Archive(_)
        | StoreError::Invalid { .. }
        | StoreError::NotAsLocked { .. }
        | StoreError::WrongDigest { .. }
        | StoreError::Changed { .. }
        | StoreError::NotASkill { .. }
        | StoreError::SignatureOf { .. } => Exit::Findings,
        StoreError::Signature(error) => exit_of_signature(error),
        StoreError::Skill(error) => of_skill(error),
        _ => Exit::Environment,
    }
}

/// How an error of a signature ends a command: a key that cannot be used is wrong use.
pub(crate) const fn exit_of_signature(error: &SignatureError) -> Exit {
    match error {
        SignatureError::NotAKey | SignatureError::Encrypted | SignatureError::Passphrase => Exit::Usage,
        _ => Exit::Findings,
    }
}
