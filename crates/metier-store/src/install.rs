//! Installs, updates and removes skills: plans every change first, then applies all of them in one step.

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
use crate::source::{FetchContext, GIT_HOST, GitSource, SkillSource, parse_source_of};
use crate::staging::Staging;
use crate::store::Store;
use crate::{StoreError, TrustFile};

/// Selects skills of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillSelection {
    /// The only skill of the source; an error if it has several.
    Only,
    /// All skills.
    All,
    /// The skills with these names.
    Named(Vec<String>),
    /// The skills in these folders of the source.
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

/// Options for installing, updating and removing skills.
#[derive(Debug, Clone)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is a permission of its own")]
pub struct InstallOptions {
    /// The validation profile. Without it, `update` and `install_locked` use the profile in the lock, and everything
    /// else uses `standard`.
    pub profile: Option<Profile>,
    /// The trust tier; it overrides the tier of the signer.
    pub tier: Option<Tier>,
    /// The keys whose signatures are trusted.
    pub trust: TrustFile,
    /// Whether to install skills that the scan blocks.
    pub accept_risk: bool,
    /// Whether a skill may replace an installed one from another source.
    pub replace: bool,
    /// Whether a skill may be replaced by an older version.
    pub allow_rollback: bool,
    /// Whether a tag may point to another commit than before.
    pub allow_moved_tag: bool,
    /// Whether to ignore names that are not installed when removing.
    pub missing_ok: bool,
    /// The skills that the user saw and agreed to; nothing else is installed. `None` if the user was not asked.
    pub agreed: Option<Vec<LockedSkill>>,
    /// Whether to only report what would change.
    pub dry_run: bool,
    /// The current time.
    pub time: String,
    /// The name of the user who installs.
    pub who: Option<String>,
    /// How long to wait for another process.
    pub patience: Duration,
}

impl InstallOptions {
    /// Default options at this time.
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

/// One request to install.
#[derive(Debug)]
pub struct InstallRequest {
    /// The source.
    pub source: Box<dyn SkillSource>,
    /// Which of its skills.
    pub wanted: SkillSelection,
}

/// The result of an operation.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Installation {
    /// The change of each skill, by name.
    pub changes: Vec<PlannedChange>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// Checks a planned change; an error stops the whole operation.
type Check<'c> = dyn Fn(&PlannedChange, &InstalledSkills) -> Result<(), StoreError> + 'c;

impl Store {
    /// Installs skills from sources: all requested skills, or none.
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

    /// Installs exactly the skills in a lock, or none.
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
        for (source, wanted, skills) in together(&skills, working, options.profile, false, |skill| {
            GitSource::locked(skill).letting_tags_move(options.allow_moved_tag)
        })? {
            let profile = options.profile.unwrap_or(skills[0].profile);
            let mut found = fetch(&staging, &*source, &wanted, profile, options, fetching)?;
            for (candidate, skill) in found.iter_mut().zip(&skills) {
                as_locked(candidate, skill)?;
                // The lock cannot raise the trust tier.
                let tier = candidate.locked.tier;
                if skill.tier < tier {
                    candidate.notes.push(format!(
                        "the lockfile gives `{}` the tier `{}`; it is installed with the tier `{tier}`",
                        skill.name, skill.tier
                    ));
                }
            }
            all.extend(found);
        }
        self.apply(&staging, all, options, &|_, _| Ok(()), fetching)
    }

