//! One agent conversation: its inputs, the skills it uses, and its events.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use metier_catalog::{Catalog, Entry, Machine};
use metier_journal::{
    Clock, Event, Identity, Journal, PendingRecord, Privacy, RecordContext, SkillStats, Time, Trigger,
};
use metier_policy::{Anchors, Approvals, Approver, Guard, NoApprover, Policy};
use metier_prompt::SessionState;
use metier_sandbox::{Executor, Local, ReservedPaths};
use metier_skill::{Rules, nearest_names};
use metier_store::Store;
use uuid::Uuid;

use crate::active_skill::ActiveSkill;
use crate::approvals::ApprovalStore;
use crate::budget::{Budget, BudgetBreach, ModelUsage, Spent};
use crate::bus::{Bus, EmittedEvent, HandlerFailure, HandlerResult};
use crate::disclose::Calls;
use crate::error::SessionError;
use crate::mutation::MutationGateway;
use crate::tools::SkillToolOptions;

/// Where events are recorded.
#[derive(Debug, Clone)]
pub enum Recording {
    /// In a journal. An operation that cannot be recorded is not performed.
    Journal(Arc<Journal>),
    /// Nowhere, so nothing can be proven later.
    Nowhere,
}

/// The parts and options of a session.
#[derive(Clone)]
#[non_exhaustive]
pub struct SessionOptions {
    /// The available skills.
    pub catalog: Catalog,
    /// The rules for skills that have changed since the scan.
    pub rules: Rules,
    /// The policy.
    pub policy: Policy,
    /// The directories that tool rules are relative to.
    pub places: Anchors,
    /// Where events are recorded.
    pub recording: Recording,
    /// How much personal data is recorded.
    pub privacy: Privacy,
    /// The source of times and ids.
    pub clock: Arc<dyn Clock>,
    /// The store for every skill that is used, so that the session can be replayed.
    pub store: Option<Store>,
    /// The installed skills: a skill that is used from there must be unchanged.
    pub installed: Option<Store>,
    /// Where approval answers are stored beyond the session.
    pub approvals: Option<ApprovalStore>,
    /// Runs scripts.
    pub executor: Arc<dyn Executor + Send + Sync>,
    /// Changes protected documents; without it they cannot be changed.
    pub gateway: Option<Arc<dyn MutationGateway>>,
    /// Directories that scripts may never change: the user's home and metier's own directories, according to the host's
    /// settings. The session adds the home in `places`, skill roots, stores, approvals and a journal file.
    pub reserved: ReservedPaths,
    /// Documents that scripts cannot change, even inside their work directory.
    pub protected: Vec<PathBuf>,
    /// What this machine provides, to check the requirements of a skill.
    pub machine: Option<Arc<dyn Machine + Send + Sync>>,
    /// Whether a skill with missing requirements is refused.
    pub require_compatible: bool,
    /// The budget; `None` for no limits.
    pub budget: Option<Budget>,
    /// The task that the session begins with, as its records name it.
    pub task: Option<String>,
    /// The program that runs the session, for example `claude-code`.
    pub agent: Option<String>,
    /// Who acts: a user, an agent, a program.
    pub actor: Option<String>,
    /// The owner of the session, if not the owner of this machine: the holder of a token. Their answers apply only to
    /// themselves; answers of the machine's owner apply to them as well.
    pub principal: Option<String>,
    /// The account and the machine that the session runs on.
    pub identity: Option<Identity>,
    /// Who reads and runs: the model, unless a user does.
    pub trigger: Trigger,
    /// The maximum number of bytes of a resource in one answer.
    pub resource_bytes: u64,
    /// The maximum number of resources that an activation lists.
    pub resources_listed: usize,
    /// Whether resources in directories of the skill are available.
    pub nested_resources: bool,
    /// How the tools of [`Session::tools`] are offered.
    pub tools: SkillToolOptions,
}

