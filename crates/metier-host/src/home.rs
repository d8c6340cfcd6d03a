//! Skills mounted into directories and linked for agents.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use metier_catalog::{Entry, Problem, ProblemCode, SkillPlace, State};
use metier_home::{Agent, LinkedSkill, MountedSkill, link_skill, unlink_skill};
use metier_journal::{Event, RecordContext, Trigger};
use metier_policy::Approver;
use metier_prompt::{MountSource, SkillMount};
use metier_skill::{Severity, SkillName, Tier, is_skill_directory};

use crate::catalog::HostCatalog;
use crate::error::HostError;
use crate::host::Metier;
use crate::settings::StateSetting;

impl Metier {
    /// The agents whose programs are in `PATH`.
    pub fn agents(&self) -> Vec<Agent> {
        let is_there = |agent: &Agent| self.environment().program(Path::new(agent.program())).is_some();
        Agent::ALL.into_iter().filter(is_there).collect()
    }

    /// Records which skills were mounted where. Returns messages for the user.
    pub fn record_mounted(&self, mounted: &[MountedSkill], place: &str) -> Result<Vec<String>, HostError> {
        if mounted.is_empty() {
            return Ok(Vec::new());
        }
        let recorder = self.recorder()?;
        let skills = mounted.iter().map(|skill| (skill.name.clone(), skill.tree_digest)).collect();
        recorder
            .record(&RecordContext::default(), &Event::SkillsMounted { skills, place: place.to_owned() })?;
        Ok(recorder.close())
    }
}

/// The result of [`HostCatalog::link`] and [`HostCatalog::unlink`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LinkChange {
    /// The agent's directory for skills, in the user's home.
    pub directory: PathBuf,
    /// Each link, and whether it was created or removed.
    pub links: Vec<LinkedSkill>,
    /// Messages for the user.
    pub notes: Vec<String>,
}

/// The name and the directory of a skill on the disk. A skill can also be named by its file.
fn linkable(mount: &SkillMount) -> Option<(String, &Path)> {
    let MountSource::Path(path) = mount.source() else { return None };
    let is_file = path.file_name().is_some_and(|file| file.eq_ignore_ascii_case("SKILL.md"));
    let path = if is_file { path.parent().unwrap_or(path) } else { path };
    Some((mount.effective_name().unwrap_or_default(), path))
}

/// The skill of a link of this name, if it no longer exists.
fn broken_link(directory: &Path, name: &str) -> Option<SkillMount> {
    let link = directory.join(SkillName::new(name).ok()?.as_str());
    let target = fs::read_link(&link).ok()?;
    (!link.exists()).then(|| SkillMount::new(target).named(name))
}

/// A skill that is to be mounted.
struct Candidate {
    mount: SkillMount,
    /// Its name, and its id in the catalog. A path that is not in the catalog has neither: a person who names it means it.
    known: Option<(String, String)>,
}

/// What happens with a skill that may not be used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WhenRefused {
    /// Nothing is mounted.
    Fail,
    /// The others are mounted, with a note.
    LeaveOut,
}

/// Choosing the skills to mount. Each is given as `SKILL` or `SKILL=NAME`, where `SKILL` is a directory, a file or a name; an
/// empty list means all skills of the roots.
impl HostCatalog {
    /// The skills that may be mounted: they are unchanged since they were installed, and policy and answers allow loading them.
    /// An agent reads mounted files by itself, so this is checked here. `tell` gets messages for the user.
    pub fn mounts(
        &self,
        named: &[String],
        approver: impl Approver + Send + 'static,
        tell: &mut dyn FnMut(String),
    ) -> Result<Vec<SkillMount>, HostError> {
        if named.is_empty() {
            return self.all_mounts(approver, tell);
        }
        let candidates: Vec<Candidate> =
            named.iter().map(|text| self.named(text)).collect::<Result<_, _>>()?;
        self.checked(candidates, WhenRefused::Fail, approver, tell)
    }

