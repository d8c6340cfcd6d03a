//! Frontmatter as a tree of scalars, lists and mappings that keeps the text of every scalar.
//!
//! The only part of YAML's syntax that it knows is how plain scalars are typed.

use std::fmt;

use serde::ser::{Serialize, SerializeMap as _, SerializeSeq as _, Serializer};

use crate::Span;

/// A value in the frontmatter with its position in the file. Two values are equal if their data is equal.
#[derive(Debug, Clone, Default)]
pub struct Value {
    /// The data.
    pub data: Data,
    /// The position; empty if the value was not read from a file.
    pub span: Span,
}

/// The three kinds of data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Data {
    /// A single word, number or text.
    Scalar(Scalar),
    /// A list.
    List(Vec<Value>),
    /// A mapping, in the order of the file. Keys are unique.
    Map(Vec<Field>),
}

/// One field of a mapping.
#[derive(Debug, Clone)]
pub struct Field {
    /// The key.
    pub key: Scalar,
    /// The position of the key.
    pub key_span: Span,
    /// The value.
    pub value: Value,
}

/// The text of a scalar and the type that YAML gives it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Scalar {
    text: String,
    kind: ScalarKind,
}

/// The type that YAML gives a scalar. A quoted scalar is always a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScalarKind {
    /// Text.
    String,
    /// Null: empty, `~` or `null`.
    Null,
    /// `true`, `no`, `On`, …
    Bool,
    /// An integer.
    Integer,
    /// A number with a fraction or exponent, infinity, or not-a-number.
    Float,
    /// A date or a date and time.
    Timestamp,
    /// `<<` or `=`, which have a special meaning in YAML 1.1.
    Reserved,
}

impl Scalar {
    /// A string, regardless of its content.
    pub fn string(text: impl Into<String>) -> Self {
        Self { text: text.into(), kind: ScalarKind::String }
    }

    /// An unquoted scalar, which may be a number, a boolean and so on.
    pub fn plain(text: impl Into<String>) -> Self {
        let text = text.into();
        let kind = ScalarKind::of_plain(&text);
        Self { text, kind }
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The type that YAML gives it.
    pub fn kind(&self) -> ScalarKind {
        self.kind
    }
}

impl ScalarKind {
    /// The type of an unquoted scalar in any YAML version that agents use. It is a string only if all of them
    /// read it as a string.
    pub fn of_plain(text: &str) -> Self {
        match text {
            "" | "~" | "null" | "Null" | "NULL" => return Self::Null,
            "true" | "True" | "TRUE" | "false" | "False" | "FALSE" | "yes" | "Yes" | "YES" | "no" | "No"
            | "NO" | "on" | "On" | "ON" | "off" | "Off" | "OFF" => return Self::Bool,
            ".nan" | ".NaN" | ".NAN" => return Self::Float,
            "<<" | "=" => return Self::Reserved,
            _ => {}
        }
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        if matches!(unsigned, ".inf" | ".Inf" | ".INF") {
            return Self::Float;
        }
        // All types below start with a digit, or with a point and a digit.
        if !unsigned.trim_start_matches('.').starts_with(|c: char| c.is_ascii_digit()) {
            return Self::String;
        }
        if is_integer(unsigned) {
            Self::Integer
        } else if is_float(unsigned) {
            Self::Float
        } else if is_timestamp(text) {
            Self::Timestamp
        } else {
            Self::String
        }
    }

    /// The type's name in a message, with its article.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::String => "a string",
            Self::Null => "nothing",
            Self::Bool => "a boolean",
            Self::Integer => "an integer",
            Self::Float => "a number",
            Self::Timestamp => "a date",
            Self::Reserved => "a reserved word",
        }
    }
}

fn digits(text: &str, allowed: fn(&u8) -> bool) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte == b'_' || allowed(&byte))
}

