//! Installing skills: the store, trusted keys, and records.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::{ControlFlow, Deref};
use std::path::{Path, PathBuf};
use std::time::Duration;

use metier_catalog::LOCK_FILE;
use metier_journal::{CheckReport, Event, JournalAddress, JournalError, JournalReader, RecordContext};
use metier_skill::Digest;
use metier_store::{
    ChangeKind, FetchContext, InstallOptions, ParsedSource, PlannedChange, Store, StoreError, SweepReport,
    VerifiedSkill, parse_source,
};

use crate::environment::{SystemClock, now};
use crate::error::HostError;
use crate::host::Metier;
use crate::netrc;
use crate::recording::Recorder;

/// How long [`HostStore::collect_garbage`] waits for other processes that change the store.
const PATIENCE: Duration = Duration::from_secs(30);

/// The store of installed skills, with its host. Derefs to [`Store`].
#[derive(Debug)]
pub struct HostStore {
    store: Store,
    metier: Metier,
}

impl Deref for HostStore {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.store
    }
}

impl Metier {
    /// The store of installed skills; an error without a home directory.
    pub fn store(&self) -> Result<HostStore, HostError> {
        let purpose = "to install skills in";
        let none = HostError::NoHome { purpose, variables: "HOME or XDG_DATA_HOME" };
        Ok(HostStore { store: self.installed().ok_or(none)?, metier: self.clone() })
    }
}

impl HostStore {
    /// The host that it belongs to.
    pub const fn metier(&self) -> &Metier {
        &self.metier
    }

    /// The options for installing: the current time, this account and the trusted keys.
    pub fn install_options(&self) -> Result<InstallOptions, HostError> {
        let mut options = self.plain_options();
        options.trust = self.metier.trusted_keys()?;
        options.who = Some(self.metier.environment().account.clone());
        Ok(options)
    }

    /// The options for removing, which needs no keys.
    pub fn plain_options(&self) -> InstallOptions {
        InstallOptions::new(now().to_string())
    }

