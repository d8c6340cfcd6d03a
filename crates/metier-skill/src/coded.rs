//! What every public error of metier has: a stable code and, where it helps, advice.

use std::error::Error;

/// An error that programs can tell apart by its code, and that says what a person can do.
///
/// Every public error of metier's crates implements it. Compare codes, never messages: messages may be reworded.
///
/// ```
/// use metier_skill::{Coded, Location};
///
/// let error = Location::find("no/such/skill".as_ref()).unwrap_err();
/// assert_eq!(error.code(), "skill-not-found");
/// assert!(error.hint().is_some());
/// ```
pub trait Coded: Error {
    /// The stable code, in `kebab-case`.
    fn code(&self) -> &'static str;

    /// What to do next, as one sentence; `None` where the message already says it or nothing can be done.
    fn hint(&self) -> Option<String> {
        None
    }
}