/// Decimal, hexadecimal, octal and binary integers, and base 60 of YAML 1.1.
fn is_integer(text: &str) -> bool {
    let decimal = |part: &str| digits(part, u8::is_ascii_digit);
    if let Some(hex) = text.strip_prefix("0x") {
        return digits(hex, u8::is_ascii_hexdigit);
    }
    if let Some(octal) = text.strip_prefix("0o") {
        return digits(octal, |byte| (b'0'..=b'7').contains(byte));
    }
    if let Some(binary) = text.strip_prefix("0b") {
        return digits(binary, |byte| matches!(byte, b'0' | b'1'));
    }
    decimal(text) || is_base_60(text)
}

/// `1:30`, `10:20:30`: every part after the first is below 60.
fn is_base_60(text: &str) -> bool {
    let mut parts = text.split(':');
    let first = parts.next().is_some_and(|part| digits(part, u8::is_ascii_digit));
    let mut rest = parts.peekable();
    first
        && rest.peek().is_some()
        && rest.all(|part| part.len() <= 2 && part.parse::<u8>().is_ok_and(|number| number < 60))
}

fn is_float(text: &str) -> bool {
    let (number, exponent) = match text.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, Some(exponent)),
        None => (text, None),
    };
    if exponent.is_some_and(|digits| {
        let digits = digits.strip_prefix(['+', '-']).unwrap_or(digits);
        digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit())
    }) {
        return false;
    }
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let part = |text: &str| text.is_empty() || digits(text, u8::is_ascii_digit);
    if !part(fraction) {
        return false;
    }
    part(whole) || is_base_60(whole)
}

/// `2024-01-31`, alone or followed by a time and a zone.
fn is_timestamp(text: &str) -> bool {
    let (date, time) = match text.find(['T', 't', ' ', '\t']) {
        Some(at) => (&text[..at], Some(text[at + 1..].trim_start_matches([' ', '\t']))),
        None => (text, None),
    };
    let parts: Vec<&str> = date.split('-').collect();
    let [year, month, day] = parts.as_slice() else { return false };
    is_number(year, 4..=4) && is_number(month, 1..=2) && is_number(day, 1..=2) && time.is_none_or(is_time)
}

/// `21:59:43`, `21:59:43.10 -05:00`, `21:59:43Z`.
fn is_time(text: &str) -> bool {
    let end = text.find(|c: char| !c.is_ascii_digit() && !matches!(c, ':' | '.')).unwrap_or(text.len());
    let (clock, zone) = text.split_at(end);
    let parts: Vec<&str> = clock.split(':').collect();
    let [hours, minutes, seconds] = parts.as_slice() else { return false };
    let (seconds, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
    let zone = zone.trim_start_matches([' ', '\t']);
    let is_zone = match zone.strip_prefix(['+', '-']) {
        Some(offset) => {
            offset.split(':').count() <= 2 && offset.split(':').all(|part| is_number(part, 1..=2))
        }
        None if zone.is_empty() => clock.len() == text.len(),
        None => matches!(zone, "Z" | "z"),
    };
    is_number(hours, 1..=2)
        && is_number(minutes, 2..=2)
        && is_number(seconds, 2..=2)
        && fraction.bytes().all(|byte| byte.is_ascii_digit())
        && is_zone
}

fn is_number(text: &str, length: std::ops::RangeInclusive<usize>) -> bool {
    length.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
}

impl Value {
    /// A string that was not read from a file.
    pub fn string(text: impl Into<String>) -> Self {
        Self { data: Data::Scalar(Scalar::string(text)), span: Span::default() }
    }

    /// The scalar, if this is one.
    pub fn as_scalar(&self) -> Option<&Scalar> {
        match &self.data {
            Data::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    /// The text, if this is a string.
    pub fn as_str(&self) -> Option<&str> {
        self.as_scalar().filter(|scalar| scalar.kind == ScalarKind::String).map(Scalar::text)
    }

    /// The fields, if this is a mapping.
    pub fn as_map(&self) -> Option<&[Field]> {
        match &self.data {
            Data::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The value of a key, if this is a mapping that contains it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_map()?.iter().find(|entry| entry.key.text == key).map(|entry| &entry.value)
    }

    /// Collects the positions of all scalars in it, including keys.
    pub(crate) fn scalar_spans(&self, spans: &mut Vec<Span>) {
        match &self.data {
            Data::Scalar(_) => spans.push(self.span),
            Data::List(items) => items.iter().for_each(|item| item.scalar_spans(spans)),
            Data::Map(entries) => {
                for entry in entries {
                    spans.push(entry.key_span);
                    entry.value.scalar_spans(spans);
                }
            }
        }
    }

    /// Whether it is null: empty, `~` or `null`.
    pub fn is_null(&self) -> bool {
        self.as_scalar().is_some_and(|scalar| scalar.kind == ScalarKind::Null)
    }

    /// The kind of value in a message, with its article.
    pub fn noun(&self) -> &'static str {
        match &self.data {
            Data::Scalar(scalar) => scalar.kind.noun(),
            Data::List(_) => "a list",
            Data::Map(_) => "a mapping",
        }
    }
}

impl Default for Data {
    fn default() -> Self {
        Self::Scalar(Scalar::plain(""))
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.data == other.data
    }
}

impl Eq for Value {}

impl PartialEq for Field {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key && self.value == other.value
    }
}

impl Eq for Field {}

/// A scalar is written as its text; lists and mappings are written on one line, `[a, b]` and `{k: v}`.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.data {
            Data::Scalar(scalar) => f.write_str(&scalar.text),
            Data::List(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if index == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
            Data::Map(entries) => {
                f.write_str("{")?;
                for (index, Field { key, value, .. }) in entries.iter().enumerate() {
                    write!(f, "{}{}: {value}", if index == 0 { "" } else { ", " }, key.text)?;
                }
                f.write_str("}")
            }
        }
    }
}

