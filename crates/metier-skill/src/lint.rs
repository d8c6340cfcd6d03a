//! Advice about valid skills that work badly, or do not work in some agents.
//!
//! [`text`] checks `SKILL.md` alone; [`directory`] checks the files around it.

use std::path::Path;

use memchr::memmem;

use crate::diagnostic::Findings;
use crate::tree::{ExceededLimit, SkipReason, Tree};
use crate::{Code, Reading, Skill, Span};

mod references;
mod resources;

/// The maximum number of lines of a body that agents handle well.
const BODY_LINES: usize = 500;
/// The same limit in tokens.
const BODY_TOKENS: usize = 5_000;

/// The start of a template line that the author must replace.
const TODO: &str = "TODO:";

/// Checks the text of `SKILL.md`.
pub(crate) fn text(reading: &Reading, findings: &mut Findings<'_>) {
    if let Some(skill) = &reading.skill {
        description(skill, reading, findings);
        body(skill, reading, findings);
    }
}

fn description(skill: &Skill, reading: &Reading, findings: &mut Findings<'_>) {
    let value = reading.frontmatter.as_ref().and_then(|frontmatter| frontmatter.get("description"));
    let span = value.map_or(Span::default(), |value| value.span);
    if skill.has_template_description() {
        let message = "`description` is still template text, so models are not offered the skill; say what the skill does";
        findings.report(Code::DescriptionPlaceholder, span, message);
    }
    if !says_when(&skill.description) {
        let message = "`description` does not say when to use the skill. Agents use it to choose a skill; add \"Use when …\"";
        findings.report(Code::DescriptionNoTrigger, span, message);
    }
}

/// Whether a description says when to use the skill. Only texts in Latin script are checked.
fn says_when(description: &str) -> bool {
    const HINTS: [&str; 13] = [
        "when", "whenever", "if", "while", "use", "used", "useful", "asks", "wants", "needs", "trigger",
        "triggers", "mentions",
    ];
    if description.bytes().filter(|byte| !byte.is_ascii()).count() * 4 > description.len() {
        return true;
    }
    let mut words = description.split(|c: char| !c.is_ascii_alphabetic());
    words.any(|word| HINTS.iter().any(|hint| word.eq_ignore_ascii_case(hint)))
}

