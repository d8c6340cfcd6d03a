//! How findings look: for people, for programs, for code scanning, for pull requests.

mod github;
mod json;
mod sarif;
mod scanned;
mod text;

use metier_skill::Coded as _;
use std::path::{Path, PathBuf};

use metier_policy::{Allowlist, Anchors, Denylist, RuleNote};
use metier_skill::{
    Code, Diagnostic, Fix, Reading, Scalar, Severity, SkillError, Span, ToolRules, line_and_column,
};

pub(crate) use github::github;
pub(crate) use json::json;
pub(crate) use sarif::sarif;
pub(crate) use scanned::{Scanned, Shape};
pub(crate) use text::text;

/// A skill that was looked at, and what there is to print of it. The skill itself is not kept: there may be
/// a hundred thousand.
#[derive(Debug)]
pub(crate) struct Checked {
    /// As it was given or found.
    path: PathBuf,
    /// As far as it can be read.
    name: Option<String>,
    pub(crate) is_valid: bool,
    findings: Vec<Finding>,
}

/// A finding as it is shown.
#[derive(Debug)]
struct Finding {
    code: &'static str,
    severity: Weight,
    message: String,
    /// From where the user stands.
    file: PathBuf,
    line: usize,
    column: usize,
    /// The bytes in the file; `None` where the finding is about the file as a whole.
    span: Option<Span>,
    source: Option<SourceLine>,
    fix: Option<Fix>,
    /// What to do, where the message does not say it.
    help: Option<&'static str>,
}

/// How bad a finding is, whoever found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weight {
    Error,
    Warning,
    Note,
}

impl From<Severity> for Weight {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Error => Self::Error,
            Severity::Warning => Self::Warning,
        }
    }
}

impl Weight {
    /// The word that JSON and SARIF have for it.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// The line that a finding is about. Keeping that alone makes the cost independent of the file's size.
#[derive(Debug)]
struct SourceLine {
    text: String,
    /// Where the line begins in the file.
    start: usize,
}

impl Checked {
    /// What there is to print of a skill, whose findings name files relative to `root`.
    pub(crate) fn new(path: &Path, root: &Path, reading: Result<Reading, SkillError>) -> Self {
        let path = shown(path);
        match reading {
            Ok(reading) => Self {
                path,
                name: name(&reading).map(ToOwned::to_owned),
                is_valid: reading.is_valid(),
                findings: findings(&reading, root),
            },
            Err(error) => Self {
                findings: vec![failure(&error, error.code(), &path)],
                path,
                name: None,
                is_valid: false,
            },
        }
    }

    /// Whether there is anything to say, a warning included.
    pub(crate) fn has_findings(&self) -> bool {
        !self.findings.is_empty()
    }

