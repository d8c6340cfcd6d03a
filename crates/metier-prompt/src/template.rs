//! Text with placeholders: `$name`, `${name}`, and `$$` for a dollar sign.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::{Map, Value};

/// A dedented and trimmed text, split at its placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Template {
    text: String,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// Literal text.
    Text(Range<usize>),
    /// A placeholder with this name.
    Value(Range<usize>),
}

impl Template {
    /// Parses a template. The error says what is wrong.
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        let text = dedent(text);
        let mut parts = Vec::new();
        let mut begin = 0;
        while let Some(found) = text[begin..].find('$') {
            let dollar = begin + found;
            let rest = &text[dollar + 1..];
            let wrong = || {
                let shown: String = text[dollar..].chars().take(12).collect();
                format!(
                    "invalid placeholder `{shown}`; write `$name` or `${{name}}`, or `$$` for a dollar sign"
                )
            };
            let (part, length) = if rest.starts_with('$') {
                // Up to and including the first `$`; the second one is skipped.
                (Part::Text(dollar..dollar + 1), 1)
            } else if let Some(braced) = rest.strip_prefix('{') {
                let length = name_length(braced);
                if length == 0 || braced.as_bytes().get(length) != Some(&b'}') {
                    return Err(wrong());
                }
                (Part::Value(dollar + 2..dollar + 2 + length), length + 2)
            } else {
                let length = name_length(rest);
                if length == 0 {
                    return Err(wrong());
                }
                (Part::Value(dollar + 1..dollar + 1 + length), length)
            };
            parts.extend([Part::Text(begin..dollar), part]);
            begin = dollar + 1 + length;
        }
        parts.push(Part::Text(begin..text.len()));
        parts.retain(|part| !matches!(part, Part::Text(range) if range.is_empty()));
        Ok(Self { text, parts })
    }

    /// A text without placeholders, in which dollar signs have no meaning.
    pub(crate) fn verbatim(text: &str) -> Self {
        let text = text.trim().to_owned();
        let parts = if text.is_empty() { Vec::new() } else { vec![Part::Text(0..text.len())] };
        Self { text, parts }
    }

    /// The names of its placeholders.
    pub(crate) fn names(&self) -> BTreeSet<&str> {
        let names = self.parts.iter().filter_map(|part| match part {
            Part::Value(range) => Some(&self.text[range.clone()]),
            Part::Text(_) => None,
        });
        names.collect()
    }

    /// Inserts values. They are not parsed for placeholders again.
    pub(crate) fn render(&self, values: Option<&Map<String, Value>>) -> Cow<'_, str> {
        if let [] | [Part::Text(_)] = self.parts.as_slice() {
            return Cow::Borrowed(match self.parts.first() {
                Some(Part::Text(range)) => &self.text[range.clone()],
                _ => "",
            });
        }
        let mut out = String::with_capacity(self.text.len() + 64);
        for part in &self.parts {
            match part {
                Part::Text(range) => out.push_str(&self.text[range.clone()]),
                Part::Value(range) => {
                    match values.and_then(|values| values.get(&self.text[range.clone()])) {
                        Some(Value::String(text)) => out.push_str(text),
                        // Missing fields and `None` are empty.
                        None | Some(Value::Null) => {}
                        Some(other) => out.push_str(&other.to_string()),
                    }
                }
            }
        }
        match out.trim() {
            trimmed if trimmed.len() == out.len() => out.into(),
            trimmed => trimmed.to_owned().into(),
        }
    }

    /// Whether it has placeholders.
    pub(crate) fn has_names(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Value(_)))
    }

    /// Whether it is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The dedented and trimmed text, with its placeholders.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

/// The length in bytes of the name at the start of a text.
fn name_length(text: &str) -> usize {
    let is_name = |(place, c): &(usize, u8)| {
        c.is_ascii_alphabetic() || *c == b'_' || (*place > 0 && c.is_ascii_digit())
    };
    text.bytes().enumerate().take_while(is_name).count()
}

/// Removes the common indentation of all lines and surrounding white space.
fn dedent(text: &str) -> String {
    let has_text = |line: &&str| !line.trim().is_empty();
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let mut lines = text.lines().filter(has_text);
    let first = lines.next().unwrap_or_default();
    let margin = lines.fold(&first[..indent(first)], |margin, line| {
        let same = margin.bytes().zip(line.bytes()).take_while(|(one, other)| one == other).count();
        &margin[..same]
    });
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        let is_blank = line.trim().is_empty();
        out.push_str(if is_blank { "" } else { line.strip_prefix(margin).unwrap_or(line) });
        out.push('\n');
    }
    out.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(pairs: &[(&str, Value)]) -> Map<String, Value> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }

    #[test]
    fn values_are_put_in_and_not_looked_at_again() {
        let template = Template::new("\n    Hello $who,\n      you owe $$${sum}!\n\n    $last").unwrap();
        assert_eq!(template.names().into_iter().collect::<Vec<_>>(), ["last", "sum", "who"]);
        let with = values(&[("who", "$sum".into()), ("sum", 5.into()), ("last", Value::Null)]);
        assert_eq!(template.render(Some(&with)), "Hello $sum,\n  you owe $5!");
    }

    #[test]
    fn other_dollar_signs_are_refused() {
        for bad in ["$5", "a $", "${", "${a", "${a b}", "${}", "$-", "$ä"] {
            assert!(Template::new(bad).is_err(), "{bad}");
        }
        assert_eq!(Template::verbatim(" $5 ").render(None), "$5");
        assert_eq!(Template::new("  ").unwrap().render(None), "");
        assert_eq!(Template::new("$$").unwrap().render(None), "$");
    }

    #[test]
    fn common_indentation_goes_and_further_indentation_stays() {
        assert_eq!(dedent("  a\n\n    b\n  c\n"), "a\n\n  b\nc");
        assert_eq!(dedent("\ta\n  b"), "a\n  b");
        assert_eq!(dedent("a\r\n  b\r\n"), "a\n  b");
    }
}