    /// Updates installed skills from their sources: the named ones, or all.
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
        for (source, wanted, skills) in together(&named, working, options.profile, true, |skill| {
            GitSource::following(skill).letting_tags_move(options.allow_moved_tag)
        })? {
            let profile = options.profile.unwrap_or(skills[0].profile);
            let mut found = fetch(&staging, &*source, &wanted, profile, options, fetching)?;
            for (candidate, skill) in found.iter_mut().zip(&skills) {
                if candidate.locked.name != skill.name {
                    return Err(StoreError::NotAsLocked {
                        name: skill.name.clone(),
                        difference: format!("its source now contains `{}` instead", candidate.locked.name),
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
                let difference = "another process changed it in the meantime; try again".to_owned();
                return Err(StoreError::NotAsLocked { name, difference });
            }
            Ok(())
        };
        self.apply(&staging, all, options, &check, fetching)
    }

    /// Removes installed skills: all of the named ones, or none.
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
        if let Some(tier) = options.tier.filter(|tier| *tier < Tier::User) {
            return Err(StoreError::RaisedTier { tier });
        }
        if options.dry_run { Staging::elsewhere(self) } else { Staging::new(self) }
    }

    /// Installs the candidates if all of them are allowed.
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
        // Check before waiting for the lock, to fail early.
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
                // A repaired skill keeps its lock entry and provenance.
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

/// Notes about skills that keep their installed source although the same content came from another one: one line
/// each.
fn kept(changes: &[PlannedChange], offered: &[String]) -> Vec<String> {
    let kept = changes.iter().zip(offered).filter(|(change, _)| change.kind == ChangeKind::Unchanged);
    let line = |(change, offered): (&PlannedChange, &String)| {
        let origin = change.before.as_ref()?.origin();
        let name = &change.name;
        (origin != *offered).then(|| {
            format!(
                "`{name}` is installed from {origin}, which stays its source; {offered} has the same content. To switch to it: \
                 `metier install --replace {offered}`"
            )
        })
    };
    kept.filter_map(line).collect()
}

/// A source, the selected skills in it, and their lock entries.
type Group<'l> = (Box<dyn SkillSource>, SkillSelection, Vec<&'l LockedSkill>);

/// Groups skills by source and profile, so that each source is fetched only once. Keeps the order in which they will
/// be found. What is in the lock of the store itself, the user has typed.
fn together<'l>(
    skills: &[&'l LockedSkill],
    working: &Path,
    profile: Option<Profile>,
    is_own: bool,
    git: impl Fn(&LockedSkill) -> GitSource,
) -> Result<Vec<Group<'l>>, StoreError> {
    let mut groups: Vec<Vec<&LockedSkill>> = Vec::new();
    let key = |skill: &LockedSkill| {
        let profile = profile.unwrap_or(skill.profile);
        (skill.source.clone(), skill.reference.clone(), skill.commit.clone(), profile)
    };
    for skill in skills {
        // A skill that is the whole source is fetched alone.
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
                let problem = format!("{problem}; `{}` was installed from it", first.name);
                StoreError::Source { text, problem }
            }
            error => error,
        };
        let source: Box<dyn SkillSource> = match &first.commit {
            Some(_) => Box::new(git(first)),
            None => parse_source_of(&first.source, working, GIT_HOST, is_own).map_err(gone)?.source,
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
    // Compile the scan rules while files are fetched.
    rayon::spawn(metier_scan::prepare);
    let basket = staging.basket()?;
    let fetched = source.fetch(wanted, &basket, fetching)?;
    (fetching.progress)("checking");
    let mut found = basket.write_back(|| candidates(source, &fetched, &basket, wanted, profile, options))?;
    if let Some(first) = found.first_mut() {
        first.notes.extend(fetched.source_notes);
    }
    Ok(found)
}

/// Checks that a skill matches the lock.
fn as_locked(candidate: &Candidate, skill: &LockedSkill) -> Result<(), StoreError> {
    let change = PlannedChange::new(Some(skill), candidate);
    if candidate.locked.digest == skill.digest && candidate.locked.name == skill.name {
        let (Some(signer), key) = (&skill.signer, &candidate.key) else { return Ok(()) };
        if key.as_ref() == Some(signer) {
            return Ok(());
        }
        let key = key.as_deref().unwrap_or("no key");
        let difference = format!("it is signed by {key} instead of {signer}");
        return Err(StoreError::NotAsLocked { name: skill.name.clone(), difference });
    }
    Err(StoreError::NotAsLocked { name: skill.name.clone(), difference: change.difference() })
}

/// Checks that a tag still points to the same commit.
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

/// Checks that no two skills have the same name.
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

/// Checks the scan's verdict, and that the version does not go back.
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
            what: format!("an earlier version ({})", candidate.locked.digest),
        });
    }
    match (
        change.before.as_ref().and_then(|before| before.version.as_deref()),
        candidate.locked.version.as_deref(),
    ) {
        (Some(before), Some(after)) if is_older(after, before) => {
            Err(StoreError::Rollback { name, what: format!("version {after} from {before}") })
        }
        _ => Ok(()),
    }
}

/// Whether a version is older than another; `false` if either is not a valid version.
fn is_older(version: &str, than: &str) -> bool {
    let read = metier_catalog::read_version;
    read(version).zip(read(than)).is_some_and(|(version, than)| version < than)
}
