//! Keys of sections among their siblings, and paths from the top.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::PromptError;

/// The maximum number of characters in a key.
const KEY_MAX: usize = 64;

/// The key of a section among its siblings: `^[a-z0-9][a-z0-9_-]{0,63}$`. It has no dots, so that paths are
/// unambiguous.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SectionKey(Arc<str>);

impl SectionKey {
    /// Parses a key. Surrounding white space is removed, and capitals become lower case.
    ///
    /// ```
    /// use metier_prompt::SectionKey;
    ///
    /// assert_eq!(SectionKey::new(" Code-Review ").unwrap().as_str(), "code-review");
    /// assert!(SectionKey::new("a.b").is_err());
    /// ```
    pub fn new(text: &str) -> Result<Self, PromptError> {
        let key = text.trim().to_ascii_lowercase();
        let is_first = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
        let is_other = |c: u8| is_first(c) || c == b'-' || c == b'_';
        let bytes = key.as_bytes();
        if bytes.len() <= KEY_MAX
            && bytes.first().copied().is_some_and(is_first)
            && bytes.iter().copied().all(is_other)
        {
            return Ok(Self(key.into()));
        }
        Err(PromptError::Key { key: text.to_owned() })
    }

    /// The key.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SectionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The path of a section: the keys from the top down, separated by dots.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SectionPath(Arc<str>);

impl SectionPath {
    /// Parses a path.
    ///
    /// ```
    /// use metier_prompt::SectionPath;
    ///
    /// let path = SectionPath::new("skills.code-review").unwrap();
    /// assert_eq!(path.keys().collect::<Vec<_>>(), ["skills", "code-review"]);
    /// ```
    pub fn new(text: &str) -> Result<Self, PromptError> {
        let keys = text.split('.').map(SectionKey::new).collect::<Result<Vec<_>, _>>();
        let keys = keys.map_err(|_| PromptError::Key { key: text.to_owned() })?;
        let keys: Vec<&str> = keys.iter().map(SectionKey::as_str).collect();
        Ok(Self(keys.join(".").into()))
    }

    /// The path of the section with this key below a parent, or at the top.
    pub(crate) fn below(parent: Option<&Self>, key: &SectionKey) -> Self {
        match parent {
            Some(parent) => Self(format!("{parent}.{key}").into()),
            None => Self(Arc::clone(&key.0)),
        }
    }

    /// The path.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its keys, from the top down.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.split('.')
    }
}

impl FromStr for SectionPath {
    type Err = PromptError;

    fn from_str(text: &str) -> Result<Self, PromptError> {
        Self::new(text)
    }
}

impl fmt::Display for SectionPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for SectionPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for SectionPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::new(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_the_rule() {
        for good in ["a", "0", "a_b-c", " Task\n", &"a".repeat(64)] {
            assert!(SectionKey::new(good).is_ok(), "{good:?}");
        }
        for bad in ["", " ", "-a", "_a", "a b", "a.b", "ä", "a/b", &"a".repeat(65)] {
            assert!(SectionKey::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn paths_are_keys_with_dots_between() {
        assert_eq!(SectionPath::new("A.b").unwrap().as_str(), "a.b");
        for bad in ["", ".", "a.", ".a", "a..b", "a. .b"] {
            assert!(SectionPath::new(bad).is_err(), "{bad:?}");
        }
    }
}
