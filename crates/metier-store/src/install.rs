//! Installing, updating and removing: what would change, and then all of it in one step.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use metier_scan::ScanVerdict;
use metier_skill::{Profile, Tier};

use crate::candidate::{Candidate, candidates};
use crate::change::{ChangeKind, PlannedChange};
use crate::generation::InstalledSkills;
use crate::lock::{LockedSkill, Lockfile};
use crate::provenance::Provenance;
use crate::source::{FetchContext, GIT_HOST, GitSource, SkillSource, parse_source};
use crate::staging::Staging;
use crate::store::Store;
use crate::{StoreError, TrustFile};

/// Which skills of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillSelection {
    /// The only one there is.
    Only,
    /// All.
    All,
    /// Those of these names.
    Named(Vec<String>),
    /// Those in these folders of the source.
    At(Vec<String>),
}

impl SkillSelection {
    pub(crate) fn has(&self, name: &str) -> bool {
        match self {
            Self::Only | Self::All => true,
            Self::At(_) => false,
            Self::Named(names) => names.iter().any(|wanted| wanted == name),
        }
    }
}

/// How skills are installed.
#[derive(Debug, Clone)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is a permission of its own")]
pub struct InstallOptions {
    /// What skills are held to. Without it, what is updated or locked is held to what its lock says, and everything else to `standard`.
    pub profile: Option<Profile>,
    /// How far they are trusted, whoever signed them.
    pub tier: Option<Tier>,
    /// Whose signatures count.
    pub trust: TrustFile,
    /// Whether what the scan would stop is installed all the same.
    pub accept_risk: bool,
    /// Whether one from elsewhere may take the place of an installed skill.
    pub replace: bool,
    /// Whether one may go back to what it was before.
    pub allow_rollback: bool,
    /// Whether a tag may be another commit than before.
    pub allow_moved_tag: bool,
    /// Whether what is to be removed need not be there.
    pub missing_ok: bool,
    /// What somebody has seen and agreed to: nothing else is installed. Anything, where nobody was asked.
    pub agreed: Option<Vec<LockedSkill>>,
    /// Whether only to say what would change.
    pub dry_run: bool,
    /// What time it is.
    pub time: String,
    /// Who installs.
    pub who: Option<String>,
    /// How long to wait for another process.
    pub patience: Duration,
}

impl InstallOptions {
    /// The usual, at this time.
    pub fn new(time: impl Into<String>) -> Self {
        Self {
            profile: None,
            tier: None,
            trust: TrustFile::default(),
            accept_risk: false,
            replace: false,
            allow_rollback: false,
            allow_moved_tag: false,
            missing_ok: false,
            agreed: None,
            dry_run: false,
            time: time.into(),
            who: None,
            patience: Duration::from_secs(30),
        }
    }
}

/// What is asked for.
#[derive(Debug)]
pub struct InstallRequest {
    /// Where from.
    pub source: Box<dyn SkillSource>,
    /// Which skills of it.
    pub wanted: SkillSelection,
}

/// What was or would be done.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Installation {
    /// What becomes of each skill, by name.
    pub changes: Vec<PlannedChange>,
    /// What a person should know.
    pub notes: Vec<String>,
}

/// Decides whether something that would change may; what it says instead stops everything.
type Check<'c> = dyn Fn(&PlannedChange, &InstalledSkills) -> Result<(), StoreError> + 'c;

impl Store {
    /// Installs skills from sources: all that is asked for, or nothing.
    pub fn install(
        &self,
        requests: &[InstallRequest],
        options: &InstallOptions,
        fetching: &FetchContext<'_>,
    ) -> Result<Installation, StoreError> {
        let staging = self.staging(options)?;
        let mut all = Vec::new();
        for request in requests {
            let profile = options.profile.unwrap_or_default();
            all.extend(fetch(&staging, &*request.source, &request.wanted, profile, options, fetching)?);
        }
        let check = |change: &PlannedChange, _: &InstalledSkills| match (&change.kind, &change.before) {
            (ChangeKind::Changed, Some(before)) if !options.replace => {
                Err(StoreError::Occupied { name: change.name.clone(), origin: before.origin() })
            }
            (ChangeKind::Changed, Some(before)) if !options.allow_moved_tag => moved_tag(change, before),
            _ => Ok(()),
        };
        self.apply(&staging, all, options, &check, fetching)
    }

