//! What a rule is: data with its own examples. What the rules are stands in `rules/`; how they are matched in `matching.rs`.

use std::fmt;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum RiskLevel {
    /// Worth knowing; alone it changes nothing.
    Low,
    /// Somebody should look; with others it blocks.
    Medium,
    /// Blocks alone.
    High,
}

impl RiskLevel {
    /// The word for it, as in JSON.
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

/// One thing that the scan looks for.
#[derive(Debug)]
#[non_exhaustive]
pub struct ScanRule {
    /// The stable id.
    pub id: &'static str,
    /// How bad a finding is.
    pub severity: RiskLevel,
    /// What it adds to a skill's score, once however often it is found. High ones block without.
    pub weight: u32,
    /// Where it is looked for.
    pub scope: RuleScope,
    /// What it means, in one sentence without a full stop.
    pub why: &'static str,
    /// What to do.
    pub help: &'static str,
    pub(super) test: Test,
}

/// Where a rule is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RuleScope {
    /// Text that an agent reads as instructions: markdown and plain text. A blank in a pattern stands for whatever may
    /// be between two words there: blanks, line breaks, marks of emphasis, signs of quotes and lists.
    Instructions,
    /// Commands and code, in files of their own and inside markdown.
    Code,
    /// All text.
    Text,
    /// What a reader of the rendered page does not see.
    Hidden,
    /// The skill's files as such: their kinds, names, links.
    Files,
}

impl RuleScope {
    /// The word for it.
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
    /// By code, which looks up the rule by its id.
    Built,
}

/// Patterns over lower-case text, in the syntax of `regex` without Unicode; `%name%` stands for a fragment.
#[derive(Debug)]
pub(super) struct Pattern {
    /// One of these must be near before any pattern is tried; one that begins with `\b` at the beginning of a word.
    pub(super) literals: &'static [&'static str],
    /// Where the first is found, all others must be found as well, at most `within` lines away.
    pub(super) all: &'static [&'static str],
    pub(super) within: usize,
    /// Where one of these is in the match itself, it does not count.
    pub(super) except: &'static [&'static str],
    /// Where one of these is in the lines of the match, it does not count.
    pub(super) unless: &'static [&'static str],
    /// Where this says no to the match, it does not count; for what a pattern cannot tell.
    pub(super) holds: Option<fn(&[u8]) -> bool>,
    /// What excuses a match.
    pub(super) excuse: Excuse,
    /// Examples that must be found.
    #[cfg_attr(not(test), expect(dead_code, reason = "examples are for tests"))]
    pub(super) hits: Examples,
    /// Examples that must not be found, or be excused.
    #[cfg_attr(not(test), expect(dead_code, reason = "examples are for tests"))]
    pub(super) misses: Examples,
}

/// Texts beside a rule that only tests read. Elsewhere the type is empty, so that programs do not carry the texts.
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

/// What excuses a match: it then is one step less severe, and adds next to nothing to the score. Prohibitions do not count in
/// files of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Excuse {
    /// Nothing.
    Never,
    /// Being told not to.
    Negation,
    /// Being told not to, and being spoken of: in quotation marks, in a table, as a pattern that code looks for.
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
