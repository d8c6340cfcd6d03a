//! What a skill needs of the machine, and whether the machine has it.
//!
//! `compatibility` is free text. metier reads the common forms by one table of names, and the keys of `metadata` that
//! clients use. All other text is the author's own: it is shown as it is and not checked. No text makes metier start a
//! program of its choice: a [`Machine`] is asked, and knows which programs it may start.

mod metadata;
mod need;
mod table;
mod text;

use std::fmt;

use semver::Version;
use serde::Serialize;

/// Bytes of one text that are read; a valid `compatibility` has at most 500 characters.
const TEXT_MAX: usize = 4096;
/// Requirements that are checked.
const REQUIREMENTS_MAX: usize = 64;

/// A family of operating systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Os {
    /// Linux.
    Linux,
    /// Linux inside Windows (WSL).
    Wsl,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
    /// Another.
    Other,
}

impl fmt::Display for Os {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Linux => "Linux",
            Self::Wsl => "Linux in Windows (WSL)",
            Self::MacOs => "macOS",
            Self::Windows => "Windows",
            Self::Other => "another system",
        })
    }
}

/// What a skill's requirements are checked against.
pub trait Machine {
    /// The operating system.
    fn os(&self) -> Os;

    /// Whether a program of this name can be run. Any name may be asked for; nothing is run.
    fn has_program(&self, name: &str) -> bool;

    /// The version of a program; `None` where it is not there or does not say. The name may come from a skill:
    /// an implementation must not run whatever it is given.
    fn version_of(&self, program: &str) -> Option<Version>;

    /// Whether the network can be reached; `None` where that is not known.
    fn has_network(&self) -> Option<bool> {
        None
    }

    /// The agent that will use the skills, as `claude-code`; `None` where that is not known.
    fn agent(&self) -> Option<&str> {
        None
    }
}

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

impl Compatibility {
    /// The requirements that this machine does not meet: what a person should be told.
    pub fn unmet(&self) -> impl Iterator<Item = &Requirement> {
        self.requirements.iter().filter(|requirement| requirement.status == RequirementStatus::Unmet)
    }
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
        let groups = text::read(text).into_iter().map(|group| group.check(machine));
        groups.chain(rest.then(|| unread("the text is too long to be read to its end"))).collect::<Vec<_>>()
    });
    let metadata = metadata.into_iter().flat_map(|(key, value)| {
        let groups = metadata::read_pair(key, cut(value).0);
        groups.into_iter().map(|group| group.check(machine)).collect::<Vec<_>>()
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
