//! What keeps a journal from being written or read. What is wrong with a journal's records is a [`Damage`](crate::Damage).

use std::io;
use std::path::PathBuf;

use metier_skill::Coded;

/// Why a journal could not be used.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// There is no journal.
    #[error("there is no journal at `{place}`: nothing was recorded there yet")]
    NotFound {
        /// Where it should be.
        place: String,
    },
    /// This program was built without the code for journals of this kind.
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
        /// What the system said.
        reason: String,
    },
    /// The disk, here or at the server, has no room for what must be recorded.
    #[error("there is no room to record anything in `{}`; free some space, then try again", path.display())]
    Full {
        /// The file, or the server and stream.
        path: PathBuf,
    },
    /// Another process has locked it, and does not let go.
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
    /// The directory, the file or the server may not be written to.
    #[error("nothing can be recorded in `{}`: {reason}; make it writable, or set `journal` to another place", path.display())]
    ReadOnly {
        /// The file, or the server and stream.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// The file is there and is no journal, or is damaged so that it cannot be opened.
    #[error("`{}` is not a journal that can be read: {reason}; `metier audit verify` says more", path.display())]
    NotAJournal {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A newer metier wrote it.
    #[error("the journal `{place}` has format {found}; this metier knows {known}")]
    Format {
        /// Where it is.
        place: String,
        /// Its format.
        found: i64,
        /// Ours.
        known: i64,
    },
    /// An event that cannot be recorded.
    #[error("the event cannot be recorded: {reason}")]
    Event {
        /// Why.
        reason: String,
    },
    /// A record cannot be read.
    #[error("record {sequence} of the journal cannot be read: {reason}; `metier audit verify` says more")]
    Record {
        /// Which.
        sequence: u64,
        /// Why.
        reason: String,
    },
    /// The last records of a journal are not what they were, so nothing is added to it.
    #[error("nothing is added to the journal: {reason}; `metier audit verify` says more")]
    Damaged {
        /// What is wrong.
        reason: String,
    },
    /// A server cannot be reached, or refuses.
    #[error("the journal's server {place} cannot be used: {reason}")]
    Server {
        /// The server, without passwords.
        place: String,
        /// What it said.
        reason: String,
    },
    /// What was to be recorded in the background could not be.
    #[error("{count} records that were to be written in the background are lost: {reason}")]
    Lost {
        /// How many.
        count: u64,
        /// Why.
        reason: String,
    },
    /// A setting that means nothing.
    #[error("`{value}` is no place for a journal: {reason}")]
    Address {
        /// What was set.
        value: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Traces and metrics cannot be sent with these settings.
    #[error("telemetry cannot be sent: {reason}")]
    Telemetry {
        /// What is wrong.
        reason: String,
    },
    /// A checkpoint that cannot be used.
    #[error("`{}` is no checkpoint that can be read: {reason}", path.display())]
    Checkpoint {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
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
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::NotCompiled { feature, .. } => {
                Some(format!("build with the feature `{feature}` of metier-journal"))
            }
            // What helps is in the message.
            _ => None,
        }
    }
}

impl JournalError {
    /// What the system said about a file, in our words.
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
