//! Matches rules with patterns against a text. A search for literals finds out which patterns to try.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::bytes::{Regex, RegexBuilder};

use super::excuse;
use super::rule::{Excuse, Pattern, RiskLevel, RuleScope, ScanRule, Test};
use super::rules;

/// A place where a rule matches.
#[derive(Debug)]
pub(super) struct Match {
    pub(super) rule: &'static ScanRule,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) is_excused: bool,
}

/// The kind of text to match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reads {
    /// Markdown and plain text: all rules apply.
    Instructions,
    /// Code and data files.
    Code,
    /// Text that a rendered page does not show.
    Hidden,
}

impl Reads {
    const fn includes(self, rule: &ScanRule) -> bool {
        match rule.scope {
            RuleScope::Text => true,
            RuleScope::Code => matches!(self, Self::Instructions | Self::Code | Self::Hidden),
            // Agents also read comments in code, so high rules are searched there.
            RuleScope::Instructions => {
                matches!(self, Self::Instructions | Self::Hidden) || matches!(rule.severity, RiskLevel::High)
            }
            RuleScope::Hidden => matches!(self, Self::Hidden),
            RuleScope::Files => false,
        }
    }
}

/// The most matches per rule in one text.
const MOST: usize = 3;
/// The most candidates to try per rule, because a text can consist of nothing else.
const MOST_TRIED: usize = 60;

/// A rule with its patterns, which are compiled on first use.
struct Ready {
    rule: &'static ScanRule,
    pattern: &'static Pattern,
    all: LazyLock<Vec<Regex>, Compile>,
    except: LazyLock<Vec<Regex>, Compile>,
    unless: LazyLock<Vec<Regex>, Compile>,
}

type Compile = Box<dyn FnOnce() -> Vec<Regex> + Send + Sync>;

struct Matcher {
    rules: Vec<Ready>,
    literals: AhoCorasick,
    /// For each literal, its rule, and whether it counts only at the start of a word.
    owners: Vec<(usize, bool)>,
}

static MATCHER: LazyLock<Option<Matcher>> = LazyLock::new(|| {
    let mut ready = Vec::new();
    for rule in rules::all() {
        if let Test::Pattern(pattern) = &rule.test {
            let scope = rule.scope;
            let all: Compile = Box::new(move || compile(pattern.all, scope));
            let except: Compile = Box::new(move || compile(pattern.except, scope));
            let unless: Compile = Box::new(move || compile(pattern.unless, scope));
            let [all, except, unless] = [all, except, unless].map(LazyLock::new);
            ready.push(Ready { rule, pattern, all, except, unless });
        }
    }
    let each = ready
        .iter()
        .enumerate()
        .flat_map(|(at, rule)| rule.pattern.literals.iter().map(move |literal| (at, *literal)))
        .map(|(at, literal)| {
            literal.strip_prefix(r"\b").map_or(((at, false), literal), |word| ((at, true), word))
        });
    let (owners, literals): (Vec<(usize, bool)>, Vec<&str>) = each.unzip();
    let literals = AhoCorasick::builder().kind(Some(AhoCorasickKind::DFA)).build(literals).ok()?;
    Some(Matcher { rules: ready, literals, owners })
});

/// Compiles what every scan needs, which takes about 20 ms. The first [`scan`](crate::scan) does this itself; call
/// this on another thread to hide the delay.
pub fn prepare() {
    LazyLock::force(&MATCHER);
}

/// Patterns that do not compile never match; a test compiles all of them.
fn compile(patterns: &[&str], scope: RuleScope) -> Vec<Regex> {
    patterns.iter().filter_map(|pattern| regex(pattern, scope).ok()).collect()
}