    /// Installs exactly what a lock says, or nothing.
    pub fn install_locked(
        &self,
        lock: &Lockfile,
        working: &Path,
        options: &InstallOptions,
        fetching: &FetchContext<'_>,
    ) -> Result<Installation, StoreError> {
        let staging = self.staging(options)?;
        let mut all = Vec::new();
        let skills: Vec<&LockedSkill> = lock.skills().iter().collect();
        for (source, wanted, skills) in together(&skills, working, options.profile, |skill| {
            GitSource::locked(skill).letting_tags_move(options.allow_moved_tag)
        })? {
            let profile = options.profile.unwrap_or(skills[0].profile);
            let mut found = fetch(&staging, &*source, &wanted, profile, options, fetching)?;
            for (candidate, skill) in found.iter_mut().zip(&skills) {
                as_locked(candidate, skill)?;
                // How far it is trusted is not for whoever wrote the lock to say.
                let tier = candidate.locked.tier;
                if skill.tier < tier {
                    candidate.notes.push(format!(
                        "the lock says `{}` of `{}`; it is installed as {tier}",
                        skill.tier, skill.name
                    ));
                }
            }
            all.extend(found);
        }
        self.apply(&staging, all, options, &|_, _| Ok(()), fetching)
    }

    /// Brings installed skills up to date with where they came from: all of those named, or of all that are.
    pub fn update(
        &self,
        names: &[String],
        working: &Path,
        options: &InstallOptions,
        fetching: &FetchContext<'_>,
    ) -> Result<Installation, StoreError> {
        let installed = self.installed()?;
        let staging = self.staging(options)?;
        let mut all = Vec::new();
        let named = installed.named(names)?;
        for (source, wanted, skills) in together(&named, working, options.profile, |skill| {
            GitSource::following(skill).letting_tags_move(options.allow_moved_tag)
        })? {
            let profile = options.profile.unwrap_or(skills[0].profile);
            let mut found = fetch(&staging, &*source, &wanted, profile, options, fetching)?;
            for (candidate, skill) in found.iter_mut().zip(&skills) {
                if candidate.locked.name != skill.name {
                    return Err(StoreError::NotAsLocked {
                        name: skill.name.clone(),
                        difference: format!("where it came from there is `{}` now", candidate.locked.name),
                    });
                }
                let is_asked = |known: &&Provenance| known.tier_from == "asked" && options.tier.is_none();
                if let Some(known) = installed.provenance(&skill.name).filter(is_asked) {
                    candidate.trust(known.tier);
                }
                candidate.locked.reference =
                    skill.reference.clone().or_else(|| candidate.locked.reference.take());
            }
            all.extend(found);
        }
        let snapshot = installed.clone();
        let check = |change: &PlannedChange, installed: &InstalledSkills| {
            let (name, now) = (change.name.clone(), installed.get(&change.name));
            if now.is_none() {
                return Err(installed.not_installed(&name));
            }
            if now != snapshot.get(&name) {
                let difference = "somebody else changed it meanwhile; try again".to_owned();
                return Err(StoreError::NotAsLocked { name, difference });
            }
            Ok(())
        };
        self.apply(&staging, all, options, &check, fetching)
    }

    /// Removes installed skills: all that are named, or none.
    pub fn remove(&self, names: &[String], options: &InstallOptions) -> Result<Installation, StoreError> {
        let changes = |installed: &InstalledSkills| -> Result<Vec<PlannedChange>, StoreError> {
            let is_there = |name: &&String| !options.missing_ok || installed.get(name).is_some();
            let there: Vec<String> = names.iter().filter(is_there).cloned().collect();
            if there.is_empty() {
                return Ok(Vec::new());
            }
            Ok(installed.named(&there)?.into_iter().map(PlannedChange::removed).collect())
        };
        let is_gone = |name: &str| names.iter().any(|gone| gone == name);
        if options.dry_run {
            let installed = self.installed()?;
            let notes = installed.without(is_gone).lock().unmet();
            return Ok(Installation { changes: changes(&installed)?, notes });
        }
        let staging = Staging::new(self)?;
        let held = self.hold(options.patience)?;
        let installed = self.installed()?;
        let changes = changes(&installed)?;
        if !changes.is_empty() {
            self.switch(&held, &staging, &installed.without(is_gone), &[])?;
        }
        Ok(Installation { changes, notes: installed.without(is_gone).lock().unmet() })
    }

