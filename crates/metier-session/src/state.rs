//! Saving, restoring and forking a session.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use metier_journal::{Event, SkillStats};
use metier_policy::{Approval, Approvals, NoApprover};
use metier_prompt::SessionState;
use metier_skill::{Digest, Manifest, Origin, Rules, SKILL_FILES, Tier, read};
use serde::{Deserialize, Serialize};

use crate::active_skill::ActiveSkill;
use crate::budget::Spent;
use crate::bus::Bus;
use crate::disclose::Calls;
use crate::error::SessionError;
use crate::evaluation::mounted_id;
use crate::session::{Session, SessionOptions};

/// The format version of saved sessions.
const FORMAT: u64 = 1;

/// A saved session.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    format: u64,
    id: String,
    task: Option<String>,
    skills: Vec<SavedSkill>,
    stats: BTreeMap<String, SkillStats>,
    spent: Spent,
    answers: Vec<Approval>,
    /// The state of prompts; missing in sessions that were saved by older versions.
    #[serde(default)]
    prompts: SessionState,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedSkill {
    id: String,
    name: String,
    tier: Tier,
    directory: String,
    /// In base64, like the manifest: neither has to be text.
    skill_md: String,
    skill_md_digest: Digest,
    manifest: String,
    tree_digest: Digest,
    is_active: bool,
    needs: Vec<String>,
}

impl Session {
    /// The session as text, for [`Session::restore`]. It contains the content that was handed out, so it does not
    /// depend on the skills' files.
    pub fn save(&self) -> String {
        let state = State {
            format: FORMAT,
            id: self.id().to_owned(),
            task: self.context.task.clone(),
            skills: self.held.values().map(SavedSkill::of).collect(),
            stats: self.stats.clone(),
            spent: self.spent.clone(),
            answers: self.answers.list().to_vec(),
            prompts: self.state.clone(),
        };
        // Plain data with text keys always serialises to JSON.
        serde_json::to_string(&state).unwrap_or_default()
    }

    /// Restores a saved session. Its skills are accepted only if their digests match; their tool rules are parsed
    /// again.
    pub fn restore(options: SessionOptions, saved: &str) -> Result<Self, SessionError> {
        let wrong = |reason: String| SessionError::State { reason };
        let state: State = serde_json::from_str(saved).map_err(|error| wrong(error.to_string()))?;
        if state.format != FORMAT {
            return Err(wrong(format!(
                "it has format {}, but this version of metier supports format {FORMAT}",
                state.format
            )));
        }
        let rules = options.rules.clone();
        let mut session = Self::new(options, state.id);
        session.context.task = state.task;
        for skill in state.skills {
            let name = skill.name.clone();
            let held = skill
                .into_held(&rules)
                .ok_or_else(|| wrong(format!("the saved data of `{name}` was modified")))?;
            session.held.insert(held.id.clone(), held);
        }
        (session.stats, session.spent) = (state.stats, state.spent);
        session.answers = Approvals::new(state.answers);
        session.state = state.prompts;
        Ok(session)
    }

    /// A second session that starts from the current state of this one and is independent of it. It has no approver and
    /// no handlers yet.
    pub fn fork(&self) -> Result<Self, SessionError> {
        self.fork_with_id(self.options.clock.id().to_string())
    }

    /// [`Session::fork`] with an id that the host chose.
    pub fn fork_with_id(&self, id: impl Into<String>) -> Result<Self, SessionError> {
        let mut fork = Self {
            trigger: self.trigger,
            options: Arc::clone(&self.options),
            catalog: self.catalog.clone(),
            context: metier_journal::RecordContext { session: Some(id.into()), ..self.context.clone() },
            held: self.held.clone(),
            stats: self.stats.clone(),
            spent: self.spent.clone(),
            answers: self.answers.clone(),
            state: self.state.clone(),
            shown: self.shown.clone(),
            calls: Calls::default(),
            warned: self.warned.clone(),
            approver: Box::new(NoApprover),
            bus: Bus::default(),
            guard: None,
        };
        let agent = fork.options.agent.clone();
        fork.record(&Event::SessionStarted { agent })?;
        Ok(fork)
    }
}

impl SavedSkill {
    fn of(held: &ActiveSkill) -> Self {
        Self {
            id: held.id.clone(),
            name: held.name.clone(),
            tier: held.tier,
            directory: held.directory.to_string_lossy().into_owned(),
            skill_md: STANDARD.encode(&held.skill_md),
            skill_md_digest: held.skill_md_digest,
            manifest: STANDARD.encode(held.manifest.to_bytes()),
            tree_digest: held.tree_digest,
            is_active: held.is_active,
            needs: held.needs.clone(),
        }
    }

    /// The skill, if its bytes match its digests, and its id matches its content.
    fn into_held(self, rules: &Rules) -> Option<ActiveSkill> {
        let (skill_md, manifest) =
            (STANDARD.decode(&self.skill_md).ok()?, STANDARD.decode(&self.manifest).ok()?);
        let is_tree = Digest::of(&manifest) == self.tree_digest;
        let manifest = Manifest::parse(&manifest).filter(|_| is_tree)?;
        let file = SKILL_FILES.iter().find_map(|name| manifest.get(Path::new(name)))?;
        let is_file = Digest::of(&skill_md) == self.skill_md_digest && file.digest == self.skill_md_digest;
        let id = format!("{}/{}", self.tier, self.name);
        // A second skill of the same tier and name has a number after its id.
        let is_id = self.id.strip_prefix(&id).is_some_and(|rest| rest.is_empty() || rest.starts_with('~'))
            || self.id == mounted_id(&self.name);
        if !is_file || !is_id {
            return None;
        }
        let skill = read(&*skill_md, Origin::file(SKILL_FILES[0]), rules).skill?;
        Some(ActiveSkill {
            id: self.id,
            name: self.name,
            tier: self.tier,
            directory: PathBuf::from(self.directory),
            skill_md: skill_md.into(),
            skill_md_digest: self.skill_md_digest,
            tree_digest: self.tree_digest,
            manifest,
            is_active: self.is_active,
            needs: self.needs,
            disallowed: skill.disallowed_tools(),
            allowed: skill.allowed_tools,
        })
    }
}
