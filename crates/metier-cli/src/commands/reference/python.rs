//! Data as Python prints it: `str` of a value, and `json.dumps` with its escapes.

use std::fmt::Write as _;

use metier_skill::{Data, Value};

/// `str(value)`: a scalar's text, and for the rest `repr`.
pub(super) fn str(value: &Value) -> String {
    match value.as_scalar() {
        Some(scalar) => scalar.text().to_owned(),
        None => repr(value),
    }
}

fn repr(value: &Value) -> String {
    match &value.data {
        Data::Scalar(scalar) => repr_text(scalar.text()),
        Data::List(items) => format!("[{}]", items.iter().map(repr).collect::<Vec<_>>().join(", ")),
        Data::Map(entries) => {
            let entry = |entry: &metier_skill::Field| {
                format!("{}: {}", repr_text(entry.key.text()), repr(&entry.value))
            };
            format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
    }
}

/// In single quotes, unless the text has some and no double ones.
fn repr_text(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::from(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if c == quote => out.extend(['\\', c]),
            _ if c.is_control() && u32::from(c) < 0x100 => {
                let _ = write!(out, "\\x{:02x}", u32::from(c));
            }
            _ => out.push(c),
        }
    }
    out.push(quote);
    out
}

/// The same data with every scalar as text.
pub(super) fn texts(value: &Value) -> serde_json::Value {
    match &value.data {
        Data::Scalar(scalar) => scalar.text().into(),
        Data::List(items) => items.iter().map(texts).collect(),
        Data::Map(entries) => {
            let entry = |entry: &metier_skill::Field| (entry.key.text().to_owned(), texts(&entry.value));
            serde_json::Value::Object(entries.iter().map(entry).collect())
        }
    }
}

/// `json.dumps(value, indent=2)` and a line break. Only strings can have anything beyond ASCII, so escaping
/// it in the finished text is enough.
pub(super) fn json(value: &serde_json::Value) -> String {
    let mut out = String::new();
    for c in format!("{value:#}\n").chars() {
        if c.is_ascii() && c != '\x7f' {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
    out
}