impl SessionOptions {
    /// The defaults: tiers decide, approvals are refused, scripts run in the local sandbox, and nothing is stored
    /// except records.
    pub fn new(catalog: Catalog, places: Anchors, recording: Recording, clock: Arc<dyn Clock>) -> Self {
        Self {
            catalog,
            rules: Rules::standard(),
            policy: Policy::default(),
            places,
            recording,
            privacy: Privacy::default(),
            clock,
            store: None,
            installed: None,
            approvals: None,
            executor: Arc::new(Local::new()),
            gateway: None,
            reserved: ReservedPaths::default(),
            protected: Vec::new(),
            machine: None,
            require_compatible: false,
            budget: None,
            task: None,
            agent: None,
            actor: None,
            principal: None,
            identity: None,
            trigger: Trigger::Model,
            resource_bytes: 1 << 20,
            resources_listed: 100,
            nested_resources: true,
            tools: SkillToolOptions::default(),
        }
    }
}

/// One agent conversation.
///
/// Each operation is checked against the policy, recorded before it is answered, and passed to every handler.
pub struct Session {
    pub(crate) options: Arc<SessionOptions>,
    pub(crate) catalog: Catalog,
    pub(crate) context: RecordContext,
    /// Who reads and runs now: according to the options, except during a call of a model.
    pub(crate) trigger: Trigger,
    /// The skills used so far, by id.
    pub(crate) held: BTreeMap<String, ActiveSkill>,
    pub(crate) stats: BTreeMap<String, SkillStats>,
    pub(crate) spent: Spent,
    /// The state that prompts depend on and tools may change.
    pub(crate) state: SessionState,
    /// Calls that the agent has announced.
    pub(crate) calls: Calls,
    /// The ids of skills that the model was shown already.
    pub(crate) shown: BTreeSet<String>,
    /// Warnings that were already reported.
    pub(crate) warned: BTreeSet<(String, String, &'static str)>,
    /// Answers that are valid until the session ends.
    pub(crate) answers: Approvals,
    pub(crate) approver: Box<dyn Approver + Send>,
    pub(crate) bus: Bus,
    /// Created on demand, for the active skills.
    pub(crate) guard: Option<Guard>,
}

impl Session {
    /// Starts a session with a new id.
    pub fn start(options: SessionOptions) -> Result<Self, SessionError> {
        let id = options.clock.id().to_string();
        Self::with_id(options, id)
    }

    /// Starts a session with an id that the host chose. To continue a saved session, use [`Session::restore`].
    pub fn with_id(options: SessionOptions, id: impl Into<String>) -> Result<Self, SessionError> {
        if let Some(budget) = &options.budget {
            budget.check_limits(options.clock.now())?;
        }
        let mut session = Self::new(options, id.into());
        let agent = session.options.agent.clone();
        session.record(&Event::SessionStarted { agent })?;
        Ok(session)
    }

    /// Works in a session that another process began and will end: nothing is recorded about either. To continue a saved session,
    /// use [`Session::restore`].
    pub fn attach(options: SessionOptions, id: impl Into<String>) -> Self {
        Self::new(options, id.into())
    }

    pub(crate) fn new(options: SessionOptions, id: String) -> Self {
        let (actor, identity) = (options.actor.clone(), options.identity.clone());
        let context = RecordContext { session: Some(id), task: options.task.clone(), actor, identity };
        Self {
            catalog: options.catalog.clone(),
            trigger: options.trigger,
            options: Arc::new(options),
            context,
            held: BTreeMap::new(),
            stats: BTreeMap::new(),
            spent: Spent::default(),
            state: SessionState::default(),
            calls: Calls::default(),
            shown: BTreeSet::new(),
            warned: BTreeSet::new(),
            answers: Approvals::default(),
            approver: Box::new(NoApprover),
            bus: Bus::default(),
            guard: None,
        }
    }

