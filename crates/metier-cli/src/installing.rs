//! What the commands of the store have in common: how skills are installed, what became of them, and what takes a while.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Context as _;
use metier_journal::{Checked, Context, Event};
use metier_skill::{Digest, Profile, Tier};
use metier_store::{
    ChangeKind, InstallOptions, Installation, LockedSkill, PlannedChange, SignatureError, Store, StoreError,
    TrustFile,
};
use serde_json::json;

use crate::config::{Config, Flags, read_bounded};
use crate::environment::Environment;
use crate::exit::{Exit, UsageError, of_skill};
use crate::output::Output;
use crate::recording::{self, Recorder};
use crate::table::{counted, one_line, pad, width_of};

/// The file with the keys whose signatures count, in a directory of settings.
const KEYS: &str = "trusted-keys.toml";

/// How skills are installed.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Installing {
    /// How far to trust what is installed: user or `third_party`; else as far as whoever signed it, or not at all
    #[arg(long, value_name = "TIER", value_parser = tier)]
    tier: Option<Tier>,

    /// What skills are held to: strict, standard or lenient; if not given, what the lock says of those that are in it, else standard
    #[arg(long, value_name = "PROFILE", value_parser = profile)]
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

fn tier(text: &str) -> Result<Tier, String> {
    match text.parse::<Tier>() {
        Ok(tier @ (Tier::User | Tier::ThirdParty)) => Ok(tier),
        Ok(tier) => Err(format!(
            "nobody can make a skill `{tier}` by installing it; sign it with a key that is trusted so far"
        )),
        Err(error) => Err(error.to_string()),
    }
}

fn profile(text: &str) -> Result<Profile, String> {
    Profile::named(text).ok_or_else(|| "use strict, standard or lenient".to_owned())
}

/// Where skills are installed here, and what else that takes.
pub(crate) struct Place {
    pub(crate) environment: Environment,
    pub(crate) config: Config,
    pub(crate) store: Store,
}

impl Place {
    pub(crate) fn find() -> anyhow::Result<Self> {
        let environment = Environment::read();
        let config = Config::read(&environment, &Flags::default())?;
        let message = "there is no home directory to install skills in; set HOME or XDG_DATA_HOME";
        let store = environment.store().ok_or_else(|| UsageError(message.to_owned()))?;
        Ok(Self { environment, config, store })
    }

    pub(crate) fn options(&self, flags: &Installing) -> anyhow::Result<InstallOptions> {
        let mut options = InstallOptions::new(recording::now().to_string());
        options.trust = self.trust()?;
        (options.profile, options.tier) = (flags.profile, flags.tier);
        (options.accept_risk, options.dry_run) = (flags.accept_risk, flags.dry_run);
        (options.allow_rollback, options.allow_moved_tag) = (flags.allow_rollback, flags.allow_moved_tag);
        options.who = Some(Environment::account());
        Ok(options)
    }

    /// The keys whose signatures count: the organisation's and the person's.
    pub(crate) fn trust(&self) -> anyhow::Result<TrustFile> {
        trusted_keys(&self.environment)
    }

    /// The program `git`.
    pub(crate) fn git(&self) -> PathBuf {
        self.environment.program("git".as_ref()).unwrap_or_else(|| "git".into())
    }

    /// Where relative paths begin.
    pub(crate) fn working(&self) -> PathBuf {
        self.environment.working.clone().unwrap_or_else(|| "/".into())
    }

    /// What is done is recorded; nothing is done that cannot be.
    pub(crate) fn recorder(&self, dry_run: bool) -> anyhow::Result<Option<Recorder>> {
        (!dry_run).then(|| self.config.recording.open(&self.environment)).transpose()
    }
}

