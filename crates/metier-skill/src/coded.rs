//! The interface of every public error of metier: a stable code and an optional hint.

use std::error::Error;

/// An error with a stable code that programs can compare and an optional hint for the user.
///
/// Every public error of metier's crates implements it. Compare codes, not messages: messages may be reworded.
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

    /// What to do next, as one sentence. `None` if the message already says it or nothing can be done.
    fn hint(&self) -> Option<String> {
        None
    }
}
