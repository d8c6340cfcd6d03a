//! Repairs the most common YAML mistake: `key: some text: more text`, unquoted, on one line or several.

use std::collections::HashSet;

use crate::diagnostic::Findings;
use crate::value::{Data, Value};
use crate::{Code, Edit, Fix, Rules, Span, document, fix, yaml};

/// Parses a text on which the parser stopped as if the mistake were fixed, and reports it. If the text is
/// invalid for another reason too, reports why the parser stopped.
pub(crate) fn read(
    text: &str,
    base: usize,
    stop: yaml::Stop,
    rules: &Rules,
    findings: &mut Findings<'_>,
) -> Option<Value> {
    let mut edits = unquoted_colons(text, base);
    // The first round may have edited lines inside quoted or block scalars. The second round drops those edits.
    for _ in 0..2 {
        let repaired = fix::spliced(text, base, &edits);
        let mut found = findings.empty();
        let value = yaml::read(&repaired, base, rules.limits.frontmatter_depth, &mut found).ok().flatten();
        let Some(mut value) = value.filter(|_| !edits.is_empty()) else { break };
        let starts = repaired_starts(&edits);
        let mut scalars = Vec::new();
        value.scalar_spans(&mut scalars);
        let scalars: HashSet<Span> = scalars.into_iter().collect();
        let is_value = |index: usize| {
            scalars.contains(&Span::new(starts[index], starts[index] + edits[index].text.len()))
        };
        if !(0..edits.len()).all(is_value) {
            let values: Vec<bool> = (0..edits.len()).map(is_value).collect();
            let mut is_kept = values.into_iter();
            edits.retain(|_| is_kept.next().unwrap_or(false));
            continue;
        }
        let to_original = |offset| original_offset(&edits, &starts, offset);
        move_spans(&mut value, &to_original);
        findings.absorb(found, &to_original);
        report(edits, findings);
        return Some(value);
    }
    findings.report(stop.code, Span::at(stop.offset), stop.message);
    None
}

fn report(edits: Vec<Edit>, findings: &mut Findings<'_>) {
    for Edit { span, text } in edits {
        let message = "invalid YAML: an unquoted value cannot contain `: `. Goose silently skips the skill, \
                       VS Code truncates the value; quote it";
        let fix = Fix::replace("quote the value", span, text);
        findings.report_with_fix(Code::YamlUnquotedColon, span, message, fix);
    }
}

/// Where each edit starts in the repaired text.
fn repaired_starts(edits: &[Edit]) -> Vec<usize> {
    let mut added = 0;
    let start = |Edit { span, text }: &Edit| {
        let start = span.start + added;
        added += text.len() - (span.end - span.start);
        start
    };
    edits.iter().map(start).collect()
}

/// Maps an offset in the repaired text to the original. Offsets inside a repaired value map to its start.
fn original_offset(edits: &[Edit], starts: &[usize], offset: usize) -> usize {
    let before = starts.partition_point(|start| *start < offset);
    let Some(last) = before.checked_sub(1) else { return offset };
    let (edit, end) = (&edits[last], starts[last] + edits[last].text.len());
    if offset < end { edit.span.start } else { edit.span.end + (offset - end) }
}

fn move_spans(value: &mut Value, to: &impl Fn(usize) -> usize) {
    let moved = |span: Span| Span::new(to(span.start), to(span.end));
    value.span = moved(value.span);
    match &mut value.data {
        Data::Scalar(_) => {}
        Data::List(items) => items.iter_mut().for_each(|item| move_spans(item, to)),
        Data::Map(entries) => {
            for entry in entries {
                entry.key_span = moved(entry.key_span);
                move_spans(&mut entry.value, to);
            }
        }
    }
}

/// Finds every occurrence of the mistake, with the quoted value. Spans are offsets in `text` plus `base`.
fn unquoted_colons(text: &str, base: usize) -> Vec<Edit> {
    let mut edits = Vec::new();
    let mut lines = Lines { text, offset: 0 }.peekable();
    // The indentation of the key whose block scalar this is. Its content is skipped.
    let mut block: Option<usize> = None;
    while let Some((offset, line)) = lines.next() {
        let indent = indent_of(line);
        if block.is_some_and(|key| indent > key || line.trim().is_empty()) {
            continue;
        }
        block = None;
        let Some(value_at) = value_start(line) else {
            continue;
        };
        let value = without_comment(&line[value_at..]);
        if value.starts_with(['|', '>']) {
            block = Some(indent);
            continue;
        }
        if !is_plain(value) {
            continue;
        }
        let start = offset + value_at;
        let mut end = start + value.len();
        let mut is_slip = has_colon(value);
        let is_commented = value.len() < line[value_at..].trim_end().len();
        let mut is_clear = true;
        let column = key_column(line);
        while let Some((at, next)) = lines.next_if(|(_, next)| goes_on(next, column)) {
            let part = next.trim();
            is_slip |= has_colon(part);
            is_clear &= !is_commented && !looks_like_field(part) && without_comment(part) == part;
            end = at + next.trim_end().len();
        }
        if is_slip && is_clear {
            let text = quote(&text[start..end]);
            edits.push(Edit { span: Span::new(base + start, base + end), text });
        }
    }
    edits
}

