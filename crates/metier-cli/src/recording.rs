//! What is recorded, where, and what is told to a collector: the settings, and the journal that they open.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use metier_journal::{
    Checkpoint, Clock as _, Durability, Event, Journal, JournalAddress, JournalOptions, PendingRecord,
    RecordContext, Telemetry, TelemetrySettings,
};
use metier_skill::Digest;
use metier_store::Store;
use serde::Deserialize;

use crate::config::{Setting, Source};
use crate::environment::{Clock, Environment};
use crate::exit::UsageError;
use crate::output::Output;

/// The settings.
#[derive(Debug, Clone)]
pub(crate) struct Recording {
    /// None without a home to keep it in.
    pub(crate) journal: Setting<Option<JournalAddress>>,
    pub(crate) durability: Setting<Durability>,
    /// Whether texts are recorded, or their digests only.
    pub(crate) texts: Setting<bool>,
    /// Whether every skill that is used is kept by its digest.
    pub(crate) keep_skills: Setting<bool>,
    pub(crate) telemetry: Setting<Option<TelemetryTable>>,
}

/// What a settings file may say about it.
#[derive(Debug, Default)]
pub(crate) struct RecordingTable {
    pub(crate) journal: Option<String>,
    pub(crate) durability: Option<Durability>,
    pub(crate) texts: Option<bool>,
    pub(crate) keep_skills: Option<bool>,
    pub(crate) telemetry: Option<TelemetryTable>,
}

/// Where traces and metrics go.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TelemetryTable {
    pub(crate) endpoint: String,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) service: Option<String>,
}

impl RecordingTable {
    fn is_empty(&self) -> bool {
        matches!(
            self,
            Self { journal: None, durability: None, texts: None, keep_skills: None, telemetry: None }
        )
    }
}

impl Recording {
    /// In a file in the state directory, to nobody else.
    pub(crate) fn usual(environment: &Environment) -> Self {
        let file = environment.state_directory().map(|state| JournalAddress::file(state.join("journal.db")));
        Self {
            journal: Setting::default(file),
            durability: Setting::default(Durability::default()),
            texts: Setting::default(false),
            keep_skills: Setting::default(true),
            telemetry: Setting::default(None),
        }
    }

    /// What a file says. What the organisation's says, others do not change; what a project says about it counts for nothing.
    pub(crate) fn apply(
        &mut self,
        table: RecordingTable,
        path: &Path,
        environment: &Environment,
        is_project: bool,
    ) -> Result<Option<String>, UsageError> {
        if table.is_empty() {
            return Ok(None);
        }
        if is_project {
            let path = path.display();
            return Ok(Some(format!(
                "{path}: a project cannot say what is recorded where; passing over that"
            )));
        }
        let source = Source::File(path.to_owned());
        let base = path.parent().unwrap_or(Path::new("/"));
        let journal = table.journal.map(|text| place(&text, base, environment)).transpose();
        let journal = journal.map_err(|error| UsageError(format!("{}: {}", path.display(), error.0)))?;
        let mut kept = Vec::new();
        set(&mut self.journal, journal.map(Some), &source, "journal", &mut kept);
        set(&mut self.durability, table.durability, &source, "durability", &mut kept);
        set(&mut self.texts, table.texts, &source, "record_text", &mut kept);
        set(&mut self.keep_skills, table.keep_skills, &source, "keep_skills", &mut kept);
        set(&mut self.telemetry, table.telemetry.map(Some), &source, "telemetry", &mut kept);
        let note = |kept: Vec<&str>| {
            let (path, kept) = (path.display(), kept.join("`, `"));
            format!("{path}: `{kept}` is set for everybody on this machine; passing over that")
        };
        Ok((!kept.is_empty()).then(|| note(kept)))
    }

    /// What variables say.
    pub(crate) fn apply_variables(
        &mut self,
        environment: &Environment,
    ) -> Result<Option<String>, UsageError> {
        let base = environment.working.as_deref().unwrap_or(Path::new("/"));
        let mut kept = Vec::new();
        if let Some(text) = environment.variable("METIER_JOURNAL") {
            let journal = place(text, base, environment)?;
            set(
                &mut self.journal,
                Some(Some(journal)),
                &Source::Variable("METIER_JOURNAL"),
                "METIER_JOURNAL",
                &mut kept,
            );
        }
        if let Some(endpoint) = environment.variable("METIER_OTLP_ENDPOINT") {
            let headers = environment.variable("METIER_OTLP_HEADERS").unwrap_or_default();
            let header = |pair: &str| {
                let wrong =
                    || UsageError("METIER_OTLP_HEADERS must be like `name=value,name=value`".to_owned());
                let (name, value) = pair.split_once('=').ok_or_else(wrong)?;
                Ok((name.trim().to_owned(), value.trim().to_owned()))
            };
            let headers = headers.split(',').filter(|pair| !pair.trim().is_empty()).map(header);
            let table = TelemetryTable {
                endpoint: endpoint.to_owned(),
                headers: headers.collect::<Result<_, UsageError>>()?,
                service: None,
            };
            let name = "METIER_OTLP_ENDPOINT";
            set(&mut self.telemetry, Some(Some(table)), &Source::Variable(name), name, &mut kept);
        }
        Ok((!kept.is_empty()).then(|| {
            format!("{} is set for everybody on this machine; the variable is passed over", kept.join(", "))
        }))
    }

