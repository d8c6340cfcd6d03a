//! What a skill's rules for tools come to, as findings about the skill. What they mean to a call is for the lists.

use metier_skill::{Findings, Reading, Span, ToolRules};

use crate::paths::Anchors;
use crate::rule::{self, Purpose};

/// Reports the rules of `allowed-tools` and `disallowed-tools` that can never match, are read as others, or let through
/// more than they seem to.
///
/// Pass it to `metier_skill::Location::validate_with` to validate a skill with everything that metier knows:
///
/// ```
/// use metier_skill::{Code, Location, Rules};
///
/// # let place = tempfile::tempdir()?;
/// let path = place.path().join("history");
/// std::fs::create_dir(&path)?;
/// std::fs::write(
///     path.join("SKILL.md"),
///     "---\nname: history\ndescription: Use when asked what changed.\nallowed-tools: bash Read\n---\nLook.\n",
/// )?;
/// let reading = Location::directory(&path)?.validate_with(&Rules::standard(), metier_policy::lint)?;
/// let codes: Vec<Code> = reading.diagnostics.iter().map(|found| found.code).collect();
/// assert_eq!(codes, [Code::RuleNeverMatches]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn lint(reading: &Reading, findings: &mut Findings<'_>) {
    let Some(skill) = &reading.skill else { return };
    if let Some(tools) = &skill.allowed_tools {
        list(reading, "allowed-tools", tools, Purpose::Allow, findings);
    }
    if let Some(tools) = &skill.disallowed_tools() {
        list(reading, "disallowed-tools", tools, Purpose::Deny, findings);
    }
}

fn list(reading: &Reading, field: &str, tools: &ToolRules, purpose: Purpose, findings: &mut Findings<'_>) {
    // Which directories these are does not matter to whether a rule can match, only that there are some.
    let places = Anchors::new("/", "/").with_skill("/skill").with_plugin("/plugin");
    let (_, notes) = rule::read_all(tools, purpose, &places);
    for note in notes {
        // The format reports the parentheses of this field already.
        if purpose == Purpose::Allow && ToolRules::problem(&note.rule).is_some() {
            continue;
        }
        let message = format!("the rule `{}`: {}", note.rule.escape_debug(), note.message);
        findings.report(note.code, place(reading, field, &note.rule), message);
    }
}

/// Where a rule stands in a field, or the whole field where it is written in another way.
fn place(reading: &Reading, field: &str, rule: &str) -> Span {
    let value = reading.frontmatter.as_ref().and_then(|frontmatter| frontmatter.get(field));
    let Some(span) = value.map(|value| value.span) else { return Span::default() };
    let within = reading.text.get(span.range()).unwrap_or_default();
    // Not inside another rule that begins or ends the same.
    let is_whole = |at: &usize| {
        let is_part = |c: char| c.is_alphanumeric() || "_(:*".contains(c);
        !within[..*at].ends_with(is_part) && !within[*at + rule.len()..].starts_with(is_part)
    };
    let found = within.match_indices(rule).map(|(at, _)| at).find(is_whole);
    found.map_or(span, |at| Span::new(span.start + at, span.start + at + rule.len()))
}
