//! Parses YAML text into a [`Value`] with `granit-parser`. No other module uses that crate.
//!
//! Features beyond plain data (anchors, aliases, tags, merge keys, several documents, collections as keys) each
//! get a finding, and parsing continues. Only invalid syntax and too much nesting stop it.

use std::collections::HashSet;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, options};

use crate::diagnostic::Findings;
use crate::value::{Data, Field, Scalar, Value};
use crate::{Code, Span};

pub(crate) mod repair;

/// Where and why parsing stopped.
#[derive(Debug)]
pub(crate) struct Stop {
    pub(crate) code: Code,
    pub(crate) offset: usize,
    pub(crate) message: String,
}

/// Parses the only document in `text`. Spans are offsets in `text` plus `base`.
///
/// Returns `None` if there is no document: only white space and comments.
pub(crate) fn read(
    text: &str,
    base: usize,
    max_depth: usize,
    findings: &mut Findings<'_>,
) -> Result<Option<Value>, Stop> {
    let options = options! {
        disallow_directives: true,
        emit_anchor_events: true,
        emit_unresolved_aliases: true,
        flow_nesting_limit: max_depth,
        block_nesting_limit: max_depth,
    };
    let mut builder = Builder {
        text,
        base,
        max_depth,
        findings,
        open: Vec::new(),
        root: None,
        documents: 0,
        last_end: base,
    };
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|error| stop(&error, text.len(), base))?;
        let span = span.byte_range().map_or(Span::at(base), |at| Span::new(base + at.start, base + at.end));
        builder.take(event, span)?;
        builder.last_end = span.end;
    }
    Ok(builder.root)
}

fn stop(error: &ScanError, end: usize, base: usize) -> Stop {
    let offset = base + error.marker().byte_offset().unwrap_or(end).min(end);
    let (code, message) = match error.kind() {
        ErrorKind::RecursionLimitExceeded => {
            (Code::YamlTooDeep, "the frontmatter is nested too deeply; flatten it".to_owned())
        }
        kind => {
            let advice = advice(kind).map(|advice| format!("; {advice}")).unwrap_or_default();
            (Code::YamlSyntax, format!("invalid YAML: {}{advice}", error.info()))
        }
    };
    Stop { code, offset, message }
}

/// Advice for the most common syntax errors.
fn advice(kind: &ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::UnclosedQuotedScalar
        | ErrorKind::InvalidQuotedScalarIndent
        | ErrorKind::DocumentIndicatorInQuotedScalar => {
            "a quote before this is probably never closed: close it, or indent the lines on which the text continues"
        }
        ErrorKind::InvalidTrailingDoubleQuotedScalar | ErrorKind::InvalidTrailingSingleQuotedScalar => {
            "the quotes end before the value does: put the whole value in quotes"
        }
        ErrorKind::UnknownQuotedScalarEscape => "write `\\\\` for a backslash, or use single quotes",
        ErrorKind::UnclosedFlowCollection { .. } => {
            "close the bracket, or quote the value if it is meant as text"
        }
        ErrorKind::UnexpectedCharacter { .. } | ErrorKind::MissingAnchorOrAliasName => {
            "a value that starts like this must be quoted"
        }
        ErrorKind::MappingValueNotAllowed
        | ErrorKind::ExpectedBlockMappingKey
        | ErrorKind::InvalidIndentation => {
            "check the indentation of this line and the one before, or quote a value with `: ` in it"
        }
        ErrorKind::SimpleKeyExpected => "write a field as `key: value`, with a space after the colon",
        ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabAtBlockScalarStart
        | ErrorKind::TabNotAllowed => "indent with spaces, not with tabs",
        _ => return None,
    })
}

/// A collection whose end has not been reached.
struct Open {
    start: usize,
    kind: OpenKind,
}

enum OpenKind {
    List(Vec<Value>),
    Map { entries: Vec<Field>, key: Option<(Scalar, Span)>, seen: HashSet<String> },
}

struct Builder<'a, 'f, 'r> {
    text: &'a str,
    base: usize,
    max_depth: usize,
    findings: &'f mut Findings<'r>,
    open: Vec<Open>,
    root: Option<Value>,
    documents: usize,
    /// The end of the previous event.
    last_end: usize,
}

