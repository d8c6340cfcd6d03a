//! Activates skills: returns a skill's instructions.

use std::sync::Arc;

use metier_catalog::{Entry, compatibility};
use metier_journal::{Event, RecordedAnswer, RunApproval, Trigger};
use metier_policy::{
    Action, Approval, Approvals, Decision, DecisionCode, Lifetime, Request, Settlement, Verdict,
};
use metier_skill::{Coded as _, Digest, Tier, tokens};
use metier_store::Store;
use serde::{Deserialize, Serialize};

use crate::active_skill::{ActiveSkill, Fresh};
use crate::error::SessionError;
use crate::session::{Session, recorded_rule, shortened};
use crate::source::{KeepError, Source};

/// An activated skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Activation {
    /// Its id in the catalog.
    pub skill_id: String,
    /// Its name.
    pub name: String,
    /// Its tier.
    pub tier: Tier,
    /// The digest of the `SKILL.md` that the body is from.
    pub skill_md_digest: Digest,
    /// The digest of the whole skill.
    pub tree_digest: Digest,
    /// Whether it was already active with exactly the same content.
    pub already_active: bool,
    /// Whether `SKILL.md` has changed since the catalog was built.
    pub changed_since_scan: bool,
    /// Other skills that it needs.
    pub needs: Vec<String>,
    /// Warnings: missing requirements of this machine, rules that never match.
    pub notes: Vec<String>,
    /// The size of the content, in tokens.
    pub tokens: u64,
    /// The text for the model: the body in `<skill_content>`, or a short note if the model already has it.
    pub content: String,
}

impl Activation {
    /// Its record.
    fn event(&self, trigger: Trigger, duration_us: u64) -> Event {
        Event::SkillActivated {
            skill_id: self.skill_id.clone(),
            name: self.name.clone(),
            tier: self.tier,
            skill_md_digest: self.skill_md_digest,
            tree_digest: self.tree_digest,
            trigger,
            tokens: self.tokens,
            duration_us,
            path: None,
        }
    }
}

impl Session {
    /// Activates a skill: returns its instructions as they are on disk now. If the skill is already active and unchanged,
    /// the content is a short note instead.
    ///
    /// It is recorded as activated by [`SessionOptions::trigger`](crate::SessionOptions).
    pub fn activate(&mut self, name: &str) -> Result<Activation, SessionError> {
        self.activate_as(name, self.trigger)
    }

    /// [`Session::activate`], recorded as activated by this trigger.
    pub fn activate_as(&mut self, name: &str, trigger: Trigger) -> Result<Activation, SessionError> {
        self.activate_or_say_why_not(name, trigger, false)
    }

    /// Activates a skill and returns its instructions also if it is already active and unchanged.
    pub fn reload(&mut self, name: &str) -> Result<Activation, SessionError> {
        self.reload_as(name, self.trigger)
    }

    /// [`Session::reload`], recorded as activated by this trigger.
    pub fn reload_as(&mut self, name: &str, trigger: Trigger) -> Result<Activation, SessionError> {
        self.activate_or_say_why_not(name, trigger, true)
    }

    /// Checks that a skill may be given to an agent as files, for example as a copy in its home: its content is what
    /// was installed, and the policy and stored answers allow loading it. Returns the digest of the checked content.
    ///
    /// Call it before mounting: files that an agent reads by itself do not pass through [`Session::activate`].
    pub fn check_mount(&mut self, name: &str) -> Result<Digest, SessionError> {
        let checked = self.try_check_mount(name);
        self.note_failed_check(name, checked)
    }

    fn try_check_mount(&mut self, name: &str) -> Result<Digest, SessionError> {
        let entry = self.find(name)?;
        let held = self.read_skill(&entry, self.trigger)?.held;
        self.settle(&Request::new(held.tier, &held.name, held.tree_digest, Action::Activate))?;
        Ok(held.tree_digest)
    }

