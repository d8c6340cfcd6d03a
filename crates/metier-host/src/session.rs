//! Sessions: started with the settings, or continued where another process stopped.

use std::fmt;
use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use metier_catalog::Catalog;
use metier_journal::{Clock, Durability, Journal, Privacy, Trigger};
use metier_policy::{Anchors, Approver};
use metier_sandbox::{Executor, ReservedPaths, WorkDirectory};
use metier_session::tools::quoted_word;
use metier_session::{ApprovalStore, Budget, Recording, Session, SessionOptions, SkillToolOptions};
use metier_skill::Digest;
use metier_store::Store;

use crate::environment::{Environment, SystemClock};
use crate::error::HostError;
use crate::host::Metier;
use crate::machine::ThisMachine;
use crate::recording::Recorder;
use crate::settings::Layer;

/// More than any saved session has.
const MOST: u64 = 256 << 20;

/// The variable with the task that sessions belong to.
const TASK: &str = "METIER_TASK";

impl Metier {
    /// Prepares a session with the settings.
    pub const fn session(&self) -> SessionBuilder<'_> {
        SessionBuilder {
            metier: self,
            catalog: None,
            recorder: None,
            approver: None,
            id: None,
            agent: None,
            actor: None,
            trigger: Trigger::Model,
            budget: None,
            task: None,
            when_busy: None,
            work: None,
            executor: None,
            clock: None,
        }
    }

    /// How the four tools are offered to models: their names, how skills are ranked, and the command that allows something.
    fn tool_options(&self) -> SkillToolOptions {
        let mut tools = SkillToolOptions::default();
        tools.names = self.settings().tool_names.value;
        let roots = self.settings().roots.iter().filter(|root| root.origin.layer() == Some(Layer::Flags));
        for root in roots {
            let place = format!("{}:{}", root.value.path.display(), root.value.tier);
            tools.approve.extend([" --root ", &quoted_word(&place)]);
        }
        #[cfg(feature = "search")]
        {
            tools.rank = Some(Arc::new(|catalog, query, most| {
                let search = metier_search::Search::open(catalog, None)?;
                Ok(search.ranked(query, most).into_iter().cloned().collect())
            }));
        }
        tools
    }

    /// The stored approvals of the user; `None` without a home directory.
    pub fn approvals(&self) -> Option<ApprovalStore> {
        Some(ApprovalStore::new(self.environment().state_directory()?.join("approvals")))
    }

    /// The same, or an error without a home directory.
    pub fn kept_approvals(&self) -> Result<ApprovalStore, HostError> {
        let purpose = "to keep approvals in";
        self.approvals().ok_or(HostError::NoHome { purpose, variables: "HOME or XDG_STATE_HOME" })
    }

    /// The store of installed skills; `None` without a home directory.
    pub fn installed(&self) -> Option<Store> {
        Some(Store::new(self.environment().store_directory()?))
    }

    /// The store in which used skills are kept, unless the settings switch that off.
    pub fn kept_skills(&self) -> Option<Store> {
        let recording = &self.settings().recording;
        let store = self.installed().filter(|_| recording.keep_skills.value)?;
        Some(if recording.durability.value == Durability::Batched { store.batched() } else { store })
    }
}

/// Options for a session: see [`Metier::session`].
pub struct SessionBuilder<'a> {
    metier: &'a Metier,
    catalog: Option<Catalog>,
    recorder: Option<&'a Recorder>,
    approver: Option<Box<dyn Approver + Send>>,
    id: Option<String>,
    agent: Option<String>,
    actor: Option<String>,
    trigger: Trigger,
    budget: Option<Budget>,
    task: Option<String>,
    when_busy: Option<Box<dyn FnOnce() + 'a>>,
    work: Option<PathBuf>,
    executor: Option<Arc<dyn Executor + Send + Sync>>,
    clock: Option<Arc<dyn Clock>>,
}

impl fmt::Debug for SessionBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, agent, actor, trigger, .. } = self;
        f.debug_struct("SessionBuilder")
            .field("id", id)
            .field("agent", agent)
            .field("actor", actor)
            .field("trigger", trigger)
            .finish_non_exhaustive()
    }
}

impl<'a> SessionBuilder<'a> {
    /// Uses this catalog. Without it, the roots are scanned.
    #[must_use]
    pub fn catalog(mut self, catalog: &Catalog) -> Self {
        self.catalog = Some(catalog.clone());
        self
    }

    /// Writes records here. Without it, the session opens the journal of the settings for itself.
    #[must_use]
    pub const fn recorder(mut self, recorder: &'a Recorder) -> Self {
        self.recorder = Some(recorder);
        self
    }