    /// The journal; an error where there is no home for one.
    pub(crate) fn place(&self) -> Result<&JournalAddress, UsageError> {
        let message =
            "there is no home directory to keep a journal in; set HOME, XDG_STATE_HOME or METIER_JOURNAL";
        self.journal.value.as_ref().ok_or_else(|| UsageError(message.to_owned()))
    }

    /// Where skills that are used are kept, unless nobody wants that.
    pub(crate) fn store(&self, environment: &Environment) -> Option<Store> {
        let store = environment.store().filter(|_| self.keep_skills.value)?;
        Some(if self.durability.value == Durability::Batched { store.batched() } else { store })
    }

    /// A directory that a setting names must exist: one that is made by a typing error would split the record in two.
    pub(crate) fn check_directory(&self) -> anyhow::Result<()> {
        let directory = self.place()?.as_file().and_then(Path::parent);
        let Some(missing) = directory.filter(|directory| !directory.exists()) else { return Ok(()) };
        if matches!(self.journal.source, Source::Default) {
            return Ok(());
        }
        let (directory, source) = (missing.display(), &self.journal.source);
        let message = format!(
            "the directory `{directory}` of the journal does not exist ({source}); create it with `mkdir -p {directory}`, or correct the setting"
        );
        Err(UsageError(message).into())
    }

    /// Opens the journal to add to it.
    pub(crate) fn open(&self, environment: &Environment) -> anyhow::Result<Recorder> {
        let clock = Arc::new(Clock);
        let telemetry = self.telemetry.value.as_ref().map(collector).transpose()?.map(Arc::new);
        let mut options = JournalOptions::new(Arc::clone(&clock) as _);
        options.durability = self.durability.value;
        options.remember = remembered(environment, self.place()?);
        options.observer = telemetry.clone().map(|telemetry| telemetry as _);
        self.check_directory()?;
        let journal = Arc::new(Journal::open(self.place()?, options)?);
        Ok(Recorder { journal, telemetry, clock })
    }
}

/// A value that is set, unless the organisation has.
fn set<T>(
    setting: &mut Setting<T>,
    value: Option<T>,
    source: &Source,
    name: &'static str,
    kept: &mut Vec<&str>,
) {
    let Some(value) = value else { return };
    let is_fixed =
        matches!(&setting.source, Source::File(path) if path.starts_with(Environment::system_directory()));
    if is_fixed {
        kept.push(name);
    } else {
        *setting = Setting { value, source: source.clone() };
    }
}

/// A place as it was written: a file begins where the settings are.
pub(crate) fn place(
    text: &str,
    base: &Path,
    environment: &Environment,
) -> Result<JournalAddress, UsageError> {
    let place: JournalAddress = text.parse().map_err(|error| UsageError(format!("{error}")))?;
    Ok(match place.as_file() {
        Some(path) => {
            JournalAddress::file(base.join(environment.at_home(path)).components().collect::<PathBuf>())
        }
        None => place,
    })
}

fn collector(table: &TelemetryTable) -> anyhow::Result<Telemetry> {
    let mut settings = TelemetrySettings::new(&table.endpoint);
    settings.headers = table.headers.clone().into_iter().collect();
    // A command should not wait long for who does not answer.
    settings.timeout = Duration::from_secs(2);
    settings.service = table.service.clone().unwrap_or_else(|| "metier".to_owned());
    Telemetry::new(settings).context("the setting `telemetry` cannot be used")
}

/// Where the last checkpoint of a journal is remembered.
pub(crate) fn remembered(environment: &Environment, place: &JournalAddress) -> Option<PathBuf> {
    // By whatever path one comes to it.
    let real = place.as_file().and_then(|path| {
        path.canonicalize().ok().or_else(|| Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?)))
    });
    let name =
        Digest::of(real.map_or_else(|| place.key(), |path| path.display().to_string()).as_bytes()).hex();
    Some(environment.state_directory()?.join("checkpoints").join(format!("{}.json", &name[..16])))
}

/// The remembered checkpoint, if there is one.
pub(crate) fn last_checkpoint(
    environment: &Environment,
    place: &JournalAddress,
) -> anyhow::Result<Option<Checkpoint>> {
    match remembered(environment, place) {
        Some(path) if path.symlink_metadata().is_ok() => Ok(Some(Checkpoint::read(&path)?)),
        _ => Ok(None),
    }
}

/// A journal that is added to.
pub(crate) struct Recorder {
    pub(crate) journal: Arc<Journal>,
    telemetry: Option<Arc<Telemetry>>,
    clock: Arc<Clock>,
}

impl Recorder {
    pub(crate) fn record(&self, context: &RecordContext, event: &Event) -> anyhow::Result<()> {
        let identity = context.identity.clone().or_else(|| Some(Environment::identity()));
        let context = RecordContext { identity, ..context.clone() };
        self.journal.append(PendingRecord::new(&*self.clock, &context, event)?)?;
        // What follows counts only with its record.
        Ok(self.journal.flush()?)
    }

    pub(crate) fn close(self, output: &mut Output) -> anyhow::Result<()> {
        let Self { journal, telemetry, .. } = self;
        // Every record is on the disk by now.
        let closed = Arc::into_inner(journal).map_or(Ok(()), Journal::close);
        if let Err(error) = closed {
            output.note(format_args!("note: the journal's checkpoint is not remembered: {error}"))?;
        }
        if let Some(error) = telemetry.and_then(|telemetry| telemetry.close().last_error) {
            output.note(format_args!("note: not everything was sent to the collector: {error}"))?;
        }
        Ok(())
    }
}

/// What time it is, for checkpoints.
pub(crate) fn now() -> metier_journal::Time {
    Clock.now()
}