pub(super) fn regex(pattern: &str, scope: RuleScope) -> Result<Regex, regex::Error> {
    let mut pattern = rules::expand(pattern).into_owned();
    if scope == RuleScope::Instructions || scope == RuleScope::Hidden {
        pattern = pattern.replace(' ', r#"[\s*_>"'`#|:,(){}-]+"#);
    }
    // Text is folded to ASCII where it matters.
    RegexBuilder::new(&pattern).unicode(false).size_limit(4 << 20).build()
}

/// A match is searched up to this distance from a literal of its rule, so that one word does not cause a search of
/// the whole text.
const REACH: usize = 600;

/// All rules that match in a text.
pub(super) fn find(text: &[u8], reads: Reads) -> Vec<Match> {
    let Some(matcher) = MATCHER.as_ref() else { return Vec::new() };
    let mut windows: Vec<Vec<(usize, usize)>> = vec![Vec::new(); matcher.rules.len()];
    for found in matcher.literals.find_overlapping_iter(text) {
        let (owner, is_start) = matcher.owners[found.pattern().as_usize()];
        if is_start && text[..found.start()].last().is_some_and(u8::is_ascii_alphanumeric) {
            continue;
        }
        let windows = &mut windows[owner];
        let (start, end) = (found.start().saturating_sub(REACH), text.len().min(found.end() + REACH));
        match windows.last_mut() {
            Some(last) if last.1 >= start => last.1 = end,
            _ => windows.push((start, end)),
        }
    }
    let mut matches = Vec::new();
    for (ready, windows) in matcher.rules.iter().zip(&windows) {
        if !windows.is_empty() && reads.includes(ready.rule) {
            ready.find(text, windows, reads, &mut matches);
        }
    }
    matches
}

impl Ready {
    fn find(&self, text: &[u8], windows: &[(usize, usize)], reads: Reads, matches: &mut Vec<Match>) {
        let Some((first, rest)) = self.all.split_first() else { return };
        let (mut kept, mut tried) = (0, 0);
        for (start, end) in windows {
            let mut at = *start;
            while let Some(found) = first.find_at(&text[..*end], at) {
                (at, tried) = (found.end().max(at + 1), tried + 1);
                if let Some(found) = self.judge(text, found.start(), found.end(), rest, reads) {
                    matches.push(found);
                    kept += 1;
                }
                if kept == MOST || tried == MOST_TRIED {
                    return;
                }
                if at > *end {
                    break;
                }
            }
        }
    }

    /// Checks the other conditions for a match of the first pattern; `None` if one of them fails.
    fn judge(&self, text: &[u8], start: usize, end: usize, rest: &[Regex], reads: Reads) -> Option<Match> {
        let lines = around(text, start, end, self.pattern.within);
        if !rest.iter().all(|other| other.is_match(lines)) {
            return None;
        }
        let own = around(text, start, end, 0);
        let is_exception = self.except.iter().any(|other| other.is_match(&text[start..end]));
        if is_exception || self.unless.iter().any(|other| other.is_match(own)) {
            return None;
        }
        if self.pattern.holds.is_some_and(|holds| !holds(&text[start..end])) {
            return None;
        }
        let is_excused = match self.pattern.excuse {
            Excuse::Never => false,
            Excuse::Negation => excuse::is_negated(text, start, end, reads, self.rule.scope),
            Excuse::Quoting if self.rule.scope == RuleScope::Instructions => {
                excuse::is_negated(text, start, end, reads, self.rule.scope)
                    || excuse::is_quoted(text, start, end)
            }
            Excuse::Quoting => {
                excuse::is_negated(text, start, end, reads, self.rule.scope)
                    || excuse::is_looked_for(text, start, end, reads == Reads::Code)
            }
        };
        Some(Match { rule: self.rule, start, end, is_excused })
    }
}

/// The lines of a range, and some before and after. Fence lines do not count.
fn around(text: &[u8], start: usize, end: usize, lines: usize) -> &[u8] {
    // A line can be a whole file.
    const REACH: usize = 2_000;
    let is_end = |at: &usize| text[*at] == b'\n' && !text[..*at].ends_with(b"```");
    let floor = start.saturating_sub(REACH);
    let begin = (floor..start).rev().filter(is_end).nth(lines).map_or(floor, |at| at + 1);
    let ceiling = text.len().min(end.saturating_add(REACH));
    let stop = (end..ceiling).filter(is_end).nth(lines).unwrap_or(ceiling);
    &text[begin..stop]
}
