//! Findings about a skill, each with a place in a file, and the collector that rules report to.
//!
//! Nothing here decides what is wrong; that is for the rules. Nothing here prints; that is for the caller.

use std::ops::Range;

use serde::Serialize;

use crate::{Code, Rules};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing. No rule of the format reports one; the scan does.
    Note,
    /// Worth fixing; the skill is usable.
    Warning,
    /// Breaks a rule; the skill is not valid.
    Error,
}

impl Severity {
    /// The word for it, as in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A range of bytes in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The bytes from `start` to just before `end`.
    pub const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// The place just before the byte at `offset`.
    pub const fn at(offset: usize) -> Self {
        Self::new(offset, offset)
    }

    /// The same as a range, to slice with.
    pub const fn range(self) -> Range<usize> {
        self.start..self.end
    }
}

/// One replacement in a file: the bytes of `span` become `text`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Edit {
    /// What is replaced; empty to insert.
    #[serde(flatten)]
    pub span: Span,
    /// What stands there afterwards.
    pub text: String,
}

/// The one obvious way to mend a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Fix {
    /// What the fix does, as an order: "quote the value".
    pub title: String,
    /// The replacements; they do not overlap.
    pub edits: Vec<Edit>,
}

impl Fix {
    /// A fix that replaces the bytes of `span` by `text`.
    pub fn replace(title: impl Into<String>, span: Span, text: impl Into<String>) -> Self {
        let edits = vec![Edit { span, text: text.into() }];
        Self { title: title.into(), edits }
    }
}

/// One finding: what, how bad, where, and how to mend it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// The stable code.
    pub code: Code,
    /// How bad it is under the rules that were applied.
    pub severity: Severity,
    /// What is wrong and what to do.
    pub message: String,
    /// The file, relative to the skill's directory; of a single-file skill, its file name.
    pub file: String,
    /// The bytes in that file.
    pub span: Span,
    /// The line of `span.start`, from 1.
    pub line: usize,
    /// The column of `span.start` in characters, from 1.
    pub column: usize,
    /// How to mend it, if there is one obvious way.
    pub fix: Option<Fix>,
}

impl Diagnostic {
    /// Whether this makes the skill invalid.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// Collects the findings about one skill, from the first byte of its file to the last of its resources. A finding whose
/// code the rules switch off is dropped here, so that the rules themselves never ask.
///
/// Other crates report to it through [`Location::validate_with`](crate::Location::validate_with).
#[derive(Debug)]
pub struct Findings<'a> {
    rules: &'a Rules,
    /// The skill's own file.
    file: String,
    list: Vec<Diagnostic>,
}

impl<'a> Findings<'a> {
    pub(crate) fn new(rules: &'a Rules, file: &str) -> Self {
        Self { rules, file: file.to_owned(), list: Vec::new() }
    }

    pub(crate) const fn rules(&self) -> &'a Rules {
        self.rules
    }

    /// Reports what is wrong with the skill's own file, at a place in it.
    pub fn report(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.push(None, code, span, message.into(), None);
    }

    /// Reports what is wrong with another file of the skill, as a whole.
    pub(crate) fn report_on(&mut self, file: &str, code: Code, message: impl Into<String>) {
        self.push(Some(file), code, Span::default(), message.into(), None);
    }

    /// Takes back what was reported under a code.
    pub(crate) fn withdraw(&mut self, code: Code) {
        self.list.retain(|found| found.code != code);
    }

    pub(crate) fn report_with_fix(
        &mut self,
        code: Code,
        span: Span,
        message: impl Into<String>,
        fix: impl Into<Option<Fix>>,
    ) {
        self.push(None, code, span, message.into(), fix.into());
    }

    /// Whether a finding with this code would be kept; for messages that cost something to make.
    pub(crate) fn wants(&self, code: Code) -> bool {
        self.rules.severity(code).is_some()
    }

    /// A collector for the same file with nothing in it.
    pub(crate) fn empty(&self) -> Self {
        Self::new(self.rules, &self.file)
    }

    /// Takes over findings in a changed text, with their places moved to where they are in this one.
    pub(crate) fn absorb(&mut self, other: Self, to: &impl Fn(usize) -> usize) {
        self.list.extend(other.list.into_iter().map(|mut found| {
            found.span = Span::new(to(found.span.start), to(found.span.end));
            found
        }));
    }

    fn push(&mut self, file: Option<&str>, code: Code, span: Span, message: String, fix: Option<Fix>) {
        let Some(severity) = self.rules.severity(code) else {
            return;
        };
        let file = file.unwrap_or(&self.file).to_owned();
        self.list.push(Diagnostic { code, severity, message, file, span, line: 1, column: 1, fix });
    }

    /// The findings in the order of the text, with their lines and columns; after them those about other files.
    pub(crate) fn finish(mut self, text: &str) -> Vec<Diagnostic> {
        let file = self.file;
        let elsewhere = |found: &Diagnostic| found.file != file;
        self.list.sort_by(|a, b| (elsewhere(a), &a.file, a.span).cmp(&(elsewhere(b), &b.file, b.span)));
        let (mut offset, mut line, mut column) = (0, 1, 1);
        for found in self.list.iter_mut().take_while(|found| found.file == file) {
            let Some(between) = text.get(offset..found.span.start) else {
                continue;
            };
            let (lines, last) = line_breaks(text, offset, found.span.start);
            if lines > 0 {
                column = 1;
            }
            line += lines;
            column += last.map_or(between, |last| &text[last..found.span.start]).chars().count();
            offset = found.span.start;
            (found.line, found.column) = (line, column);
        }
        self.list
    }
}

/// The line and the column of a place in a text, both from 1. Lines end as `SKILL.md` is read: at `\n`, `\r\n` or `\r`. Columns
/// count characters.
///
/// ```
/// use metier_skill::line_and_column;
///
/// assert_eq!(line_and_column("a\nbc", 3), (2, 2));
/// assert_eq!(line_and_column("a\rbc", 3), (2, 2));
/// ```
pub fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let at = text.floor_char_boundary(at);
    let (lines, last) = line_breaks(text, 0, at);
    (lines + 1, text[last.unwrap_or(0)..at].chars().count() + 1)
}

/// How many lines end between two places, and where the last one begins that is begun there.
fn line_breaks(text: &str, from: usize, to: usize) -> (usize, Option<usize>) {
    let bytes = text.as_bytes();
    let between = &bytes[from..to];
    // Nearly every file; counting one byte is several times as fast as finding two.
    if memchr::memchr(b'\r', between).is_none() {
        let last = memchr::memrchr(b'\n', between).map(|at| from + at + 1);
        return (memchr::memchr_iter(b'\n', between).count(), last);
    }
    // `\r\n` ends one line, and ends it after the `\n`.
    let ends = memchr::memchr2_iter(b'\n', b'\r', between)
        .map(|at| from + at)
        .filter(|at| bytes[*at] == b'\n' || bytes.get(at + 1) != Some(&b'\n'));
    ends.fold((0, None), |(count, _), at| (count + 1, Some(at + 1)))
}