    /// Deactivates a skill: its rules no longer apply, and its content may be dropped from the context.
    pub fn deactivate(&mut self, name: &str) -> Result<(), SessionError> {
        let is_meant = |held: &&ActiveSkill| held.is_active && (held.name == name || held.id == name);
        let Some((id, name)) =
            self.held.values().find(is_meant).map(|held| (held.id.clone(), held.name.clone()))
        else {
            return Err(SessionError::NotActive { name: shortened(name) });
        };
        self.record(&Event::SkillDeactivated { name })?;
        self.held.remove(&id);
        self.guard = None;
        Ok(())
    }

    /// The content of every active skill, to be given again to a model that has lost it.
    pub fn contents(&self) -> impl Iterator<Item = (&ActiveSkill, String)> {
        self.active().map(|held| (held, held.content(self.options.resources_listed)))
    }

    fn activate_or_say_why_not(
        &mut self,
        name: &str,
        trigger: Trigger,
        force: bool,
    ) -> Result<Activation, SessionError> {
        let done = self.try_activate(name, trigger, force);
        let done = self.note_failed_check(name, done);
        if let Err(error) = &done
            && !matches!(error, SessionError::Asked { .. })
        {
            let (name, code) = (shortened(name), error.code().to_owned());
            let rule = error.deciding_rule().map(recorded_rule);
            // If the failure cannot be recorded either, the first error is reported.
            let _ = self.record(&Event::SkillActivationFailed { name, trigger, code, rule });
        }
        done
    }

    fn try_activate(
        &mut self,
        name: &str,
        trigger: Trigger,
        force: bool,
    ) -> Result<Activation, SessionError> {
        self.check_budget()?;
        let start = self.options.clock.now();
        let entry = self.find(name)?;
        Self::check_state(&entry, trigger)?;
        let Fresh { mut held, is_changed } = self.read_skill(&entry, trigger)?;
        let mut notes = self.requirement_notes(&entry)?;
        if entry.facts.requires().is_some() {
            held.needs = self.catalog.needs(entry.name()).into_iter().map(str::to_owned).collect();
        }
        let known = self.held.get(&held.id).filter(|known| known.is_active);
        let is_same = known.is_some_and(|known| known.tree_digest == held.tree_digest);
        if is_same && !force {
            let content = format!(
                "The skill `{}` is already active. Its instructions are in your context; continue with them.\n",
                held.name
            );
            return Ok(activation(&held, content, is_changed, notes));
        }
        self.settle(&Request::new(held.tier, &held.name, held.tree_digest, Action::Activate))?;
        if held.has_rules() {
            notes.extend(rule_notes(&held, self));
        }
        if is_changed {
            let changed = vec![held.name.clone()];
            self.record(&Event::SkillsChanged { added: Vec::new(), changed, removed: Vec::new() })?;
        }
        held.is_active = true;
        let content = held.content(self.options.resources_listed);
        let activation =
            Activation { already_active: false, ..activation(&held, content, is_changed, notes) };
        self.record(&activation.event(trigger, self.since(start)))?;
        self.held.insert(held.id.clone(), held);
        self.guard = None;
        Ok(activation)
    }

    /// Reads the complete skill of an entry now, and stores it if the session has a store.
    pub(crate) fn read_skill(&self, entry: &Entry, trigger: Trigger) -> Result<Fresh, SessionError> {
        let limits = &self.options.rules.limits;
        let source = Source::open(&self.catalog, entry)?;
        let captured = source.capture_settled(limits)?;
        let is_installed = |store: &Store| store.is_as_installed(entry.path(), &captured.manifest.digest());
        if !self.options.installed.as_ref().is_none_or(is_installed) {
            return Err(SessionError::NotAsInstalled { name: entry.name().to_owned() });
        }
        if let Some(store) = &self.options.store {
            source.keep(&captured, limits, store).map_err(|error| match error {
                KeepError::Skill(error) => SessionError::Skill(error),
                KeepError::Store(error) => SessionError::Store(error),
            })?;
        }
        ActiveSkill::of(entry, captured, &self.options.rules, trigger)
    }