/// The keys whose signatures count: the organisation's and the person's.
pub(crate) fn trusted_keys(environment: &Environment) -> anyhow::Result<TrustFile> {
    let own = environment.config_directory();
    let directories = [Some(Environment::system_directory().to_owned()), own];
    let mut trust = TrustFile::default();
    for path in directories.into_iter().flatten().map(|directory| directory.join(KEYS)) {
        match read_bounded(&path) {
            Ok(more) => {
                let more =
                    TrustFile::parse(&more).with_context(|| format!("{} cannot be used", path.display()))?;
                trust = trust.and(more);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }
    Ok(trust)
}

/// Records what was done, and says it.
pub(crate) fn finish(
    outcome: &Installation,
    recorder: Option<Recorder>,
    flags: &Installing,
    output: &mut Output,
) -> anyhow::Result<Exit> {
    record(&outcome.changes, recorder, output)?;
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
pub(crate) fn record_failed(place: &Place, findings: Vec<Checked>, output: &mut Output) {
    if findings.is_empty() {
        return;
    }
    let recorded = place.config.recording.open(&place.environment).and_then(|recorder| {
        for finding in findings {
            recorder.record(&Context::default(), &Event::CheckFailed(Box::new(finding)))?;
        }
        recorder.close(output)
    });
    if let Err(error) = recorded {
        output.error(&format!("what was found could not be recorded: {error:#}"));
    }
}

/// Hands a result on. Where a skill was not installed because of what it is, that is recorded first.
pub(crate) fn checked(
    result: Result<Installation, StoreError>,
    place: &Place,
    is_dry: bool,
    output: &mut Output,
) -> anyhow::Result<Installation> {
    let (name, check) = match &result {
        Err(StoreError::NotAsLocked { name, .. }) => (name, "lock"),
        Err(StoreError::SignatureOf { name, .. }) => (name, "signature"),
        Err(StoreError::Risk { name, .. }) => (name, "scan"),
        Err(StoreError::Rollback { name, .. }) => (name, "rollback"),
        Err(StoreError::TagMoved { source_name, .. }) => (source_name, "tag"),
        _ => return Ok(result?),
    };
    if let (Err(error), false) = (&result, is_dry) {
        let finding = Checked {
            name: name.chars().take(200).collect(),
            check: check.to_owned(),
            tree_digest: None,
            code: Some(error.code().to_owned()),
            detail: Some(error.to_string().chars().take(1000).collect()),
        };
        record_failed(place, vec![finding], output);
    }
    Ok(result?)
}

/// Records what was done.
pub(crate) fn record(
    changes: &[PlannedChange],
    recorder: Option<Recorder>,
    output: &mut Output,
) -> anyhow::Result<()> {
    let Some(recorder) = recorder else { return Ok(()) };
    let mut by_source: BTreeMap<String, (BTreeMap<String, Digest>, BTreeSet<String>)> = BTreeMap::new();
    let is_new = |change: &&PlannedChange| {
        matches!(change.kind, ChangeKind::Installed | ChangeKind::Changed | ChangeKind::Repaired)
    };
    for change in changes.iter().filter(is_new) {
        let Some(skill) = &change.after else { continue };
        let (skills, accepted) = by_source.entry(skill.origin()).or_default();
        skills.insert(skill.name.clone(), skill.digest);
        if change.scan.as_ref().is_some_and(|scan| scan.is_accepted) {
            accepted.insert(skill.name.clone());
        }
    }
    let removed = changes.iter().filter(|change| change.kind == ChangeKind::Removed);
    let removed: Vec<String> = removed.map(|change| change.name.clone()).collect();
    let mut events: Vec<Event> = by_source
        .into_iter()
        .map(|(source, (skills, accepted))| {
            let accepted = accepted.into_iter().collect();
            Event::SkillsInstalled { skills, source, accepted }
        })
        .collect();
    if !removed.is_empty() {
        events.push(Event::SkillsChanged { added: Vec::new(), changed: Vec::new(), removed });
    }
    for event in events {
        recorder.record(&Context::default(), &event).context("it was done, and could not be recorded")?;
    }
    recorder.close(output)
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
            tell(before, after, output)?;
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
fn tell(before: &LockedSkill, after: &LockedSkill, output: &mut Output) -> anyhow::Result<()> {
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
