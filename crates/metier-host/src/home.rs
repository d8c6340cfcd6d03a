//! Skills mounted into directories.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use metier_catalog::{Entry, Problem, ProblemCode, State};
use metier_home::{Agent, MountedSkill};
use metier_journal::{Event, RecordContext, Trigger};
use metier_policy::Approver;
use metier_prompt::SkillMount;
use metier_skill::Severity;

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

/// A skill that is to be mounted.
pub(crate) struct Candidate {
    pub(crate) mount: SkillMount,
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
    pub(crate) fn named(&self, text: &str) -> Result<Candidate, HostError> {
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