    /// The skill that the session uses under a name. On first use, it is read now.
    pub(crate) fn hold(&mut self, name: &str) -> Result<(Entry, ActiveSkill), SessionError> {
        let entry = self.find(name)?;
        if let Some(held) = self.held.get(&entry.id.to_string()) {
            return Ok((entry, held.clone()));
        }
        Self::check_state(&entry, self.trigger)?;
        let held = self.read_skill(&entry, self.trigger)?.held;
        self.held.insert(held.id.clone(), held.clone());
        Ok((entry, held))
    }

    /// Decides about a request, asks for approval if needed, and stores and records the answers. Returns only if the
    /// request is allowed. One-time answers are used up.
    pub(crate) fn settle(&mut self, request: &Request<'_>) -> Result<Decision, SessionError> {
        let permission = self.permit(request)?;
        Ok(self.use_up(request, permission)?.decision)
    }

    /// The same without using up answers: [`Session::use_up`] does that, after everything else that can fail.
    pub(crate) fn permit(&mut self, request: &Request<'_>) -> Result<Permission, SessionError> {
        let options = Arc::clone(&self.options);
        let mut request = *request;
        request.principal = options.principal.as_deref();
        let request = &request;
        let decided = options.policy.decide(request);
        // A refusal applies even if the tier allows the request, so stored answers are always checked.
        let mut approvals = match &options.approvals {
            Some(store) => store.about(&request.digest)?,
            None => Approvals::default(),
        };
        if approvals.list().is_empty() && self.answers.list().is_empty() && decided.is_allowed() {
            return Ok(Permission { decision: decided, once: Vec::new(), approved: by_policy() });
        }
        for answer in self.answers.list() {
            approvals.record(answer.clone());
        }
        let session = self.id().to_owned();
        let settled =
            self.options.policy.settle(request, Some(&session), &mut approvals, &mut *self.approver);
        for approval in &settled.answered {
            let answer = if approval.granted { RecordedAnswer::Granted } else { RecordedAnswer::Refused };
            self.record(&approval_event(approval, answer))?;
        }
        let approved = approved_by(&settled, request, &session, &approvals);
        let today: String = options.clock.now().to_string().chars().take(10).collect();
        for mut approval in settled.recorded {
            match (&approval.lifetime, &self.options.approvals) {
                (Lifetime::Session(_), _) | (_, None) => self.answers.record(approval),
                (_, Some(store)) => {
                    approval.on = Some(today.clone());
                    store.keep(&approval)?;
                }
            }
        }
        match settled.decision.verdict {
            Verdict::Allow => {}
            Verdict::Ask => return Err(SessionError::Asked { decision: Box::new(settled.decision) }),
            Verdict::Deny => return Err(SessionError::Denied { decision: Box::new(settled.decision) }),
        }
        Ok(Permission { decision: settled.decision, once: settled.used, approved })
    }

    /// Uses up the one-time answers, and returns the permission that was used.
    pub(crate) fn use_up(
        &mut self,
        request: &Request<'_>,
        permission: Permission,
    ) -> Result<Permission, SessionError> {
        for (index, used) in permission.once.iter().enumerate() {
            // Removing the answer uses it. If two processes try, the other one starts again without it.
            let store = self.options.approvals.as_ref();
            if !store.map_or(Ok(true), |store| store.use_up(used))? {
                self.give_back(&permission.once[..index])?;
                let permission = self.permit(request)?;
                return self.use_up(request, permission);
            }
        }
        Ok(permission)
    }

    /// Stores one-time answers again if the action did not start.
    pub(crate) fn give_back(&self, used: &[Approval]) -> Result<(), SessionError> {
        let Some(store) = &self.options.approvals else { return Ok(()) };
        used.iter().try_for_each(|approval| store.give_back(approval))
    }

    /// What a skill requires and that is missing: of this machine, and of other skills.
    fn requirement_notes(&self, entry: &Entry) -> Result<Vec<String>, SessionError> {
        let unmet: Vec<String> =
            self.missing_here(entry).into_iter().chain(self.missing_skills(entry)).collect();
        if !unmet.is_empty() && self.options.require_compatible {
            let (name, reason) = (entry.name().to_owned(), unmet.join("; "));
            return Err(SessionError::Incompatible { name, reason });
        }
        Ok(unmet)
    }

