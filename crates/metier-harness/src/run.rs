//! One evaluation while it runs: starts the agent, answers its requests, and ends it at its limits.

use std::path::PathBuf;
use std::time::Duration;

use metier_prompt::RenderedPrompt;
use metier_session::{Session, Turn};
use serde_json::Value;

use crate::error::HarnessError;
use crate::evaluate::EvaluationOptions;
use crate::evaluation::{Evaluation, LoadedSkill, StopReason, Walls};
use crate::event::{AgentEvent, AgentEventKind};
use crate::guard::GuardWatch;
use crate::harness::{Answered, Conversation, Opening};
use crate::message::{AgentMessage, PromptToolCall, ToolAnswered, TurnEnd};
use crate::mounted::Mounted;
use crate::output::OutputType;
use crate::permission::{PermissionAnswer, PermissionRequest};
use crate::setup::{AgentPlace, agent_skills};
use crate::stopwatch::Stopwatch;
use crate::usage::UsageSoFar;
use crate::watchdog::{Watchdog, is_cancelled};

/// How long one wait for the agent takes at most: cancelling is noticed after this time.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// What the names of a prompt's tools begin with in rules, whatever the agent calls them.
const RULES: &str = "mcp__metier__";

/// An answer, with its value where one was asked for.
pub(crate) struct Answer {
    pub(crate) evaluation: Evaluation,
    pub(crate) value: Option<Value>,
}

/// What the agent said of itself.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) version: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) conversation: Option<String>,
    pub(crate) stop: Option<StopReason>,
}

/// An evaluation.
pub(crate) struct Run<'a> {
    pub(crate) options: EvaluationOptions<'a>,
    pub(crate) id: String,
    pub(crate) watch: Stopwatch,
    pub(crate) facts: Facts,
    /// What conversations that have ended used.
    before: UsageSoFar,
    /// What the current one has used.
    now: UsageSoFar,
    pub(crate) skills: Vec<LoadedSkill>,
    tool_calls: u64,
    expansions: u64,
    /// Whether every result so far was that of a call that a hook had allowed.
    is_guarded: bool,
    watchdog: Watchdog,
}

/// How a prompt to an agent ended.
enum Ended {
    /// With its answer.
    Turn(TurnEnd),
    /// The model wants to see more sections.
    Expanded,
}

impl<'a> Run<'a> {
    pub(crate) fn new(options: EvaluationOptions<'a>, id: String) -> Self {
        Self {
            options,
            id,
            watch: Stopwatch::start(),
            facts: Facts::default(),
            before: UsageSoFar::default(),
            now: UsageSoFar::default(),
            skills: Vec::new(),
            tool_calls: 0,
            expansions: 0,
            is_guarded: false,
            watchdog: Watchdog::default(),
        }
    }

    /// What was used so far.
    pub(crate) fn used(&self) -> UsageSoFar {
        self.before + self.now
    }

    pub(crate) fn walls(&self) -> Walls {
        Walls {
            hooks: self.is_guarded,
            permissions: self.options.harness.permissions().is_some(),
            ..Walls::default()
        }
    }

    pub(crate) fn agent(&self) -> String {
        self.options.harness.title().to_owned()
    }

    pub(crate) fn emit(&mut self, event: &AgentEvent) {
        (self.options.handler)(event);
    }