/// Strings, numbers and dates are serialized as strings, so that `1.10` stays `1.10`. Only null and booleans
/// keep their types.
impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.data {
            Data::Scalar(scalar) => match scalar.kind {
                ScalarKind::Null => serializer.serialize_none(),
                ScalarKind::Bool => {
                    let no = ["false", "no", "off"];
                    serializer.serialize_bool(!no.contains(&scalar.text.to_ascii_lowercase().as_str()))
                }
                _ => serializer.serialize_str(&scalar.text),
            },
            Data::List(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(item)?;
                }
                list.end()
            }
            Data::Map(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for entry in entries {
                    map.serialize_entry(&entry.key.text, &entry.value)?;
                }
                map.end()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_word_is_what_any_yaml_version_takes_it_for() {
        use ScalarKind::*;
        for (kind, words) in [
            (Null, "~ null Null"),
            (Bool, "true yes No Off ON FALSE"),
            (Integer, "0 123 -1 +7 1_000 0x1F 0o17 017 0b101 1:30 10:20:30"),
            (Float, "1.5 -1.50 1e3 1E-3 .5 5. .inf -.INF .nan 1:30.5"),
            (Reserved, "<< ="),
            (Timestamp, "2024-01-02 2024-1-2 2001-12-14t21:59:43.10-05:00 2001-12-14T21:59:43Z"),
            (String, "abc 1.2.3 v1 1a 0xg 0o9 12:99 y n 2024-01 1-2-3 -item . - -- +x 1e 12e+"),
        ] {
            for word in words.split(' ') {
                assert_eq!(ScalarKind::of_plain(word), kind, "{word}");
            }
        }
        assert_eq!(ScalarKind::of_plain("2001-12-14 21:59:43.10 -5"), Timestamp);
        for text in ["2001-12-14 was a Friday", "2024-01-02 ", "2024-01-02 1: 2", "2024-01-02 1:02:03 "] {
            assert_eq!(ScalarKind::of_plain(text), String, "{text}");
        }
        assert_eq!(ScalarKind::of_plain(""), Null);
    }
}