    fn missing_here(&self, entry: &Entry) -> Vec<String> {
        let Some(machine) = &self.options.machine else { return Vec::new() };
        let facts = &entry.facts;
        if facts.compatibility.is_none() && facts.metadata.is_empty() {
            return Vec::new();
        }
        let metadata = facts.metadata.iter().map(|(key, value)| (&**key, &**value));
        let found = compatibility(facts.compatibility.as_deref(), metadata, &**machine);
        found.unmet().map(|one| format!("{}: {}", one.text, one.reason)).collect()
    }

    /// Other skills that it needs and that do not exist or have the wrong version.
    fn missing_skills(&self, entry: &Entry) -> Vec<String> {
        if entry.facts.requires().is_none() {
            return Vec::new();
        }
        let problems = self.catalog.problems().iter();
        let own = problems.filter(|problem| problem.code.leaves_usable() && problem.path == entry.path());
        own.map(|problem| problem.message.clone()).collect()
    }
}

/// A permission, with the one-time answers that it uses up.
#[derive(Debug)]
pub(crate) struct Permission {
    pub(crate) decision: Decision,
    pub(crate) once: Vec<Approval>,
    /// Who allowed it, and how.
    pub(crate) approved: RunApproval,
}

fn by_policy() -> RunApproval {
    RunApproval { how: "policy".to_owned(), id: None }
}

/// Who allowed the request: an approval given just now, a stored answer, or the policy.
fn approved_by(settled: &Settlement, request: &Request<'_>, session: &str, known: &Approvals) -> RunApproval {
    if let Some(answer) = settled.answered.last() {
        let id = (answer.lifetime == Lifetime::Digest).then(|| answer.id());
        return RunApproval { how: answer.how.clone().unwrap_or_default(), id };
    }
    let earlier = || request.accesses().find_map(|access| known.find(request, access, Some(session)));
    let found = settled.used.first().or_else(earlier);
    match found.filter(|_| settled.decision.code == DecisionCode::Approved) {
        Some(answer) if matches!(answer.lifetime, Lifetime::Session(_)) => {
            RunApproval { how: "session".to_owned(), id: None }
        }
        Some(answer) => RunApproval { how: "stored".to_owned(), id: Some(answer.id()) },
        None => by_policy(),
    }
}

/// The activation of a skill that the model already has, with this text.
fn activation(
    held: &ActiveSkill,
    content: String,
    changed_since_scan: bool,
    notes: Vec<String>,
) -> Activation {
    Activation {
        tokens: tokens(content.len()) as u64,
        skill_id: held.id.clone(),
        name: held.name.clone(),
        tier: held.tier,
        content,
        skill_md_digest: held.skill_md_digest,
        tree_digest: held.tree_digest,
        already_active: true,
        changed_since_scan,
        needs: held.needs.clone(),
        notes,
    }
}

/// Problems of the skill's tool rules.
fn rule_notes(held: &ActiveSkill, session: &Session) -> Vec<String> {
    let active = held.as_active(&session.options.places);
    let allowed = active.allowed.iter().flat_map(metier_policy::Allowlist::notes);
    let denied = active.denied.iter().flat_map(metier_policy::Denylist::notes);
    allowed.chain(denied).map(|note| format!("`{}`: {}", note.rule, note.message)).collect()
}

/// An answer in the form in which it is recorded.
pub fn approval_event(approval: &Approval, answer: RecordedAnswer) -> Event {
    Event::SkillApproval {
        name: approval.skill.clone(),
        tree_digest: approval.digest,
        script: approval.script.clone(),
        access: approval.access.as_str().to_owned(),
        network: approval.reach().map(ToString::to_string),
        answer,
        lifetime: match &approval.lifetime {
            Lifetime::Once => "once",
            Lifetime::Session(_) => "session",
            _ => "digest",
        }
        .to_owned(),
        by: approval.by.clone(),
        how: approval.how.clone(),
    }
}
