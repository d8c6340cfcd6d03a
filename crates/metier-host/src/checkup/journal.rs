//! Whether something could be recorded now. Nothing is recorded.

use std::io;
use std::path::Path;
use std::sync::Arc;

use metier_journal::{Journal, JournalAddress, JournalError, JournalOptions, JournalReader};
use metier_skill::Coded as _;
use serde::Serialize;

use super::check::{Check, CheckStatus};
use super::counted;
use crate::environment::SystemClock;
use crate::error::HostError;
use crate::host::Metier;
use crate::settings::chain;

/// The journal of the settings.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct CheckedJournal {
    /// Its file or address, without a password.
    pub place: String,
    /// How many records it has; 0 if it does not exist yet, and `None` if it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records: Option<u64>,
    /// Why it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The stable code of that error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'static str>,
}

/// The journal of the settings and how many records it has.
pub(super) fn look(metier: &Metier) -> Option<CheckedJournal> {
    let address = metier.journal_address().ok()?;
    let place = address.to_string();
    Some(match size(&address) {
        Ok(size) => CheckedJournal { place, records: Some(size), error: None, code: None },
        Err(JournalError::NotFound { .. }) => {
            CheckedJournal { place, records: Some(0), error: None, code: None }
        }
        Err(error) => {
            CheckedJournal { place, records: None, error: Some(error.to_string()), code: Some(error.code()) }
        }
    })
}

fn size(address: &JournalAddress) -> Result<u64, JournalError> {
    JournalReader::open(address).and_then(|mut reader| reader.size())
}

impl Metier {
    /// Why nothing can be recorded in the journal file; `None` if something can, or if there is no journal yet. This is fast: records
    /// are not verified.
    pub fn journal_problem(&self) -> Option<Check> {
        let address = self.journal_address().ok()?;
        let is_absent = is_absent(address.as_file()?);
        let is_new = is_absent && self.remembered_checkpoint(&address).is_none_or(|path| !path.exists());
        let check = (!is_new).then(|| check(self))?;
        (check.status == CheckStatus::Failed).then_some(check)
    }
}

/// Whether the journal can be appended to. Where there is none yet, one is made beside its place and removed.
pub(super) fn check(metier: &Metier) -> Check {
    let Ok(address) = metier.journal_address() else {
        let message = "there is no home directory to keep a journal in";
        return Check::failed("journal", message, "set HOME, XDG_STATE_HOME or METIER_JOURNAL");
    };
    if let Err(error) = metier.check_journal_directory() {
        return Check::failed("journal", chain(&error), "create the directory, or correct the setting")
            .at(address.to_string());
    }
    let tried = match (size(&address), address.as_file()) {
        (Err(JournalError::NotFound { .. }), Some(path)) if is_absent(path) => {
            // Every command refuses to begin another journal in the place of one that is remembered.
            if metier.remembered_checkpoint(&address).is_some_and(|path| path.exists()) {
                let message = format!("{} is gone, and a checkpoint of it is remembered", path.display());
                let fix = "restore it from a backup; `metier audit verify` says what is missing";
                return Check::failed("journal", message, fix).at(path);
            }
            begin_beside(path).map(|()| 0)
        }
        (Err(JournalError::NotFound { .. }), None) => Ok(0),
        (Err(JournalError::NotFound { .. }), Some(_)) => can_append(metier).map(|()| 0),
        (Ok(size), _) => can_append(metier).map(|()| size),
        (Err(error), _) => Err(error.into()),
    };
    match tried {
        Ok(size) => {
            let records = counted(usize::try_from(size).unwrap_or(usize::MAX), "record");
            let message =
                format!("{address} can be appended to ({records}); `metier audit verify` checks each record");
            Check::ok("journal", message)
        }
        Err(error) => {
            let fix = if let HostError::Journal(error) = &error { fix_of(error) } else { OTHERWISE };
            Check::failed("journal", chain(&error), fix).at(address.to_string())
        }
    }
}

/// Whether records are older than the settings want to keep them in the journal.
pub(super) fn archives(metier: &Metier) -> Option<Check> {
    let keep = &metier.settings().recording.archive.value.as_ref()?.keep;
    match metier.archiving_due() {
        Ok(Some(oldest)) => {
            let day = oldest.to_string().chars().take(10).collect::<String>();
            let message = format!("the oldest record is from {day}; `keep` in `[archive]` is {keep}");
            Some(Check::notice("archives", message, "`metier audit archive`"))
        }
        Ok(None) => {
            Some(Check::ok("archives", format!("no record is due to be archived (`keep` is {keep})")))
        }
        // The check of the journal reports it.
        Err(_) => None,
    }
}

const OTHERWISE: &str = "set `journal` to another place, or correct the settings: `metier config`";

const fn fix_of(error: &JournalError) -> &'static str {
    match error {
        JournalError::Full { .. } => "free some space, then run `metier doctor` again",
        JournalError::ReadOnly { .. } => "make the directory writable, or set `journal` to another place",
        JournalError::Damaged { .. } | JournalError::NotAJournal { .. } | JournalError::Record { .. } => {
            "find the damage: `metier audit verify`; then see \"When the journal is damaged\" in docs/journal.md"
        }
        JournalError::Format { .. } => "update metier",
        _ => OTHERWISE,
    }
}

/// Whether neither the file nor the note beside it exists.
fn is_absent(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    !path.exists() && !path.with_file_name(format!("{name}-lock")).exists()
}

/// Opens the journal as every command does, and checks that there is space for a record.
fn can_append(metier: &Metier) -> Result<(), HostError> {
    Ok(metier.recorder()?.journal().ready()?)
}

/// The same for a journal that does not exist yet: in a directory that is removed again.
fn begin_beside(path: &Path) -> Result<(), HostError> {
    let at = |error: &io::Error| match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            JournalError::Full { path: path.to_owned() }
        }
        _ => JournalError::ReadOnly { path: path.to_owned(), reason: error.to_string() },
    };
    let above = super::disk::existing(path.parent().unwrap_or(path));
    let directory =
        tempfile::Builder::new().prefix(".metier-doctor-").tempdir_in(above).map_err(|error| at(&error))?;
    let scratch = directory.path().join("journal.db");
    let opened = Journal::open(&JournalAddress::file(&scratch), JournalOptions::new(Arc::new(SystemClock)));
    let ready = opened.and_then(|journal| journal.ready());
    // What is wrong there is wrong where the journal would be.
    Ok(ready.map_err(|error| match error {
        JournalError::Full { .. } => JournalError::Full { path: path.to_owned() },
        JournalError::ReadOnly { reason, .. } => JournalError::ReadOnly { path: path.to_owned(), reason },
        other => other,
    })?)
}
