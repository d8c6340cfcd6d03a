//! Diagnostics of a skill, each with a position in a file, and the collector that rules report to.
//!
//! This module neither decides what is wrong (the rules do) nor prints anything (the caller does).

use std::ops::Range;

use serde::Serialize;

use crate::{Code, Rules};

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// For information. Format rules do not report notes; the scan does.
    Note,
    /// Should be fixed, but the skill is usable.
    Warning,
    /// Breaks a rule: the skill is invalid.
    Error,
}

impl Severity {
    /// The severity's name, as in JSON.
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
    /// The offset of the first byte.
    pub start: usize,
    /// The offset after the last byte.
    pub end: usize,
}

impl Span {
    /// A span from `start` up to, but not including, `end`.
    pub const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// An empty span before the byte at `offset`.
    pub const fn at(offset: usize) -> Self {
        Self::new(offset, offset)
    }

    /// The span as a range, for slicing.
    pub const fn range(self) -> Range<usize> {
        self.start..self.end
    }
}

/// One replacement in a file: the bytes of `span` become `text`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Edit {
    /// What is replaced. Empty for an insertion.
    #[serde(flatten)]
    pub span: Span,
    /// The replacement.
    pub text: String,
}

/// The one obvious way to fix a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Fix {
    /// What the fix does, in the imperative: "quote the value".
    pub title: String,
    /// The replacements. They do not overlap.
    pub edits: Vec<Edit>,
}

impl Fix {
    /// A fix that replaces `span` with `text`.
    pub fn replace(title: impl Into<String>, span: Span, text: impl Into<String>) -> Self {
        let edits = vec![Edit { span, text: text.into() }];
        Self { title: title.into(), edits }
    }
}

/// One finding: what is wrong, how severe it is, where it is, and how to fix it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// The stable code.
    pub code: Code,
    /// The severity under the rules that were applied.
    pub severity: Severity,
    /// What is wrong and what to do.
    pub message: String,
    /// The file, relative to the skill's directory. For a single-file skill, its file name.
    pub file: String,
    /// The position in that file, in bytes.
    pub span: Span,
    /// The line of `span.start`, counted from 1.
    pub line: usize,
    /// The column of `span.start` in characters, counted from 1.
    pub column: usize,
    /// How to fix it, if there is one obvious way.
    pub fix: Option<Fix>,
}

impl Diagnostic {
    /// Whether this makes the skill invalid.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// Collects the findings about one skill and its files. Findings whose code is turned off by the rules are
/// dropped here, so the rules need not check.
///
/// Other crates report through [`Location::validate_with`](crate::Location::validate_with).
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

    /// Reports a problem at a position in the skill's own file.
    pub fn report(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.push(None, code, span, message.into(), None);
    }

    /// Reports a problem with another file of the skill as a whole.
    pub(crate) fn report_on(&mut self, file: &str, code: Code, message: impl Into<String>) {
        self.push(Some(file), code, Span::default(), message.into(), None);
    }

    /// Removes all findings with a code.
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

    /// Whether a finding with this code would be kept. Use it to avoid building expensive messages.
    pub(crate) fn wants(&self, code: Code) -> bool {
        self.rules.severity(code).is_some()
    }

    /// An empty collector for the same file.
    pub(crate) fn empty(&self) -> Self {
        Self::new(self.rules, &self.file)
    }

    /// Takes over findings about a changed text and maps their positions to this text.
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

    /// The findings in the order of the text, with lines and columns, followed by those about other files.
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

/// The line and column of a byte offset, both counted from 1. As in `SKILL.md`, lines end at `\n`, `\r\n` or
/// `\r`. Columns count characters.
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

/// The number of line ends between two offsets, and the start of the last line that starts there.
fn line_breaks(text: &str, from: usize, to: usize) -> (usize, Option<usize>) {
    let bytes = text.as_bytes();
    let between = &bytes[from..to];
    // True for nearly every file. Counting one byte is several times as fast as finding two.
    if memchr::memchr(b'\r', between).is_none() {
        let last = memchr::memrchr(b'\n', between).map(|at| from + at + 1);
        return (memchr::memchr_iter(b'\n', between).count(), last);
    }
    // `\r\n` ends one line, after its `\n`.
    let ends = memchr::memchr2_iter(b'\n', b'\r', between)
        .map(|at| from + at)
        .filter(|at| bytes[*at] == b'\n' || bytes.get(at + 1) != Some(&b'\n'));
    ends.fold((0, None), |(count, _), at| (count + 1, Some(at + 1)))
}
