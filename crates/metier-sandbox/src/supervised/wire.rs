//! What is said between metier and the process above a supervised program.

use serde::{Deserialize, Serialize};

use crate::plan::{Raw, Step};

/// What to start, and how.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) program: Raw,
    pub(crate) arguments: Vec<Raw>,
    pub(crate) environment: Vec<(Raw, Raw)>,
    pub(crate) directory: Raw,
    /// Paths to cover, each with the text of a file.
    pub(crate) covered: Option<Vec<(Raw, String)>>,
}

/// What the supervisor says.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Said {
    /// A step failed; nothing was started.
    Failed { step: Step, what: String, path: Option<Raw>, source: Result<i32, String> },
    /// The program runs.
    Started,
    /// The program has ended, and with it everything that it started, except this many processes.
    Ended { code: Option<i32>, signal: Option<i32>, left: usize },
}

/// Says to send the program a signal, whose number follows.
pub(crate) const SIGNAL: u8 = b's';
/// Says to end everything.
pub(crate) const END: u8 = b'e';