    /// Runs the prompt as it is rendered now. Without an answer, the model has opened sections.
    pub(crate) fn turn(
        &mut self,
        turn: &mut Turn<'_>,
        output: Option<&OutputType>,
    ) -> Result<Answer, HarnessError> {
        let rendered = turn.prompt().clone();
        let harness = self.options.harness;
        if !rendered.tools.is_empty() && harness.tools().is_none() {
            return Err(HarnessError::Unsupported { agent: self.agent(), what: "the tools of a prompt" });
        }
        for warning in &rendered.warnings {
            self.emit(&AgentEvent::notice(&warning.message));
        }
        if !rendered.workspace.mounts.is_empty() && harness.home().is_none() {
            return Err(HarnessError::Unsupported { agent: self.agent(), what: "files in a workspace" });
        }
        let mut place = harness.home().map(|setup| setup.make(&rendered.workspace)).transpose()?;
        let mut mounted = match &mut place {
            Some(place) => self.install(turn.session(), &rendered, place)?,
            None => Mounted { offered: self.offer(turn.session(), &rendered)?, ..Mounted::default() },
        };
        let result = self.converse(turn, place.as_ref(), &mut mounted, &rendered, output);
        // The next conversation does not know them.
        for name in &mounted.activated {
            turn.session().deactivate(name)?;
        }
        mounted.offered.map_or(Ok(()), |offered| offered.withdraw(turn.session()))?;
        result
    }

    fn converse(
        &mut self,
        turn: &mut Turn<'_>,
        place: Option<&AgentPlace>,
        mounted: &mut Mounted,
        rendered: &RenderedPrompt,
        output: Option<&OutputType>,
    ) -> Result<Answer, HarnessError> {
        let harness = self.options.harness;
        let opening = Opening {
            prompt: rendered,
            place,
            model: self.options.model.as_deref(),
            schema: output.map(|output| &output.schema),
            skill_tools: mounted.offered.as_ref().map(|offered| offered.tools.as_slice()).unwrap_or_default(),
            instructions: mounted.offered.as_ref().and_then(|offered| offered.instructions.as_deref()),
        };
        // Sections that are opened begin a new conversation with the new prompt.
        let resumed = self.options.resumed.as_deref().filter(|_| self.expansions == 0);
        let mut conversation = match (resumed, harness.resume()) {
            (Some(id), Some(resume)) => resume.resume(&opening, id)?,
            _ => harness.open(&opening)?,
        };
        self.before = self.before + std::mem::take(&mut self.now);
        self.watchdog = self.watch_limits(turn, &*conversation)?;
        let result = self.answer(turn, &mut *conversation, mounted, rendered, output);
        self.watchdog = Watchdog::default();
        result
    }

    fn install(
        &mut self,
        session: &mut Session,
        rendered: &RenderedPrompt,
        place: &mut AgentPlace,
    ) -> Result<Mounted, HarnessError> {
        let installed = place.install(session, self.options.rendering.prompt(), rendered)?;
        for warning in place.home.warnings() {
            self.emit(&AgentEvent::notice(warning.to_string()));
        }
        let skills = agent_skills(installed.skills.iter().map(|skill| &skill.mounted));
        let working = Some(place.working.path().to_owned());
        let own = self.options.harness.tools().map(|tools| tools.called_as(""));
        let guard = place.take_guard().map(|guard| GuardWatch::new(guard, own));
        self.is_guarded = guard.is_some();
        Ok(Mounted { skills, working, guard, ..Mounted::default() })
    }

    /// Prompts the agent until it has answered, with one request to repair an answer of the wrong type.
    fn answer(
        &mut self,
        turn: &mut Turn<'_>,
        conversation: &mut dyn Conversation,
        mounted: &mut Mounted,
        rendered: &RenderedPrompt,
        output: Option<&OutputType>,
    ) -> Result<Answer, HarnessError> {
        let mut text = output.map_or_else(|| rendered.text.clone(), |output| output.ask(&rendered.text));
        let mut is_repaired = false;
        loop {
            let ended = match self.drive(turn, conversation, mounted, &text) {
                Ok(Ended::Turn(ended)) => ended,
                Ok(Ended::Expanded) => {
                    self.expansions += 1;
                    self.stop(turn, conversation);
                    // The caller looks at the expansion before it looks at this.
                    return Ok(Answer { evaluation: self.evaluation(String::new()), value: None });
                }
                Err(error) => {
                    self.stop(turn, conversation);
                    return Err(error);
                }
            };
            self.facts.stop = Some(ended.stop.clone());
            if let Some(message) = ended.error {
                conversation.finish()?;
                return Err(HarnessError::Agent { agent: self.agent(), message, spent: Box::default() });
            }
            let parsed = output.map(|output| (output, output.parse(&ended.text)));
            match parsed {
                Some((output, Err(reason))) if !is_repaired => {
                    is_repaired = true;
                    text = output.repair(&reason);
                    self.emit(&AgentEvent::synthetic(AgentEventKind::Repairing { reason }));
                }
                Some((_, Err(reason))) => {
                    conversation.finish()?;
                    return Err(HarnessError::Output { reason, text: ended.text, spent: Box::default() });
                }
                parsed => {
                    conversation.finish()?;
                    let value = parsed.and_then(|(_, value)| value.ok());
                    return Ok(Answer { evaluation: self.evaluation(ended.text), value });
                }
            }
        }
    }

