//! Splits `SKILL.md` into text, fences, frontmatter and body. The fields are checked in `fields`.

use crate::diagnostic::Findings;
use crate::value::{Data, Value};
use crate::yaml::{self, repair};
use crate::{Code, Fix, Rules, Span};

/// The parts of one file. A missing part is `None`, and a finding explains why.
#[derive(Debug, Default)]
pub(crate) struct Document {
    /// A mapping with at least one field.
    pub(crate) frontmatter: Option<Value>,
    /// The body: from the line after the closing fence to the end of the file.
    pub(crate) body: Option<Span>,
    /// Whether the file has no fence at all.
    pub(crate) is_bare: bool,
}

const BOM: &str = "\u{feff}";

/// Splits the text of a file into its parts.
pub(crate) fn take_apart(text: &str, rules: &Rules, findings: &mut Findings<'_>) -> Document {
    let start = if text.starts_with(BOM) {
        let span = Span::new(0, BOM.len());
        let message = "the file starts with a byte-order mark: Gemini CLI and older Claude Code silently skip the \
                       skill, Codex reports an error; save the file without it";
        findings.report_with_fix(
            Code::Bom,
            span,
            message,
            Fix::replace("remove the byte-order mark", span, ""),
        );
        BOM.len()
    } else {
        0
    };
    let Some(fences) = fences(text, start, findings) else {
        return Document { is_bare: true, ..Document::default() };
    };
    let (Some(inside), Some(body)) = (fences.inside, fences.body) else {
        return Document::default();
    };
    let frontmatter = frontmatter(text, inside, rules, findings);
    Document { frontmatter, body: Some(body), is_bare: false }
}

/// Where the body starts, if there is frontmatter before it.
pub(crate) fn body_start(text: &str) -> Option<usize> {
    let start = if text.starts_with(BOM) { BOM.len() } else { 0 };
    let (first, mut next) = line(text, start);
    if !is_fence(first) {
        return None;
    }
    while next < text.len() {
        let (content, after) = line(text, next);
        if is_fence(content) {
            return Some(after);
        }
        next = after;
    }
    None
}

struct Fences {
    inside: Option<Span>,
    body: Option<Span>,
}

/// Finds the two fence lines. `None` if the first line is not a fence.
fn fences(text: &str, start: usize, findings: &mut Findings<'_>) -> Option<Fences> {
    let (first, mut next) = line(text, start);
    if !is_fence(first) {
        report_missing(text, start, findings);
        return None;
    }
    if findings.wants(Code::YamlTab) && first.contains('\t') {
        let message = "a tab follows the `---`; remove it";
        findings.report(Code::YamlTab, Span::new(start, start + first.len()), message);
    }
    let inside = next;
    while next < text.len() {
        let at = next;
        let (content, after) = line(text, at);
        if is_fence(content) {
            let body = Span::new(after, text.len());
            return Some(Fences { inside: Some(Span::new(inside, at)), body: Some(body) });
        }
        next = after;
    }
    let message = "the frontmatter has no closing `---` line; add one";
    findings.report(Code::FrontmatterUnclosed, Span::new(start, start + first.len()), message);
    Some(Fences { inside: None, body: None })
}

fn report_missing(text: &str, start: usize, findings: &mut Findings<'_>) {
    let rest = &text[start..];
    let blank = rest.len() - rest.trim_start().len();
    let (first, _) = line(text, start + blank);
    let span = Span::new(start, start + line(text, start).0.len());
    if blank > 0 && is_fence(first) {
        let message = "the frontmatter must be at the very start of the file; remove everything before `---`";
        let fix = Fix::replace("remove the white space before `---`", Span::new(start, start + blank), "");
        findings.report_with_fix(Code::FrontmatterMissing, span, message, fix);
    } else {
        let message = "the file must start with YAML frontmatter: a `---` line, then `name:` and \
                       `description:`, then another `---` line";
        findings.report(Code::FrontmatterMissing, span, message);
    }
}

/// The line at an offset without its line end, and the start of the next line. Lines end at `\n`, `\r\n` or
/// `\r`.
pub(crate) fn line(text: &str, start: usize) -> (&str, usize) {
    let rest = &text[start..];
    match memchr::memchr2(b'\n', b'\r', rest.as_bytes()) {
        None => (rest, text.len()),
        Some(end) => {
            let crlf = rest.as_bytes()[end..].starts_with(b"\r\n");
            (&rest[..end], start + end + if crlf { 2 } else { 1 })
        }
    }
}