fn body(skill: &Skill, reading: &Reading, findings: &mut Findings<'_>) {
    let start = reading.text.len() - skill.body.len();
    if skill.body.trim().is_empty() {
        let message = "there are no instructions after the frontmatter; write what the agent should do";
        findings.report(Code::BodyEmpty, Span::at(start), message);
        return;
    }
    let mut todos = placeholders(&skill.body);
    if let Some(first) = todos.next() {
        let more = match todos.count() {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        let message = format!("a `{TODO}` from the template is left{more}; write what the agent should do");
        let span = Span::new(start + first, start + first + TODO.len());
        findings.report(Code::BodyPlaceholder, span, message);
    }
    let tokens = crate::tokens(skill.body.len());
    let lines = crate::line_and_column(&skill.body, skill.body.len()).0 - 1;
    if lines > BODY_LINES || tokens > BODY_TOKENS {
        let message = format!(
            "the body has {lines} lines and about {tokens} tokens; keep it under {BODY_LINES} lines and \
             {BODY_TOKENS} tokens, and move the rest into files that the body links to"
        );
        findings.report(Code::BodyLong, Span::default(), message);
    }
}

/// Finds lines of a template outside code blocks: lines or list items that start with `TODO:`.
fn placeholders(body: &str) -> impl Iterator<Item = usize> {
    let mut code = references::CodeBlocks::new(body);
    let begins_line = |at: &usize| {
        let line = body[..*at].rfind(['\n', '\r']).map_or(0, |end| end + 1);
        body[line..*at].chars().all(|c| c.is_ascii_digit() || " \t-*+.)".contains(c))
    };
    memmem::find_iter(body.as_bytes(), TODO).filter(begins_line).filter(move |at| !code.contains(*at))
}

/// Checks the files of a directory and the limits.
pub(crate) fn directory(reading: &Reading, tree: &Tree, findings: &mut Findings<'_>) {
    limits(tree, findings);
    if let Some(skill) = &reading.skill {
        let start = reading.text.len() - skill.body.len();
        for (span, target) in references::missing(&skill.body, start, tree) {
            let message = format!("`{}` does not exist; add the file or fix the path", target.escape_debug());
            findings.report(Code::ReferenceMissing, span, message);
        }
    }
    skipped(tree, findings);
    if let Some(skill) = &reading.skill {
        resources::check(&skill.body, &reading.file, tree, findings);
    }
}

/// Checks where a skill is: many agents do not find skills in `skills/group/name`.
pub(crate) fn group(path: &Path, findings: &mut Findings<'_>) {
    let group = path.parent().filter(|group| !group.ends_with("skills"));
    if let Some(group) = group.filter(|group| group.parent().is_some_and(|above| above.ends_with("skills"))) {
        let message = format!(
            "the skill is in the group directory `{}`: Claude Code, Gemini CLI, VS Code and Zed only look \
             directly below `skills`; move it there",
            group.file_name().unwrap_or_default().display()
        );
        findings.report(Code::SkillNested, Span::default(), message);
    }
}

fn limits(tree: &Tree, findings: &mut Findings<'_>) {
    let rules = findings.rules();
    for exceeded in &tree.exceeded {
        let (code, message) = match exceeded {
            ExceededLimit::Bytes => {
                let most = rules.limits.skill_bytes;
                (Code::SkillTooLarge, format!("the skill's files exceed {most} bytes in total; remove some"))
            }
            ExceededLimit::Entries => {
                let most = rules.limits.entries;
                (
                    Code::TooManyEntries,
                    format!("the skill has more than {most} files and directories; remove some"),
                )
            }
            ExceededLimit::Depth => {
                let most = rules.limits.depth;
                (Code::TooDeep, format!("directories are nested more than {most} levels deep; flatten them"))
            }
        };
        findings.report(code, Span::default(), message);
    }
}

fn skipped(tree: &Tree, findings: &mut Findings<'_>) {
    for skipped in &tree.skipped {
        let path = skipped.path.to_string_lossy();
        // A `SKILL.md` that is a link has its own finding.
        if path.eq_ignore_ascii_case("SKILL.md") {
            continue;
        }
        let (code, message) = match skipped.reason {
            SkipReason::Link => {
                (Code::LinkSkipped, "symbolic links are not followed; replace the link with the file itself")
            }
            SkipReason::LinkOutside => (
                Code::LinkOutside,
                "the symbolic link points outside the skill and is never followed; replace it with the file itself",
            ),
            SkipReason::Special => {
                (Code::FileSkipped, "this is not a regular file and is skipped; remove it")
            }
            SkipReason::Unreadable => {
                (Code::Unreadable, "this file or directory cannot be read; check its permissions")
            }
            SkipReason::Changing => {
                (Code::Unreadable, "this file changed while it was being read; run the check again")
            }
            SkipReason::VersionControl => continue,
        };
        findings.report_on(&path, code, message);
    }
}

/// The first paragraph of a markdown text that is not a heading, on one line.
pub(crate) fn first_paragraph(text: &str) -> Option<String> {
    let is_text =
        |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with(['#', '<', '`', '|', '-']);
    let lines = text.lines().skip_while(|line| !is_text(line)).take_while(is_text);
    let paragraph = lines.map(str::trim).collect::<Vec<_>>().join(" ");
    (!paragraph.is_empty()).then_some(paragraph)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_says_when_or_not() {
        assert!(says_when("Reviews code. Use when somebody asks for a review."));
        assert!(says_when("For pull requests: if there is one open"));
        assert!(says_when("コードをレビューする"));
        assert!(!says_when("Reviews code thoroughly."));
        assert!(!says_when("A fused, userland toolkit"));
    }

    #[test]
    fn placeholders_begin_a_line_outside_code() {
        let found = |body: &str| placeholders(body).collect::<Vec<_>>();
        assert_eq!(found("TODO: a\n\n2. TODO: b\n- [ ] x\n  - TODO: c\n"), [0, 12, 32]);
        assert!(found("Find every TODO: in code. `TODO: x`\n").is_empty());
        assert!(found("```\nTODO: x\n```\n// TODO: y\n").is_empty());
    }

    #[test]
    fn the_first_paragraph_is_neither_heading_nor_markup() {
        assert_eq!(first_paragraph("# Title\n\nSay\n  hello.\n\nMore.").as_deref(), Some("Say hello."));
        assert_eq!(first_paragraph("# Title\n"), None);
    }
}