    fn evaluation(&self, text: String) -> Evaluation {
        let used = self.used();
        Evaluation {
            id: self.id.clone(),
            output: text.clone(),
            text,
            usage: used.usage,
            cost: used.cost,
            turns: used.turns,
            stop: self.facts.stop.clone().unwrap_or(StopReason::EndTurn),
            session_id: self.facts.conversation.clone(),
            version: self.facts.version.clone(),
            model: self.facts.model.clone(),
            skills: self.skills.clone(),
            tool_calls: self.tool_calls,
            expansions: self.expansions,
            walls: self.walls(),
            duration: self.watch.elapsed(),
        }
    }

    /// Sends a prompt, and handles everything until the turn ends.
    fn drive(
        &mut self,
        turn: &mut Turn<'_>,
        conversation: &mut dyn Conversation,
        mounted: &mut Mounted,
        text: &str,
    ) -> Result<Ended, HarnessError> {
        conversation.prompt(text)?;
        let mut quiet = Stopwatch::start();
        loop {
            self.check_limits(turn.session(), quiet)?;
            let Some(message) = conversation.receive(TICK)? else { continue };
            let _busy = self.watchdog.busy();
            match message {
                AgentMessage::Event(event) => self.event(turn.session(), mounted, &event)?,
                AgentMessage::Used(used) => self.record_used(turn.session(), used)?,
                AgentMessage::Permission(request) => {
                    let answer = self.permission(turn.session(), mounted, &request)?;
                    conversation.answer(&Answered::Permission { id: &request.id, answer: &answer })?;
                }
                AgentMessage::ToolCall(call) => {
                    let result = match self.skill_tool(turn.session(), mounted, &call) {
                        Some(result) => result,
                        None => Self::tool(turn, &call)?,
                    };
                    conversation.answer(&Answered::Tool { id: &call.id, result: &result })?;
                    if let Some(expansion) = turn.expansion() {
                        let sections = expansion.overrides.keys().map(ToString::to_string).collect();
                        self.emit(&AgentEvent::synthetic(AgentEventKind::SectionsOpened { sections }));
                        return Ok(Ended::Expanded);
                    }
                }
                AgentMessage::TurnEnded(ended) => {
                    self.record_used(turn.session(), ended.used)?;
                    return Ok(Ended::Turn(ended));
                }
            }
            // Answering may take a person minutes; the agent was not silent meanwhile.
            quiet = Stopwatch::start();
        }
    }

    fn check_limits(&self, session: &Session, quiet: Stopwatch) -> Result<(), HarnessError> {
        if is_cancelled(&self.options.cancel) {
            return Err(HarnessError::Cancelled { spent: Box::default() });
        }
        if let Some(limit) = self.options.deadline
            && self.watch.elapsed() > limit
        {
            return Err(HarnessError::Deadline { agent: self.agent(), limit, spent: Box::default() });
        }
        session.check_budget().map_err(|breach| HarnessError::Budget { breach, spent: Box::default() })?;
        let silence = quiet.elapsed();
        if silence > self.options.silence {
            let silence = self.options.silence;
            return Err(HarnessError::Hung { agent: self.agent(), silence, spent: Box::default() });
        }
        Ok(())
    }