impl Builder<'_, '_, '_> {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), Stop> {
        if let Some(tag) = event.tag() {
            let message = format!("the tag `{}` is not allowed; remove it", tag.original().escape_debug());
            self.findings.report(Code::YamlTag, span, message);
        }
        match event {
            Event::DocumentStart(..) => self.start_document(span),
            Event::Scalar(text, style, ..) => {
                let scalar = match style {
                    // The parser reports a missing value as `~`.
                    ScalarStyle::Plain if span.start == span.end => Scalar::plain(""),
                    ScalarStyle::Plain => Scalar::plain(text),
                    _ => Scalar::string(text),
                };
                if scalar.text() == "<<" && style == ScalarStyle::Plain && self.expects_key() {
                    let message = "the merge key `<<` is not allowed; write the fields out";
                    self.findings.report(Code::YamlMergeKey, span, message);
                }
                let span = self.with_block_header(style, span);
                self.close(Value { data: Data::Scalar(scalar), span });
            }
            Event::SequenceStart(..) => self.start(span, OpenKind::List(Vec::new()))?,
            Event::MappingStart(..) => {
                let kind = OpenKind::Map { entries: Vec::new(), key: None, seen: HashSet::new() };
                self.start(span, kind)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(span),
            Event::Anchor(_, name) => {
                let message = format!(
                    "the anchor `&{}` is not allowed; remove it, or quote the value",
                    name.escape_debug()
                );
                self.findings.report(Code::YamlAnchor, span, message);
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                let name = self.slice(span).escape_debug();
                let message = format!("the alias `{name}` is not allowed; write the value out, or quote it");
                self.findings.report(Code::YamlAlias, span, message);
                self.close(Value { data: Data::default(), span });
            }
            // Other events contain no data.
            _ => {}
        }
        Ok(())
    }

    fn start_document(&mut self, span: Span) {
        self.documents += 1;
        if self.documents == 2 {
            let message = "a second YAML document starts here; keep only one between the `---` lines";
            self.findings.report(Code::YamlMultipleDocuments, span, message);
        }
    }

    /// The parser's span of a block scalar is its content with the line break. This one starts with the `|` or
    /// `>` and ends with the text, so that replacing it replaces exactly the value.
    fn with_block_header(&self, style: ScalarStyle, span: Span) -> Span {
        let header = match style {
            ScalarStyle::Literal => '|',
            ScalarStyle::Folded => '>',
            _ => return span,
        };
        // Only blank lines come between the header's line and the content, and only a comment after the header.
        let between = self.slice(Span::new(self.last_end, span.start)).trim_end();
        let line = between.rfind(['\n', '\r']).map_or(0, |at| at + 1);
        let code = between[line..].split(" #").next().unwrap_or_default();
        let start = code.rfind(header).map_or(span.start, |at| self.last_end + line + at);
        let text = self.slice(Span::new(start, span.end));
        Span::new(start, start + text.trim_end().len())
    }

    fn slice(&self, span: Span) -> &str {
        self.text.get(span.start - self.base..span.end - self.base).unwrap_or_default()
    }

    fn expects_key(&self) -> bool {
        matches!(self.open.last(), Some(Open { kind: OpenKind::Map { key: None, .. }, .. }))
    }

    fn start(&mut self, span: Span, kind: OpenKind) -> Result<(), Stop> {
        // The parser limits block and flow nesting separately; this limits their sum.
        if self.open.len() >= self.max_depth {
            let message = "the frontmatter is nested too deeply; flatten it".to_owned();
            return Err(Stop { code: Code::YamlTooDeep, offset: span.start, message });
        }
        self.open.push(Open { start: span.start, kind });
        Ok(())
    }

    fn end(&mut self, span: Span) {
        let Some(Open { start, kind }) = self.open.pop() else {
            return;
        };
        let data = match kind {
            OpenKind::List(items) => Data::List(items),
            OpenKind::Map { entries, .. } => Data::Map(entries),
        };
        // The parser ends a block collection at the next token. This span ends before the white space.
        let inside = self.slice(Span::new(start, span.end));
        let span = Span::new(start, start + inside.trim_end().len());
        self.close(Value { data, span });
    }

    /// Adds a finished value to the enclosing collection.
    fn close(&mut self, value: Value) {
        match self.open.last_mut().map(|open| &mut open.kind) {
            None if self.documents <= 1 => self.root = Some(value),
            None => {}
            Some(OpenKind::List(items)) => items.push(value),
            Some(OpenKind::Map { entries, key, seen }) => match key.take() {
                None => *key = Some(self.findings.key(value)),
                Some((key, key_span)) => {
                    if is_new(&key, entries, seen) {
                        entries.push(Field { key, key_span, value });
                    } else {
                        let message =
                            format!("duplicate key `{}`; remove one of them", key.text().escape_debug());
                        self.findings.report(Code::YamlDuplicateKey, key_span, message);
                    }
                }
            },
        }
    }
}

impl Findings<'_> {
    fn key(&mut self, value: Value) -> (Scalar, Span) {
        match value.data {
            Data::Scalar(scalar) => (scalar, value.span),
            _ => {
                let message = "a key must be a word, not a list or a mapping; quote it";
                self.report(Code::YamlComplexKey, value.span, message);
                (Scalar::string(value.to_string()), value.span)
            }
        }
    }
}

/// Whether a mapping does not have the key yet. Comparing with each key is fastest for a few; a set keeps
/// hostile input linear.
fn is_new(key: &Scalar, entries: &[Field], seen: &mut HashSet<String>) -> bool {
    const FEW: usize = 16;
    if entries.len() < FEW {
        return entries.iter().all(|entry| entry.key.text() != key.text());
    }
    if seen.is_empty() {
        seen.extend(entries.iter().map(|entry| entry.key.text().to_owned()));
    }
    seen.insert(key.text().to_owned())
}
