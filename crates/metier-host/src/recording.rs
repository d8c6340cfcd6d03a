//! The journal of the settings, and telemetry for a collector.

use std::path::{Path, PathBuf};
use std::sync::Arc;
#[cfg(feature = "otel")]
use std::time::Duration;

use metier_journal::{
    Checkpoint, Event, Identity, Journal, JournalAddress, JournalError, JournalOptions, JournalReader,
    PendingRecord, RecordContext, Time,
};
#[cfg(feature = "otel")]
use metier_journal::{Telemetry, TelemetrySettings};
use metier_skill::Digest;

use crate::environment::{Environment, SystemClock, now};
use crate::error::HostError;
use crate::host::Metier;
#[cfg(feature = "otel")]
use crate::settings::TelemetryTable;
use crate::settings::{ArchivePeriod, SettingOrigin, journal};

impl Metier {
    /// The address of the journal; an error without a home directory to keep one in.
    pub fn journal_address(&self) -> Result<JournalAddress, HostError> {
        self.settings().recording.journal.value.clone().ok_or(HostError::NoHome {
            purpose: "to keep a journal in",
            variables: "HOME, XDG_STATE_HOME or METIER_JOURNAL",
        })
    }

    /// Parses the address of a journal: a file, relative to the working directory, or a server.
    pub fn journal_at(&self, text: &str) -> Result<JournalAddress, HostError> {
        let environment = self.environment();
        let base = environment.working.clone().unwrap_or_default();
        journal(text, &base, environment).map_err(HostError::given)
    }

    /// Checks that the directory of a journal that a setting names exists. It is not created, because a typing error would split
    /// the record in two.
    pub fn check_journal_directory(&self) -> Result<(), HostError> {
        let address = self.journal_address()?;
        let directory = address.as_file().and_then(Path::parent);
        let Some(missing) = directory.filter(|directory| !directory.exists()) else { return Ok(()) };
        let origin = &self.settings().recording.journal.origin;
        if *origin == SettingOrigin::Default {
            return Ok(());
        }
        Err(HostError::NoJournalDirectory { directory: missing.to_owned(), origin: origin.clone() })
    }

    /// Opens the journal for writing.
    pub fn recorder(&self) -> Result<Recorder, HostError> {
        let recording = &self.settings().recording;
        let address = self.journal_address()?;
        let mut options = JournalOptions::new(Arc::new(SystemClock));
        options.durability = recording.durability.value;
        options.remember = self.remembered_checkpoint(&address);
        #[cfg(feature = "otel")]
        let telemetry = recording.telemetry.value.as_ref().map(collector).transpose()?.map(Arc::new);
        #[cfg(feature = "otel")]
        {
            options.observer = telemetry.clone().map(|telemetry| telemetry as _);
        }
        self.check_journal_directory()?;
        let journal = Arc::new(Journal::open(&address, options)?);
        Ok(Recorder {
            journal,
            identity: self.identity(),
            #[cfg(feature = "otel")]
            telemetry,
        })
    }

    /// The directory for archives: that of the settings, or `archives` beside the journal.
    pub fn archive_directory(&self) -> Result<PathBuf, HostError> {
        let setting = self.settings().recording.archive.value.as_ref();
        if let Some(directory) = setting.and_then(|setting| setting.directory.clone()) {
            return Ok(directory);
        }
        let address = self.journal_address()?;
        let beside = address.as_file().and_then(Path::parent).map(|parent| parent.join("archives"));
        beside.ok_or_else(|| JournalError::NoArchives { place: address.to_string() }.into())
    }

    /// The time before which records are to be archived by the settings; `None` if they do not say.
    pub fn archive_before(&self) -> Option<Time> {
        let setting = self.settings().recording.archive.value.as_ref()?;
        let before = Time::parse_near(&setting.keep, now())?;
        Some(if setting.by == Some(ArchivePeriod::Month) { before.month_start() } else { before })
    }

    /// The time of the oldest record, if it is to be archived by the settings.
    pub fn archiving_due(&self) -> Result<Option<Time>, HostError> {
        let Some(before) = self.archive_before() else { return Ok(None) };
        let address = self.journal_address()?;
        if address.as_file().is_none() {
            return Ok(None);
        }
        match JournalReader::open(&address) {
            Ok(mut reader) => Ok(reader.oldest()?.filter(|oldest| *oldest < before)),
            Err(JournalError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The account and the machine, for records.
    pub fn identity(&self) -> Identity {
        let Environment { account, uid, machine, .. } = self.environment();
        Identity { user: account.clone(), uid: *uid, host: machine.clone() }
    }

    /// The file with the last checkpoint of a journal.
    pub fn remembered_checkpoint(&self, address: &JournalAddress) -> Option<PathBuf> {
        // By whatever path one comes to it.
        let real = address.as_file().and_then(|path| {
            path.canonicalize()
                .ok()
                .or_else(|| Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?)))
        });
        let name = real.map_or_else(|| address.key(), |path| path.display().to_string());
        let name = Digest::of(name.as_bytes()).hex();
        let state = self.environment().state_directory()?;
        Some(state.join("checkpoints").join(format!("{}.json", &name[..16])))
    }

    /// The last checkpoint of a journal, if there is one.
    pub fn last_checkpoint(&self, address: &JournalAddress) -> Result<Option<Checkpoint>, HostError> {
        match self.remembered_checkpoint(address) {
            Some(path) if path.symlink_metadata().is_ok() => Ok(Some(Checkpoint::read(&path)?)),
            _ => Ok(None),
        }
    }
}

#[cfg(feature = "otel")]
fn collector(table: &TelemetryTable) -> Result<Telemetry, HostError> {
    let mut settings = TelemetrySettings::new(&table.endpoint);
    settings.headers = table.headers.clone().into_iter().collect();
    // A command should not wait long for a collector that does not answer.
    settings.timeout = Duration::from_secs(2);
    settings.service = table.service.clone().unwrap_or_else(|| "metier".to_owned());
    Telemetry::new(settings).map_err(|source| HostError::Telemetry { source })
}

/// An open journal, with the collector of telemetry. Sessions write to it; close it at the end.
#[derive(Debug)]
pub struct Recorder {
    /// The journal.
    pub(crate) journal: Arc<Journal>,
    identity: Identity,
    #[cfg(feature = "otel")]
    telemetry: Option<Arc<Telemetry>>,
}

impl Recorder {
    /// The journal.
    pub const fn journal(&self) -> &Arc<Journal> {
        &self.journal
    }

    /// Records an event. The record is on disk when this returns.
    pub fn record(&self, context: &RecordContext, event: &Event) -> Result<(), HostError> {
        let identity = context.identity.clone().or_else(|| Some(self.identity.clone()));
        let context = RecordContext { identity, ..context.clone() };
        self.journal.append(PendingRecord::new(&SystemClock, &context, event)?)?;
        // What follows counts only with its record.
        Ok(self.journal.flush()?)
    }

    /// Closes the journal. All records are on disk before that. Returns messages for the user.
    pub fn close(self) -> Vec<String> {
        let closed = Arc::into_inner(self.journal).map_or(Ok(()), Journal::close);
        let mut notes = Vec::new();
        if let Err(error) = closed {
            notes.push(format!("the journal's checkpoint is not remembered: {error}"));
        }
        #[cfg(feature = "otel")]
        if let Some(error) = self.telemetry.and_then(|telemetry| telemetry.close().last_error) {
            notes.push(format!("not everything was sent to the collector: {error}"));
        }
        notes
    }
}
