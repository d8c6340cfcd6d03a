//! What the commands of the store have in common: how skills are installed, what became of them, and what takes a while.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use metier_host::{HostStore, Metier, Recorder};
use metier_journal::CheckReport;
use metier_skill::{Profile, Tier};
use metier_store::{
    ChangeKind, InstallOptions, Installation, LockedSkill, PlannedChange, SignatureError, StoreError,
};
use serde_json::json;

use crate::exit::{Exit, of_skill};
use crate::host::tell;
use crate::output::Output;
use crate::table::{counted, one_line, pad, width_of};

/// How skills are installed.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Installing {
    /// How far to trust what is installed: user or `third_party`; else as far as whoever signed it, or not at all
    #[arg(long, value_name = "TIER")]
    tier: Option<Tier>,

    /// What skills are held to: strict, standard or lenient; if not given, what the lock says of those that are in it, else standard
    #[arg(long, value_name = "PROFILE", value_parser = crate::host::profile)]
    profile: Option<Profile>,

    /// Install what the scan would stop; that you did is recorded
    #[arg(long)]
    accept_risk: bool,

    /// Let a skill go back to what it was before, or to an older version
    #[arg(long)]
    allow_rollback: bool,

    /// Take what a tag is now, also if it was another commit before
    #[arg(long)]
    allow_moved_tag: bool,

    /// Say what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Print what changed as JSON
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

/// The journal that is added to; nothing is done that cannot be recorded.
pub(crate) fn recorder(store: &HostStore, dry_run: bool) -> anyhow::Result<Option<Recorder>> {
    Ok((!dry_run).then(|| store.metier().recorder()).transpose()?)
}

/// Records what was done, and says it.
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
    output.summary(sum(&outcome.changes, flags.dry_run))?;
    Ok(Exit::Done)
}

/// Says what a person should know.
pub(crate) fn notes(outcome: &Installation, output: &mut Output) -> anyhow::Result<()> {
    Ok(outcome.notes.iter().try_for_each(|note| output.note(format_args!("note: {note}")))?)
}

/// Records checks that failed. What they found is told in any case.
pub(crate) fn record_failed(store: &HostStore, findings: Vec<CheckReport>, output: &mut Output) {
    let recorded = store.record_failed(findings).map_err(Into::into).and_then(|notes| tell(&notes, output));
    if let Err(error) = recorded {
        output.error(&format!("what was found could not be recorded: {error:#}"));
    }
}

/// Hands a result on. Where a skill was not installed because of what it is, that is recorded first.
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

/// Records what was done.
pub(crate) fn record(
    changes: &[PlannedChange],
    store: &HostStore,
    recorder: Option<Recorder>,
    output: &mut Output,
) -> anyhow::Result<()> {
    let Some(recorder) = recorder else { return Ok(()) };
    tell(&store.record(changes, recorder)?, output)
}

/// What became of each skill, a line each, and what is different in it.
pub(crate) fn print(changes: &[PlannedChange], output: &mut Output) -> anyhow::Result<()> {
    // Of many, only those are shown that something happens to; the rest are counted.
    let is_shown = |change: &&PlannedChange| changes.len() == 1 || change.kind != ChangeKind::Unchanged;
    let columns = changes.iter().filter(is_shown).map(|change| width_of(&change.name)).max().unwrap_or(0);
    let skills = || {
        changes.iter().filter(is_shown).filter_map(|change| change.after.as_ref().or(change.before.as_ref()))
    };
    let versions = skills().filter_map(|skill| skill.version.as_deref()).map(width_of).max().unwrap_or(0);
    for change in changes.iter().filter(is_shown) {
        let word = match change.kind {
            ChangeKind::Installed => "new",
            ChangeKind::Changed => "changed",
            ChangeKind::Removed => "removed",
            ChangeKind::Repaired => "repaired",
            _ => "same",
        };
        // What is the same stays as it was installed, wherever it was offered from now.
        let kept = change.before.as_ref().filter(|_| change.kind == ChangeKind::Unchanged);
        let skill = kept.or(change.after.as_ref()).or(change.before.as_ref());
        let text = skill.map(|skill| described(skill, versions)).unwrap_or_default();
        let line = format!("{}  {}  {text}", pad(word, 8), pad(&change.name, columns));
        output.whole(line.trim_end())?;
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
            let accepted = if scan.is_accepted { ", and was accepted" } else { "" };
            output.line(format_args!(
                "          the scan says {}{accepted}: {}",
                scan.verdict,
                scan.rules.join(", ")
            ))?;
        }
    }
    Ok(())
}

