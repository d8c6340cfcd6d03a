//! Putting an item into a text and cutting one out again, so that both together leave it as it was.

use serde::Serialize as _;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};

use super::{Items, Node};

/// How a text is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Style {
    newline: &'static str,
    unit: String,
    /// Whether everything is on one line.
    is_inline: bool,
}

impl Style {
    /// The style of a text with this root.
    pub(crate) fn of(text: &str, root: Option<&Node>) -> Self {
        let newline = match text.find('\n') {
            Some(at) if text[..at].ends_with('\r') => "\r\n",
            _ => "\n",
        };
        let first = root.and_then(Node::items).and_then(|items| items.list.first());
        let unit = first.and_then(|item| indentation(text, item.start)).filter(|unit| !unit.is_empty());
        let is_inline =
            first.is_some() && root.is_some_and(|root| !text[root.start..root.end].contains('\n'));
        Self { newline, unit: unit.unwrap_or("  ").to_owned(), is_inline }
    }

    /// A value as text whose first line begins after `indent`.
    fn written(&self, value: &Value, indent: &str, is_inline: bool) -> String {
        if is_inline {
            return value.to_string();
        }
        let mut bytes = Vec::new();
        let mut serializer =
            Serializer::with_formatter(&mut bytes, PrettyFormatter::with_indent(self.unit.as_bytes()));
        // Plain data always serialises, as UTF-8.
        let _ = value.serialize(&mut serializer);
        String::from_utf8(bytes).unwrap_or_default().replace('\n', &format!("{}{indent}", self.newline))
    }
}

/// The white space that a line begins with, if a place is the first thing on it.
fn indentation(text: &str, at: usize) -> Option<&str> {
    let line = text[..at].rfind('\n').map(|newline| newline + 1)?;
    let before = &text[line..at];
    before.trim_matches([' ', '\t']).is_empty().then_some(before)
}

/// The white space at the beginning of the line of a place.
fn line_indentation(text: &str, at: usize) -> &str {
    let line = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let line = text[line..at].trim_start_matches('\u{feff}');
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Puts an item behind all others of an object or an array. Returns the text, and the white space that was added after the
/// item.
pub(crate) fn insert(
    text: &str,
    style: &Style,
    container: &Node,
    key: Option<&str>,
    value: &Value,
) -> (String, String) {
    let Some(items) = container.items() else { return (text.to_owned(), String::new()) };
    let first = items.list.first();
    // Nothing may follow on the line of a comment, and where items have lines of their own, this one has one as well.
    let is_inline = !items.is_after_line_comment
        && match first {
            Some(item) => !text[container.start..item.start].contains('\n'),
            None => style.is_inline,
        };
    let outer = line_indentation(text, container.start);
    let indent = match first.and_then(|item| indentation(text, item.start)) {
        Some(indent) => indent.to_owned(),
        None => format!("{outer}{}", style.unit),
    };
    let gap = match (is_inline, first) {
        (true, None) => String::new(),
        (true, Some(_)) => inline_gap(text, container).to_owned(),
        (false, _) => format!("{}{indent}", style.newline),
    };
    let value = style.written(value, &indent, is_inline);
    let mut new = gap;
    if let Some(key) = key {
        let colon = if is_inline && inline_gap(text, container).is_empty() { ":" } else { ": " };
        new.push_str(&Value::from(key).to_string());
        new.push_str(colon);
    }
    new.push_str(&value);
    let last = items.list.last();
    if last.is_some_and(|last| last.comma.is_some()) {
        new.push(',');
    }
    let rest = &text[items.tail..container.end];
    let pad = if first.is_none() && !is_inline && !rest.contains('\n') {
        format!("{}{outer}", style.newline)
    } else {
        String::new()
    };
    let mut out = text.to_owned();
    out.insert_str(items.tail, &format!("{new}{pad}"));
    if let Some(last) = last.filter(|last| last.comma.is_none()) {
        out.insert(last.value.end, ',');
    }
    (out, pad)
}

/// What separates items on one line: a space, unless the text does without.
fn inline_gap<'a>(text: &str, container: &Node) -> &'a str {
    let inner = &text[container.start..container.end];
    let has_spaces = [", ", ": "].iter().any(|mark| inner.contains(mark));
    if has_spaces { " " } else { "" }
}

/// Puts a value into a text that has none. Returns the text, and what was added after the value.
pub(crate) fn insert_root(text: &str, style: &Style, document: &Items, value: &Value) -> (String, String) {
    let before = text[..document.tail].trim_start_matches('\u{feff}');
    let gap = if before.is_empty() { "" } else { style.newline };
    let pad = if text[document.tail..].contains('\n') { "" } else { style.newline };
    let mut out = text.to_owned();
    out.insert_str(document.tail, &format!("{gap}{}{pad}", style.written(value, "", false)));
    (out, pad.to_owned())
}

/// Cuts out an item with the comma that is then too many, and the white space that was added after it.
pub(crate) fn cut(text: &str, items: &Items, index: usize, pad: &str) -> String {
    let item = &items.list[index];
    let mut end = item.value.end;
    if items.list.len() == 1 && text[end..].starts_with(pad) {
        end += pad.len();
    }
    let mut start = item.lead;
    let rest = &text[item.comma.map_or(end, |comma| comma + 1)..];
    let next = rest.trim_start_matches([' ', '\t', '\r']).chars().next();
    let ends_comment = matches!(next, None | Some('\n'));
    if item.is_after_line_comment && !ends_comment {
        // What follows would become a part of the comment.
        start += text[start..].find('\n').map_or(0, |newline| newline + 1);
    }
    let before = index.checked_sub(1).and_then(|index| items.list[index].comma);
    let comma = item.comma.or(before).map(|comma| comma..comma + 1);
    let mut cuts: Vec<_> = std::iter::once(start..end).chain(comma).collect();
    cuts.sort_by_key(|cut| cut.start);
    let mut out = text.to_owned();
    for cut in cuts.into_iter().rev() {
        out.replace_range(cut, "");
    }
    out
}
