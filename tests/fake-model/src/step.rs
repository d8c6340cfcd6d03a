//! What the model says, one step after the other.

use serde_json::{Map, Value};

/// One answer of the model.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Step {
    /// It calls a tool.
    Call {
        /// The tool.
        tool: String,
        /// What it is called with: an object.
        arguments: Value,
    },
    /// It says something, and with that is done.
    Text(String),
    /// It says the word that comes after these in what it was told last of all, and with that is done.
    Quote {
        /// The words before it.
        after: String,
    },
}

impl Step {
    /// A call of a tool.
    pub fn call(tool: impl Into<String>, arguments: Value) -> Self {
        Self::Call { tool: tool.into(), arguments }
    }

    /// A last word.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A last word, out of what the model was told.
    pub fn quote(after: impl Into<String>) -> Self {
        Self::Quote { after: after.into() }
    }
}

/// What the model says in answer to one request.
pub(crate) enum Said {
    Call { tool: String, arguments: Value },
    Text(String),
}

impl Said {
    /// What comes after so many results; a last word when there are no more steps.
    pub(crate) fn after(steps: &[Step], results: usize, request: &Map<String, Value>) -> Self {
        match steps.get(results).cloned() {
            Some(Step::Call { tool, arguments }) => Self::Call { tool, arguments },
            Some(Step::Text(text)) => Self::Text(text),
            Some(Step::Quote { after }) => {
                let told = request.values().rev().find_map(|value| last_word(value, &after));
                Self::Text(told.unwrap_or_else(|| "I was not told.".to_owned()))
            }
            None => Self::Text("That is all.".to_owned()),
        }
    }

    /// What is said to a request that offers no tools: agents ask for titles and the like.
    pub(crate) fn aside() -> Self {
        Self::Text("A title".to_owned())
    }
}

/// The word after a text, in the last of all strings that have it.
fn last_word(value: &Value, after: &str) -> Option<String> {
    match value {
        Value::String(text) => {
            let word = text.rsplit_once(after)?.1.split_whitespace().next()?;
            Some(word.trim_end_matches(['.', ',']).to_owned())
        }
        Value::Array(values) => values.iter().rev().find_map(|value| last_word(value, after)),
        Value::Object(object) => object.values().rev().find_map(|value| last_word(value, after)),
        _ => None,
    }
}
