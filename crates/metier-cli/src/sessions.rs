//! The session that a command is a step of: begun for it, or taken up by its id.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use clap::builder::NonEmptyStringValueParser;
use metier_catalog::ThisMachine;
use metier_journal::{Privacy, Trigger};
use metier_policy::Anchors;
use metier_session::{ApprovalStore, Recording, Session, SessionOptions};
use metier_skill::Digest;

use crate::approver::AtTerminal;
use crate::environment::{Clock, Environment};
use crate::exit::UsageError;
use crate::output::Output;
use crate::policy;
use crate::recording::Recorder;
use crate::skills::Skills;
use crate::work::reserved;

/// More than any saved session has.
const MOST: u64 = 256 << 20;

/// Which session.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct SessionArgs {
    /// Go on with the session of this id, or begin one that can be gone on with; without it, a session for this step alone
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    session: Option<String>,
}

/// A session that a command works in.
pub(crate) struct Conversation {
    pub(crate) session: Session,
    saved: Option<Saved>,
    recorder: Recorder,
}

/// Where a session is between commands. Nobody else has it meanwhile.
struct Saved {
    path: PathBuf,
    _lock: File,
}

impl SessionArgs {
    /// Takes up the session, or begins one.
    pub(crate) fn open(&self, skills: &Skills, output: &mut Output) -> anyhow::Result<Conversation> {
        let environment = &skills.environment;
        let recorder = skills.config.recording.open(environment)?;
        let options = options(skills, &recorder)?;
        let Some(id) = &self.session else {
            let session = Session::start(options)?;
            return Ok(Conversation { session: asking(session, None), saved: None, recorder });
        };
        let saved = Saved::lock(environment, id, output)?;
        let session = match saved.read()? {
            Some(text) => Session::restore(options, &text).with_context(|| {
                format!("cannot go on with session `{id}`; remove {} to begin it anew", saved.path.display())
            })?,
            None => Session::with_id(options, id)?,
        };
        if session.id() != id {
            let (path, other) = (saved.path.display(), session.id());
            anyhow::bail!("{path} should be session `{id}`, and is `{other}`; remove it to begin anew");
        }
        Ok(Conversation { session: asking(session, Some(id.clone())), saved: Some(saved), recorder })
    }
}

/// The same, with the person at the terminal to ask, if there is one.
fn asking(mut session: Session, id: Option<String>) -> Session {
    session.set_approver(Box::new(AtTerminal(id)));
    session
}

impl Conversation {
    /// Puts the session aside for the next command, or ends it where there is none.
    pub(crate) fn close(self, output: &mut Output) -> anyhow::Result<()> {
        let Self { session, saved, recorder } = self;
        match saved {
            Some(saved) => {
                let text = session.save();
                drop(session);
                // What is not recorded did not happen.
                recorder.journal.flush()?;
                saved.write(&text)?;
            }
            None => session.end()?,
        }
        recorder.close(output)
    }
}

/// What sessions work with here.
pub(crate) fn options(skills: &Skills, recorder: &Recorder) -> anyhow::Result<SessionOptions> {
    let (environment, config) = (&skills.environment, &skills.config);
    let nowhere = || Anchors::new(environment.working.clone().unwrap_or_default(), "/nonexistent");
    let places = policy::places(environment, None, None).unwrap_or_else(|_| nowhere());
    let recording = Recording::Journal(Arc::clone(&recorder.journal));
    let mut options = SessionOptions::new(skills.catalog.clone(), places, recording, Arc::new(Clock));
    options.rules = config.profile.value.rules();
    options.policy = policy::read(config, None)?;
    if config.recording.texts.value {
        let secrets = Environment::secrets();
        let secrets = secrets.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        options.privacy = Privacy::default().with_text().hiding(secrets);
    }
    options.store = config.recording.store(environment);
    options.installed = environment.store();
    options.approvals = approvals(environment);
    options.reserved = reserved(environment, config);
    options.executor = Arc::new(environment.executor());
    options.machine = Some(Arc::new(ThisMachine::new(environment.path.clone(), None)));
    options.actor = Some("user".to_owned());
    options.identity = Some(Environment::identity());
    options.trigger = Trigger::User;
    Ok(options)
}

/// Where this person's answers are kept; nowhere without a home.
pub(crate) fn approvals(environment: &Environment) -> Option<ApprovalStore> {
    Some(ApprovalStore::new(environment.state_directory()?.join("approvals")))
}

/// The same, where there must be a place.
pub(crate) fn must_keep_approvals(environment: &Environment) -> Result<ApprovalStore, UsageError> {
    let message = "there is no home directory to keep approvals in; set HOME or XDG_STATE_HOME";
    approvals(environment).ok_or_else(|| UsageError(message.to_owned()))
}

impl Saved {
    fn lock(environment: &Environment, id: &str, output: &mut Output) -> anyhow::Result<Self> {
        let message = "there is no home directory to keep sessions in; set HOME or XDG_STATE_HOME";
        let state = environment.state_directory().ok_or_else(|| UsageError(message.to_owned()))?;
        let directory = state.join("sessions");
        // Any text can be an id, and not every text is a file's name.
        let name = &Digest::of(id.as_bytes()).hex()[..32];
        let at = || format!("cannot write to {}", directory.display());
        DirBuilder::new().recursive(true).mode(0o700).create(&directory).with_context(at)?;
        let lock = directory.join(format!("{name}.lock"));
        let lock = File::options().create(true).append(true).open(lock).with_context(at)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                output.note(format_args!("note: another command works in session `{id}`; waiting for it"))?;
                lock.lock().with_context(at)?;
            }
            Err(TryLockError::Error(error)) => return Err(error).with_context(at),
        }
        Ok(Self { path: directory.join(format!("{name}.json")), _lock: lock })
    }

    fn read(&self) -> anyhow::Result<Option<String>> {
        let mut text = String::new();
        let read = File::open(&self.path).and_then(|file| file.take(MOST).read_to_string(&mut text));
        match read {
            Ok(_) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", self.path.display())),
        }
    }

    /// Whole or not at all.
    fn write(&self, text: &str) -> anyhow::Result<()> {
        let directory = self.path.parent().unwrap_or(Path::new("."));
        let write = || {
            let mut file = tempfile::NamedTempFile::new_in(directory)?;
            file.write_all(text.as_bytes())?;
            file.as_file().sync_all()?;
            file.persist(&self.path).map_err(|error| error.error)?;
            fs::File::open(directory)?.sync_all()
        };
        write().with_context(|| format!("cannot write {}", self.path.display()))
    }
}
