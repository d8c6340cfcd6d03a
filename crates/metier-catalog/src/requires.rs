//! Dependencies between skills: parses `metadata.version` and `metadata.requires`, and builds the graph.
//!
//! Everything here runs in linear time and does not recurse: the skills of a whole registry can form a chain of
//! any length.

mod graph;

use std::fmt;

use metier_skill::{Coded, NameError, SkillName};
use semver::{Version, VersionReq};

pub(crate) use graph::{RequiresGraph, RequiresNode};

/// The maximum number of characters of an invalid entry to quote.
const QUOTED: usize = 60;

/// One dependency of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Requires {
    /// The name of the skill.
    pub name: String,
    /// The accepted versions; `None` if any version is accepted.
    pub range: Option<VersionReq>,
}

impl fmt::Display for Requires {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.range {
            Some(range) => write!(f, "{}@{range}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// Why an entry of `metadata.requires` is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequiresError {
    /// The entry does not start with a valid name.
    #[error("`{piece}` does not start with a skill's name; write `name` or `name@^1.2`")]
    Name {
        /// The entry, shortened.
        piece: String,
        /// What is wrong with the name.
        source: NameError,
    },
    /// The entry does not end with a valid version range.
    #[error("`{piece}` does not end with a version range; write `name@^1.2` or `name@>=1.2,<2`")]
    Range {
        /// The entry, shortened.
        piece: String,
    },
}

impl Coded for RequiresError {
    fn code(&self) -> &'static str {
        match self {
            Self::Name { .. } => "requires-name",
            Self::Range { .. } => "requires-range",
        }
    }
}

/// Parses a version: `1.2.3`, and also `1`, `1.2` and `v1.2.3`.
///
/// ```
/// use metier_catalog::read_version;
///
/// assert_eq!(read_version("v1.2"), read_version("1.2.0"));
/// assert_eq!(read_version("soon"), None);
/// ```
pub fn read_version(text: &str) -> Option<Version> {
    let text = text.trim().trim_matches(['"', '\'']);
    let text = text.strip_prefix(['v', 'V']).unwrap_or(text);
    if let Ok(version) = Version::parse(text) {
        return Some(version);
    }
    let end = text.find(['-', '+']).unwrap_or(text.len());
    let (numbers, rest) = text.split_at(end);
    let mut parts = numbers.splitn(3, '.').map(number);
    let (major, minor, patch) = (parts.next()??, parts.next(), parts.next());
    let version = Version::new(major, minor.unwrap_or(Some(0))?, patch.unwrap_or(Some(0))?);
    // Only the numbers are parsed leniently; the rest must follow the rules of semver.
    if rest.is_empty() { Some(version) } else { Version::parse(&format!("{version}{rest}")).ok() }
}

/// Digits, with leading zeros allowed, because dates such as `2026.01.05` are used as versions.
fn number(digits: &str) -> Option<u64> {
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}

/// Parses the skills in `metadata.requires`: `name` or `name@^1.2`, separated by commas, white space or lines,
/// with or without the brackets of a list. Each entry is parsed on its own.
///
/// ```
/// use metier_catalog::read_requires;
///
/// let read: Vec<_> = read_requires("pdf-forms, ocr@>=1.2,<2").into_iter().flatten().collect();
/// assert_eq!(read[1].to_string(), "ocr@>=1.2, <2");
/// ```
pub fn read_requires(text: &str) -> Vec<Result<Requires, RequiresError>> {
    let inner = text.trim();
    let inner = inner.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(inner);
    let mut read: Vec<(String, String)> = Vec::new();
    for piece in inner.split(|c: char| c == ',' || c.is_whitespace()) {
        let piece = piece.trim_matches(['"', '\'', '`']);
        match read.last_mut() {
            _ if piece.is_empty() => {}
            // A range may contain spaces and commas: `ocr@>= 1.2, <2` is one skill.
            Some((_, range)) if range.ends_with(is_operator) => range.push_str(piece),
            Some((_, range)) if piece.starts_with(is_operator) => {
                range.push_str(if range.is_empty() { "" } else { "," });
                range.push_str(piece);
            }
            _ => {
                let at = piece.find(|c| c == '@' || is_operator(c)).unwrap_or(piece.len());
                let (name, range) = piece.split_at(at);
                // `name@` needs a range; its absence is reported below.
                let range = if range == "@" { range } else { range.trim_start_matches('@') };
                read.push((name.to_owned(), range.to_owned()));
            }
        }
    }
    read.into_iter().map(|(name, range)| one(&name, &range)).collect()
}

fn is_operator(c: char) -> bool {
    matches!(c, '<' | '>' | '=' | '^' | '~')
}

fn one(name: &str, range: &str) -> Result<Requires, RequiresError> {
    let piece = || {
        let at = if range.is_empty() || range == "@" { "" } else { "@" };
        format!("{name}{at}{range}").chars().take(QUOTED).flat_map(char::escape_debug).collect()
    };
    let name =
        SkillName::new_unicode(name).map_err(|source| RequiresError::Name { piece: piece(), source })?;
    let range = match range {
        "" => None,
        _ => Some(read_range(range).ok_or_else(|| RequiresError::Range { piece: piece() })?),
    };
    Ok(Requires { name: name.as_str().to_owned(), range })
}

/// Parses a range. `v` is allowed before each version.
fn read_range(range: &str) -> Option<VersionReq> {
    let plain: Vec<String> = range
        .split(',')
        .map(|part| {
            let at = part.find(|c| !is_operator(c)).unwrap_or(part.len());
            let (operator, version) = part.split_at(at);
            format!("{operator}{}", version.strip_prefix(['v', 'V']).unwrap_or(version))
        })
        .collect();
    VersionReq::parse(&plain.join(",")).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn versions_are_read_leniently() {
        for (text, expected) in [
            ("1", Some("1.0.0")),
            ("1.2", Some("1.2.0")),
            ("v1.2.3", Some("1.2.3")),
            (" \"2.0\" ", Some("2.0.0")),
            ("1.0.0-rc.1", Some("1.0.0-rc.1")),
            ("1.0-rc.1", Some("1.0.0-rc.1")),
            ("2026.01.05", Some("2026.1.5")),
            ("", None),
            ("v", None),
            ("1.", None),
            ("1.2.3.4", None),
            ("one", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(read_version(text).map(|version| version.to_string()).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn requires_are_read_in_every_form_of_list() {
        for (text, expected) in [
            ("", ""),
            ("a", "a"),
            ("a b", "a b"),
            ("a, b@^1.2\nc", "a b@^1.2 c"),
            ("[a, b@1]", "a b@^1"),
            ("\"a\", 'b@v2'", "a b@^2"),
            ("a@>=1.2,<2, b", "a@>=1.2, <2 b"),
            ("a@>= 1.2 < 2 b", "a@>=1.2, <2 b"),
            ("a >=1.2 b", "a@>=1.2 b"),
            ("a>=1.2", "a@>=1.2"),
            ("a@*", "a@*"),
            ("a@", "!range"),
            ("a@soon b", "!range b"),
            ("A! b", "!name b"),
            ("^1.2", "!name"),
            ("@scope/a", "!name"),
        ] {
            let read: Vec<String> = read_requires(text)
                .into_iter()
                .map(|piece| match piece {
                    Ok(requires) => requires.to_string(),
                    Err(RequiresError::Name { .. }) => "!name".to_owned(),
                    Err(RequiresError::Range { .. }) => "!range".to_owned(),
                })
                .collect();
            assert_eq!(read.join(" "), expected, "{text}");
        }
    }

    #[test]
    fn messages_repeat_a_bounded_piece() {
        let long = format!("a@{}", "x".repeat(10_000));
        let Some(Err(error)) = read_requires(&long).pop() else { panic!("a range of x") };
        assert!(error.to_string().len() < 200, "{error}");
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in "\\PC{0,60}|[a-c@<>=^~,. \\[\\]0-9\n]{0,40}") {
            let _ = read_version(&text);
            for requires in read_requires(&text).into_iter().flatten() {
                let again = read_requires(&requires.to_string());
                prop_assert_eq!(again, vec![Ok(requires)]);
            }
        }
    }
}
