//! JSON with comments and trailing commas, as agents read their settings: where in the text everything is, so that something
//! can be put in or cut out and every other byte stays.
//!
//! Our own, because editors that keep a syntax tree print it again. What is printed can differ from what was read: a byte
//! order mark, a key that is there twice, a line ending. Here, a change is a list of cuts and insertions in the text.

pub(crate) mod edit;
mod parse;

pub(crate) use parse::parse;

/// Why a text is not JSON, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {what}")]
#[non_exhaustive]
pub struct JsoncError {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// What is wrong.
    pub what: String,
}

impl JsoncError {
    /// An error at a byte of a text.
    pub(crate) fn at(text: &str, offset: usize, what: impl Into<String>) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let column = before[start..].trim_start_matches('\u{feff}').chars().count() + 1;
        Self { line, column, what: what.into() }
    }
}

/// A value and where it is in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    /// Its first byte.
    pub(crate) start: usize,
    /// The byte after it.
    pub(crate) end: usize,
    pub(crate) body: Body,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Body {
    Object(Items),
    Array(Items),
    Scalar,
}

/// What is in an object, an array, or a whole text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Items {
    pub(crate) list: Vec<Item>,
    /// Where more can be put in: after the last item, its comma and the comments behind it.
    pub(crate) tail: usize,
    /// Whether a comment that goes to the end of its line stands before that.
    pub(crate) is_after_line_comment: bool,
}

/// A member of an object or an element of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    /// Its key, if it is a member.
    pub(crate) key: Option<String>,
    /// Where the white space before it begins: what stands before that belongs to something else.
    pub(crate) lead: usize,
    /// Whether a comment that goes to the end of its line stands before that.
    pub(crate) is_after_line_comment: bool,
    /// Its first byte: that of the key, if it has one.
    pub(crate) start: usize,
    pub(crate) value: Node,
    /// The comma after it.
    pub(crate) comma: Option<usize>,
}

impl Node {
    /// What is in it, if it is an object or an array.
    pub(crate) const fn items(&self) -> Option<&Items> {
        match &self.body {
            Body::Object(items) | Body::Array(items) => Some(items),
            Body::Scalar => None,
        }
    }

    /// Whether there is nothing in it, not even a comment.
    pub(crate) fn is_bare(&self, text: &str) -> bool {
        let inner = text.get(self.start + 1..self.end - 1).unwrap_or_default();
        self.items().is_some() && inner.trim().is_empty()
    }

    /// The member with a key. Of several the last, as agents read it.
    pub(crate) fn member(&self, key: &str) -> Option<&Node> {
        let Body::Object(items) = &self.body else { return None };
        items.list.iter().rev().find(|item| item.key.as_deref() == Some(key)).map(|item| &item.value)
    }

    /// The elements of an array.
    pub(crate) fn elements(&self) -> &[Item] {
        match &self.body {
            Body::Array(items) => &items.list,
            _ => &[],
        }
    }

    /// The data, without comments. A number that is too large is null.
    pub(crate) fn value(&self, text: &str) -> serde_json::Value {
        match &self.body {
            Body::Object(items) => {
                let member = |item: &Item| Some((item.key.clone()?, item.value.value(text)));
                items.list.iter().filter_map(member).collect()
            }
            Body::Array(items) => items.list.iter().map(|item| item.value.value(text)).collect(),
            Body::Scalar => text
                .get(self.start..self.end)
                .and_then(|raw| serde_json::from_str(raw).ok())
                .unwrap_or_default(),
        }
    }
}

/// The data of a settings file, for looking only. A text without a value is an empty object.
///
/// ```
/// use metier_guard::read_jsonc;
///
/// let settings = read_jsonc("{ // mine\n \"disableAllHooks\": true, }").unwrap();
/// assert_eq!(settings["disableAllHooks"], true);
/// assert_eq!(read_jsonc("{\n  \"a\": }").unwrap_err().to_string(), "line 2, column 8: expected a value, found `}`");
/// ```
pub fn read_jsonc(text: &str) -> Result<serde_json::Value, JsoncError> {
    let document = parse(text)?;
    let root = document.list.first().map(|item| item.value.value(text));
    Ok(root.unwrap_or_else(|| serde_json::json!({})))
}
