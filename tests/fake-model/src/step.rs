//! The answers of the model, step by step.

use serde_json::{Map, Value};

/// One answer of the model.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Step {
    /// Calls a tool.
    Call {
        /// The tool.
        tool: String,
        /// The arguments: an object.
        arguments: Value,
    },
    /// Answers with a text and finishes.
    Text(String),
    /// Answers with the next of these texts each time that it is prompted in one conversation, and finishes.
    Each(Vec<String>),
    /// Answers with the word that follows this text in the latest message, and finishes.
    Quote {
        /// The text before the word.
        after: String,
    },
}

impl Step {
    /// One text after the other, for several prompts in one conversation.
    pub fn each<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self::Each(texts.into_iter().map(Into::into).collect())
    }

    /// A tool call.
    pub fn call(tool: impl Into<String>, arguments: Value) -> Self {
        Self::Call { tool: tool.into(), arguments }
    }

    /// A final answer.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A final answer quoted from the latest message.
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
            Some(Step::Each(texts)) => {
                let said = texts.iter().filter(|text| is_said(request, text)).count();
                Self::Text(texts.get(said).or(texts.last()).cloned().unwrap_or_default())
            }
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

/// Whether the model has said exactly this before: requests repeat the conversation.
fn is_said(request: &Map<String, Value>, text: &str) -> bool {
    request.values().any(|value| has_text(value, text))
}

fn has_text(value: &Value, text: &str) -> bool {
    match value {
        Value::String(said) => said == text,
        Value::Array(values) => values.iter().any(|value| has_text(value, text)),
        Value::Object(object) => object.values().any(|value| has_text(value, text)),
        _ => false,
    }
}