    /// What the conversation has used so far; an error if that is over the session's budget.
    fn record_used(&mut self, session: &mut Session, used: UsageSoFar) -> Result<(), HarnessError> {
        let known = self.now;
        self.now = UsageSoFar {
            usage: known.usage.max(used.usage),
            cost: known.cost.max(used.cost),
            turns: known.turns.max(used.turns),
        };
        let total = self.used();
        if known != self.now {
            let kind = AgentEventKind::Usage { usage: total.usage, cost: total.cost };
            self.emit(&AgentEvent::synthetic(kind));
        }
        session
            .record_usage(&self.id, total.usage.counted())
            .map_err(|breach| HarnessError::Budget { breach, spent: Box::default() })
    }

    fn event(
        &mut self,
        session: &mut Session,
        mounted: &mut Mounted,
        event: &AgentEvent,
    ) -> Result<(), HarnessError> {
        let mut loaded = None;
        match &event.kind {
            AgentEventKind::Started { version, model, conversation } => {
                let facts = &mut self.facts;
                for (known, new) in [
                    (&mut facts.version, version),
                    (&mut facts.model, model),
                    (&mut facts.conversation, conversation),
                ] {
                    *known = new.clone().or_else(|| known.take());
                }
            }
            AgentEventKind::ToolCall { id, arguments, skill, .. } => {
                self.tool_calls += 1;
                let read = || mounted.named_in(arguments).map(|skill| skill.name.clone());
                if let Some(name) = skill.clone().or_else(read) {
                    mounted.loading.insert(id.clone(), name);
                }
            }
            AgentEventKind::ToolResult { id, is_error, .. } => {
                loaded = mounted.loading.remove(id).map(|name| (name, *is_error));
            }
            _ => {}
        }
        self.emit(event);
        self.check_guard(mounted, event)?;
        match loaded {
            Some((name, true)) => Ok(session.not_activated_by_agent(&name, "agent-tool-failed")?),
            Some((name, false)) => self.loaded(session, mounted, name),
            None => Ok(()),
        }
    }

    /// Ends the evaluation if a tool ran that no hook had allowed.
    fn check_guard(&mut self, mounted: &mut Mounted, event: &AgentEvent) -> Result<(), HarnessError> {
        let Some(guard) = &mut mounted.guard else { return Ok(()) };
        let tools = guard.unguarded(&event.kind)?;
        if tools.is_empty() {
            return Ok(());
        }
        self.is_guarded = false;
        Err(HarnessError::Unguarded { agent: self.agent(), tools, spent: Box::default() })
    }

    /// The agent has loaded a skill: it is recorded with the digest of what was mounted, and its rules apply.
    fn loaded(
        &mut self,
        session: &mut Session,
        mounted: &mut Mounted,
        name: String,
    ) -> Result<(), HarnessError> {
        let skill = mounted.skills.iter().find(|skill| skill.name == name).cloned();
        let path = skill.as_ref().map(|skill| skill.directory.join("SKILL.md"));
        let digest = skill.as_ref().map(|skill| skill.tree_digest);
        let mut is_new = false;
        if let Some(skill) = &skill {
            let path: PathBuf = path.clone().unwrap_or_default();
            // A hook has recorded it.
            is_new = match &mounted.guard {
                Some(_) => session.activated_elsewhere(skill)?,
                None => session.activated_by_agent(skill, &path)?,
            };
        }
        if is_new {
            mounted.activated.push(name.clone());
        }
        let loaded = LoadedSkill { name: name.clone(), digest };
        if !self.skills.contains(&loaded) {
            self.skills.push(loaded);
        } else if !is_new {
            // Agents read the same file in pieces.
            return Ok(());
        }
        self.emit(&AgentEvent::synthetic(AgentEventKind::SkillActivated { name, digest, path }));
        Ok(())
    }

