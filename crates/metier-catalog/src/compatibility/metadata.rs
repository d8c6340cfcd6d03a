//! Requirements in `metadata`. Values are text; lists and mappings are on one line: `[jq, curl]`, `{requires:
//! {bins: [jq]}, os: [darwin]}`, with or without JSON quotes.

use super::need::{Need, NeedGroup, Versions};
use super::table::{self, Key, Known};
use super::text;

/// The requirements in one key and value of `metadata`.
pub(super) fn read_pair(key: &str, value: &str) -> Vec<NeedGroup> {
    let name = plain(key);
    match table::key(&name) {
        Some(Key::Inside) => read_mapping("", value),
        Some(kind) => read_value(kind, key, value),
        // `requires` itself names skills. As a mapping, it has the keys that clients write inside their own.
        None if name == "requires" && value.trim_start().starts_with('{') => read_mapping("requires.", value),
        None => Vec::new(),
    }
}

fn plain(key: &str) -> String {
    key.trim().to_ascii_lowercase().replace('_', "-")
}

fn read_mapping(above: &str, text: &str) -> Vec<NeedGroup> {
    let mut groups = Vec::new();
    for (path, value) in leaves(text) {
        let path = format!("{above}{}", plain(&path));
        // On its own, `node` or `network` inside a client's mapping can mean anything.
        let kind = table::key(&path).filter(|kind| path.contains('.') || *kind == Key::Systems);
        if let Some(kind) = kind {
            groups.extend(read_value(kind, &path, value));
        }
    }
    groups
}

fn read_value(kind: Key, key: &str, value: &str) -> Vec<NeedGroup> {
    let group = |value: &str, any_of: Vec<Need>| NeedGroup { text: format!("{key}: {value}"), any_of };
    let any = |any_of: Vec<Need>| {
        if any_of.is_empty() { Vec::new() } else { vec![group(value.trim(), any_of)] }
    };
    match kind {
        Key::Text => text::read(value),
        Key::VersionsOf(program) => any(vec![versions(program, value)]),
        Key::Systems => any(words(value).map(system).collect()),
        Key::Programs => words(value).map(|word| group(word, vec![program(word)])).collect(),
        Key::AnyProgram => any(words(value).map(program).collect()),
        Key::Network => match value.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "required" => any(vec![Need::Known(Known::Network, None)]),
            _ => Vec::new(),
        },
        Key::Inside => Vec::new(),
    }
}

/// The words of a list in any notation.
fn words(value: &str) -> impl Iterator<Item = &str> {
    let is_apart = |c: char| ",;[]\"'|".contains(c) || c.is_whitespace();
    value.split(is_apart).filter(|word| !word.is_empty())
}

/// A program, by the name of its executable.
fn program(word: &str) -> Need {
    match table::known(word) {
        Some(known @ Known::Program(names)) if names.first() == Some(&word) => Need::Known(known, None),
        _ if word.contains('/') => Need::Unread,
        _ => Need::Executable(word.to_owned()),
    }
}

fn system(word: &str) -> Need {
    match table::known(&word.to_ascii_lowercase()) {
        Some(known @ Known::System(_)) => Need::Known(known, None),
        _ => Need::Unread,
    }
}

fn versions(program: Known, value: &str) -> Need {
    match value.trim().trim_matches(['"', '\'']) {
        "*" | "any" | "true" => Need::Known(program, None),
        value => Versions::parse(value).map_or(Need::Unread, |versions| Need::Known(program, Some(versions))),
    }
}

/// The values of a mapping on one line that are not mappings themselves, with their keys joined by dots. This
/// never fails: text that is not such a mapping gives whatever can be parsed.
fn leaves(text: &str) -> Vec<(String, &str)> {
    let mut found = Vec::new();
    let mut path: Vec<&str> = Vec::new();
    // For each open mapping, the number of keys that lead to it.
    let mut levels: Vec<usize> = Vec::new();
    let (mut start, mut lists, mut quoted) = (0, 0_usize, false);
    for (at, c) in text.char_indices() {
        let level = levels.last().copied().unwrap_or_default();
        match c {
            '"' => quoted = !quoted,
            _ if quoted => {}
            '[' => lists += 1,
            ']' => lists = lists.saturating_sub(1),
            _ if lists > 0 => {}
            '{' => {
                levels.push(path.len());
                start = at + 1;
            }
            ':' if path.len() == level && text[at + 1..].starts_with([' ', '{', '[', '"']) => {
                path.push(clean(&text[start..at]));
                start = at + 1;
            }
            ',' | '}' => {
                let value = text[start..at].trim();
                if path.len() > level && !value.is_empty() {
                    found.push((path.join("."), value));
                }
                path.truncate(level);
                start = at + 1;
                if c == '}' {
                    levels.pop();
                }
            }
            _ => {}
        }
    }
    found
}

fn clean(key: &str) -> &str {
    key.trim().trim_matches(['"', '\''])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_on_one_line_are_taken_apart() {
        for (text, expected) in [
            ("{a: 1, b: {c: [x, y], d: z}, e: f}", "a=1 b.c=[x, y] b.d=z e=f"),
            (r#"{"a":{"b":["x","y"]},"c":"d, e"}"#, r#"a.b=["x","y"] c="d, e""#),
            ("{u: https://x.y/z, a: 1}", "u=https://x.y/z a=1"),
            ("no mapping", ""),
            ("{", ""),
            ("}},,::", ""),
            ("{a: {b: {c: {d: 1}}}, e: 2}", "a.b.c.d=1 e=2"),
            ("{a: {b: {}, c: [{d: 1}]}, e: 2}", "a.c=[{d: 1}] e=2"),
        ] {
            let found: Vec<String> =
                leaves(text).into_iter().map(|(path, value)| format!("{path}={value}")).collect();
            assert_eq!(found.join(" "), expected, "{text}");
        }
    }
}
