//! Scans the files of a skill for attacks and other risks: bytes in, a [`ScanReport`] out.
//!
//! A high finding ([`RiskLevel::High`]) blocks on its own. Other findings have weights and can block together. Files
//! that cannot be scanned need a review and are never clean. A clean report does not guarantee safety: a static scan
//! cannot find instructions that are harmful only in context.
//!
//! *Architecture invariant:* [`scan`] does not access the disk, the clock or the environment, and takes bounded time
//! for any input.
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

/// A skill to scan.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Subject<'a> {
    /// The name of the skill's folder.
    pub name: &'a str,
    /// All files, links and other entries in the folder.
    pub entries: Vec<SubjectEntry<'a>>,
}

impl<'a> Subject<'a> {
    /// Creates a subject from the name of the folder and its entries.
    pub const fn new(name: &'a str, entries: Vec<SubjectEntry<'a>>) -> Self {
        Self { name, entries }
    }
}

/// An entry in a skill's folder. Paths are relative to the folder and use `/`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum SubjectEntry<'a> {
    /// A regular file.
    File {
        /// The path.
        path: &'a str,
        /// The content.
        bytes: &'a [u8],
        /// Whether the file is executable.
        is_executable: bool,
    },
    /// A symbolic link.
    Link {
        /// The path.
        path: &'a str,
        /// The target as stored in the link.
        target: &'a str,
    },
    /// An entry that cannot be read.
    Unreadable {
        /// The path.
        path: &'a str,
        /// The reason.
        why: &'a str,
    },
}

impl<'a> SubjectEntry<'a> {
    /// Creates an entry for a file that is not executable.
    pub const fn file(path: &'a str, bytes: &'a [u8]) -> Self {
        Self::File { path, bytes, is_executable: false }
    }
}

/// Scans a skill.
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