    fn staging(&self, options: &InstallOptions) -> Result<Staging<'_>, StoreError> {
        if options.dry_run { Staging::elsewhere(self) } else { Staging::new(self) }
    }

    /// Makes candidates what is installed, if every one of them may be.
    fn apply(
        &self,
        staging: &Staging<'_>,
        candidates: Vec<Candidate>,
        options: &InstallOptions,
        check: &Check<'_>,
        fetching: &FetchContext<'_>,
    ) -> Result<Installation, StoreError> {
        unique(&candidates)?;
        let plan = |state: &Option<(PathBuf, InstalledSkills)>| -> Result<Vec<PlannedChange>, StoreError> {
            let none = (PathBuf::new(), InstalledSkills::default());
            let (generation, installed) = state.as_ref().unwrap_or(&none);
            let change = |candidate: &Candidate| {
                let mut change = PlannedChange::new(installed.get(&candidate.locked.name), candidate);
                if !options.replace && change.is_same_bytes() {
                    change.kind = ChangeKind::Unchanged;
                }
                let is_held_otherwise = |before: &LockedSkill| before.profile != candidate.locked.profile;
                if options.profile.is_some() && change.before.as_ref().is_some_and(is_held_otherwise) {
                    change.kind = ChangeKind::Changed;
                }
                let is_changed = |before: &LockedSkill| !self.verified(before, generation).is_fine();
                if change.kind == ChangeKind::Unchanged && change.before.as_ref().is_some_and(is_changed) {
                    change.kind = ChangeKind::Repaired;
                }
                check(&change, installed)?;
                let is_other = |agreed: &Vec<LockedSkill>| !agreed.contains(&candidate.locked);
                if options.agreed.as_ref().is_some_and(is_other) {
                    return Err(StoreError::NotAsShown { name: change.name });
                }
                may(&change, candidate, installed, options)?;
                Ok(change)
            };
            candidates.iter().map(change).collect()
        };
        let mut notes: Vec<String> =
            candidates.iter().flat_map(|candidate| candidate.notes.clone()).collect();
        let offered: Vec<String> = candidates.iter().map(|candidate| candidate.locked.origin()).collect();
        let next = candidates.iter().map(|candidate| candidate.locked.clone()).collect();
        notes.extend(self.installed()?.lock().with(next).unmet());
        if options.dry_run {
            let changes = plan(&self.installed_at()?)?;
            notes.extend(kept(&changes, &offered));
            return Ok(Installation { changes, notes });
        }
        // What may not be is known before anybody is waited for.
        plan(&self.installed_at()?)?;
        (fetching.progress)("installing");
        let held = self.hold(options.patience)?;
        let state = self.installed_at()?;
        let changes = plan(&state)?;
        if changes.iter().any(|change| change.kind != ChangeKind::Unchanged) {
            let (mut skills, mut staged) = (Vec::new(), Vec::new());
            let is_new = |(_, change): &(Candidate, &PlannedChange)| change.kind != ChangeKind::Unchanged;
            for (candidate, change) in candidates.into_iter().zip(&changes).filter(is_new) {
                staged.push((candidate.locked.name.clone(), candidate.staged));
                // What is put right is known already, and what was accepted stays accepted.
                if change.kind != ChangeKind::Repaired {
                    skills.push((candidate.locked, candidate.provenance));
                }
            }
            let installed = state.map(|(_, installed)| installed).unwrap_or_default();
            self.switch(&held, staging, &installed.with(skills), &staged)?;
        }
        notes.extend(kept(&changes, &offered));
        Ok(Installation { changes, notes })
    }
}

/// What stays as it was installed although it was offered from elsewhere: a line each.
fn kept(changes: &[PlannedChange], offered: &[String]) -> Vec<String> {
    let kept = changes.iter().zip(offered).filter(|(change, _)| change.kind == ChangeKind::Unchanged);
    let line = |(change, offered): (&PlannedChange, &String)| {
        let origin = change.before.as_ref()?.origin();
        let name = &change.name;
        (origin != *offered).then(|| {
            format!(
                "`{name}` is installed from {origin}, which stays its source; {offered} has the same content. To follow that \
                 instead: `metier install --replace {offered}`"
            )
        })
    };
    kept.filter_map(line).collect()
}

/// A source, what is wanted of it, and the skills that this is about.
type Group<'l> = (Box<dyn SkillSource>, SkillSelection, Vec<&'l LockedSkill>);

/// Skills by where they came from and what they are held to, so that each source is fetched once; in the order in which they will be found.
fn together<'l>(
    skills: &[&'l LockedSkill],
    working: &Path,
    profile: Option<Profile>,
    git: impl Fn(&LockedSkill) -> GitSource,
) -> Result<Vec<Group<'l>>, StoreError> {
    let mut groups: Vec<Vec<&LockedSkill>> = Vec::new();
    let key = |skill: &LockedSkill| {
        let profile = profile.unwrap_or(skill.profile);
        (skill.source.clone(), skill.reference.clone(), skill.commit.clone(), profile)
    };
    for skill in skills {
        // One that is the whole source is fetched by itself.
        let found = groups
            .iter_mut()
            .find(|group| skill.path.is_some() && group[0].path.is_some() && key(group[0]) == key(skill));
        match found {
            Some(group) => group.push(skill),
            None => groups.push(vec![skill]),
        }
    }
    let source = |group: Vec<&'l LockedSkill>| {
        let first = group[0];
        let gone = |error: StoreError| match error {
            StoreError::Source { text, problem } => {
                let problem = format!("{problem}, and `{}` came from there", first.name);
                StoreError::Source { text, problem }
            }
            error => error,
        };
        let source: Box<dyn SkillSource> = match &first.commit {
            Some(_) => Box::new(git(first)),
            None => parse_source(&first.source, working, GIT_HOST).map_err(gone)?,
        };
        let paths: Vec<String> = group.iter().filter_map(|skill| skill.path.clone()).collect();
        let is_whole = paths.is_empty();
        Ok((source, if is_whole { SkillSelection::Only } else { SkillSelection::At(paths) }, group))
    };
    groups.into_iter().map(source).collect()
}

