//! Attributes of spans and metrics, each with a bound on its size.

use metier_skill::Digest;

use super::messages::{AnyValue, ArrayValue, KeyValue, Value};
use crate::privacy::RecordedContent;

/// The longest text, in bytes. A record may have 256 KiB; a queue full of such would be no bounded queue.
const MAX_TEXT: usize = 512;

/// The longest list.
const MAX_LIST: usize = 64;

/// A list of attributes that is being put together.
#[derive(Debug, Clone, Default)]
pub(super) struct Attributes(Vec<KeyValue>);

impl Attributes {
    pub(super) fn text(self, key: &str, text: &str) -> Self {
        self.with(key, Value::Text(cut(text).to_owned()))
    }

    pub(super) fn optional_text(self, key: &str, text: Option<&str>) -> Self {
        match text {
            Some(text) => self.text(key, text),
            None => self,
        }
    }

    pub(super) fn digest(self, key: &str, digest: &Digest) -> Self {
        self.text(key, &digest.to_string())
    }

    /// The digest of a content and never its text.
    pub(super) fn content(self, key: &str, content: Option<&RecordedContent>) -> Self {
        match content {
            Some(content) => self.digest(key, &content.digest),
            None => self,
        }
    }

    pub(super) fn count(self, key: &str, count: u64) -> Self {
        self.with(key, Value::Number(i64::try_from(count).unwrap_or(i64::MAX)))
    }

    pub(super) fn optional_number(self, key: &str, number: Option<i64>) -> Self {
        match number {
            Some(number) => self.with(key, Value::Number(number)),
            None => self,
        }
    }

    pub(super) fn flag(self, key: &str, flag: bool) -> Self {
        self.with(key, Value::Flag(flag))
    }

    pub(super) fn list<'a>(self, key: &str, texts: impl IntoIterator<Item = &'a String>) -> Self {
        let texts = texts.into_iter().take(MAX_LIST).map(|text| Value::Text(cut(text).to_owned()));
        let values = texts.map(|text| AnyValue { value: Some(text) }).collect();
        self.with(key, Value::List(ArrayValue { values }))
    }

    pub(super) fn followed_by(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    pub(super) fn into_list(self) -> Vec<KeyValue> {
        self.0
    }

    fn with(mut self, key: &str, value: Value) -> Self {
        let value = Some(AnyValue { value: Some(value) });
        self.0.push(KeyValue { key: key.to_owned(), value });
        self
    }
}

/// The beginning of a text, at most as long as a text may be.
pub(super) fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_TEXT)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_and_lists_are_cut() {
        assert_eq!(cut("short"), "short");
        // 511 bytes, then a letter of two.
        let long = format!("{}äb", "a".repeat(511));
        assert_eq!(cut(&long), "a".repeat(511));

        let many = vec![long; 100];
        let list = Attributes::default().list("many", &many).into_list();
        let Some(Value::List(array)) = list[0].value.clone().unwrap().value else { panic!("no list") };
        assert_eq!(array.values.len(), MAX_LIST);
        assert_eq!(array.values[0].value, Some(Value::Text("a".repeat(511))));
    }

    #[test]
    fn of_a_content_only_the_digest_is_taken() {
        let content = crate::Privacy::default().with_text().content(b"a secret");
        assert_eq!(content.text.as_deref(), Some("a secret"));
        let list = Attributes::default().content("content", Some(&content)).into_list();
        let value = list[0].value.clone().unwrap().value;
        assert_eq!(value, Some(Value::Text(content.digest.to_string())));
    }
}
