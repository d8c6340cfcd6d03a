//! What a skill requires of the machine, and whether the machine provides it.
//!
//! `compatibility` is free text. metier recognizes the common forms by a table of names, and the keys of
//! `metadata` that clients use. Other text is shown unchanged and not checked. A text cannot make metier start
//! a program of its choice: the [`Machine`] decides which programs it may start.

mod metadata;
mod need;
mod table;
mod text;

use std::fmt;

use semver::Version;
use serde::Serialize;

/// The maximum number of bytes of a text to parse. A valid `compatibility` has at most 500 characters.
const TEXT_MAX: usize = 4096;
/// The maximum number of requirements to check.
const REQUIREMENTS_MAX: usize = 64;

/// A family of operating systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Os {
    /// Linux.
    Linux,
    /// Windows Subsystem for Linux.
    Wsl,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
    /// Another system.
    Other,
}

impl fmt::Display for Os {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Linux => "Linux",
            Self::Wsl => "Linux on Windows (WSL)",
            Self::MacOs => "macOS",
            Self::Windows => "Windows",
            Self::Other => "another system",
        })
    }
}

/// The machine that a skill's requirements are checked against.
pub trait Machine {
    /// The operating system.
    fn os(&self) -> Os;

    /// Whether a program with this name is installed. Any name may be passed; nothing is run.
    fn has_program(&self, name: &str) -> bool;

    /// The version of a program; `None` if it is not installed or does not report one. The name may come from a
    /// skill: an implementation must not run arbitrary names.
    fn version_of(&self, program: &str) -> Option<Version>;

    /// Whether the network can be reached; `None` if unknown.
    fn has_network(&self) -> Option<bool> {
        None
    }

    /// The agent that will use the skills, such as `claude-code`; `None` if unknown.
    fn agent(&self) -> Option<&str> {
        None
    }
}

/// Whether a requirement is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RequirementStatus {
    /// The requirement is met.
    Met,
    /// The requirement is not met.
    Unmet,
    /// metier cannot check the requirement.
    Unknown,
}

/// One requirement of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Requirement {
    /// The author's text. For `metadata`, the key and the value.
    pub text: String,
    /// Whether it is met.
    pub status: RequirementStatus,
    /// Why.
    pub reason: String,
}

/// All requirements of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Compatibility {
    /// Unmet if any requirement is unmet, otherwise unknown if any is unknown, otherwise met.
    pub status: RequirementStatus,
    /// The requirements, those from the text first.
    pub requirements: Vec<Requirement>,
}

impl Compatibility {
    /// The requirements that this machine does not meet.
    pub fn unmet(&self) -> impl Iterator<Item = &Requirement> {
        self.requirements.iter().filter(|requirement| requirement.status == RequirementStatus::Unmet)
    }
}

/// Checks the requirements of a skill: its `compatibility` and its `metadata`, which may contain any keys. A
/// skill without requirements is met.
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
        groups
            .chain(rest.then(|| unread("the text is too long to be checked completely")))
            .collect::<Vec<_>>()
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

/// The part of a text that is parsed, and whether there is more.
fn cut(text: &str) -> (&str, bool) {
    let end = text.floor_char_boundary(TEXT_MAX);
    (&text[..end], end < text.len())
}

fn unread(reason: &str) -> Requirement {
    Requirement { text: "…".to_owned(), status: RequirementStatus::Unknown, reason: reason.to_owned() }
}

#[cfg(test)]
mod tests;
