//! What a scan could not use, and why. A problem never stops a scan.

use std::fmt;
use std::path::PathBuf;

use metier_skill::{Code, Diagnostic, Rules, Severity, lossy_path};
use serde::{Deserialize, Serialize, Serializer};

/// One thing that a scan found but could not use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Problem {
    /// The skill's directory, the link, or the root.
    #[serde(serialize_with = "lossy_path")]
    pub path: PathBuf,
    /// The stable code.
    pub code: ProblemCode,
    /// What is wrong and what to do.
    pub message: String,
    /// The known clients that also reject the skill.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused_by: Vec<&'static str>,
}

impl Problem {
    pub(crate) fn new(path: impl Into<PathBuf>, code: ProblemCode, message: impl Into<String>) -> Self {
        Self { path: path.into(), code, message: message.into(), refused_by: Vec::new() }
    }
}

/// The stable code of a problem: a finding about a skill, or one of the catalog's own codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProblemCode {
    /// The skill breaks a rule.
    Skill(Code),
    /// A file or directory cannot be read.
    Unreadable,
    /// A root that was given does not exist.
    RootMissing,
    /// A root is neither a directory nor a skill.
    RootNotDirectory,
    /// Directories are nested deeper than the limit.
    BoundDepth,
    /// There are more files and directories than the limit.
    BoundEntries,
    /// A link is broken.
    LinkBroken,
    /// A link points to something that is not a skill.
    LinkNotSkill,
    /// A link to a skill points outside a root that is not trusted.
    LinkOutside,
    /// A link to a skill is not directly in the root.
    LinkDeep,
    /// `metadata.requires` is invalid.
    RequiresUnreadable,
    /// A skill that another one depends on is not installed.
    RequiresMissing,
    /// A skill that another one depends on has a different version.
    RequiresVersion,
    /// Skills depend on each other.
    RequiresCycle,
}

impl ProblemCode {
    /// Whether the skill is still usable: a dependency is missing or has the wrong version. All other problems
    /// make a skill, link or root unusable.
    pub const fn leaves_usable(self) -> bool {
        matches!(
            self,
            Self::RequiresUnreadable | Self::RequiresMissing | Self::RequiresVersion | Self::RequiresCycle
        )
    }

    /// Whether only strict rules make the skill unusable. Agents that are lenient with names load it, and so
    /// does a scan with [`Rules::lenient`].
    pub fn is_strictness(self) -> bool {
        matches!(self, Self::Skill(code) if Rules::lenient().severity(code) != Some(Severity::Error))
    }

    /// The code as it is printed.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Skill(code) => code.as_str(),
            Self::Unreadable => "unreadable",
            Self::RootMissing => "root-missing",
            Self::RootNotDirectory => "root-not-directory",
            Self::BoundDepth => "bound-depth",
            Self::BoundEntries => "bound-entries",
            Self::LinkBroken => "link-broken",
            Self::LinkNotSkill => "link-not-skill",
            Self::LinkOutside => "link-outside",
            Self::LinkDeep => "link-deep",
            Self::RequiresUnreadable => "requires-unreadable",
            Self::RequiresMissing => "requires-missing",
            Self::RequiresVersion => "requires-version",
            Self::RequiresCycle => "requires-cycle",
        }
    }
}

impl fmt::Display for ProblemCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for ProblemCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// The problem of one skill, as stored in the index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fault {
    pub(crate) code: Code,
    pub(crate) message: Box<str>,
    /// The codes of all other findings.
    pub(crate) others: Box<[Code]>,
}

impl Fault {
    /// Summarizes findings; `None` if there are none.
    pub(crate) fn of<'a>(mut findings: impl Iterator<Item = &'a Diagnostic>) -> Option<Self> {
        let first = findings.next()?;
        let others = findings.map(|found| found.code).filter(|code| *code != first.code).collect();
        Some(Self { code: first.code, message: first.message.as_str().into(), others })
    }

    pub(crate) fn problem(&self, path: PathBuf) -> Problem {
        let codes = std::iter::once(&self.code).chain(&*self.others);
        let mut refused_by: Vec<&'static str> = codes.flat_map(|code| code.refused_by()).collect();
        // The reference validator, in lower case, comes last.
        refused_by.sort_unstable();
        refused_by.dedup();
        Problem { refused_by, ..Problem::new(path, ProblemCode::Skill(self.code), &*self.message) }
    }
}