    /// The same without checking whether they may be used: for removing links. Links of the agent whose skill was removed are
    /// found by their name, and without names if they lead into the store.
    pub fn mounts_to_remove(&self, agent: Agent, named: &[String]) -> Result<Vec<SkillMount>, HostError> {
        let directory = self.link_change(agent)?.directory;
        if !named.is_empty() {
            let mount = |text: &String| match broken_link(&directory, text) {
                Some(mount) => Ok(mount),
                None => Ok(self.named(text)?.mount),
            };
            return named.iter().map(mount).collect();
        }
        // A link may lead to any copy of a skill.
        let known = self.all().iter().filter(|entry| entry.builtin().is_none());
        let known = known.flat_map(Entry::places).map(|place: &SkillPlace| SkillMount::new(&place.path));
        let store = self.metier().environment().store_directory();
        let links = fs::read_dir(&directory).into_iter().flatten().flatten();
        let broken = links.filter_map(|link| broken_link(&directory, link.file_name().to_str()?));
        let is_installed = |mount: &SkillMount| match (mount.source(), &store) {
            (MountSource::Path(path), Some(store)) => path.starts_with(store),
            _ => false,
        };
        Ok(known.chain(broken.filter(is_installed)).collect())
    }

    /// Makes skills visible to an agent in the user's own home, by links to where they are. With `is_all`, skills inside metier
    /// are left out with a note: they are only unpacked in the cache, and would be gone with it. A note also names third-party
    /// skills that gain trust: in the user's home, skills count as the user's own. Installed skills keep their tier.
    pub fn link(&self, agent: Agent, mounts: &[SkillMount], is_all: bool) -> Result<LinkChange, HostError> {
        let mut change = self.link_change(agent)?;
        let cache = self.metier().environment().cache_directory().filter(|_| is_all);
        for (name, path) in mounts.iter().filter_map(linkable) {
            if cache.as_ref().is_some_and(|cache| path.starts_with(cache)) {
                change.notes.push(format!("left out: `{name}` is inside metier; `metier mount` copies it"));
            } else {
                change.notes.extend(self.trust_gained(&name, path));
                change.links.push(link_skill(&name, path, &change.directory)?);
            }
        }
        Ok(change)
    }

    fn trust_gained(&self, name: &str, path: &Path) -> Option<String> {
        let entry = self.all().iter().find(|entry| entry.path() == path)?;
        let store = self.metier().environment().store_directory();
        let is_installed = store.is_some_and(|store| path.starts_with(store));
        (entry.tier() == Tier::ThirdParty && !is_installed).then(|| {
            format!(
                "`{name}` is a third-party skill; linked into your home, it has the tier `user` and counts as your own"
            )
        })
    }

    /// Removes such links. Other files are not changed.
    pub fn unlink(&self, agent: Agent, mounts: &[SkillMount]) -> Result<LinkChange, HostError> {
        let mut change = self.link_change(agent)?;
        for (name, path) in mounts.iter().filter_map(linkable) {
            // A link is not what it leads to.
            if !path.starts_with(&change.directory) {
                change.links.push(unlink_skill(&name, path, &change.directory)?);
            }
        }
        Ok(change)
    }

    fn link_change(&self, agent: Agent) -> Result<LinkChange, HostError> {
        let home = self.metier().environment().home.as_ref();
        let home = home.ok_or(HostError::NoHome { purpose: "to link into", variables: "HOME" })?;
        let directory = home.join(agent.skills_directory());
        Ok(LinkChange { directory, links: Vec::new(), notes: Vec::new() })
    }

    /// The number of skills that an agent finds in the user's home.
    pub fn visible_to(&self, agent: Agent) -> usize {
        let home = self.metier().environment().home.as_ref();
        let directory = home.map(|home| home.join(agent.skills_directory()));
        let entries = directory.and_then(|directory| fs::read_dir(directory).ok()).into_iter().flatten();
        entries.flatten().filter(|entry| is_skill_directory(&entry.path())).count()
    }

    /// Whether all roots exist and contain no skill, not even an unusable one.
    pub fn is_without_skills(&self) -> bool {
        self.skills().next().is_none()
            && self.problems().is_empty()
            && self.roots().iter().all(|report| report.exists)
    }

    /// Every skill of the roots; what cannot be used is told.
    fn all_mounts(
        &self,
        approver: impl Approver + Send + 'static,
        tell: &mut dyn FnMut(String),
    ) -> Result<Vec<SkillMount>, HostError> {
        for problem in self.problems().iter().filter(|problem| !problem.code.leaves_usable()) {
            let (path, message) = (problem.path.display(), &problem.message);
            tell(format!("left out: {path}: {message}; `metier validate {path}` says more"));
        }
        let refused = self.refused_by_mounting();
        for Problem { path, message, .. } in refused.values() {
            let path = path.display();
            tell(format!(
                "left out: {path}: {message}; `--lenient` includes it, `metier validate --fix {path}` fixes what it can"
            ));
        }
        let hidden = self.all().iter().filter(|entry| entry.shadowed_by.is_none());
        for entry in hidden.filter(|entry| !entry.state.is_for_models()) {
            let rule = self.metier().settings().rule_of(entry);
            let by = rule.map_or_else(|| "its SKILL.md".to_owned(), StateSetting::place);
            tell(format!("left out: `{}` is {}, set by {by}", entry.name(), entry.state));
        }
        let all =
            self.for_models().map(|skill| skill.entry).filter(|entry| !refused.contains_key(entry.path()));
        let all = all.map(|entry| self.candidate(entry)).collect::<Result<Vec<_>, _>>()?;
        let mounts = self.checked(all, WhenRefused::LeaveOut, approver, tell)?;
        if mounts.is_empty() { Err(HostError::NoSkills) } else { Ok(mounts) }
    }

