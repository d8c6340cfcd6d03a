//! The Markdown after the frontmatter. It shares the text of the file that it was read from.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// The body of a skill, unchanged. Cloning it does not copy the text.
#[derive(Clone, Default)]
pub struct Body {
    text: Arc<String>,
    start: usize,
}

impl Body {
    /// The part of a text from a byte offset on. The offset must be a character boundary.
    pub(crate) fn rest_of(text: &Arc<String>, start: usize) -> Self {
        Self { text: Arc::clone(text), start }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        self.text.get(self.start..).unwrap_or_default()
    }
}

impl Deref for Body {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl From<String> for Body {
    fn from(text: String) -> Self {
        Self { text: Arc::new(text), start: 0 }
    }
}

impl From<&str> for Body {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl PartialEq for Body {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Body {}

impl PartialEq<str> for Body {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Body {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}
