//! Reads JSON with comments and trailing commas.

use serde::de::IgnoredAny;

use super::{Body, Item, Items, JsoncError, Node};

/// Nothing that a person writes is nested this deeply.
const DEEPEST: usize = 200;

/// The value of a text: at most one item, which has no key.
pub(crate) fn parse(text: &str) -> Result<Items, JsoncError> {
    let at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut parser = Parser { text, at, depth: 0, trivia: Trivia { end: at, is_line_comment: false } };
    parser.skip()?;
    let mut items = Items::default();
    if parser.peek().is_some() {
        items.list.push(parser.item(false)?);
        parser.skip()?;
    }
    if parser.peek().is_some() {
        return Err(parser.unexpected("the end of the file"));
    }
    items.tail = parser.trivia.end;
    items.is_after_line_comment = parser.trivia.is_line_comment;
    Ok(items)
}

/// The last thing before a place that is not white space.
#[derive(Clone, Copy)]
struct Trivia {
    /// Where it ends.
    end: usize,
    is_line_comment: bool,
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    trivia: Trivia,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn error(&self, what: impl Into<String>) -> JsoncError {
        JsoncError::at(self.text, self.at, what)
    }

    fn unexpected(&self, expected: &str) -> JsoncError {
        let found = match self.rest().chars().next() {
            Some(c) if c.is_control() => format!("{c:?}"),
            Some(c) => format!("`{c}`"),
            None => "the end of the file".to_owned(),
        };
        self.error(format!("expected {expected}, found {found}"))
    }

    /// Goes on after something that is neither white space nor a comment.
    fn pass(&mut self, end: usize) {
        self.at = end;
        self.trivia = Trivia { end, is_line_comment: false };
    }

    /// Skips white space and comments.
    fn skip(&mut self) -> Result<(), JsoncError> {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
            self.at += blank;
            let rest = self.rest();
            let (length, is_line_comment) = if rest.starts_with("//") {
                let line = rest.split('\n').next().unwrap_or(rest);
                (line.trim_end_matches('\r').len(), true)
            } else if rest.starts_with("/*") {
                let end = rest.get(2..).and_then(|inner| inner.find("*/"));
                (end.ok_or_else(|| self.error("this comment does not end"))? + 4, false)
            } else {
                return Ok(());
            };
            self.at += length;
            self.trivia = Trivia { end: self.at, is_line_comment };
        }
    }

    fn value(&mut self) -> Result<Node, JsoncError> {
        let start = self.at;
        let body = match self.peek() {
            Some(b'{') => Body::Object(self.items(b'}')?),
            Some(b'[') => Body::Array(self.items(b']')?),
            Some(b'"') => {
                self.string()?;
                Body::Scalar
            }
            _ => {
                self.word()?;
                Body::Scalar
            }
        };
        Ok(Node { start, end: self.at, body })
    }

    /// What is between two brackets.
    fn items(&mut self, close: u8) -> Result<Items, JsoncError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.error(format!("nested deeper than {DEEPEST} levels")));
        }
        self.pass(self.at + 1);
        let mut list = Vec::new();
        loop {
            self.skip()?;
            if self.peek() == Some(close) {
                break;
            }
            let comma_is_missing = list.last().is_some_and(|last: &Item| last.comma.is_none());
            if comma_is_missing {
                return Err(self.unexpected(&format!("`,` or `{}`", char::from(close))));
            }
            let mut item = self.item(close == b'}')?;
            self.skip()?;
            if self.peek() == Some(b',') {
                item.comma = Some(self.at);
                self.pass(self.at + 1);
            }
            list.push(item);
        }
        let items = Items { list, tail: self.trivia.end, is_after_line_comment: self.trivia.is_line_comment };
        self.pass(self.at + 1);
        self.depth -= 1;
        Ok(items)
    }

    fn item(&mut self, is_member: bool) -> Result<Item, JsoncError> {
        let (Trivia { end: lead, is_line_comment }, start) = (self.trivia, self.at);
        let mut key = None;
        if is_member {
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("a key in double quotes"));
            }
            key = Some(self.string()?);
            self.skip()?;
            if self.peek() != Some(b':') {
                return Err(self.unexpected("`:`"));
            }
            self.pass(self.at + 1);
            self.skip()?;
        }
        let value = self.value()?;
        Ok(Item { key, lead, is_after_line_comment: is_line_comment, start, value, comma: None })
    }

    fn string(&mut self) -> Result<String, JsoncError> {
        let mut is_escaped = false;
        let inner = self.rest().bytes().skip(1).position(|byte| {
            let ends = byte == b'"' && !is_escaped;
            is_escaped = byte == b'\\' && !is_escaped;
            ends
        });
        let length = inner.ok_or_else(|| self.error("this string does not end"))? + 2;
        let raw = self.rest().get(..length).unwrap_or_default();
        // Half of a pair of surrogates is allowed in strings of JavaScript; what it stands for does not matter here.
        let text = match serde_json::from_str(raw) {
            Ok(text) => text,
            Err(_) if serde_json::from_str::<IgnoredAny>(raw).is_ok() => raw.to_owned(),
            Err(error) => return Err(self.error(format!("this string is not valid: {}", cause(&error)))),
        };
        self.pass(self.at + length);
        Ok(text)
    }

    /// A number, `true`, `false` or `null`.
    fn word(&mut self) -> Result<(), JsoncError> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | '_');
        let length = self.rest().find(|c| !is_part(c)).unwrap_or(self.rest().len());
        let word = self.rest().get(..length).unwrap_or_default();
        if word.is_empty() {
            return Err(self.unexpected("a value"));
        }
        if serde_json::from_str::<IgnoredAny>(word).is_err() {
            return Err(self.error(format!("expected a value, found `{word}`")));
        }
        self.pass(self.at + length);
        Ok(())
    }
}

/// An error's text without its place, which is that in a part of the file.
fn cause(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}