/// Whether a line is exactly `---`, apart from trailing spaces and tabs.
fn is_fence(line: &str) -> bool {
    line.strip_prefix("---").is_some_and(|rest| rest.bytes().all(|byte| byte == b' ' || byte == b'\t'))
}

fn frontmatter(text: &str, inside: Span, rules: &Rules, findings: &mut Findings<'_>) -> Option<Value> {
    let yaml = &text[inside.range()];
    if yaml.len() > rules.limits.frontmatter_bytes {
        let message = format!(
            "the frontmatter has {} bytes, but the limit is {}; move text into the body",
            yaml.len(),
            rules.limits.frontmatter_bytes
        );
        findings.report(Code::FrontmatterTooLarge, Span::at(inside.start), message);
        return None;
    }
    if report_control_characters(yaml, inside.start, findings) {
        return None;
    }
    let value = match yaml::read(yaml, inside.start, rules.limits.frontmatter_depth, findings) {
        Ok(value) => value,
        Err(stop) => Some(repair::read(yaml, inside.start, stop, rules, findings)?),
    };
    report_tabs(yaml, inside.start, value.as_ref(), findings);
    let is_empty = |value: &Value| value.is_null() || value.as_map().is_some_and(<[_]>::is_empty);
    let Some(value) = value.filter(|value| !is_empty(value)) else {
        let message = "the frontmatter is empty; add `name:` and `description:`";
        findings.report(Code::FrontmatterEmpty, Span::at(inside.start), message);
        return None;
    };
    match &value.data {
        Data::Map(_) => Some(value),
        _ => {
            let message =
                format!("the frontmatter must be a mapping of `key: value` lines, not {}", value.noun());
            findings.report(Code::FrontmatterNotMapping, value.span, message);
            None
        }
    }
}

/// Reports characters that YAML never allows. Returns whether there were any.
fn report_control_characters(yaml: &str, base: usize, findings: &mut Findings<'_>) -> bool {
    // Every such character starts with one of these bytes. Most texts contain none of them.
    let suspicious = |byte: u8| matches!(byte, 0..=8 | 11 | 12 | 14..=31 | 127 | 0xc2 | 0xef);
    if !yaml.bytes().any(suspicious) {
        return false;
    }
    let forbidden = |c: char| {
        matches!(c, '\0'..='\x08' | '\x0b' | '\x0c' | '\x0e'..='\x1f' | '\x7f'..='\u{84}' | '\u{86}'..='\u{9f}'
            | '\u{fffe}' | '\u{ffff}')
    };
    let mut found = false;
    for (at, c) in yaml.char_indices().filter(|(_, c)| forbidden(*c)) {
        found = true;
        let span = Span::new(base + at, base + at + c.len_utf8());
        let message = format!("the character U+{:04X} is not allowed in YAML; remove it", u32::from(c));
        findings.report(Code::ControlCharacter, span, message);
    }
    found
}

/// Reports tabs outside quotes and block scalars, which the reference parser rejects.
fn report_tabs(yaml: &str, base: usize, value: Option<&Value>, findings: &mut Findings<'_>) {
    if !findings.wants(Code::YamlTab) || !yaml.contains('\t') {
        return;
    }
    let mut spans = Vec::new();
    if let Some(value) = value {
        value.scalar_spans(&mut spans);
    }
    let text_of = |span: &Span| yaml.get(span.start - base..span.end - base).unwrap_or_default();
    spans.retain(|span| text_of(span).starts_with(['"', '\'', '|', '>']));
    spans.sort();
    let mut spans = spans.into_iter().peekable();
    let mut start = 0;
    while start < yaml.len() {
        let (line, next) = line(yaml, start);
        let code = if line.starts_with('#') { "" } else { line.split(" #").next().unwrap_or(line) };
        let outside = |(at, _): &(usize, &str)| {
            let at = base + start + at;
            while spans.next_if(|span| span.end <= at).is_some() {}
            spans.peek().is_none_or(|span| at < span.start)
        };
        // One finding per line is enough.
        if let Some((at, _)) = code.match_indices('\t').find(outside) {
            let at = base + start + at;
            findings.report(
                Code::YamlTab,
                Span::new(at, at + 1),
                "tabs are only allowed inside quotes; use spaces",
            );
        }
        start = next;
    }
}
