//! Ranges of versions as people write them: `3.11+`, `>= 3.10, < 3.13`, `18 or newer`, `2.x`.

use std::fmt;

use semver::Version;

/// How many numbers of a version were written.
type Numbers = Vec<u64>;

/// A range of versions, from one and below another.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Bounds {
    least: Option<Numbers>,
    below: Option<Numbers>,
    /// A version without `+` or `>=`: the next major version may do or not.
    bare: bool,
}

/// Whether a version is in a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    Inside,
    Outside,
    /// Newer than what is named, by a major version.
    Perhaps,
}

impl Bounds {
    /// Takes in an operator and the version after it. `false` where there is no such version.
    pub(super) fn operator(&mut self, operator: &str, word: &str) -> bool {
        let Some((version, _)) = numbers(word) else { return false };
        match operator {
            ">=" | "≥" | "=>" => self.least = Some(version),
            ">" => self.least = Some(next(version)),
            "<" => self.below = Some(version),
            "<=" | "≤" | "=<" => self.below = Some(next(version)),
            "==" | "=" | "===" => (self.least, self.below) = (Some(version.clone()), Some(next(version))),
            // `~=3.10`, `~3.10`, `^18`: from here on, in the same major version.
            _ => {
                let major = version.first().copied().unwrap_or_default();
                (self.least, self.below) = (Some(version), Some(next(vec![major])));
            }
        }
        true
    }

    /// Takes in a version on its own: `3.11`, `3.11+`, `2.x`, `3.11-3.14`. `false` where it is none.
    pub(super) fn word(&mut self, word: &str) -> bool {
        if let Some((from, to)) = word.split_once(['-', '–']) {
            let (Some((from, _)), Some((to, _))) = (numbers(from), numbers(to)) else { return false };
            (self.least, self.below) = (Some(from), Some(next(to)));
            return true;
        }
        let Some((version, plus)) = numbers(word) else { return false };
        self.least = Some(version);
        self.bare = !plus;
        true
    }

    /// `or newer` after a version.
    pub(super) fn or_newer(&mut self) {
        self.bare = false;
    }

    /// `to 3.14` after a version.
    pub(super) fn up_to(&mut self, word: &str) -> bool {
        let Some((version, _)) = numbers(word) else { return false };
        self.below = Some(next(version));
        self.bare = false;
        true
    }

    pub(super) fn is_any(&self) -> bool {
        self.least.is_none() && self.below.is_none()
    }

    pub(super) fn fit(&self, version: &Version) -> Fit {
        let version = [version.major, version.minor, version.patch];
        if self.least.as_ref().is_some_and(|least| version[..] < padded(least)[..])
            || self.below.as_ref().is_some_and(|below| version[..] >= padded(below)[..])
        {
            return Fit::Outside;
        }
        let major = self.least.as_ref().and_then(|least| least.first());
        if self.bare && major.is_some_and(|major| version[0] > *major) { Fit::Perhaps } else { Fit::Inside }
    }
}

/// Whether a word is a version or a range of them.
pub(super) fn is_version(word: &str) -> bool {
    Bounds::default().word(word)
}

/// The numbers of a version, at most three, and whether a `+` follows.
fn numbers(word: &str) -> Option<(Numbers, bool)> {
    let word = word.strip_prefix(['v', 'V']).unwrap_or(word);
    let (word, plus) = word.strip_suffix('+').map_or((word, false), |word| (word, true));
    let word = word.strip_suffix(".x").or_else(|| word.strip_suffix(".*")).unwrap_or(word);
    let word = word.strip_suffix(".x").unwrap_or(word);
    let numbers: Option<Numbers> = word
        .split('.')
        .map(|part| part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok()).flatten())
        .collect();
    numbers.filter(|numbers| numbers.len() <= 3).map(|numbers| (numbers, plus))
}

/// The version after all that begin with these numbers.
fn next(mut version: Numbers) -> Numbers {
    if let Some(last) = version.last_mut() {
        *last = last.saturating_add(1);
    }
    version
}

