//! What a reviewer would look for in a skill before it is used: bytes in, a [`ScanReport`] out.
//!
//! Two levels: some findings block alone ([`RiskLevel::High`]); others carry weights and block together. What cannot be
//! looked into is something to look at, never clean. A clean report is a floor, not a promise: instructions that are only
//! harmful where they are followed are found by no static tool.
//!
//! *Architecture invariant:* [`scan`] reads no disk, no clock and no environment, and ends in bounded time for any bytes.
//!
//! ```
//! use metier_scan::{Subject, SubjectEntry, ScanVerdict, scan};
//!
//! let text = b"---\nname: greet\ndescription: Use when greeting.\n---\nSay hello.\n";
//! let subject = Subject::new("greet", vec![SubjectEntry::file("SKILL.md", text)]);
//! assert_eq!(scan(&subject).verdict(), ScanVerdict::Clean);
//! ```

mod archive;
mod confusable;
mod declared;
mod decode;
mod excuse;
mod files;
mod installers;
mod kind;
mod look;
mod matching;
mod names;
mod report;
mod rule;
mod rules;
mod subject_files;
mod text;
mod unseen;

pub use matching::prepare;
pub use report::{ScanFinding, ScanReport, ScanVerdict};
pub use rule::{RiskLevel, RuleScope, ScanRule};
pub use rules::all as rules;
pub use subject_files::SubjectFiles;

use look::Look;

/// A skill to look at.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Subject<'a> {
    /// The name of its folder.
    pub name: &'a str,
    /// Everything in it.
    pub entries: Vec<SubjectEntry<'a>>,
}

impl<'a> Subject<'a> {
    /// A skill with these files.
    pub const fn new(name: &'a str, entries: Vec<SubjectEntry<'a>>) -> Self {
        Self { name, entries }
    }
}

/// Something in a skill's folder. Paths are relative to it, with `/` between their parts.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum SubjectEntry<'a> {
    /// A regular file.
    File {
        /// Where.
        path: &'a str,
        /// What is in it.
        bytes: &'a [u8],
        /// Whether it may be run.
        is_executable: bool,
    },
    /// A symbolic link.
    Link {
        /// Where.
        path: &'a str,
        /// What it says.
        target: &'a str,
    },
    /// Something that cannot be read.
    Unreadable {
        /// Where.
        path: &'a str,
        /// Why.
        why: &'a str,
    },
}

impl<'a> SubjectEntry<'a> {
    /// A file that may not be run.
    pub const fn file(path: &'a str, bytes: &'a [u8]) -> Self {
        Self::File { path, bytes, is_executable: false }
    }
}

/// Looks at a skill.
pub fn scan(subject: &Subject<'_>) -> ScanReport {
    let mut look = Look::default();
    for entry in &subject.entries {
        match entry {
            SubjectEntry::File { path, bytes, is_executable } => look.file(path, bytes, *is_executable),
            SubjectEntry::Link { path, target } => look.link(path, target),
            SubjectEntry::Unreadable { path, why } => look.unreadable(path, why),
        }
    }
    look.name(subject.name);
    look.declared(subject);
    look.report()
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tricks;
