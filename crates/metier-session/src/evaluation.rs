//! Records of evaluations, and skills that an agent uses by its own means: from a copy that was mounted for it.

use std::path::{Path, PathBuf};

use metier_journal::{EvaluationEnd, EvaluationStart, Event, PromptSkills, Trigger};
use metier_prompt::Allowance;
use metier_skill::{Digest, Folder, SKILL_FILES, Tier, body_of, tokens};

use crate::active_skill::ActiveSkill;
use crate::error::SessionError;
use crate::session::{Session, shortened};
use crate::source::{KeepError, Source};

/// A skill in an agent's home or workspace, as it was mounted there.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgentSkill {
    /// Its name, as it is mounted.
    pub name: String,
    /// The directory of the copy.
    pub directory: PathBuf,
    /// The digest of the copy.
    pub tree_digest: Digest,
    /// Its tier, if the catalog of the session does not say.
    pub tier: Tier,
}

impl AgentSkill {
    /// A skill that was mounted there, with the digest of what was mounted.
    pub fn new(name: impl Into<String>, directory: impl Into<PathBuf>, tree_digest: Digest) -> Self {
        // A skill that is written in a prompt comes from the program, like the person's own.
        Self { name: name.into(), directory: directory.into(), tree_digest, tier: Tier::User }
    }

    /// The same with the tier of a skill that is not in the session's catalog.
    #[must_use]
    pub const fn of_tier(mut self, tier: Tier) -> Self {
        self.tier = tier;
        self
    }
}

impl Session {
    /// A new id from the session's clock, for something that the host records under it.
    pub fn new_id(&self) -> String {
        self.options.clock.id().to_string()
    }

    /// What may still be used of the budget.
    pub fn allowance(&self) -> Allowance {
        let now = self.options.clock.now();
        let used = self.usage();
        self.options.budget.map(|budget| budget.allowance(used, now)).unwrap_or_default()
    }

    /// Records that a prompt is given to an agent. Without a record, it must not be.
    pub fn evaluation_started(&mut self, start: EvaluationStart) -> Result<(), SessionError> {
        self.record(&Event::EvaluationStarted(Box::new(start)))
    }

    /// Records that an agent answered a prompt, or failed to.
    pub fn evaluation_ended(&mut self, end: EvaluationEnd) -> Result<(), SessionError> {
        self.record(&Event::EvaluationEnded(Box::new(end)))
    }

    /// Records which skills a prompt brought into an agent's home, with the digests of the copies.
    pub fn prompt_skills_installed(
        &mut self,
        skills: &[AgentSkill],
        prompt: PromptSkills,
    ) -> Result<(), SessionError> {
        let source = format!("prompt {}/{}", prompt.prompt_ns, prompt.prompt_key);
        let skills = skills.iter().map(|skill| (skill.name.clone(), skill.tree_digest)).collect();
        self.record(&Event::SkillsInstalled {
            skills,
            source,
            accepted: Vec::new(),
            prompt: Some(Box::new(prompt)),
        })
    }

    /// Records that skills were copied into a directory of the running agent.
    pub fn skills_mounted(&mut self, skills: &[AgentSkill], directory: &Path) -> Result<(), SessionError> {
        let skills = skills.iter().map(|skill| (skill.name.clone(), skill.tree_digest)).collect();
        self.record(&Event::SkillsMounted { skills, place: shortened_path(directory) })
    }

    /// Records that an agent loaded a mounted skill by its own means, and applies the skill's tool rules from now on.
    /// Returns whether the skill was not active yet.
    ///
    /// The copy is read again and must be what was mounted: a copy that has changed is an error.
    pub fn activated_by_agent(&mut self, skill: &AgentSkill, path: &Path) -> Result<bool, SessionError> {
        self.activated_by_agent_as(skill, path, Trigger::Model)
    }

    /// [`Session::activated_by_agent`], recorded as activated by this trigger.
    pub fn activated_by_agent_as(
        &mut self,
        skill: &AgentSkill,
        path: &Path,
        trigger: Trigger,
    ) -> Result<bool, SessionError> {
        let start = self.options.clock.now();
        let Some(held) = self.not_held(skill)? else { return Ok(false) };
        let cost = tokens(body_of(&held.text()).len()) as u64;
        self.record(&Event::SkillActivated {
            skill_id: held.id.clone(),
            name: held.name.clone(),
            tier: held.tier,
            skill_md_digest: held.skill_md_digest,
            tree_digest: held.tree_digest,
            trigger,
            tokens: cost,
            duration_us: self.since(start),
            path: Some(shortened_path(path)),
        })?;
        self.held.insert(held.id.clone(), held);
        self.guard = None;
        Ok(true)
    }

    /// A skill that another process has activated in this session, and recorded: its tool rules apply here as well from now on.
    /// Returns whether it was not active here yet.
    pub fn activated_elsewhere(&mut self, skill: &AgentSkill) -> Result<bool, SessionError> {
        let Some(held) = self.not_held(skill)? else { return Ok(false) };
        self.held.insert(held.id.clone(), held);
        self.guard = None;
        Ok(true)
    }

    /// The copy of a skill, unless it is active as it is.
    fn not_held(&self, skill: &AgentSkill) -> Result<Option<ActiveSkill>, SessionError> {
        let entry = self.catalog.by_name(&skill.name);
        let id = entry.map_or_else(|| mounted_id(&skill.name), |entry| entry.id.to_string());
        let tier = entry.map_or(skill.tier, metier_catalog::Entry::tier);
        let is_same = |held: &ActiveSkill| held.is_active && held.tree_digest == skill.tree_digest;
        if self.held.get(&id).is_some_and(is_same) {
            return Ok(None);
        }
        self.read_mounted(skill, id, tier).map(Some)
    }

    /// Records that an agent could not load a mounted skill.
    pub fn not_activated_by_agent(&mut self, name: &str, code: &str) -> Result<(), SessionError> {
        let (name, code) = (shortened(name), code.to_owned());
        self.record(&Event::SkillActivationFailed { name, trigger: Trigger::Model, code, rule: None })
    }

    /// The copy as it is now, which is kept so that the session can be replayed.
    fn read_mounted(&self, skill: &AgentSkill, id: String, tier: Tier) -> Result<ActiveSkill, SessionError> {
        let limits = &self.options.rules.limits;
        let source = Source::Folder(Folder::open(&skill.directory)?);
        let captured = source.capture_settled(limits)?;
        if captured.manifest.digest() != skill.tree_digest {
            let (name, path) = (skill.name.clone(), skill.directory.clone());
            return Err(SessionError::CopyChanged { name, path });
        }
        if let Some(store) = &self.options.store {
            source.keep(&captured, limits, store).map_err(|error| match error {
                KeepError::Skill(error) => SessionError::Skill(error),
                KeepError::Store(error) => SessionError::Store(error),
            })?;
        }
        let known = SKILL_FILES.iter().find_map(|name| captured.manifest.get(Path::new(name)));
        let skill_md_digest = known.map_or_else(|| Digest::of(&captured.skill_md), |file| file.digest);
        Ok(ActiveSkill::mounted(id, tier, skill, captured, skill_md_digest, &self.options.rules))
    }
}

/// The id of a mounted skill that is not in the catalog.
pub(crate) fn mounted_id(name: &str) -> String {
    format!("mounted/{name}")
}

/// The maximum length of a recorded path.
const PATH_MAX: usize = 1_000;

fn shortened_path(path: &Path) -> String {
    path.to_string_lossy().chars().take(PATH_MAX).collect()
}