    /// Ends the session, and waits until everything is recorded.
    pub fn end(mut self) -> Result<(), SessionError> {
        self.record(&Event::SessionEnded {})?;
        match &self.options.recording {
            Recording::Journal(journal) => Ok(journal.flush()?),
            Recording::Nowhere => Ok(()),
        }
    }

    /// Its id.
    pub fn id(&self) -> &str {
        self.context.session.as_deref().unwrap_or_default()
    }

    /// Sets the current task, as records name it; the one before.
    pub fn set_task(&mut self, task: Option<String>) -> Option<String> {
        std::mem::replace(&mut self.context.task, task)
    }

    /// Sets the approver. By default, approval cannot be requested.
    pub fn set_approver(&mut self, approver: Box<dyn Approver + Send>) {
        self.approver = approver;
    }

    /// Subscribes a handler to all events from now on, after earlier handlers.
    pub fn subscribe(
        &mut self,
        name: &str,
        handler: impl FnMut(&EmittedEvent<'_>) -> HandlerResult + Send + 'static,
    ) {
        self.bus.subscribe(name, Box::new(handler));
    }

    /// Handlers that failed, with the event.
    pub fn handler_failures(&self) -> &[HandlerFailure] {
        &self.bus.failures
    }

    /// The available skills.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Replaces the catalog. Skills that are already in use stay as they are.
    pub fn set_catalog(&mut self, catalog: Catalog) -> Result<(), SessionError> {
        let changes = catalog.changes_since(&self.catalog);
        let names =
            |ids: &[metier_catalog::SkillId]| ids.iter().map(|id| id.name().to_owned()).collect::<Vec<_>>();
        let (mut added, mut changed, mut removed) =
            (names(&changes.added), names(&changes.changed), names(&changes.removed));
        while !(added.is_empty() && changed.is_empty() && removed.is_empty()) {
            let some = |names: &mut Vec<String>| names.drain(..names.len().min(MOST_NAMES)).collect();
            let event = Event::SkillsChanged {
                added: some(&mut added),
                changed: some(&mut changed),
                removed: some(&mut removed),
            };
            self.record(&event)?;
        }
        for id in &changes.changed {
            self.shown.remove(&id.to_string());
        }
        self.catalog = catalog;
        Ok(())
    }

    /// Reports what an evaluation of a model has used so far. An error means that the session is over its budget.
    pub fn record_usage(&mut self, evaluation: &str, so_far: ModelUsage) -> Result<(), BudgetBreach> {
        self.spent.record(evaluation, so_far);
        self.check_budget()
    }

    /// Checks that the session is within its budget.
    pub fn check_budget(&self) -> Result<(), BudgetBreach> {
        let Some(budget) = &self.options.budget else { return Ok(()) };
        budget.check(self.spent.total(), self.options.clock.now())
    }

    /// What all evaluations together have used so far.
    pub fn usage(&self) -> ModelUsage {
        self.spent.total()
    }

    /// How each skill was used, by name.
    pub fn stats(&self) -> &BTreeMap<String, SkillStats> {
        &self.stats
    }

    /// The active skills, sorted by id.
    pub fn active(&self) -> impl Iterator<Item = &ActiveSkill> {
        self.held.values().filter(|held| held.is_active)
    }

    /// The skill that a name or id means: one that this session uses, else one of the catalog.
    pub(crate) fn find(&self, name: &str) -> Result<Entry, SessionError> {
        // A name means the active skill of that name, even if another tier wins by now.
        let held = self.active().filter(|held| held.name == name).min_by_key(|held| (held.tier, &held.id));
        let held = held.and_then(|held| self.catalog.by_id(&held.id));
        let found = held.or_else(|| self.catalog.by_name(name)).or_else(|| self.catalog.by_id(name));
        let Some(entry) = found else { return Err(self.not_found(name)) };
        if entry.is_enabled() {
            Ok(entry.clone())
        } else {
            Err(SessionError::Disabled { name: entry.name().to_owned() })
        }
    }

    fn not_found(&self, name: &str) -> SessionError {
        let broken = self.catalog.unusable().iter().find(|skill| &*skill.facts.name == name);
        if let Some(broken) = broken {
            return SessionError::Invalid { name: name.to_owned(), reason: broken.problem.message.clone() };
        }
        let nearest = nearest_names(name, self.catalog.skills().map(Entry::name));
        let nearest = nearest.into_iter().map(str::to_owned).collect();
        SessionError::NotFound { name: shortened(name), nearest }
    }

    /// Records an event, counts it, and calls the handlers. On an error, the operation must not be performed.
    pub(crate) fn record(&mut self, event: &Event) -> Result<(), SessionError> {
        let (id, time) = match &self.options.recording {
            Recording::Journal(journal) => {
                let entry = self.pending(event)?;
                let known = (entry.id(), entry.time());
                journal.append(entry)?;
                known
            }
            Recording::Nowhere => (self.options.clock.id(), self.options.clock.now()),
        };
        self.tell(id, time, event);
        Ok(())
    }

    /// The same for several events, in one step.
    pub(crate) fn record_all(&mut self, events: &[Event]) -> Result<(), SessionError> {
        let known: Vec<(Uuid, Time)> = match &self.options.recording {
            Recording::Journal(journal) => {
                let entries =
                    events.iter().map(|event| self.pending(event)).collect::<Result<Vec<_>, _>>()?;
                let known = entries.iter().map(|entry| (entry.id(), entry.time())).collect();
                journal.append_all(entries)?;
                known
            }
            Recording::Nowhere => {
                events.iter().map(|_| (self.options.clock.id(), self.options.clock.now())).collect()
            }
        };
        for ((id, time), event) in known.into_iter().zip(events) {
            self.tell(id, time, event);
        }
        Ok(())
    }

    fn pending(&self, event: &Event) -> Result<PendingRecord, SessionError> {
        Ok(PendingRecord::new(&*self.options.clock, &self.context, event)?)
    }

    /// Counts an event that was recorded, and calls the handlers.
    fn tell(&mut self, id: Uuid, time: Time, event: &Event) {
        if let Some(name) = event.skill() {
            // Most skills are used more than once.
            match self.stats.get_mut(name) {
                Some(stats) => stats.add(event),
                None => self.stats.entry(name.to_owned()).or_default().add(event),
            }
        }
        self.bus.emit(&EmittedEvent { id, time, context: &self.context, event });
    }

    /// Microseconds since a point in time of this session.
    pub(crate) fn since(&self, start: metier_journal::Time) -> u64 {
        let now = self.options.clock.now().as_micros();
        u64::try_from(now.saturating_sub(start.as_micros())).unwrap_or(0)
    }

    /// Whether this trigger may activate a skill in this state.
    pub(crate) fn check_state(entry: &Entry, trigger: Trigger) -> Result<(), SessionError> {
        if trigger == Trigger::User || entry.state.is_for_models() {
            return Ok(());
        }
        Err(SessionError::NotForModels { name: entry.name().to_owned() })
    }
}

/// One record has space for some thousand names.
const MOST_NAMES: usize = 1_000;

/// A name of unknown origin, shortened to the maximum length of names.
pub(crate) fn shortened(name: &str) -> String {
    name.chars().take(100).collect()
}

/// The rule that decided, as it is recorded: its location and its name.
pub(crate) fn recorded_rule(rule: &str) -> String {
    rule.chars().take(300).collect()
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let active: Vec<&str> = self.active().map(|held| held.id.as_str()).collect();
        f.debug_struct("Session").field("id", &self.id()).field("active", &active).finish_non_exhaustive()
    }
}

impl fmt::Debug for SessionOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionOptions").field("recording", &self.recording).finish_non_exhaustive()
    }
}
