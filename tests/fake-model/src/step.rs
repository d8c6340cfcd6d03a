//! What the model says, one step after the other.

use serde_json::Value;

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

    /// The step after so many results; a last word when there are no more steps.
    pub(crate) fn after(steps: &[Self], results: usize) -> Self {
        steps.get(results).cloned().unwrap_or_else(|| Self::text("That is all."))
    }

    /// What is said to a request that offers no tools: agents ask for titles and the like.
    pub(crate) fn aside() -> Self {
        Self::text("A title")
    }
}
