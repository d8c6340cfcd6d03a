//! How findings look: for people, for programs, for code scanning, for pull requests.
//!
//! Findings come from other crates; this module only prints them.

mod concise;
mod github;
mod json;
mod sarif;
mod scanned;
mod text;

use std::path::{Path, PathBuf};

use metier_host::Environment;
use metier_skill::{Code, Coded, Diagnostic, Fix, Reading, Scalar, Severity, SkillError, Span};
use serde::Serialize;

pub(crate) use concise::concise;
pub(crate) use github::github;
pub(crate) use json::json;
pub(crate) use sarif::sarif;
pub(crate) use scanned::{Scanned, Shape};
pub(crate) use text::text;

/// A skill that was checked, with its findings. The skill itself is not kept, because there may be a hundred thousand.
#[derive(Debug)]
pub(crate) struct Checked {
    /// As it was given or found.
    path: PathBuf,
    /// What the files of findings are relative to.
    root: PathBuf,
    /// As far as it can be read.
    name: Option<String>,
    pub(crate) is_valid: bool,
    /// The findings with the lines that they are about, or why there are none.
    found: Result<Vec<(Diagnostic, Option<SourceLine>)>, Failure>,
}

/// Why a skill could not be read, which is a finding too.
#[derive(Debug)]
struct Failure {
    code: &'static str,
    message: String,
    path: String,
}

/// A finding as the formats print it, borrowed from a [`Diagnostic`], a finding of the scan or a [`Failure`]. This is
/// also its JSON.
#[derive(Debug, Serialize)]
struct FindingView<'a> {
    code: &'static str,
    severity: Severity,
    message: &'a str,
    /// From where the user stands.
    file: String,
    line: usize,
    column: usize,
    /// The bytes in the file; `None` where the finding is about the file as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    span: Option<Span>,
    #[serde(skip)]
    source: Option<&'a SourceLine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<&'a Fix>,
    /// What to do, where the message does not say it.
    #[serde(skip)]
    help: Option<&'static str>,
}

/// The line that a finding is about. Keeping that alone makes the cost independent of the file's size.
#[derive(Debug)]
struct SourceLine {
    text: String,
    /// Where the line begins in the file.
    start: usize,
}

impl Checked {
    /// A skill with its findings, which name files relative to `root`.
    pub(crate) fn new(path: &Path, root: &Path, reading: Result<Reading, SkillError>) -> Self {
        let (path, root) = (shown(path), root.to_owned());
        let reading = match reading {
            Ok(reading) => reading,
            Err(error) => {
                let found = Err(Failure::new(&error, error.code(), &path));
                return Self { path, root, name: None, is_valid: false, found };
            }
        };
        let (name, is_valid) = (name(&reading).map(ToOwned::to_owned), reading.is_valid());
        let text = reading.text;
        let with_line = |found: Diagnostic| {
            let line = place(&found).and_then(|span| SourceLine::around(&text, span));
            (found, line)
        };
        let found = Ok(reading.diagnostics.into_iter().map(with_line).collect());
        Self { path, root, name, is_valid, found }
    }

    /// Whether there are findings, warnings included.
    pub(crate) fn has_findings(&self) -> bool {
        self.found.as_ref().map_or(true, |found| !found.is_empty())
    }

    /// Whether there is no `SKILL.md` at all.
    pub(crate) fn lacks_file(&self) -> bool {
        let first = self.found.as_ref().ok().and_then(|found| found.first());
        first.is_some_and(|(found, _)| found.code == Code::SkillMdMissing)
    }

    fn findings(&self) -> impl Iterator<Item = FindingView<'_>> {
        let (found, failure) = (self.found.iter().flatten(), self.found.as_ref().err());
        let found = found.map(|(found, line)| FindingView::of(found, line.as_ref(), &self.root));
        found.chain(failure.map(Failure::view))
    }
}

impl Failure {
    fn new<E: std::error::Error>(error: &E, code: &'static str, path: &Path) -> Self {
        let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
        Self { code, message: format!("{error}{cause}"), path: path.display().to_string() }
    }

    fn view(&self) -> FindingView<'_> {
        FindingView {
            code: self.code,
            severity: Severity::Error,
            message: &self.message,
            file: self.path.clone(),
            line: 1,
            column: 1,
            span: None,
            source: None,
            fix: None,
            help: None,
        }
    }
}

impl<'a> FindingView<'a> {
    fn of(found: &'a Diagnostic, source: Option<&'a SourceLine>, root: &Path) -> Self {
        Self {
            code: found.code.as_str(),
            severity: found.severity,
            message: &found.message,
            file: shown(&root.join(&found.file)).display().to_string(),
            line: found.line,
            column: found.column,
            span: place(found),
            source,
            fix: found.fix.as_ref(),
            help: None,
        }
    }
}

/// The span of a finding in the text. Findings about other files or about a file as a whole have none.
fn place(found: &Diagnostic) -> Option<Span> {
    Some(found.span).filter(|span| span.end > 0)
}

fn name(reading: &Reading) -> Option<&str> {
    let written = || reading.frontmatter.as_ref()?.get("name")?.as_scalar().map(Scalar::text);
    reading.skill.as_ref().map(|skill| skill.name.as_str()).or_else(written)
}

/// An absolute path below the working directory as a relative one: shorter to read, and what code scanning expects.
pub(crate) fn from_here(path: &Path) -> PathBuf {
    let working = path.is_absolute().then(|| Environment::read().working).flatten();
    let rest = working.and_then(|working| path.strip_prefix(working).ok().map(Path::to_owned));
    match rest {
        Some(rest) if rest == Path::new("") => PathBuf::from("."),
        Some(rest) => rest,
        None => path.to_owned(),
    }
}

/// A path as people write it: `./a` is `a`.
pub(crate) fn shown(path: &Path) -> PathBuf {
    path.strip_prefix("./").ok().filter(|rest| *rest != Path::new("")).unwrap_or(path).to_owned()
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
