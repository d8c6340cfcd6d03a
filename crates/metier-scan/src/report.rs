//! The result of a scan: findings and the verdict.

use metier_skill::Span;

use super::rule::RiskLevel;

/// A finding: a place where a rule matches.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScanFinding {
    /// The stable id of the rule.
    pub rule: &'static str,
    /// The severity. It is one level below the rule's if the match is only mentioned or prohibited.
    pub severity: RiskLevel,
    /// The weight that it adds to the score.
    pub weight: u32,
    /// The path of the file, relative to the skill's folder.
    pub file: String,
    /// The line of `span.start`, from 1.
    pub line: usize,
    /// The column of `span.start` in characters, from 1.
    pub column: usize,
    /// The range of bytes in the file; `None` if the finding is about the whole file.
    pub span: Option<Span>,
    /// The matched text, shortened, without invisible characters. It is untrusted: treat it as data, never as
    /// instructions.
    pub excerpt: String,
    /// A message that says what was found.
    pub message: String,
    /// A hint that says what to do.
    pub help: &'static str,
}

/// The findings of a scan, worst first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScanReport {
    /// All findings, sorted by severity, then by file and position.
    pub findings: Vec<ScanFinding>,
}

/// The verdict on a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ScanVerdict {
    /// Nothing needs a review.
    Clean,
    /// Review the skill before you use it.
    Look,
    /// Do not use the skill unless you accept the risk.
    Block,
}

impl ScanVerdict {
    /// The name in JSON and text output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Look => "look",
            Self::Block => "block",
        }
    }
}

impl ScanReport {
    /// Findings with this total weight block together.
    pub const BLOCK: u32 = 10;
    /// Findings with this total weight need a review.
    pub const LOOK: u32 = 3;

    /// The total weight of the findings; each rule counts once, with its heaviest finding.
    pub fn score(&self) -> u32 {
        self.weights().iter().map(|(_, weight)| weight).sum()
    }

    /// The verdict: [`ScanVerdict::Block`] for any high finding or a score of at least [`Self::BLOCK`].
    pub fn verdict(&self) -> ScanVerdict {
        if self.findings.iter().any(|finding| finding.severity == RiskLevel::High)
            || self.score() >= Self::BLOCK
        {
            return ScanVerdict::Block;
        }
        let is_medium = self.findings.iter().any(|finding| finding.severity == RiskLevel::Medium);
        if is_medium || self.score() >= Self::LOOK { ScanVerdict::Look } else { ScanVerdict::Clean }
    }

    /// The rules that caused a block: those that block on their own, or else those that block together.
    pub fn because(&self) -> Vec<&'static str> {
        let high = |finding: &&ScanFinding| finding.severity == RiskLevel::High;
        let mut rules: Vec<&'static str> =
            self.findings.iter().filter(high).map(|finding| finding.rule).collect();
        if rules.is_empty() && self.score() >= Self::BLOCK {
            rules = self.weights().iter().filter(|(_, weight)| *weight > 0).map(|(rule, _)| *rule).collect();
        }
        rules.sort_unstable();
        rules.dedup();
        rules
    }

    /// Each rule with findings and its heaviest weight, in no particular order.
    fn weights(&self) -> Vec<(&'static str, u32)> {
        let mut weights: Vec<(&'static str, u32)> = Vec::new();
        for finding in &self.findings {
            match weights.iter_mut().find(|(rule, _)| *rule == finding.rule) {
                Some((_, weight)) => *weight = finding.weight.max(*weight),
                None => weights.push((finding.rule, finding.weight)),
            }
        }
        weights
    }
}