    /// Whether there is no `SKILL.md` at all.
    pub(crate) fn lacks_file(&self) -> bool {
        self.findings.first().is_some_and(|finding| finding.code == Code::SkillMdMissing.as_str())
    }
}

/// All findings about a skill, in the order of the file: those of its format, and what its rules for tools come to.
fn findings(reading: &Reading, root: &Path) -> Vec<Finding> {
    let format = reading.diagnostics.iter().map(|found| finding(found, reading, root));
    let mut all: Vec<Finding> = format.chain(about_rules(reading, root)).collect();
    all.sort_by_key(|finding| finding.span.map_or(0, |span| span.start));
    all
}

/// How many findings there are about a skill's rules for tools, all of them warnings.
pub(crate) fn rule_findings(reading: &Reading) -> usize {
    about_rules(reading, Path::new("")).len()
}

fn about_rules(reading: &Reading, root: &Path) -> Vec<Finding> {
    let Some(skill) = &reading.skill else { return Vec::new() };
    // Which places they are does not matter to whether a rule can match, only that there are some.
    let places = Anchors::new("/", "/").with_skill("/skill").with_plugin("/plugin");
    let allowed = |tools: &ToolRules| Allowlist::new(tools, &places).notes().to_vec();
    let denied = |tools: &ToolRules| Denylist::new(tools, &places).notes().to_vec();
    let fields = [
        ("allowed-tools", skill.allowed_tools.as_ref().map(allowed)),
        ("disallowed-tools", skill.disallowed_tools().as_ref().map(denied)),
    ];
    // Parentheses are the format's business already.
    let is_known = |note: &RuleNote| {
        let of_rules = reading.diagnostics.iter().filter(|found| found.code == Code::AllowedToolsRule);
        of_rules.into_iter().any(|found| found.message.contains(&format!("`{}`", note.rule.escape_debug())))
    };
    let notes = fields
        .into_iter()
        .flat_map(|(field, notes)| notes.into_iter().flatten().map(move |note| (field, note)));
    notes
        .filter(|(_, note)| !is_known(note))
        .map(|(field, note)| about_rule(field, &note, reading, root))
        .collect()
}

fn about_rule(field: &str, note: &RuleNote, reading: &Reading, root: &Path) -> Finding {
    let value = reading.frontmatter.as_ref().and_then(|frontmatter| frontmatter.get(field));
    let span = value.map(|value| value.span).map(|span| {
        let within = reading.text.get(span.range()).unwrap_or_default();
        // Not inside another rule that begins or ends the same.
        let is_whole = |at: &usize| {
            let (before, after) = (&within[..*at], &within[*at + note.rule.len()..]);
            let is_part = |c: char| c.is_alphanumeric() || "_(:*".contains(c);
            !before.ends_with(is_part) && !after.starts_with(is_part)
        };
        let place = within.match_indices(&note.rule).map(|(at, _)| at).find(is_whole);
        place.map_or(span, |at| Span::new(span.start + at, span.start + at + note.rule.len()))
    });
    let (line, column) = line_and_column(&reading.text, span.map_or(0, |span| span.start));
    Finding {
        code: note.code.as_str(),
        severity: Weight::Warning,
        message: format!("the rule `{}`: {}", note.rule.escape_debug(), note.message),
        file: shown(&root.join(&reading.file)),
        line,
        column,
        span,
        source: span.and_then(|span| SourceLine::around(&reading.text, span)),
        fix: None,
        help: None,
    }
}

fn name(reading: &Reading) -> Option<&str> {
    let written = || reading.frontmatter.as_ref()?.get("name")?.as_scalar().map(Scalar::text);
    reading.skill.as_ref().map(|skill| skill.name.as_str()).or_else(written)
}

fn finding(found: &Diagnostic, reading: &Reading, root: &Path) -> Finding {
    // Findings about other files have no text to show; nor have those about a file as a whole.
    let span = Some(found.span).filter(|span| span.end > 0);
    Finding {
        code: found.code.as_str(),
        severity: found.severity.into(),
        message: found.message.clone(),
        file: shown(&root.join(&found.file)),
        line: found.line,
        column: found.column,
        span,
        source: span.and_then(|span| SourceLine::around(&reading.text, span)),
        fix: found.fix.clone(),
        help: None,
    }
}

/// A path as people write it: `./a` is `a`.
fn shown(path: &Path) -> PathBuf {
    path.strip_prefix("./").ok().filter(|rest| *rest != Path::new("")).unwrap_or(path).to_owned()
}

fn failure<E: std::error::Error>(error: &E, code: &'static str, path: &Path) -> Finding {
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    Finding {
        code,
        severity: Weight::Error,
        message: format!("{error}{cause}"),
        file: path.to_owned(),
        line: 1,
        column: 1,
        span: None,
        source: None,
        fix: None,
        help: None,
    }
}

impl SourceLine {
    /// Lines longer than this are not shown.
    const MAX: usize = 2_000;

    /// The first line of a span.
    fn around(text: &str, span: Span) -> Option<Self> {
        // As lines are counted: a carriage return ends one too.
        let start = text.get(..span.start)?.rfind(['\n', '\r']).map_or(0, |at| at + 1);
        let line = &text[start..];
        let line = &line[..line.find(['\n', '\r']).unwrap_or(line.len())];
        (line.len() <= Self::MAX).then(|| Self { text: line.to_owned(), start })
    }

    /// Whether a span lies in this line.
    fn holds(&self, span: Span) -> bool {
        self.start <= span.start && span.end <= self.start + self.text.len()
    }

    /// The part of a span that lies in this line, counted from its beginning.
    fn inside(&self, span: Span) -> Span {
        let start = (span.start - self.start).min(self.text.len());
        let end = (span.end - self.start).min(self.text.len());
        // Bytes that are not UTF-8 stand as something longer in the text.
        if self.text.get(start..end).is_some() { Span::new(start, end) } else { Span::at(start) }
    }
}