    /// Asks this approver if the policy requires approval. Without one, such requests are refused.
    #[must_use]
    pub fn approver(mut self, approver: impl Approver + Send + 'static) -> Self {
        self.approver = Some(Box::new(approver));
        self
    }

    /// Sets the id of the session. The default is a new one.
    #[must_use]
    pub fn id(mut self, id: &str) -> Self {
        self.id = Some(id.to_owned());
        self
    }

    /// Sets the agent that runs the session, such as `claude-code`.
    #[must_use]
    pub fn agent(mut self, agent: impl Into<String>) -> Self {
        self.agent = Some(agent.into());
        self
    }

    /// Sets who acts, for records: a person, an agent, a program.
    #[must_use]
    pub fn actor(mut self, actor: impl Into<String>) -> Self {
        self.actor = Some(actor.into());
        self
    }

    /// Sets who activates, reads and runs skills. The default is the model.
    #[must_use]
    pub const fn trigger(mut self, trigger: Trigger) -> Self {
        self.trigger = trigger;
        self
    }

    /// Sets the budget.
    #[must_use]
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = Some(budget);
        self
    }

    /// Sets the task of the session. Without it, `METIER_TASK` counts.
    #[must_use]
    pub fn task(mut self, task: impl Into<String>) -> Self {
        self.task = Some(task.into());
        self
    }

    /// Sets the directory that scripts start in and may change when a model runs them with `run_skill_script`. It must not be a
    /// home or belong to metier. Without it, each script gets an empty one.
    #[must_use]
    pub fn work_directory(mut self, path: impl Into<PathBuf>) -> Self {
        self.work = Some(path.into());
        self
    }

    /// Runs scripts with this executor. The default is the local sandbox.
    #[must_use]
    pub fn executor(mut self, executor: impl Executor + Send + Sync + 'static) -> Self {
        self.executor = Some(Arc::new(executor));
        self
    }

    /// Takes times and ids from this clock. The default is [`SystemClock`].
    #[must_use]
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// Calls this before [`SessionBuilder::open`] waits for another process that uses the same saved session.
    #[must_use]
    pub fn when_busy(mut self, tell: impl FnOnce() + 'a) -> Self {
        self.when_busy = Some(Box::new(tell));
        self
    }

    /// Starts a new session. Dropping it closes its journal.
    pub fn start(mut self) -> Result<Session, HostError> {
        let opened;
        let recorder = match self.recorder {
            Some(recorder) => recorder,
            None => {
                opened = self.metier.recorder()?;
                &opened
            }
        };
        let options = self.options(recorder)?;
        let session = match self.id.take() {
            Some(id) => Session::with_id(options, id)?,
            None => Session::start(options)?,
        };
        Ok(self.finish(session))
    }

    /// Continues the saved session with the id, or starts one that can be continued. Without an id, starts a session that ends
    /// with [`HostSession::close`].
    pub fn open(mut self) -> Result<HostSession, HostError> {
        let (own, options, journal) = match self.recorder {
            Some(recorder) => (None, self.options(recorder)?, Arc::clone(recorder.journal())),
            None => {
                let recorder = self.metier.recorder()?;
                let (options, journal) = (self.options(&recorder)?, Arc::clone(recorder.journal()));
                (Some(recorder), options, journal)
            }
        };
        let Some(id) = self.id.clone() else {
            let session = self.finish(Session::start(options)?);
            return Ok(HostSession { session, saved: None, journal, recorder: own });
        };
        let when_busy = self.when_busy.take().unwrap_or_else(|| Box::new(|| {}));
        let saved = Saved::lock(self.metier.environment(), &id, when_busy)?;
        let session = match saved.read()? {
            Some(text) => Session::restore(options, &text).map_err(|source| HostError::Resume {
                id: id.clone(),
                path: saved.path.clone(),
                source: Box::new(source),
            })?,
            None => Session::with_id(options, id.as_str())?,
        };
        if session.id() != id {
            let other = session.id().to_owned();
            return Err(HostError::OtherSession { id, path: saved.path, other });
        }
        Ok(HostSession { session: self.finish(session), saved: Some(saved), journal, recorder: own })
    }

    /// The options of the session, for hosts that start sessions themselves.
    pub fn options(&mut self, recorder: &Recorder) -> Result<SessionOptions, HostError> {
        let (metier, environment, settings) =
            (self.metier, self.metier.environment(), self.metier.settings());
        let catalog = match self.catalog.take() {
            Some(catalog) => catalog,
            None => metier.catalog()?.catalog().clone(),
        };
        let nowhere = || Anchors::new(environment.working.clone().unwrap_or_default(), "/nonexistent");
        let anchors = metier.anchors(None, None).unwrap_or_else(|_| nowhere());
        let recording = Recording::Journal(Arc::clone(recorder.journal()));
        let clock = self.clock.take().unwrap_or_else(|| Arc::new(SystemClock));
        let mut options = SessionOptions::new(catalog, anchors, recording, clock);
        options.rules = settings.profile.value.rules();
        options.policy = metier.policy()?;
        if settings.recording.texts.value {
            options.privacy = Privacy::default().with_text().hiding(environment.secrets());
        }
        options.store = metier.kept_skills();
        options.installed = metier.installed();
        options.approvals = metier.approvals();
        options.reserved = metier.reserved_paths();
        options.executor = self.executor.take().unwrap_or_else(|| Arc::new(metier.executor()));
        options.tools = metier.tool_options();
        options.tools.work = self.open_work_directory(&options.reserved)?;
        options.machine = Some(Arc::new(ThisMachine::new(environment.path.clone(), None)));
        options.budget = self.budget.take();
        self.task = self.task.take().or_else(|| environment.variable(TASK).map(str::to_owned));
        options.task.clone_from(&self.task);
        options.require_compatible = settings.require_compatible.value;
        options.agent = self.agent.take();
        options.actor = self.actor.take();
        options.identity = Some(metier.identity());
        options.trigger = self.trigger;
        Ok(options)
    }

    fn open_work_directory(&self, reserved: &ReservedPaths) -> Result<Option<WorkDirectory>, HostError> {
        let open = |path: &PathBuf| {
            let path = self.metier.environment().absolute(path);
            self.metier.work_directory(&path, false, reserved)
        };
        self.work.as_ref().map(open).transpose()
    }

    fn finish(self, mut session: Session) -> Session {
        if let Some(approver) = self.approver {
            session.set_approver(approver);
        }
        if self.task.is_some() {
            session.set_task(self.task);
        }
        session
    }
}

