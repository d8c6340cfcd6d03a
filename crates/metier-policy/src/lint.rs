//! Findings about a skill's tool rules. Checking calls against the rules is the job of the lists.

use metier_skill::{Findings, Reading, Span, ToolRules};

use crate::paths::Anchors;
use crate::rule::{self, Purpose};

/// Reports rules in `allowed-tools` and `disallowed-tools` that can never match, are read as other rules, or allow more
/// than they seem to.
///
/// Pass it to `metier_skill::Location::validate_with` to validate a skill together with its tool rules:
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
    // The actual directories do not affect whether a rule can match, so any will do.
    let places = Anchors::new("/", "/").with_skill("/skill").with_plugin("/plugin");
    let (_, notes) = rule::read_all(tools, purpose, &places);
    for note in notes {
        // The format's own rules already report the parentheses of this field.
        if purpose == Purpose::Allow && ToolRules::problem(&note.rule).is_some() {
            continue;
        }
        let message = format!("tool rule `{}`: {}", note.rule.escape_debug(), note.message);
        findings.report(note.code, place(reading, field, &note.rule), message);
    }
}

/// The position of a rule in a field, or the entire field if it is written differently.
fn place(reading: &Reading, field: &str, rule: &str) -> Span {
    let value = reading.frontmatter.as_ref().and_then(|frontmatter| frontmatter.get(field));
    let Some(span) = value.map(|value| value.span) else { return Span::default() };
    let within = reading.text.get(span.range()).unwrap_or_default();
    // Not inside another rule that starts or ends the same.
    let is_whole = |at: &usize| {
        let is_part = |c: char| c.is_alphanumeric() || "_(:*".contains(c);
        !within[..*at].ends_with(is_part) && !within[*at + rule.len()..].starts_with(is_part)
    };
    let found = within.match_indices(rule).map(|(at, _)| at).find(is_whole);
    found.map_or(span, |at| Span::new(span.start + at, span.start + at + rule.len()))
}
