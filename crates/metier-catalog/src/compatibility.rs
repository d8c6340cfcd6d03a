//! What a skill needs of the machine, and whether it is there.
//!
//! `compatibility` is free text. metier reads the forms that people use, from the words in its tables, and says of
//! each requirement whether it is met; of the rest it says that it does not know. No text makes metier run a
//! program of its choice: a [`Machine`] is asked, and [`version_query`] has every program that may be started for it.

mod bounds;
mod check;
mod item;
mod machine;
mod metadata;
mod programs;
mod read;
mod reader;
mod table;
mod tokens;

use serde::Serialize;

pub use bounds::version_in;
pub use machine::{Machine, Os, is_program_name};
pub use programs::{VersionQuery, version_query};

/// Bytes of one text that are read; a valid `compatibility` has at most 500 characters.
const TEXT_MAX: usize = 4096;
/// Requirements that are checked.
const REQUIREMENTS_MAX: usize = 64;

/// Whether a requirement is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RequirementStatus {
    /// It is.
    Met,
    /// It is not.
    Unmet,
    /// metier cannot tell.
    Unknown,
}

impl RequirementStatus {
    /// The status as it is printed.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Unmet => "unmet",
            Self::Unknown => "unknown",
        }
    }
}

/// One thing that a skill needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Requirement {
    /// What the author wrote; for `metadata`, the key and the value.
    pub text: String,
    /// Whether it is met.
    pub status: RequirementStatus,
    /// Why.
    pub reason: String,
}

/// All that a skill needs of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Compatibility {
    /// Unmet where one requirement is, else unknown where one is, else met.
    pub status: RequirementStatus,
    /// The requirements, those of the text first.
    pub requirements: Vec<Requirement>,
}

/// Checks what a skill says it needs: its `compatibility`, and the pairs of its `metadata`, which may be of any
/// kind. A skill that says nothing is met.
///
/// ```
/// use metier_catalog::{Machine, Os, RequirementStatus, compatibility};
///
/// struct Ours;
/// impl Machine for Ours {
///     fn os(&self) -> Os { Os::Linux }
///     fn has_program(&self, name: &str) -> bool { name == "git" }
///     fn version_of(&self, _: &str) -> Option<semver::Version> { None }
///     fn agent(&self) -> Option<&str> { Some("claude-code") }
/// }
/// let found = compatibility(Some("Designed for Claude Code"), [], &Ours);
/// assert_eq!(found.status, RequirementStatus::Met);
/// ```
pub fn compatibility<'a>(
    text: Option<&str>,
    metadata: impl IntoIterator<Item = (&'a str, &'a str)>,
    machine: &dyn Machine,
) -> Compatibility {
    let mut requirements = Vec::new();
    let mut add = |found: Requirement| {
        if !requirements.contains(&found) {
            requirements.push(found);
        }
        requirements.len() <= REQUIREMENTS_MAX
    };
    let text = text.map(cut).into_iter().flat_map(|(text, rest)| {
        let groups = read::read(text).into_iter().map(|group| check::check(&group, machine));
        groups.chain(rest.then(|| unread("the text is too long to be read to its end"))).collect::<Vec<_>>()
    });
    let metadata = metadata.into_iter().flat_map(|(key, value)| {
        let groups = metadata::read_pair(key, cut(value).0);
        groups.into_iter().map(|group| check::check(&group, machine)).collect::<Vec<_>>()
    });
    if !text.chain(metadata).all(&mut add) {
        requirements.truncate(REQUIREMENTS_MAX);
        requirements.push(unread("there are too many requirements to check them all"));
    }
    Compatibility { status: overall(&requirements), requirements }
}

fn overall(requirements: &[Requirement]) -> RequirementStatus {
    let any = |status: RequirementStatus| requirements.iter().any(|found| found.status == status);
    if any(RequirementStatus::Unmet) {
        RequirementStatus::Unmet
    } else if any(RequirementStatus::Unknown) {
        RequirementStatus::Unknown
    } else {
        RequirementStatus::Met
    }
}

/// What is read of a text, and whether there is more.
fn cut(text: &str) -> (&str, bool) {
    let end = text.floor_char_boundary(TEXT_MAX);
    (&text[..end], end < text.len())
}

fn unread(reason: &str) -> Requirement {
    Requirement { text: "…".to_owned(), status: RequirementStatus::Unknown, reason: reason.to_owned() }
}

#[cfg(test)]
mod tests;