    /// Skills of the catalog that are not handed to agents, by their paths: mounting keeps the standard profile.
    fn refused_by_mounting(&self) -> BTreeMap<&Path, &Problem> {
        let is_refused = |problem: &&Problem| match problem.code {
            ProblemCode::Skill(code) => {
                code.severity(self.metier().settings().mount_profile()) == Some(Severity::Error)
            }
            _ => false,
        };
        self.warnings().iter().filter(is_refused).map(|problem| (&*problem.path, problem)).collect()
    }

    fn checked(
        &self,
        candidates: Vec<Candidate>,
        when: WhenRefused,
        approver: impl Approver + Send + 'static,
        tell: &mut dyn FnMut(String),
    ) -> Result<Vec<SkillMount>, HostError> {
        if candidates.iter().all(|one| one.known.is_none()) {
            return Ok(candidates.into_iter().map(|one| one.mount).collect());
        }
        let builder = self.metier().session().catalog(self.catalog()).approver(approver);
        let mut session = builder.actor("user").trigger(Trigger::User).open()?;
        let (mut mounts, mut failed) = (Vec::new(), None);
        for Candidate { mount, known } in candidates {
            let Some((name, id)) = known else {
                mounts.push(mount);
                continue;
            };
            match session.check_mount(&id) {
                // What is copied later is compared with what was checked.
                Ok(digest) => mounts.push(mount.expecting(digest)),
                Err(error) if when == WhenRefused::LeaveOut => tell(format!("left out: `{name}`: {error}")),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        session.close()?.into_iter().for_each(tell);
        failed.map_or(Ok(mounts), |error| Err(error.into()))
    }

    fn candidate(&self, entry: &Entry) -> Result<Candidate, HostError> {
        let known = Some((entry.name().to_owned(), entry.id.to_string()));
        Ok(Candidate { mount: self.mount_of(entry)?, known })
    }

    /// A skill at a path; where the catalog has it, it is checked like one that is named.
    fn at_path(&self, path: PathBuf) -> Candidate {
        let real = path.canonicalize().ok();
        let is_it = |entry: &&Entry| {
            entry.builtin().is_none()
                && entry.shadowed_by.is_none()
                && real.is_some()
                && entry.path().canonicalize().ok() == real
        };
        let entry = self.all().iter().find(is_it);
        Candidate {
            mount: SkillMount::new(path),
            known: entry.map(|entry| (entry.name().to_owned(), entry.id.to_string())),
        }
    }

    /// A skill as a person names it: by its path, or by its name in the catalog.
    fn named(&self, text: &str) -> Result<Candidate, HostError> {
        let environment = self.metier().environment();
        let (what, name) = match text.rsplit_once('=') {
            // A path may have one in it.
            Some((what, name)) if !environment.absolute(Path::new(text)).exists() => (what, Some(name)),
            _ => (text, None),
        };
        let path = environment.absolute(Path::new(what));
        let is_path = what.contains('/') || Path::new(what).extension().is_some_and(|end| end == "md");
        let Candidate { mount, known } = match self.by_name_or_id(what) {
            Some(entry) if !is_path => self.candidate(entry)?,
            _ if is_path || path.exists() => self.at_path(path),
            _ => return Err(self.not_found(what)),
        };
        Ok(Candidate { mount: name.into_iter().fold(mount, SkillMount::named), known })
    }

    fn mount_of(&self, entry: &Entry) -> Result<SkillMount, HostError> {
        if entry.state == State::Off {
            return Err(self.off(entry));
        }
        let Some(builtin) = entry.builtin() else { return Ok(SkillMount::new(entry.path())) };
        let nowhere = || HostError::NoCache { name: entry.name().to_owned() };
        let cache = self.metier().environment().cache_directory().ok_or_else(nowhere)?;
        Ok(SkillMount::new(builtin.unpack(&cache.join("builtin"))?))
    }
}