fn fetch(
    staging: &Staging<'_>,
    source: &dyn SkillSource,
    wanted: &SkillSelection,
    profile: Profile,
    options: &InstallOptions,
    fetching: &FetchContext<'_>,
) -> Result<Vec<Candidate>, StoreError> {
    // The rules are ready when the files are.
    rayon::spawn(metier_scan::prepare);
    let basket = staging.basket()?;
    let fetched = source.fetch(wanted, &basket, fetching)?;
    (fetching.progress)("checking");
    basket.write_back(|| candidates(source, &fetched, &basket, wanted, profile, options))
}

/// What a lock says must be what is there.
fn as_locked(candidate: &Candidate, skill: &LockedSkill) -> Result<(), StoreError> {
    let change = PlannedChange::new(Some(skill), candidate);
    if candidate.locked.digest == skill.digest && candidate.locked.name == skill.name {
        let (Some(signer), key) = (&skill.signer, &candidate.key) else { return Ok(()) };
        if key.as_ref() == Some(signer) {
            return Ok(());
        }
        let key = key.as_deref().unwrap_or("nobody");
        let difference = format!("it is signed by {key}, and was by {signer}");
        return Err(StoreError::NotAsLocked { name: skill.name.clone(), difference });
    }
    Err(StoreError::NotAsLocked { name: skill.name.clone(), difference: change.difference() })
}

/// A tag is the commit that it was.
fn moved_tag(change: &PlannedChange, before: &LockedSkill) -> Result<(), StoreError> {
    let tag = |skill: &LockedSkill| Some(skill.reference.as_deref()?.strip_prefix("refs/tags/")?.to_owned());
    match (&change.after, tag(before), &before.commit) {
        (Some(after), Some(name), Some(was))
            if after.source == before.source && tag(after).as_ref() == Some(&name) =>
        {
            match &after.commit {
                Some(now) if now != was => Err(StoreError::TagMoved {
                    source_name: after.source.clone(),
                    tag: name,
                    was: was.clone(),
                    now: now.clone(),
                }),
                _ => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

/// No two of them may have one name.
fn unique(candidates: &[Candidate]) -> Result<(), StoreError> {
    let mut seen: HashMap<&str, &Candidate> = HashMap::new();
    for candidate in candidates {
        let name = &candidate.locked.name;
        if let Some(other) = seen.insert(name, candidate) {
            let (first, second) = (other.locked.origin(), candidate.locked.origin());
            return Err(StoreError::Twice { name: name.clone(), first, second });
        }
    }
    Ok(())
}

/// Whether the scan and the past allow it.
fn may(
    change: &PlannedChange,
    candidate: &Candidate,
    installed: &InstalledSkills,
    options: &InstallOptions,
) -> Result<(), StoreError> {
    if matches!(change.kind, ChangeKind::Unchanged | ChangeKind::Repaired) {
        return Ok(());
    }
    let name = change.name.clone();
    if candidate.report.verdict() == ScanVerdict::Block && !options.accept_risk {
        let worst = candidate.report.because();
        let first = candidate.report.findings.iter().find(|finding| worst.contains(&finding.rule));
        let place = first
            .map_or_else(String::new, |found| format!(" ({}:{}: {})", found.file, found.line, found.message));
        return Err(StoreError::Risk { name, findings: format!("{}{place}", worst.join(", ")) });
    }
    if options.allow_rollback
        || change.before.as_ref().is_some_and(|before| before.digest == candidate.locked.digest)
    {
        return Ok(());
    }
    let known = installed.provenance(&change.name);
    if known.is_some_and(|known| known.history.contains(&candidate.locked.digest)) {
        return Err(StoreError::Rollback {
            name,
            what: format!("{}, which it was before", candidate.locked.digest),
        });
    }
    match (
        change.before.as_ref().and_then(|before| before.version.as_deref()),
        candidate.locked.version.as_deref(),
    ) {
        (Some(before), Some(after)) if is_older(after, before) => {
            Err(StoreError::Rollback { name, what: format!("version {after}, from {before}") })
        }
        _ => Ok(()),
    }
}

/// Whether a version is before another; what are no versions say nothing.
fn is_older(version: &str, than: &str) -> bool {
    let read = metier_catalog::read_version;
    read(version).zip(read(than)).is_some_and(|(version, than)| version < than)
}
