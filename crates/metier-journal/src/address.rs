//! The address of a journal: a file, or a stream on a PostgreSQL server.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use metier_skill::Digest;

use crate::error::JournalError;
#[cfg(feature = "postgres")]
use crate::postgres::{Address, Postgres};
use crate::store::Store;

/// The address of a journal: a file, or a stream on a PostgreSQL server. An archive or an export can be read at its path.
///
/// ```
/// use metier_journal::JournalAddress;
///
/// let file: JournalAddress = "/var/lib/metier/journal.db".parse()?;
/// # #[cfg(feature = "postgres")]
/// # {
/// let server: JournalAddress = "postgres://metier:secret@db.example/audit?stream=build&sslmode=verify-full".parse()?;
/// assert_eq!(server.to_string(), "postgres://metier@db.example:5432/audit?stream=build");
/// # }
/// # Ok::<(), metier_journal::JournalError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct JournalAddress(Kind);

#[derive(Clone, PartialEq, Eq)]
enum Kind {
    File(PathBuf),
    #[cfg(feature = "postgres")]
    Postgres(Box<Address>),
    /// A server that this program cannot connect to: it was built without `postgres`.
    #[cfg(not(feature = "postgres"))]
    Postgres,
}

impl JournalAddress {
    /// The address of a file.
    pub fn file<P: Into<PathBuf>>(path: P) -> Self {
        Self(Kind::File(path.into()))
    }

    /// The file, if the journal is in one.
    pub fn as_file(&self) -> Option<&Path> {
        match &self.0 {
            Kind::File(path) => Some(path),
            #[cfg(feature = "postgres")]
            Kind::Postgres(_) => None,
            #[cfg(not(feature = "postgres"))]
            Kind::Postgres => None,
        }
    }

    /// A unique name that does not depend on the user or password: the path of a file, or `host:port/database/stream`.
    pub fn key(&self) -> String {
        match &self.0 {
            Kind::File(path) => path.display().to_string(),
            #[cfg(feature = "postgres")]
            Kind::Postgres(address) => address.key(),
            #[cfg(not(feature = "postgres"))]
            Kind::Postgres => HIDDEN.to_owned(),
        }
    }

    /// The number of records that was noted beside the journal, and the hash of the last one.
    pub(crate) fn noted(&self) -> Option<(u64, Digest)> {
        files::noted(self.as_file()?)
    }

    pub(crate) fn open(&self, patience: Duration) -> Result<Box<dyn Store>, JournalError> {
        match &self.0 {
            Kind::File(path) => files::open(path, patience),
            #[cfg(feature = "postgres")]
            Kind::Postgres(address) => Ok(Box::new(Postgres::open(address)?)),
            #[cfg(not(feature = "postgres"))]
            Kind::Postgres => Err(without_postgres()),
        }
    }

    pub(crate) fn open_to_read(&self) -> Result<Box<dyn Store>, JournalError> {
        match &self.0 {
            Kind::File(path) => files::open_to_read(path),
            #[cfg(feature = "postgres")]
            Kind::Postgres(address) => Ok(Box::new(Postgres::open_to_read(address)?)),
            #[cfg(not(feature = "postgres"))]
            Kind::Postgres => Err(without_postgres()),
        }
    }
}

impl FromStr for JournalAddress {
    type Err = JournalError;

    fn from_str(text: &str) -> Result<Self, JournalError> {
        match text.split_once("://") {
            Some(("postgres" | "postgresql", _)) => Self::server(text),
            // Whatever it is, there may be a password in it.
            Some((scheme, _)) => Err(refused(&format!("{scheme}://…"), "only files and postgres:// are")),
            None if text.is_empty() => Err(refused(text, "it is empty")),
            None => Ok(Self::file(text)),
        }
    }
}

impl JournalAddress {
    #[cfg(feature = "postgres")]
    fn server(url: &str) -> Result<Self, JournalError> {
        let address = Address::parse(url).map_err(|reason| refused(HIDDEN, &reason))?;
        Ok(Self(Kind::Postgres(Box::new(address))))
    }

    /// Settings with a server can be read without the feature; only opening it fails.
    #[cfg(not(feature = "postgres"))]
    const fn server(_: &str) -> Result<Self, JournalError> {
        Ok(Self(Kind::Postgres))
    }
}

/// A server whose address is not shown, because there may be a password in it.
const HIDDEN: &str = "postgres://…";

#[cfg(not(feature = "postgres"))]
fn without_postgres() -> JournalError {
    JournalError::NotCompiled { place: HIDDEN.to_owned(), feature: "postgres" }
}

#[cfg(feature = "sqlite")]
mod files {
    use super::{Duration, JournalError, Path, Store};
    use crate::lines::{Lines, is_lines};
    use crate::sqlite::Sqlite;
    pub(super) use crate::sqlite::noted;

    pub(super) fn open(path: &Path, patience: Duration) -> Result<Box<dyn Store>, JournalError> {
        Ok(Box::new(Sqlite::open(path, patience)?))
    }

    pub(super) fn open_to_read(path: &Path) -> Result<Box<dyn Store>, JournalError> {
        if is_lines(path) {
            return Ok(Box::new(Lines::open(path)));
        }
        Ok(Box::new(Sqlite::open_to_read(path)?))
    }
}

#[cfg(not(feature = "sqlite"))]
mod files {
    use super::{Digest, Duration, JournalError, Path, Store};
    use crate::lines::{Lines, is_lines};

    pub(super) const fn noted(_: &Path) -> Option<(u64, Digest)> {
        None
    }

    pub(super) fn open(path: &Path, _: Duration) -> Result<Box<dyn Store>, JournalError> {
        not_compiled(path)
    }

    pub(super) fn open_to_read(path: &Path) -> Result<Box<dyn Store>, JournalError> {
        if is_lines(path) {
            return Ok(Box::new(Lines::open(path)));
        }
        not_compiled(path)
    }

    fn not_compiled(path: &Path) -> Result<Box<dyn Store>, JournalError> {
        Err(JournalError::NotCompiled { place: path.display().to_string(), feature: "sqlite" })
    }
}

fn refused(value: &str, reason: &str) -> JournalError {
    JournalError::Address { value: value.to_owned(), reason: reason.to_owned() }
}

impl fmt::Display for JournalAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::File(path) => write!(f, "{}", path.display()),
            #[cfg(feature = "postgres")]
            Kind::Postgres(address) => write!(f, "{address}"),
            #[cfg(not(feature = "postgres"))]
            Kind::Postgres => f.write_str(HIDDEN),
        }
    }
}

impl fmt::Debug for JournalAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JournalAddress({self})")
    }
}

#[cfg(test)]
mod tests {
    #[cfg(not(all(feature = "postgres", feature = "sqlite")))]
    #[test]
    fn a_kind_that_was_not_compiled_in_is_an_error_with_a_hint() {
        use metier_skill::Coded as _;

        use super::*;

        for (text, feature, is_compiled) in [
            ("journal.db", "sqlite", cfg!(feature = "sqlite")),
            ("postgres://me:secret@host/db", "postgres", cfg!(feature = "postgres")),
        ] {
            if is_compiled {
                continue;
            }
            let opened = text.parse().and_then(|address: JournalAddress| address.open_to_read().map(drop));
            let error = opened.unwrap_err();
            assert_eq!(error.code(), "journal-not-compiled");
            assert!(error.hint().is_some_and(|hint| hint.contains(feature)), "{error}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }
}