fn padded(version: &[u64]) -> [u64; 3] {
    std::array::from_fn(|at| version.get(at).copied().unwrap_or_default())
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |version: &Numbers| version.iter().map(u64::to_string).collect::<Vec<_>>().join(".");
        match (&self.least, &self.below) {
            (Some(least), Some(below)) => write!(f, "{} or newer below {}", text(least), text(below)),
            (Some(least), None) if self.bare => f.write_str(&text(least)),
            (Some(least), None) => write!(f, "{} or newer", text(least)),
            (None, Some(below)) => write!(f, "a version below {}", text(below)),
            (None, None) => f.write_str("any version"),
        }
    }
}

/// The version in what a program says when asked: the first number with a dot, or else the first number.
pub fn version_in(answer: &str) -> Option<Version> {
    let mut first = None;
    for word in answer.split(|c: char| !c.is_ascii_digit() && c != '.') {
        let word = word.trim_matches('.');
        let mut numbers = word.split('.').take(3).map_while(|part| part.parse().ok());
        let Some(major) = numbers.next() else { continue };
        let version = Version::new(major, numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        if word.contains('.') {
            return Some(version);
        }
        first.get_or_insert(version);
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_fit_or_not() {
        use Fit::{Inside, Outside, Perhaps};
        let word = |text: &str| {
            let mut bounds = Bounds::default();
            assert!(bounds.word(text), "{text}");
            bounds
        };
        let operator = |operator: &str, text: &str| {
            let mut bounds = Bounds::default();
            assert!(bounds.operator(operator, text), "{text}");
            bounds
        };
        for (bounds, version, expected) in [
            (word("3.11+"), "3.11.0", Inside),
            (word("3.11+"), "3.9.18", Outside),
            (word("3.11+"), "4.0.0", Inside),
            (word("v18"), "18.2.0", Inside),
            (word("18"), "22.0.0", Perhaps),
            (word("18"), "16.0.0", Outside),
            (word("2.x"), "2.50.1", Inside),
            (word("3.11-3.14"), "3.14.2", Inside),
            (word("3.11–3.14"), "3.15.0", Outside),
            (operator(">=", "3.10"), "3.10.1", Inside),
            (operator(">", "3.10"), "3.10.1", Outside),
            (operator("<", "3.13"), "3.12.9", Inside),
            (operator("<=", "3.13"), "3.13.9", Inside),
            (operator("==", "3.12"), "3.12.9", Inside),
            (operator("~=", "3.12"), "4.0.0", Outside),
            (operator("^", "18"), "18.9.0", Inside),
        ] {
            assert_eq!(bounds.fit(&Version::parse(version).unwrap()), expected, "{bounds} {version}");
        }
        for text in ["", "x", "3.", "1.2.3.4", "3-a", "+", "v", "three"] {
            assert!(!is_version(text), "{text}");
        }
    }

    #[test]
    fn the_version_is_found_in_what_programs_say() {
        for (answer, expected) in [
            ("Python 3.12.3\n", Some("3.12.3")),
            ("git version 2.39.5 (Apple Git-154)", Some("2.39.5")),
            ("v22.3.0", Some("22.3.0")),
            ("go version go1.22.1 linux/amd64", Some("1.22.1")),
            ("jq-1.6", Some("1.6.0")),
            ("OpenSSH_9.6p1, OpenSSL 3.0.13 30 Jan 2024", Some("9.6.0")),
            ("openjdk version \"17\" 2021-09-14", Some("17.0.0")),
            ("GNU bash, version 5.2.15(1)-release (x86_64-pc-linux-gnu)", Some("5.2.15")),
            ("psql (PostgreSQL) 16.3", Some("16.3.0")),
            ("command not found", None),
            ("99999999999999999999.1", None),
            ("", None),
        ] {
            assert_eq!(version_in(answer).map(|found| found.to_string()).as_deref(), expected, "{answer}");
        }
    }
}
