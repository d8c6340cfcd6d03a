//! The type of a rule: data with its own examples. The rules themselves are in `rules/`; matching is in
//! `matching.rs`.

use std::fmt;

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum RiskLevel {
    /// Informational: has no effect alone.
    Low,
    /// Needs a review; can block together with other findings.
    Medium,
    /// Blocks on its own.
    High,
}

impl RiskLevel {
    /// The name in JSON and text output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

impl fmt::Display for RiskLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A rule of the scan.
#[derive(Debug)]
#[non_exhaustive]
pub struct ScanRule {
    /// The stable id, such as `download-to-shell`.
    pub id: &'static str,
    /// The severity of its findings.
    pub severity: RiskLevel,
    /// The weight in a skill's score. Each rule counts once, however often it matches. High findings block regardless
    /// of the score.
    pub weight: u32,
    /// The part of a skill in which the rule is searched.
    pub scope: RuleScope,
    /// What a skill with a match does, as a phrase without a full stop: `reads a private key`.
    pub why: &'static str,
    /// A hint that says what to do.
    pub help: &'static str,
    pub(super) test: Test,
}

/// The part of a skill in which a rule is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RuleScope {
    /// Text that an agent reads as instructions: Markdown and plain text. A space in a pattern matches everything
    /// that can separate two words there: spaces, line breaks, and the marks of emphasis, quotes and lists.
    Instructions,
    /// Commands and code, in code files and inside Markdown.
    Code,
    /// All text.
    Text,
    /// Text that a rendered page does not show.
    Hidden,
    /// The files themselves: their types, names and links.
    Files,
}

impl RuleScope {
    /// The name in the documentation and in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Instructions => "instructions",
            Self::Code => "code",
            Self::Text => "text",
            Self::Hidden => "hidden text",
            Self::Files => "files",
        }
    }
}

/// How a rule is tested.
#[derive(Debug)]
pub(super) enum Test {
    /// By patterns.
    Pattern(Pattern),
    /// By code that looks up the rule by its id.
    Built,
}

/// Patterns over lower-case text, in the syntax of `regex` without Unicode; `%name%` inserts a fragment.
#[derive(Debug)]
pub(super) struct Pattern {
    /// Patterns are tried only near one of these literals. A literal that starts with `\b` counts only at the start
    /// of a word.
    pub(super) literals: &'static [&'static str],
    /// The first pattern must match, and each other one at most `within` lines away.
    pub(super) all: &'static [&'static str],
    pub(super) within: usize,
    /// The match is ignored if one of these matches inside it.
    pub(super) except: &'static [&'static str],
    /// The match is ignored if one of these matches in its lines.
    pub(super) unless: &'static [&'static str],
    /// The match is ignored if this returns `false`; for conditions that a pattern cannot express.
    pub(super) holds: Option<fn(&[u8]) -> bool>,
    /// What excuses a match.
    pub(super) excuse: Excuse,
    /// Examples that must match.
    #[cfg_attr(not(test), expect(dead_code, reason = "examples are for tests"))]
    pub(super) hits: Examples,
    /// Examples that must not match, or be excused.
    #[cfg_attr(not(test), expect(dead_code, reason = "examples are for tests"))]
    pub(super) misses: Examples,
}

/// Examples that only tests read. Outside of tests the type is empty, so that programs do not contain the texts.
#[derive(Debug)]
pub(super) struct Examples {
    #[cfg(test)]
    pub(super) texts: &'static [&'static str],
}

impl Examples {
    #[cfg(test)]
    pub(super) const fn new(texts: &'static [&'static str]) -> Self {
        Self { texts }
    }

    #[cfg(not(test))]
    pub(super) const fn new(_: &'static [&'static str]) -> Self {
        Self {}
    }
}

/// What excuses a match. An excused match is one severity level lower and has a small weight. Prohibitions do not
/// excuse anything in code files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Excuse {
    /// Nothing.
    Never,
    /// A prohibition.
    Negation,
    /// A prohibition, or a mention: in quotation marks, in a table, or as a pattern that code searches for.
    Quoting,
}

impl Pattern {
    pub(super) const DEFAULT: Self = Self {
        literals: &[],
        all: &[],
        within: 0,
        except: &[],
        unless: &[],
        holds: None,
        excuse: Excuse::Negation,
        hits: Examples::new(&[]),
        misses: Examples::new(&[]),
    };
}
