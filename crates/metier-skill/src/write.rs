//! Writes a skill as the text of a `SKILL.md`.

use std::fmt::Write as _;

use crate::tool_rules::ToolRules;
use crate::value::{Data, Field, Scalar, ScalarKind, Value};
use crate::{Skill, Span};

/// The longest key that YAML allows without `? `. Escapes make a key longer than its text.
const SIMPLE_KEY_MAX: usize = 1000;

impl Skill {
    /// The text of a `SKILL.md` that parses to this skill.
    ///
    /// The fields of the standard come first, in the order of the standard, followed by all others in their
    /// order.
    ///
    /// ```
    /// use metier_skill::{Skill, SkillName};
    ///
    /// let mut skill = Skill::new(SkillName::new("hello").unwrap(), "Use when: greeting");
    /// skill.body = "Say hello.\n".into();
    /// assert_eq!(
    ///     skill.to_skill_md(),
    ///     "---\nname: hello\ndescription: \"Use when: greeting\"\n---\nSay hello.\n",
    /// );
    /// ```
    pub fn to_skill_md(&self) -> String {
        let mut out = String::from("---\n");
        let mut text = |key: &str, text: &str| entry(&mut out, 0, &Scalar::string(key), &Value::string(text));
        text("name", &self.name);
        text("description", &self.description);
        if let Some(license) = &self.license {
            text("license", license);
        }
        if let Some(compatibility) = &self.compatibility {
            text("compatibility", compatibility);
        }
        if let Some(tools) = &self.allowed_tools {
            entry(&mut out, 0, &Scalar::string("allowed-tools"), &tools_value(tools));
        }
        if let Some(metadata) = &self.metadata {
            entry(&mut out, 0, &Scalar::string("metadata"), metadata);
        }
        for Field { key, value, .. } in &self.fields {
            entry(&mut out, 0, key, value);
        }
        out.push_str("---\n");
        out.push_str(&self.body);
        out
    }
}

/// The standard's form, a string, unless splitting it would give different rules.
fn tools_value(tools: &ToolRules) -> Value {
    let joined = tools.rules().join(" ");
    if ToolRules::split(&joined) == *tools {
        return Value::string(joined);
    }
    let rules = tools.rules().iter().map(Value::string).collect();
    Value { data: Data::List(rules), span: Span::default() }
}

fn entry(out: &mut String, indent: usize, key: &Scalar, value: &Value) {
    let _ = write!(out, "{:indent$}", "");
    let mut written = String::new();
    scalar(&mut written, key);
    if written.chars().count() > SIMPLE_KEY_MAX {
        let _ = write!(out, "? {written}\n{:indent$}", "");
    } else {
        out.push_str(&written);
    }
    out.push(':');
    below(out, indent, value);
}

/// Writes a value after `key:` or `-`: on the same line, or indented on its own lines.
fn below(out: &mut String, indent: usize, value: &Value) {
    let indent = indent + 2;
    match &value.data {
        Data::Scalar(text) if text.kind() == ScalarKind::Null && text.text().is_empty() => {
            out.push('\n');
        }
        Data::Scalar(text) => {
            out.push(' ');
            scalar(out, text);
            out.push('\n');
        }
        Data::List(items) if items.is_empty() => out.push_str(" []\n"),
        Data::Map(entries) if entries.is_empty() => out.push_str(" {}\n"),
        Data::List(items) => {
            out.push('\n');
            for item in items {
                let _ = write!(out, "{:indent$}-", "");
                below(out, indent, item);
            }
        }
        Data::Map(entries) => {
            out.push('\n');
            for Field { key, value, .. } in entries {
                entry(out, indent, key, value);
            }
        }
    }
}

fn scalar(out: &mut String, scalar: &Scalar) {
    if scalar.kind() != ScalarKind::String || is_safe_plain(scalar.text()) {
        out.push_str(scalar.text());
    } else {
        quoted(out, scalar.text());
    }
}

/// Whether a string needs no quotes: harmless characters that YAML reads as a string.
fn is_safe_plain(text: &str) -> bool {
    let harmless = |c: char| {
        c.is_alphanumeric() || matches!(c, ' ' | '.' | ',' | '_' | '-' | '/' | '(' | ')' | '\'' | ';')
    };
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && !text.ends_with(' ')
        && text.chars().all(harmless)
        && ScalarKind::of_plain(text) == ScalarKind::String
}

/// Quotes a string on one line. Uses single quotes if they save escapes, otherwise double quotes with
/// everything escaped that an editor or parser could change.
fn quoted(out: &mut String, text: &str) {
    let odd = ['\u{85}', '\u{2028}', '\u{2029}', '\u{feff}', '\u{fffe}', '\u{ffff}'];
    let needs_escape = |c: char| c.is_control() || odd.contains(&c);
    if text.contains(['"', '\\']) && !text.contains(needs_escape) {
        let _ = write!(out, "'{}'", text.replace('\'', "''"));
        return;
    }
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            _ if needs_escape(c) => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            _ => out.push(c),
        }
    }
    out.push('"');
}
