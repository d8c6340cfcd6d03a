//! One conversation of an agent: what a hook of it decides, records and keeps.

use std::path::Path;

use metier_catalog::Catalog;
use metier_guard::{
    AgentCall, CallCheck, GuardContext, GuardStates, HeldState, HookAnswer, HookEvent, HookStart, HostCall,
    guarded_rules, skills_named,
};
use metier_home::Agent;
use metier_journal::Trigger;
use metier_policy::{Anchors, Decision, DecisionCode, Denylist, GuardMode, Policy, ToolCall, Verdict};
use metier_session::{Session, follow_links};
use metier_skill::ToolRules;

use super::known::{Known, KnownSkill, Loads};
use super::states_directory;
use crate::environment::{Environment, SystemClock};
use crate::error::HostError;
use crate::host::Metier;
use crate::recording::Recorder;

/// The states of the person's own agents.
pub(super) fn guard_states(environment: &Environment) -> Result<GuardStates, HostError> {
    Ok(GuardStates::new(states_directory(environment)?))
}

/// One conversation of an agent.
pub(super) struct Conversation<'a> {
    pub(super) metier: &'a Metier,
    pub(super) agent: Agent,
    /// The agent's id of it; for subagents that of the conversation that they work for.
    pub(super) id: String,
    pub(super) places: Anchors,
    pub(super) states: GuardStates,
    pub(super) context: Option<&'a GuardContext>,
    pub(super) suggests: bool,
}

