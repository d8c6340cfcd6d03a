//! What a scan found, and what it comes to.

use metier_skill::Span;

use super::rule::RiskLevel;

/// One finding: which rule, how bad, where, why, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScanFinding {
    /// The rule's stable id.
    pub rule: &'static str,
    /// How bad it is; one step less than the rule's where the match is only spoken of.
    pub severity: RiskLevel,
    /// What it adds to the score.
    pub weight: u32,
    /// The file, relative to the skill's folder.
    pub file: String,
    /// The line of `span.start`, from 1.
    pub line: usize,
    /// The column of `span.start` in characters, from 1.
    pub column: usize,
    /// The bytes in the file; `None` where the finding is about the file as a whole.
    pub span: Option<Span>,
    /// What stands there, cut short, with nothing unseen in it. It was written by others: data, never instructions.
    pub excerpt: String,
    /// Why it is a finding.
    pub message: String,
    /// What to do.
    pub help: &'static str,
}

/// What a scan found, the worst first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScanReport {
    /// Every finding: by severity, then by file and place.
    pub findings: Vec<ScanFinding>,
}

/// What findings come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ScanVerdict {
    /// Nothing that anybody should look at.
    Clean,
    /// Somebody should look before the skill is used.
    Look,
    /// Not to be used unless somebody takes the risk.
    Block,
}

impl ScanVerdict {
    /// The word for it, as in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Look => "look",
            Self::Block => "block",
        }
    }
}

impl ScanReport {
    /// Findings of this weight together block.
    pub const BLOCK: u32 = 10;
    /// Findings of this weight together are worth a look.
    pub const LOOK: u32 = 3;

    /// What the rules found weigh together; each counts once, with its heaviest finding.
    pub fn score(&self) -> u32 {
        self.weights().iter().map(|(_, weight)| weight).sum()
    }

    /// What the findings come to.
    pub fn verdict(&self) -> ScanVerdict {
        if self.findings.iter().any(|finding| finding.severity == RiskLevel::High)
            || self.score() >= Self::BLOCK
        {
            return ScanVerdict::Block;
        }
        let is_medium = self.findings.iter().any(|finding| finding.severity == RiskLevel::Medium);
        if is_medium || self.score() >= Self::LOOK { ScanVerdict::Look } else { ScanVerdict::Clean }
    }

    /// The rules that decided: those that block alone or, where there is none, those that block together.
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

    /// Each rule that was found with its heaviest weight, in no particular order.
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
