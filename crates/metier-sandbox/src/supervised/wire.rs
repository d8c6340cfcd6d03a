//! The messages between metier and the supervisor of a program.

use serde::{Deserialize, Serialize};

use crate::plan::{Raw, Step};

/// The program to start, and how.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) program: Raw,
    pub(crate) arguments: Vec<Raw>,
    pub(crate) environment: Vec<(Raw, Raw)>,
    pub(crate) directory: Raw,
    /// Paths to cover, each with the text of a file.
    pub(crate) covered: Option<Vec<(Raw, String)>>,
}

/// Messages of the supervisor.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Said {
    /// A step failed; nothing was started.
    Failed { step: Step, what: String, path: Option<Raw>, source: Result<i32, String> },
    /// The program runs.
    Started,
    /// The program has ended, and with it everything that it started, except this many processes.
    Ended { code: Option<i32>, signal: Option<i32>, left: usize },
}

/// Requests to send a signal to the program; its number follows.
pub(crate) const SIGNAL: u8 = b's';
/// Requests to stop everything.
pub(crate) const END: u8 = b'e';
