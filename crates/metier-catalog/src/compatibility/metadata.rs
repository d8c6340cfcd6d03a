//! What `metadata` says about compatibility. Values come as text, and what was a list or a mapping comes on one
//! line: `[jq, curl]`, `{requires: {bins: [jq]}, os: [darwin]}`, quoted as JSON or not.

use super::bounds::Bounds;
use super::machine::is_program_name;
use super::programs;
use super::read::{Group, Need, VARIABLES, What, read};
use super::table::{self, Key, Known, known};
use super::tokens::{Kind, tokens};

/// What one pair of `metadata` asks for.
pub(super) fn read_pair(key: &str, value: &str) -> Vec<Group> {
    match table::key(&plain(key)) {
        Some(Key::Inside) => read_mapping("", value),
        // `requires` itself names skills; as a mapping it is what clients write inside their own keys.
        None if plain(key) == "requires" && value.trim_start().starts_with('{') => {
            read_mapping("requires.", value)
        }
        Some(kind) => read_value(kind, key, value),
        None => Vec::new(),
    }
}

fn plain(key: &str) -> String {
    key.trim().to_ascii_lowercase().replace('_', "-")
}

fn read_mapping(above: &str, text: &str) -> Vec<Group> {
    let mut groups = Vec::new();
    for (path, value) in leaves(text) {
        let path = format!("{above}{}", plain(&path));
        // Alone, `node` or `network` inside a client's mapping may be anything.
        let kind = table::key(&path).filter(|kind| path.contains('.') || *kind == Key::Systems);
        if let Some(kind) = kind.filter(|kind| *kind != Key::Inside) {
            groups.extend(read_value(kind, &path, value));
        }
    }
    groups
}

fn read_value(kind: Key, key: &str, value: &str) -> Vec<Group> {
    let text = || format!("{key}: {}", value.trim());
    let words = || words(value);
    match kind {
        Key::Text => read(value),
        Key::VersionsOf(executable) => {
            vec![Group { text: text(), any_of: vec![versions(executable, value)] }]
        }
        Key::Systems => {
            let any_of: Vec<Need> = words().map(|word| need(system(word))).collect();
            if any_of.is_empty() { Vec::new() } else { vec![Group { text: text(), any_of }] }
        }
        Key::Programs => words()
            .map(|word| Group { text: format!("{key}: {word}"), any_of: vec![need(program(word))] })
            .collect(),
        Key::AnyProgram => {
            let any_of: Vec<Need> = words().map(|word| need(program(word))).collect();
            if any_of.is_empty() { Vec::new() } else { vec![Group { text: text(), any_of }] }
        }
        Key::Variables => words()
            .map(|word| Group { text: format!("{key}: {word}"), any_of: vec![need(What::Unseen(VARIABLES))] })
            .collect(),
        Key::Network => match value.trim().to_ascii_lowercase().as_str() {
            "false" | "no" | "off" | "none" | "" => Vec::new(),
            "true" | "yes" | "on" | "required" => {
                vec![Group { text: text(), any_of: vec![need(What::Network)] }]
            }
            _ => vec![Group { text: text(), any_of: vec![need(What::Unreadable)] }],
        },
        Key::Inside => Vec::new(),
    }
}

fn need(what: What) -> Need {
    Need { what, optional: false, conditional: false, beyond: false }
}

/// The words of a list, however it is written.
fn words(value: &str) -> impl Iterator<Item = &str> {
    let is_apart = |c: char| matches!(c, ',' | ';' | '[' | ']' | '"' | '\'' | '|') || c.is_whitespace();
    value.split(is_apart).filter(|word| !word.is_empty())
}

/// A program by the name of its executable: no doubt about the name, whether metier knows it or not.
fn program(word: &str) -> What {
    match programs::program(word) {
        Some(program) if program.executables.first() == Some(&word) => {
            What::Program(program, Bounds::default())
        }
        _ if is_program_name(word) => What::Named { name: word.to_owned(), sure: true },
        _ => What::Unreadable,
    }
}

fn system(word: &str) -> What {
    let word = word.to_ascii_lowercase();
    match known(std::iter::once(word.as_str())) {
        Some((Known::System(system), _)) => What::System(system),
        _ if matches!(word.as_str(), "any" | "all" | "*") => What::System(table::System::Any),
        _ => What::Unreadable,
    }
}

fn versions(executable: &str, value: &str) -> Need {
    let tokens = tokens(value.trim().trim_matches(['"', '\'']));
    let mut bounds = Bounds::default();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let next = tokens.get(at + 1).map_or("", |next| next.text.as_str());
        let read = match token.kind {
            Kind::Operator => {
                at += 1;
                bounds.operator(&token.text, next)
            }
            Kind::Comma | Kind::And => true,
            _ => matches!(token.text.as_str(), "*" | "any" | "true") || bounds.word(&token.text),
        };
        if !read {
            return need(What::Unreadable);
        }
        at += 1;
    }
    need(programs::program(executable).map_or(What::Unreadable, |program| What::Program(program, bounds)))
}

/// The values of a mapping on one line that are no mappings themselves, with their keys joined by dots. Text
/// that is not such a mapping gives what can be made of it: nothing here can fail.
fn leaves(text: &str) -> Vec<(String, &str)> {
    let mut found = Vec::new();
    let mut path: Vec<&str> = Vec::new();
    // For each mapping that is open, how many keys lead to it.
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
