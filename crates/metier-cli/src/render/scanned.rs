//! The findings of a scan, in every format.

use std::io;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use metier_scan::{RiskLevel, ScanFinding, ScanReport, ScanRule, ScanVerdict};
use metier_skill::{Severity, Span};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Failure, FindingView, SourceLine, concise, github, sarif, shown, text};
use crate::output::Output;
use crate::table::one_line;

/// A skill that was looked at, and what there is to print of it.
#[derive(Debug)]
pub(crate) struct Scanned {
    path: PathBuf,
    name: Option<String>,
    /// `None` where it could not be read at all.
    report: Option<ScanReport>,
    /// Where each of its findings is, with the line, as far as it is in a text.
    places: Vec<(Option<Span>, Option<SourceLine>)>,
    root: PathBuf,
    failure: Option<Failure>,
}

/// How findings are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shape {
    /// For people, with the source underlined
    Text,
    /// One line per finding: `path:line:column: severity: rule: message`
    Concise,
    /// For programs
    Json,
    /// For code-scanning tools
    Sarif,
    /// For GitHub Actions
    Github,
}

#[derive(Serialize)]
struct Row<'a> {
    path: String,
    name: Option<&'a str>,
    verdict: &'static str,
    score: u32,
    because: Vec<&'static str>,
    findings: Vec<FindingRow<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

#[derive(Serialize)]
struct FindingRow<'a> {
    rule: &'static str,
    severity: &'static str,
    weight: u32,
    message: &'a str,
    help: &'static str,
    file: &'a str,
    line: usize,
    column: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    span: Option<Span>,
    #[serde(skip_serializing_if = "str::is_empty")]
    excerpt: &'a str,
}

impl Scanned {
    /// A skill with its report. `bytes` are those of its files, to show lines of.
    pub(crate) fn new<'a>(
        path: &Path,
        root: &Path,
        name: Option<&str>,
        report: ScanReport,
        bytes: impl Fn(&str) -> Option<&'a [u8]>,
    ) -> Self {
        let places = report.findings.iter().map(|found| place(found, bytes(&found.file))).collect();
        let (path, name, root) = (shown(path), name.map(ToOwned::to_owned), root.to_owned());
        Self { path, name, report: Some(report), places, root, failure: None }
    }

    /// A skill that could not be read.
    pub(crate) fn failed<E: std::error::Error>(path: &Path, error: &E, code: &'static str) -> Self {
        let path = shown(path);
        let failure = Some(Failure::new(error, code, &path));
        Self { path, name: None, report: None, places: Vec::new(), root: PathBuf::new(), failure }
    }

    /// What the findings come to; what could not be looked at is not to be used.
    pub(crate) fn verdict(&self) -> ScanVerdict {
        self.report.as_ref().map_or(ScanVerdict::Block, ScanReport::verdict)
    }

    /// Prints all.
    pub(crate) fn print(all: &[Self], shape: Shape, output: &mut Output) -> io::Result<()> {
        let findings = || all.iter().flat_map(Self::findings);
        match shape {
            Shape::Text => people(all, output),
            Shape::Concise => {
                concise::lines(findings(), output)?;
                output.note(sum(all))
            }
            Shape::Json => {
                let skills: Vec<Row<'_>> = all.iter().map(Self::row).collect();
                output.json(&json!({ "skills": skills }))
            }
            Shape::Sarif => sarif::log("scan", metier_scan::rules().map(rule).collect(), findings(), output),
            Shape::Github => github::commands(findings(), output),
        }
    }

    fn row(&self) -> Row<'_> {
        let rows = |report: &'_ ScanReport| report.score();
        let findings = self.report.iter().flat_map(|report| &report.findings);
        Row {
            path: self.path.display().to_string(),
            name: self.name.as_deref(),
            verdict: self.verdict().as_str(),
            score: self.report.as_ref().map_or(0, rows),
            because: self.report.as_ref().map(ScanReport::because).unwrap_or_default(),
            findings: findings.map(FindingRow::new).collect(),
            error: self.failure.as_ref().map(|failure| failure.message.as_str()),
        }
    }

    fn findings(&self) -> impl Iterator<Item = FindingView<'_>> {
        let found = self.report.iter().flat_map(|report| &report.findings).zip(&self.places);
        let found = found.map(|(found, place)| finding(found, place, &self.root));
        found.chain(self.failure.iter().map(Failure::view))
    }
}

impl<'a> FindingRow<'a> {
    fn new(found: &'a ScanFinding) -> Self {
        Self {
            rule: found.rule,
            severity: found.severity.as_str(),
            weight: found.weight,
            message: &found.message,
            help: found.help,
            file: &found.file,
            line: found.line,
            column: found.column,
            span: found.span,
            excerpt: &found.excerpt,
        }
    }
}

fn people(all: &[Scanned], output: &mut Output) -> io::Result<()> {
    let findings: Vec<_> = all.iter().flat_map(Scanned::findings).collect();
    text::underlined(&findings, output)?;
    for skill in all.iter().filter(|skill| skill.verdict() == ScanVerdict::Block) {
        let reasons = skill.report.as_ref().map(ScanReport::because).unwrap_or_default();
        let is_alone = skill
            .report
            .iter()
            .flat_map(|report| &report.findings)
            .any(|found| found.severity == RiskLevel::High);
        let how = if is_alone { "" } else { " together" };
        if !reasons.is_empty() {
            let blocked = output.colored("blocked", false);
            let path = one_line(&skill.path.to_string_lossy());
            output.line(format_args!("{path} is {blocked}{how} by {}", reasons.join(", ")))?;
        }
    }
    output.summary(sum(all))
}

fn sum(all: &[Scanned]) -> String {
    let with = |verdict: ScanVerdict| all.iter().filter(|skill| skill.verdict() == verdict).count();
    format!(
        "{}: {} clean, {} to look at, {} blocked",
        text::count(all.len(), "skill"),
        with(ScanVerdict::Clean),
        with(ScanVerdict::Look),
        with(ScanVerdict::Block),
    )
}

/// Only where bytes and text are the same does a place in one mean the same in the other.
fn place(found: &ScanFinding, bytes: Option<&[u8]>) -> (Option<Span>, Option<SourceLine>) {
    let text = bytes.and_then(|bytes| std::str::from_utf8(bytes).ok());
    let span = found.span.filter(|span| text.is_some_and(|text| text.get(span.range()).is_some()));
    (span, span.zip(text).and_then(|(span, text)| SourceLine::around(text, span)))
}

fn finding<'a>(
    found: &'a ScanFinding,
    (span, source): &'a (Option<Span>, Option<SourceLine>),
    root: &Path,
) -> FindingView<'a> {
    FindingView {
        code: found.rule,
        severity: match found.severity {
            RiskLevel::High => Severity::Error,
            RiskLevel::Medium => Severity::Warning,
            _ => Severity::Note,
        },
        message: &found.message,
        file: shown(&root.join(&found.file)).display().to_string(),
        line: found.line,
        column: found.column,
        span: *span,
        source: source.as_ref(),
        fix: None,
        help: Some(found.help),
    }
}

fn rule(rule: &ScanRule) -> Value {
    let level = match rule.severity {
        RiskLevel::High => "error",
        RiskLevel::Medium => "warning",
        _ => "note",
    };
    json!({
        "id": rule.id,
        "shortDescription": { "text": rule.why },
        "help": { "text": rule.help },
        "defaultConfiguration": { "level": level },
    })
}