impl Conversation<'_> {
    pub(super) fn answer(&self, event: &HookEvent) -> Result<HookAnswer, HostError> {
        match event {
            HookEvent::BeforeTool(call) => self.before(call),
            HookEvent::Permission(call) => self.permission(call),
            HookEvent::AfterTool(call) => self.after(call),
            HookEvent::Prompt(text) => self.prompt(text),
            HookEvent::Expansion(name) => self.named(&[name]),
            HookEvent::SubagentStart(child) => self.subagent(child),
            HookEvent::SessionStart(HookStart::Resumed) => Ok(HookAnswer::NoOpinion),
            HookEvent::SessionStart(_) | HookEvent::SessionEnd | HookEvent::Compacted => {
                self.deactivate(None)?;
                Ok(HookAnswer::NoOpinion)
            }
            _ => Ok(HookAnswer::NoOpinion),
        }
    }

    /// Whether every call is recorded, and every result must have had one.
    fn is_proven(&self) -> bool {
        self.context.is_some_and(|context| context.records_all)
    }

    fn find(&self) -> Result<Option<HeldState>, HostError> {
        Ok(self.states.find(self.agent, &self.id)?)
    }

    fn find_or_begin(&self) -> Result<HeldState, HostError> {
        Ok(self.states.find_or_begin(self.agent, &self.id, SystemClock::time())?)
    }

    /// A tool is about to be called.
    fn before(&self, call: &AgentCall) -> Result<HookAnswer, HostError> {
        let calls = call.as_rules_see_it(self.agent);
        if let Some(rule) = self.switches_off(&calls) {
            let reason = format!("refused by metier: it would switch the guard off ({rule})");
            self.attached(|session| {
                Ok(session.guard_failed("guard-attacked", &format!("{}: {rule}", call.tool))?)
            })?;
            return Ok(HookAnswer::Deny(reason));
        }
        let loads = Loads::of(&calls, &self.places);
        let held = self.find()?;
        let (catalog, skills) = if loads.is_empty() {
            (Catalog::default(), Vec::new())
        } else {
            let known = Known::open(self.metier, self.context)?;
            (known.catalog(), loads.find(&known))
        };
        let mut held = match held {
            Some(held) => held,
            None if skills.is_empty() && !self.is_proven() => return self.without_skills(&calls),
            None => self.find_or_begin()?,
        };
        let answer = self.decide(call, &calls, &skills, &catalog, &mut held)?;
        let is_allowed = !matches!(answer, HookAnswer::Deny(_));
        let is_proven = self.is_proven();
        held.state_mut().decided(call, is_allowed, is_proven);
        held.save()?;
        Ok(answer)
    }

    fn decide(
        &self,
        call: &AgentCall,
        calls: &[HostCall],
        skills: &[(KnownSkill, std::path::PathBuf)],
        catalog: &Catalog,
        held: &mut HeldState,
    ) -> Result<HookAnswer, HostError> {
        if let Some(reason) = &held.state().blocked {
            return Ok(HookAnswer::Deny(reason.clone()));
        }
        let recorder = self.metier.recorder()?;
        let (mut session, mode) = self.session(held, &recorder, catalog)?;
        let mut decisions = Vec::new();
        for call in calls {
            decisions.push(session.check_tool_call(&call.tool, &call.input)?);
        }
        let mut answer = answer_of(&decisions, mode);
        let is_guarded = session.active().next().is_some() || self.is_proven();
        if let Some(reason) = call.escapes_hooks(self.agent).filter(|_| is_guarded && !is_denied(&answer)) {
            session.guard_failed("call-escapes-hooks", &format!("{}: {reason}", call.tool))?;
            answer = HookAnswer::Deny(format!("refused by metier: {reason}"));
        }
        if !is_denied(&answer) && !skills.is_empty() {
            for (skill, path) in skills {
                activate(&mut session, skill, path, Trigger::Model)?;
            }
            keep(held, &session);
        }
        drop(session);
        close(recorder)?;
        Ok(answer)
    }

    /// Without an active skill only deny rules apply. Neither catalog nor journal is opened, except to record a refusal.
    fn without_skills(&self, calls: &[HostCall]) -> Result<HookAnswer, HostError> {
        let policy = self.metier.policy()?;
        let answer = self.by_policy(&policy, calls);
        if is_denied(&answer) {
            self.attached(|session| {
                for call in calls {
                    session.check_tool_call(&call.tool, &call.input)?;
                }
                Ok(())
            })?;
        }
        Ok(answer)
    }

    /// Records something in a session without skills, of which nothing is kept.
    fn attached(&self, record: impl FnOnce(&mut Session) -> Result<(), HostError>) -> Result<(), HostError> {
        let recorder = self.metier.recorder()?;
        let mut builder = self.metier.session().catalog(&Catalog::default()).agent(self.agent.name());
        let mut options = builder.options(&recorder)?;
        options.places = self.places.clone();
        record(&mut Session::attach(options, self.session_id()))?;
        close(recorder)
    }

    /// The rule against switching the guard off that calls break. What cannot be read is not taken for it: that is for the rules of
    /// the person and the skills.
    fn switches_off(&self, calls: &[HostCall]) -> Option<String> {
        let list = Denylist::new(&ToolRules::from_rules(guarded_rules()), &self.places);
        calls.iter().find_map(|call| {
            let call = follow_links(ToolCall::new(&call.tool, call.input.clone()), &self.places);
            let (rule, is_riddle) = list.find_reason(&call)?;
            (!is_riddle).then(|| rule.to_owned())
        })
    }

    fn by_policy(&self, policy: &Policy, calls: &[HostCall]) -> HookAnswer {
        let guard = policy.guard(Vec::new(), &self.places);
        let decided = calls.iter().map(|call| {
            guard.decide(&follow_links(ToolCall::new(&call.tool, call.input.clone()), &self.places))
        });
        answer_of(&decided.collect::<Vec<_>>(), policy.mode())
    }

    /// The agent asks for permission. What is denied is denied here as well; what a rule matches is allowed where the mode says so.
    fn permission(&self, call: &AgentCall) -> Result<HookAnswer, HostError> {
        let calls = call.as_rules_see_it(self.agent);
        let Some(held) = self.find()? else {
            return Ok(self.by_policy(&self.metier.policy()?, &calls));
        };
        if let Some(reason) = &held.state().blocked {
            return Ok(HookAnswer::Deny(reason.clone()));
        }
        // The call that loads a skill was decided before the skill's rules applied.
        if !Loads::of(&calls, &self.places).is_empty() && held.state().has_allowed(call) {
            return Ok(HookAnswer::NoOpinion);
        }
        let recorder = self.metier.recorder()?;
        let (mut session, mode) = self.session(&held, &recorder, &Catalog::default())?;
        let mut decisions = Vec::new();
        for call in &calls {
            decisions.push(session.check_tool_call(&call.tool, &call.input)?);
        }
        drop(session);
        close(recorder)?;
        Ok(answer_of(&decisions, mode))
    }

    /// A tool was called: was it the call that was allowed?
    fn after(&self, call: &AgentCall) -> Result<HookAnswer, HostError> {
        let mut held = match self.find()? {
            Some(held) => held,
            None if self.is_proven() => self.find_or_begin()?,
            None => return Ok(HookAnswer::NoOpinion),
        };
        let is_proven = self.is_proven();
        let check = held.state_mut().finished(call, is_proven);
        if let Some(code) = check.code() {
            let recorder = self.metier.recorder()?;
            let (mut session, _) = self.session(&held, &recorder, &Catalog::default())?;
            session.guard_failed(code, &format!("{}: {}", call.tool, meaning(&check)))?;
            drop(session);
            close(recorder)?;
        }
        held.save()?;
        Ok(HookAnswer::NoOpinion)
    }

    /// A person sent a prompt, which may name skills.
    fn prompt(&self, text: &str) -> Result<HookAnswer, HostError> {
        let names = skills_named(self.agent, text);
        let answer = if names.is_empty() { HookAnswer::NoOpinion } else { self.named(&names)? };
        if self.suggests && answer == HookAnswer::NoOpinion {
            #[cfg(feature = "search")]
            return super::suggest::suggested(self.metier, text);
        }
        Ok(answer)
    }

    /// Skills that a prompt brought into the context. If their rules cannot apply, the prompt is refused; where the agent cannot
    /// refuse one, every call from now on.
    fn named(&self, names: &[&str]) -> Result<HookAnswer, HostError> {
        let known = Known::open(self.metier, self.context)?;
        let skills: Vec<KnownSkill> = names.iter().filter_map(|name| known.named(name)).collect();
        if skills.is_empty() {
            return Ok(HookAnswer::NoOpinion);
        }
        let mut held = self.find_or_begin()?;
        let recorder = self.metier.recorder()?;
        let (mut session, _) = self.session(&held, &recorder, &known.catalog())?;
        let activated =
            skills.iter().try_for_each(|skill| activate(&mut session, skill, Path::new(""), Trigger::User));
        keep(&mut held, &session);
        drop(session);
        close(recorder)?;
        let mut answer = HookAnswer::NoOpinion;
        if let Err(error) = activated {
            let reason = format!("refused by metier: {error}");
            if self.agent == Agent::Goose {
                held.state_mut().blocked = Some(reason.clone());
            }
            answer = HookAnswer::Deny(reason);
        }
        held.save()?;
        Ok(answer)
    }

    /// A conversation works for this one from now on.
    fn subagent(&self, child: &str) -> Result<HookAnswer, HostError> {
        if child != self.id {
            let mut held = self.states.find_or_begin(self.agent, child, SystemClock::time())?;
            held.state_mut().parent = Some(self.id.clone());
            held.save()?;
        }
        Ok(HookAnswer::NoOpinion)
    }

    /// The rules of a skill, or of all, no longer apply. Returns the names of the skills.
    pub(super) fn deactivate(&self, only: Option<&str>) -> Result<Vec<String>, HostError> {
        let Some(mut held) = self.find()? else { return Ok(Vec::new()) };
        let mut ended = Vec::new();
        if held.state().session.is_some() {
            let recorder = self.metier.recorder()?;
            let (mut session, _) = self.session(&held, &recorder, &Catalog::default())?;
            let active: Vec<(String, String)> =
                session.active().map(|skill| (skill.id.clone(), skill.name.clone())).collect();
            for (id, name) in active {
                if only.is_none_or(|only| only == name || only == id) {
                    session.deactivate(&id)?;
                    ended.push(name);
                }
            }
            keep(&mut held, &session);
            if session.active().next().is_some() || self.context.is_some() {
                drop(session);
            } else {
                session.end()?;
            }
            close(recorder)?;
        }
        if held.state().skills.is_empty() {
            let state = held.state_mut();
            (state.session, state.blocked) = (None, None);
            if !self.is_proven() {
                state.calls.clear();
                state.failures.clear();
                state.parent = None;
            }
        }
        held.save()?;
        Ok(ended)
    }

    /// The id under which metier records the conversation.
    fn session_id(&self) -> String {
        let given = self.context.and_then(|context| context.session.clone());
        given.unwrap_or_else(|| format!("{}/{}", self.agent.name(), self.id))
    }

    /// The session of the conversation, and how its rules are enforced.
    fn session(
        &self,
        held: &HeldState,
        recorder: &Recorder,
        catalog: &Catalog,
    ) -> Result<(Session, GuardMode), HostError> {
        let mut builder = self.metier.session().catalog(catalog).agent(self.agent.name());
        let mut options = builder.options(recorder)?;
        options.places = self.places.clone();
        let mode = options.policy.mode();
        let session = match &held.state().session {
            Some(saved) => Session::restore(options, saved)?,
            // The run that the agent belongs to has begun it.
            None if self.context.is_some() => Session::attach(options, self.session_id()),
            None => Session::with_id(options, self.session_id())?,
        };
        Ok((session, mode))
    }
}

