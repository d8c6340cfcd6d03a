//! Where a journal is: a file, or a stream on a PostgreSQL server.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::error::JournalError;
use crate::sqlite::Sqlite;
use crate::store::Store;

/// Where a journal is.
///
/// ```
/// use metier_journal::Place;
///
/// let file: Place = "/var/lib/metier/journal.db".parse()?;
/// # Ok::<(), metier_journal::JournalError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Place(Kind);

#[derive(Clone, PartialEq, Eq)]
enum Kind {
    File(PathBuf),
}

impl Place {
    /// In this file.
    pub fn file<P: Into<PathBuf>>(path: P) -> Self {
        Self(Kind::File(path.into()))
    }

    /// The file, if it is in one.
    pub fn as_file(&self) -> Option<&Path> {
        match &self.0 {
            Kind::File(path) => Some(path),
        }
    }

    /// A text that names the place, without passwords.
    pub fn key(&self) -> String {
        self.to_string()
    }

    pub(crate) fn open(&self) -> Result<Box<dyn Store>, JournalError> {
        match &self.0 {
            Kind::File(path) => Ok(Box::new(Sqlite::open(path)?)),
        }
    }

    pub(crate) fn open_to_read(&self) -> Result<Box<dyn Store>, JournalError> {
        match &self.0 {
            Kind::File(path) => Ok(Box::new(Sqlite::open_to_read(path)?)),
        }
    }
}

impl FromStr for Place {
    type Err = JournalError;

    fn from_str(text: &str) -> Result<Self, JournalError> {
        let refused = |reason| Err(JournalError::Place { value: text.to_owned(), reason });
        match text.split_once("://") {
            Some(_) => refused("only files and postgres:// are"),
            None if text.is_empty() => refused("it is empty"),
            None => Ok(Self::file(text)),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::File(path) => write!(f, "{}", path.display()),
        }
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Place({self})")
    }
}
