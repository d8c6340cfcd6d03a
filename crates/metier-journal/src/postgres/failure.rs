//! What went wrong between us and a server, and what follows from it.

use std::error::Error;
use std::io;

use tokio_postgres::error::{DbError, Severity, SqlState};

use super::address::Address;
use crate::error::JournalError;

/// What went wrong.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    kind: Kind,
    code: Option<SqlState>,
    reason: String,
}

/// What follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The server cannot be reached, and that was tried long enough.
    Away,
    /// The connection is gone, and with it whatever was not committed; it can be tried again.
    Lost,
    /// The server said no.
    Refused,
}

impl Failure {
    pub(super) fn of(error: &tokio_postgres::Error) -> Self {
        let kind = if is_lost(error) { Kind::Lost } else { Kind::Refused };
        let reason = error.as_db_error().map_or_else(|| chain(error), said);
        Self { kind, code: error.code().cloned(), reason }
    }

    pub(super) fn lost<S: Into<String>>(reason: S) -> Self {
        Self { kind: Kind::Lost, code: None, reason: reason.into() }
    }

    pub(super) fn refused<S: Into<String>>(reason: S) -> Self {
        Self { kind: Kind::Refused, code: None, reason: reason.into() }
    }

    pub(super) fn is_lost(&self) -> bool {
        self.kind == Kind::Lost
    }

    pub(super) fn away(self) -> Self {
        Self { kind: Kind::Away, ..self }
    }

    /// Only an error that ended a statement, and not the connection, says that a transaction came to nothing.
    pub(super) fn leaves_doubt(error: &tokio_postgres::Error) -> bool {
        error.as_db_error().is_none_or(|said| {
            said.parsed_severity() != Some(Severity::Error)
                || *said.code() == SqlState::T_R_STATEMENT_COMPLETION_UNKNOWN
        })
    }

    pub(super) fn explain(&self, address: &Address) -> JournalError {
        let (place, reason) = (address.to_string(), self.reason.clone());
        let server = |reason| JournalError::Server { place: format!("`{address}`"), reason };
        let Some(code) = &self.code else { return server(reason) };
        match *code {
            SqlState::READ_ONLY_SQL_TRANSACTION => JournalError::ReadOnly { path: place.into(), reason },
            SqlState::DISK_FULL => JournalError::Full { path: place.into() },
            SqlState::LOCK_NOT_AVAILABLE => {
                server(format!("another writer has locked the stream for too long: {reason}"))
            }
            SqlState::UNIQUE_VIOLATION => {
                server(format!("another program adds to the stream without taking the lock: {reason}"))
            }
            SqlState::INSUFFICIENT_PRIVILEGE => {
                server(format!("{reason}; `docs/journal.md` lists what a role must be granted"))
            }
            _ => server(reason),
        }
    }
}

/// Whether the connection is at fault, and not what was asked for.
fn is_lost(error: &tokio_postgres::Error) -> bool {
    let other = [
        SqlState::TOO_MANY_CONNECTIONS,
        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::T_R_SERIALIZATION_FAILURE,
    ];
    match error.code() {
        // Connections that broke, and servers that are starting or stopping.
        Some(code) => {
            ["08", "57P"].iter().any(|class| code.code().starts_with(class)) || other.contains(code)
        }
        None => error.is_closed() || causes(error).any(<dyn Error>::is::<io::Error>),
    }
}

fn said(error: &DbError) -> String {
    let mut text = error.message().to_owned();
    for more in [error.detail(), error.hint()].into_iter().flatten() {
        text.push_str("; ");
        text.push_str(more);
    }
    text
}

fn causes(error: &dyn Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(error.source(), |cause: &&(dyn Error + 'static)| (*cause).source())
}

/// An error with all that led to it.
pub(super) fn chain(error: &dyn Error) -> String {
    causes(error).fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
