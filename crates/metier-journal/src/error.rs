//! Errors that prevent writing or reading a journal. Damaged records are reported as a [`Damage`](crate::Damage).

use std::io;
use std::path::PathBuf;

use metier_skill::Coded;

/// Why a journal could not be used.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The journal does not exist.
    #[error("the journal `{place}` does not exist; nothing was recorded there yet")]
    NotFound {
        /// The file, or the server and stream.
        place: String,
    },
    /// The program was built without support for this kind of journal.
    #[error("the journal `{place}` cannot be opened: this program was built without {feature}")]
    NotCompiled {
        /// The file, or the server.
        place: String,
        /// The feature of this crate that is missing: `sqlite` or `postgres`.
        feature: &'static str,
    },
    /// A file of the journal cannot be used.
    #[error("the journal `{}` cannot be {doing}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What was tried: `written`, `read`.
        doing: &'static str,
        /// The error of the system.
        reason: String,
    },
    /// The disk, here or at the server, is full.
    #[error("nothing can be recorded in `{}`: the disk is full; free some space, then try again", path.display())]
    Full {
        /// The file, or the server and stream.
        path: PathBuf,
    },
    /// Another process holds the lock for too long.
    #[error(
        "nothing can be recorded in `{}`: {holder} has locked it for more than {seconds} s; resume or end that process, then try again",
        path.display()
    )]
    Busy {
        /// The file.
        path: PathBuf,
        /// The process, as far as it is known.
        holder: String,
        /// How long was waited.
        seconds: u64,
    },
    /// The directory, the file or the server is read-only.
    #[error("nothing can be recorded in `{}`: {reason}; make it writable, or set `journal` to another place", path.display())]
    ReadOnly {
        /// The file, or the server and stream.
        path: PathBuf,
        /// The error of the system.
        reason: String,
    },
    /// The file exists and is not a journal, or is too damaged to be opened.
    #[error("`{}` is not a readable journal: {reason}; run `metier audit verify` for details", path.display())]
    NotAJournal {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// A newer version of metier wrote it.
    #[error("the journal `{place}` has format {found}; this version of metier reads up to format {known}")]
    Format {
        /// The file, or the server and stream.
        place: String,
        /// Its format.
        found: i64,
        /// The newest supported format.
        known: i64,
    },
    /// An event that cannot be recorded.
    #[error("the event cannot be recorded: {reason}")]
    Event {
        /// The reason.
        reason: String,
    },
    /// A record cannot be read.
    #[error(
        "record {sequence} of the journal cannot be read: {reason}; run `metier audit verify` for details"
    )]
    Record {
        /// The sequence of the record.
        sequence: u64,
        /// The reason.
        reason: String,
    },
    /// The end of the journal was changed, so nothing is added to it.
    #[error(
        "the journal is damaged, so nothing is added to it: {reason}; delete nothing, its files are evidence: see \"When the journal is damaged\" in docs/journal.md"
    )]
    Damaged {
        /// The damage.
        reason: String,
    },
    /// A server cannot be reached, or refuses.
    #[error("the journal server {place} cannot be used: {reason}")]
    Server {
        /// The server, without passwords.
        place: String,
        /// The error.
        reason: String,
    },
    /// Records could not be written in the background.
    #[error("{count} records could not be written in the background and are lost: {reason}")]
    Lost {
        /// The number of records.
        count: u64,
        /// The reason.
        reason: String,
    },
    /// An invalid setting.
    #[error("`{value}` is not a valid journal: {reason}")]
    Address {
        /// The setting.
        value: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Traces and metrics cannot be sent with these settings.
    #[error("telemetry cannot be sent: {reason}")]
    Telemetry {
        /// The reason.
        reason: String,
    },
    /// A file is not a usable checkpoint.
    #[error("`{}` is not a readable checkpoint: {reason}", path.display())]
    Checkpoint {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// An archive cannot be written or used. No record was removed.
    #[error("`{}` cannot be used as an archive: {reason}", path.display())]
    Archive {
        /// The archive, or the directory for archives.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The journal was archived by another process meanwhile. No record was removed.
    #[error("records of the journal `{place}` were archived by another process at the same time; try again")]
    Moved {
        /// The file.
        place: String,
    },
    /// Only journals in files can be archived.
    #[error("the journal `{place}` cannot be archived: only journals in files can")]
    NoArchives {
        /// The server and stream.
        place: String,
    },
}

impl Coded for JournalError {
    fn code(&self) -> &'static str {
        match self {
            Self::NotCompiled { .. } => "journal-not-compiled",
            Self::NotFound { .. } => "journal-not-found",
            Self::File { .. } => "journal-file",
            Self::Full { .. } => "journal-full",
            Self::Busy { .. } => "journal-busy",
            Self::ReadOnly { .. } => "journal-read-only",
            Self::NotAJournal { .. } => "journal-unreadable",
            Self::Format { .. } => "journal-format",
            Self::Event { .. } => "journal-event",
            Self::Damaged { .. } => "journal-damaged",
            Self::Record { .. } => "journal-record",
            Self::Server { .. } => "journal-server",
            Self::Lost { .. } => "journal-lost",
            Self::Address { .. } => "journal-place",
            Self::Telemetry { .. } => "journal-telemetry",
            Self::Checkpoint { .. } => "journal-checkpoint",
            Self::Archive { .. } => "journal-archive",
            Self::Moved { .. } => "journal-moved",
            Self::NoArchives { .. } => "journal-no-archives",
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::NotCompiled { feature, .. } => {
                Some(format!("build with the feature `{feature}` of metier-journal"))
            }
            Self::NoArchives { .. } => Some(
                "copy it with `metier audit export` and `metier audit checkpoint`, then set `journal` to a new stream"
                    .to_owned(),
            ),
            // The messages say what to do.
            _ => None,
        }
    }
}

impl JournalError {
    /// An error of the system about a file as one of ours.
    pub(crate) fn of_file(path: impl Into<PathBuf>, doing: &'static str, error: &io::Error) -> Self {
        let path = path.into();
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full { path },
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem if doing == "written" => {
                Self::ReadOnly { path, reason: error.to_string() }
            }
            _ => Self::File { path, doing, reason: error.to_string() },
        }
    }
}