/// A skill in columns, of which that of the versions is so wide.
fn described(skill: &LockedSkill, versions: usize) -> String {
    let version = if versions == 0 {
        String::new()
    } else {
        format!("{}  ", pad(skill.version.as_deref().unwrap_or("-"), versions))
    };
    let (tier, digest) = (pad(skill.tier.as_str(), 11), skill.digest.to_string());
    format!("{version}{tier}  {}  {}", &digest[..19], skill.origin())
}

/// What is different that is no file.
fn tell_differences(before: &LockedSkill, after: &LockedSkill, output: &mut Output) -> anyhow::Result<()> {
    let of = |text: &Option<String>| text.clone().unwrap_or_else(|| "nobody".to_owned());
    if let (Some(old), Some(new)) = (&before.version, &after.version)
        && old != new
    {
        output.line(format_args!("          version {new}, before {old}"))?;
    }
    if before.signer != after.signer {
        output.line(format_args!(
            "          signed by {}, before by {}",
            of(&after.signer),
            of(&before.signer)
        ))?;
    }
    if before.tier != after.tier {
        output.line(format_args!("          trusted as {}, before as {}", after.tier, before.tier))?;
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
        (ChangeKind::Unchanged, "as before"),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(kind, _)| count(*kind) > 0)
        .map(|(kind, word)| format!("{} {word}", counted(count(*kind), "skill")))
        .collect();
    let parts = if parts.is_empty() { "nothing to do".to_owned() } else { parts.join(", ") };
    if dry_run { format!("would be: {parts}") } else { parts }
}

/// How an error of the store ends a command.
pub(crate) const fn exit_of(error: &StoreError) -> Exit {
    match error {
        StoreError::Missing { .. } | StoreError::NotInstalled { .. } | StoreError::NoSuchSkill { .. } => {
            Exit::NotFound
        }
        StoreError::Source { .. }
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
        | StoreError::Changed { .. }
        | StoreError::NotASkill { .. }
        | StoreError::SignatureOf { .. } => Exit::Findings,
        StoreError::Signature(error) => exit_of_signature(error),
        StoreError::Skill(error) => of_skill(error),
        _ => Exit::Environment,
    }
}

/// The same for signatures: a key that cannot be used is for whoever calls to mend.
pub(crate) const fn exit_of_signature(error: &SignatureError) -> Exit {
    match error {
        SignatureError::NotAKey | SignatureError::Encrypted | SignatureError::Passphrase => Exit::Usage,
        _ => Exit::Findings,
    }
}

/// Says on a terminal what is being done, once that has taken a second.
pub(crate) struct Progress {
    shared: Arc<(Mutex<State>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    text: String,
    is_over: bool,
}

impl Progress {
    pub(crate) fn begin(output: &Output) -> Self {
        let shared: Arc<(Mutex<State>, Condvar)> = Arc::default();
        let theirs = Arc::clone(&shared);
        let is_wanted = io::stderr().is_terminal() && !output.is_quiet();
        Self { shared, thread: is_wanted.then(|| thread::spawn(move || Self::show(&theirs))) }
    }

    /// What is being done now.
    pub(crate) fn say(&self, text: &str) {
        text.clone_into(&mut self.shared.0.lock().unwrap_or_else(PoisonError::into_inner).text);
    }

    fn show(shared: &(Mutex<State>, Condvar)) {
        let (state, told) = shared;
        let mut waits = Duration::from_secs(1);
        let mut shown = String::new();
        loop {
            let held = state.lock().unwrap_or_else(PoisonError::into_inner);
            let (held, _) = told
                .wait_timeout_while(held, waits, |state| !state.is_over)
                .unwrap_or_else(PoisonError::into_inner);
            let (text, is_over) = (held.text.clone(), held.is_over);
            drop(held);
            waits = Duration::from_millis(200);
            if is_over || text != shown {
                let line = if is_over { String::new() } else { format!("{}…", one_line(&text)) };
                if !(is_over && shown.is_empty()) {
                    // Whether anybody sees it is no matter.
                    let _ = write!(io::stderr(), "\r\x1b[2K{line}").and_then(|()| io::stderr().flush());
                }
                shown = text;
            }
            if is_over {
                return;
            }
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner).is_over = true;
        self.shared.1.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