    fn permission(
        &mut self,
        session: &mut Session,
        mounted: &Mounted,
        request: &PermissionRequest,
    ) -> Result<PermissionAnswer, HarnessError> {
        let (id, tool) = (request.id.clone(), request.tool.clone());
        let asked = AgentEventKind::PermissionAsked { id, tool, arguments: request.arguments.clone() };
        self.emit(&AgentEvent::synthetic(asked).of_subagent(request.subagent.clone()));
        let own = self.options.harness.tools();
        let is_own = own.is_some_and(|tools| request.tool.starts_with(&tools.called_as("")));
        let (answer, reason) = if is_own {
            // Whether a tool of the prompt may be called is decided when it is called.
            (PermissionAnswer::Allow, "a tool of the prompt".to_owned())
        } else {
            let permissions = &mut self.options.permissions;
            let ask = |decision: &metier_policy::Decision| {
                if mounted.is_free(request) {
                    return Some(Ok(()));
                }
                Some(match permissions.ask(request, decision)? {
                    PermissionAnswer::Allow => Ok(()),
                    PermissionAnswer::Deny { reason } => Err(reason),
                })
            };
            let decision = session.permit_tool_call(&request.tool, &request.arguments, ask)?;
            let reason = decision.reason.clone();
            if decision.is_allowed() {
                (PermissionAnswer::Allow, reason)
            } else {
                (PermissionAnswer::Deny { reason: reason.clone() }, reason)
            }
        };
        let (id, is_allowed) = (request.id.clone(), answer.is_allowed());
        self.emit(&AgentEvent::synthetic(AgentEventKind::PermissionAnswered { id, is_allowed, reason }));
        Ok(answer)
    }

    /// Calls a tool of the prompt through the session: policy, sections, state and journal.
    fn tool(turn: &mut Turn<'_>, call: &PromptToolCall) -> Result<ToolAnswered, HarnessError> {
        let tool = format!("{RULES}{}", call.tool);
        let reply = turn.call(&tool, &call.arguments, call.call.as_deref())?;
        Ok(ToolAnswered { text: reply.text, is_error: reply.is_error })
    }

    /// Ends the agent's turn where that is possible, so that it reports what it used. Dropping the conversation ends the
    /// agent.
    fn stop(&mut self, turn: &mut Turn<'_>, conversation: &mut dyn Conversation) {
        if let Some(interrupts) = self.options.harness.interrupt()
            && conversation.interrupt().is_ok()
        {
            let (watch, patience) = (Stopwatch::start(), interrupts.patience());
            while !watch.left_of(patience).is_zero() {
                match conversation.receive(TICK) {
                    Ok(Some(AgentMessage::TurnEnded(ended))) => {
                        let _ = self.record_used(turn.session(), ended.used);
                        break;
                    }
                    Ok(Some(AgentMessage::Used(used))) => {
                        let _ = self.record_used(turn.session(), used);
                    }
                    Ok(Some(message)) => Self::refuse(conversation, &message),
                    Ok(None) => {}
                    Err(_) => break,
                }
            }
        }
    }

    /// Answers what an agent asks while it is being stopped.
    fn refuse(conversation: &mut dyn Conversation, message: &AgentMessage) {
        let reason = "The evaluation is ending.".to_owned();
        let _ = match message {
            AgentMessage::Permission(request) => {
                let answer = PermissionAnswer::Deny { reason };
                conversation.answer(&Answered::Permission { id: &request.id, answer: &answer })
            }
            AgentMessage::ToolCall(call) => {
                let result = ToolAnswered { text: reason, is_error: true };
                conversation.answer(&Answered::Tool { id: &call.id, result: &result })
            }
            _ => Ok(()),
        };
    }
}