/// A session with its journal, which can be saved for another process: see [`SessionBuilder::open`]. Derefs to [`Session`].
#[derive(Debug)]
pub struct HostSession {
    session: Session,
    saved: Option<Saved>,
    journal: Arc<Journal>,
    /// `None` if the caller closes the journal.
    recorder: Option<Recorder>,
}

impl Deref for HostSession {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.session
    }
}

impl DerefMut for HostSession {
    fn deref_mut(&mut self) -> &mut Session {
        &mut self.session
    }
}

impl HostSession {
    /// Saves the session if the host gave it an id, else ends it. Then closes the journal. Returns messages for the user.
    pub fn close(self) -> Result<Vec<String>, HostError> {
        let Self { session, saved, journal, recorder } = self;
        match saved {
            Some(saved) => {
                let text = session.save();
                drop(session);
                // What is not recorded did not happen.
                journal.flush()?;
                saved.write(&text)?;
            }
            None => session.end()?,
        }
        // The recorder closes the journal when nothing else has it.
        drop(journal);
        Ok(recorder.map(Recorder::close).unwrap_or_default())
    }
}

/// Where a session is between processes. No other process has it meanwhile.
#[derive(Debug)]
struct Saved {
    path: PathBuf,
    _lock: File,
}

impl Saved {
    fn lock(environment: &Environment, id: &str, when_busy: impl FnOnce()) -> Result<Self, HostError> {
        let state = environment.state_directory().ok_or(HostError::NoHome {
            purpose: "to keep sessions in",
            variables: "HOME or XDG_STATE_HOME",
        })?;
        let directory = state.join("sessions");
        // Any text can be an id, and not every text is a file's name.
        let name = &Digest::of(id.as_bytes()).hex()[..32];
        let at = |source| HostError::Io { action: "write to", path: directory.clone(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(&directory).map_err(at)?;
        let lock = directory.join(format!("{name}.lock"));
        let lock = File::options().create(true).append(true).open(lock).map_err(at)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                when_busy();
                lock.lock().map_err(at)?;
            }
            Err(TryLockError::Error(error)) => return Err(at(error)),
        }
        Ok(Self { path: directory.join(format!("{name}.json")), _lock: lock })
    }

    fn read(&self) -> Result<Option<String>, HostError> {
        let mut text = String::new();
        let read = File::open(&self.path).and_then(|file| file.take(MOST).read_to_string(&mut text));
        match read {
            Ok(_) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(HostError::read(&self.path, error)),
        }
    }

    /// Whole or not at all.
    fn write(&self, text: &str) -> Result<(), HostError> {
        let directory = self.path.parent().unwrap_or(Path::new("."));
        let write = || {
            let mut file = tempfile::NamedTempFile::new_in(directory)?;
            file.write_all(text.as_bytes())?;
            file.as_file().sync_all()?;
            file.persist(&self.path).map_err(|error| error.error)?;
            fs::File::open(directory)?.sync_all()
        };
        write().map_err(|error| HostError::write(&self.path, error))
    }
}