/// Whether a value has no quotes, brackets or other characters with a special meaning in YAML.
fn is_plain(value: &str) -> bool {
    let special = ['"', '\'', '[', '{', '&', '*', '!', '%', '@', '`', '#'];
    !value.is_empty() && !value.starts_with(special)
}

/// Whether a plain text contains a colon that YAML reads as the end of a second key.
fn has_colon(text: &str) -> bool {
    text.contains(": ") || text.contains(":\t") || text.ends_with(':')
}

/// Whether a line continues the plain value of a key in this column.
fn goes_on(line: &str, column: usize) -> bool {
    let text = line.trim();
    indent_of(line) > column && !text.is_empty() && !text.starts_with('#')
}

/// Whether a line is probably a separate field with wrong indentation: `license: MIT`, unlike `Use when:
/// asked`.
fn looks_like_field(text: &str) -> bool {
    let is_key = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    let rest = text.trim_start_matches(is_key);
    rest.len() < text.len() && (rest == ":" || rest.starts_with(": ") || rest.starts_with(":\t"))
}

/// The column of the key in `  key: value` and `- key: value`.
fn key_column(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '-']).len()
}

/// Where the value starts in `  key: value` and `- key: value`.
fn value_start(line: &str) -> Option<usize> {
    let trimmed = line.trim_start_matches([' ', '-']);
    let key_at = line.len() - trimmed.len();
    let colon = trimmed.find(": ")?;
    let key = &trimmed[..colon];
    if key.is_empty() || key.contains(['"', '\'', '#', '{', '[']) {
        return None;
    }
    let blanks = trimmed[colon + 1..].len() - trimmed[colon + 1..].trim_start().len();
    Some(key_at + colon + 1 + blanks)
}

/// The value up to ` #`, without trailing white space.
fn without_comment(value: &str) -> &str {
    let end = value.find(" #").or_else(|| value.find("\t#")).unwrap_or(value.len());
    value[..end].trim_end()
}

/// Quotes a text as a YAML string: with double quotes unless that would need escapes.
pub(crate) fn quote(text: &str) -> String {
    if text.contains(['"', '\\']) { format!("'{}'", text.replace('\'', "''")) } else { format!("\"{text}\"") }
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Lines without their ends, with their offsets. Lines end at `\n`, `\r\n` or `\r`.
struct Lines<'a> {
    text: &'a str,
    offset: usize,
}

impl<'a> Iterator for Lines<'a> {
    type Item = (usize, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.offset;
        if at >= self.text.len() {
            return None;
        }
        let (line, next) = document::line(self.text, at);
        self.offset = next;
        Some((at, line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Applies the repair and returns the text, or `None` where there is nothing to repair.
    fn repaired(text: &str) -> Option<String> {
        let edits = unquoted_colons(text, 0);
        (!edits.is_empty()).then(|| fix::spliced(text, 0, &edits))
    }

    #[test]
    fn places_in_the_repaired_text_are_found_again() {
        let edits = unquoted_colons("a: b: c\nd: e: f\n", 0);
        let starts = repaired_starts(&edits);
        let places = [0, 3, 4, 8, 9, 10, 13, 18, 19].map(|offset| original_offset(&edits, &starts, offset));
        assert_eq!(places, [0, 3, 3, 3, 7, 8, 11, 11, 15]);
    }

    #[test]
    fn only_plain_values_are_quoted() {
        for (before, after) in [
            ("d: use when: asked\n", Some("d: \"use when: asked\"\n")),
            ("d: ends with:\n", Some("d: \"ends with:\"\n")),
            ("d: say \"hi\": now\r\nk: v\r\n", Some("d: 'say \"hi\": now'\r\nk: v\r\n")),
            ("d: it's \\ here: now\n", Some("d: 'it''s \\ here: now'\n")),
            ("m:\n  k: a: b # why\n", Some("m:\n  k: \"a: b\" # why\n")),
            ("l:\n  - k: a: b\n", Some("l:\n  - k: \"a: b\"\n")),
            ("d: see http://x.y\n", None),
            ("d: \"a: b\"\n", None),
            ("d: |\n  a: b: c\n\n  d: e: f\n", None),
            ("d: a: b\n  goes on\n", Some("d: \"a: b\n  goes on\"\n")),
            ("d: a: b\r\n  goes on\r\n", Some("d: \"a: b\r\n  goes on\"\r\n")),
            ("d: a: b\r  goes on\r", Some("d: \"a: b\r  goes on\"\r")),
            ("d: a\n  Use when: it's \"b\" \nk: v\n", Some("d: 'a\n  Use when: it''s \"b\"' \nk: v\n")),
            ("l:\n  - k: a: b\n      on\n", Some("l:\n  - k: \"a: b\n      on\"\n")),
            ("l:\n  - k: a: b\n    l: c\n", Some("l:\n  - k: \"a: b\"\n    l: c\n")),
            ("d: a: b # why\n  goes on\n", None),
            ("d: a: b\n  goes on # why\n", None),
            ("name: x\n  description: y\n", None),
            ("d: a\n  see http://x.y\n", None),
            ("# a: b: c\n", None),
            ("d: x # a: b\n", None),
        ] {
            assert_eq!(repaired(before).as_deref(), after, "{before}");
        }
    }
}