/// Activates a skill in the session as the agent loads it.
fn activate(
    session: &mut Session,
    skill: &KnownSkill,
    path: &Path,
    trigger: Trigger,
) -> Result<(), HostError> {
    match skill {
        KnownSkill::Mounted(skill) => {
            let skill_md =
                if path.as_os_str().is_empty() { skill.directory.join("SKILL.md") } else { path.to_owned() };
            session.activated_by_agent_as(skill, &skill_md, trigger)?;
        }
        KnownSkill::Catalogued(id) => {
            session.activate_as(id, trigger)?;
        }
    }
    Ok(())
}

/// Keeps the session for the next hook.
fn keep(held: &mut HeldState, session: &Session) {
    let skills = session.active().map(|skill| (skill.name.clone(), skill.tree_digest)).collect();
    let state = held.state_mut();
    (state.session, state.skills) = (Some(session.save()), skills);
}

/// What is not recorded did not happen.
fn close(recorder: Recorder) -> Result<(), HostError> {
    recorder.journal().flush()?;
    recorder.close();
    Ok(())
}

/// What decisions about a call mean to the agent. A list limits what it may do; only where a match pre-approves, the agent need not
/// ask any more.
fn answer_of(decisions: &[Decision], mode: GuardMode) -> HookAnswer {
    if let Some(denied) = decisions.iter().find(|decision| decision.verdict == Verdict::Deny) {
        return HookAnswer::Deny(format!("refused by metier: {}", denied.reason));
    }
    let is_match =
        |decision: &Decision| matches!(decision.code, DecisionCode::RuleMatched | DecisionCode::OwnTool);
    match decisions.first() {
        Some(first) if mode == GuardMode::PreApprove && decisions.iter().all(is_match) => {
            HookAnswer::Allow(first.reason.clone())
        }
        _ => HookAnswer::NoOpinion,
    }
}

const fn is_denied(answer: &HookAnswer) -> bool {
    matches!(answer, HookAnswer::Deny(_))
}

/// What is wrong with a result, for the record.
const fn meaning(check: &CallCheck) -> &'static str {
    match check {
        CallCheck::Changed { .. } => "it ran with another input than the one that was allowed",
        CallCheck::Ignored { .. } => "it ran although it was denied",
        _ => "it ran without a hook",
    }
}
