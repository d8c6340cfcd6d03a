//! JSON that is safe to print on a terminal: characters that a reader cannot see are written as `\uXXXX`, which is the same value.

use std::io::{self, Write};

use metier_skill::first_invisible;
use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};

/// Writes a value over several lines.
pub(super) fn pretty(writer: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    Ok(value
        .serialize(&mut serde_json::Serializer::with_formatter(writer, Escaping(PrettyFormatter::new())))?)
}

/// Writes a value on one line.
pub(super) fn compact(writer: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    Ok(value.serialize(&mut serde_json::Serializer::with_formatter(writer, Escaping(CompactFormatter)))?)
}

/// Another formatter, with escapes for what cannot be seen.
struct Escaping<F>(F);

impl<F: Formatter> Formatter for Escaping<F> {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, text: &str) -> io::Result<()> {
        let mut rest = text;
        while let Some(at) = first_invisible(rest) {
            let (before, from) = rest.split_at(at);
            writer.write_all(before.as_bytes())?;
            let mut after = from.chars();
            for unit in after.next().unwrap_or_default().encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
            rest = after.as_str();
        }
        writer.write_all(rest.as_bytes())
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}

#[cfg(test)]
mod tests {
    use metier_skill::is_invisible;

    use super::*;

    #[test]
    fn what_cannot_be_seen_is_escaped_and_the_value_stays_the_same() {
        for c in '\0'..=char::MAX {
            if !is_invisible(c) && !c.is_ascii() {
                continue;
            }
            let value = vec![format!("a{c}b")];
            let (mut lines, mut line) = (Vec::new(), Vec::new());
            pretty(&mut lines, &value).unwrap();
            compact(&mut line, &value).unwrap();
            for bytes in [lines, line] {
                let text = String::from_utf8(bytes).unwrap();
                assert!(!text.chars().any(is_invisible), "{text:?}");
                assert_eq!(serde_json::from_str::<Vec<String>>(&text).unwrap(), value);
            }
        }
    }

    #[test]
    fn everything_else_is_as_serde_json_writes_it() {
        let value = serde_json::json!({ "a": [1, true, null, "é\n\"日本"], "b": {}, "c": [], "d": 1.5 });
        let mut bytes = Vec::new();
        pretty(&mut bytes, &value).unwrap();
        assert_eq!(String::from_utf8(bytes).unwrap(), serde_json::to_string_pretty(&value).unwrap());
        let mut bytes = Vec::new();
        compact(&mut bytes, &value).unwrap();
        assert_eq!(String::from_utf8(bytes).unwrap(), value.to_string());
    }
}