    /// The context for fetching sources: the program `git`, hosts with private addresses, and credentials of `~/.netrc`.
    pub fn fetching(&self) -> FetchContext<'static> {
        let git = self.metier.environment().program("git".as_ref());
        let mut fetching = FetchContext::new(git.unwrap_or_else(|| "git".into()));
        fetching.network.private_hosts.clone_from(&self.metier.settings().private_hosts.value);
        fetching.network.credentials = netrc::credentials(self.metier.environment());
        fetching
    }

    /// The directory that relative paths begin at.
    pub fn working(&self) -> PathBuf {
        self.metier.environment().working.clone().unwrap_or_else(|| "/".into())
    }

    /// Parses a source, as `metier install` takes it.
    pub fn source(&self, text: &str) -> Result<ParsedSource, HostError> {
        Ok(parse_source(text, &self.working(), &self.metier.settings().git_host.value)?)
    }

    /// Finds the lock file: the named one, or the `metier.lock` of the project if there is none here.
    pub fn lock_file(&self, path: &Path) -> PathBuf {
        let path = self.metier.environment().absolute(path);
        if path.exists() || path.file_name().is_none_or(|name| name != LOCK_FILE) {
            return path;
        }
        let directories: Vec<&Path> = path.ancestors().skip(1).collect();
        let top = directories.iter().position(|directory| directory.join(".git").exists());
        let mut project = directories.iter().take(top.map_or(0, |top| top + 1));
        project
            .find_map(|directory| Some(directory.join(LOCK_FILE)).filter(|lock| lock.is_file()))
            .unwrap_or(path)
    }

    /// Records installed and removed skills. Returns messages for the user.
    pub fn record(&self, changes: &[PlannedChange], recorder: Recorder) -> Result<Vec<String>, HostError> {
        for event in events(changes) {
            recorder.record(&RecordContext::default(), &event).map_err(|error| match error {
                HostError::Journal(source) => HostError::NotRecorded { source },
                other => other,
            })?;
        }
        Ok(recorder.close())
    }

    /// The record for a skill that was not installed because a check failed.
    pub fn failed_check(error: &StoreError) -> Option<CheckReport> {
        let (name, check) = match error {
            StoreError::NotAsLocked { name, .. } => (name, "lock"),
            StoreError::SignatureOf { name, .. } => (name, "signature"),
            StoreError::Risk { name, .. } => (name, "scan"),
            StoreError::Rollback { name, .. } => (name, "rollback"),
            StoreError::TagMoved { source_name, .. } => (source_name, "tag"),
            _ => return None,
        };
        Some(CheckReport {
            name: name.chars().take(200).collect(),
            check: check.to_owned(),
            tree_digest: None,
            code: Some(error.code().to_owned()),
            detail: Some(error.to_string().chars().take(1000).collect()),
        })
    }

    /// The records for installed skills that have changed since.
    pub fn failed_verifications(verified: &[VerifiedSkill]) -> Vec<CheckReport> {
        let failed = verified.iter().filter(|skill| !skill.differences.is_empty()).map(|skill| CheckReport {
            name: skill.name.clone(),
            check: "verify".to_owned(),
            tree_digest: skill.digest,
            code: Some("skill-not-as-installed".to_owned()),
            detail: Some(skill.differences.join("; ").chars().take(1000).collect()),
        });
        failed.collect()
    }

    /// Records failed checks. Returns messages for the user.
    pub fn record_failed(&self, findings: Vec<CheckReport>) -> Result<Vec<String>, HostError> {
        if findings.is_empty() {
            return Ok(Vec::new());
        }
        let recorder = self.metier.recorder()?;
        for finding in findings {
            recorder.record(&RecordContext::default(), &Event::CheckFailed(Box::new(finding)))?;
        }
        Ok(recorder.close())
    }

    /// Removes what neither an installed skill nor a record refers to. With `dry_run`, it only reports that. The notes name
    /// archives of the journal that were not found.
    pub fn collect_garbage(&self, dry_run: bool) -> Result<(SweepReport, Vec<String>), HostError> {
        let (kept, missing) = self.referred_digests()?;
        let note = |archive: &PathBuf| {
            format!(
                "the archive {} was not found; skills that only its records mention are not kept",
                archive.display()
            )
        };
        let swept = self.sweep(&kept, SystemClock::time(), dry_run, PATIENCE)?;
        Ok((swept, missing.iter().map(note).collect()))
    }

    /// Every digest that the journal and its archives mention: what is needed to replay them. The second list has archives
    /// that are not where they were written.
    fn referred_digests(&self) -> Result<(HashSet<Digest>, Vec<PathBuf>), HostError> {
        let (mut digests, mut missing, mut seen) = (HashSet::new(), Vec::new(), HashSet::new());
        let mut open = vec![self.metier.journal_address()?];
        while let Some(address) = open.pop() {
            let mut reader = match JournalReader::open(&address) {
                Ok(reader) => reader,
                Err(JournalError::NotFound { .. }) => {
                    missing.extend(address.as_file().filter(|_| !seen.is_empty()).map(Path::to_path_buf));
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            seen.insert(address.key());
            reader.each(|row, _| {
                let text = row.event;
                for (at, _) in text.match_indices("sha256:") {
                    digests.extend(text.get(at..at + 71).and_then(|digest| digest.parse::<Digest>().ok()));
                }
                ControlFlow::Continue(())
            })?;
            let archives = reader.archives()?.into_iter().map(|one| JournalAddress::file(one.path));
            open.extend(archives.filter(|one| !seen.contains(&one.key())));
        }
        Ok((digests, missing))
    }
}

/// What is recorded of changes: an event for each source, and one for what was removed.
fn events(changes: &[PlannedChange]) -> Vec<Event> {
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
            Event::SkillsInstalled { skills, source, accepted, prompt: None }
        })
        .collect();
    if !removed.is_empty() {
        events.push(Event::SkillsChanged { added: Vec::new(), changed: Vec::new(), removed });
    }
    events
}
