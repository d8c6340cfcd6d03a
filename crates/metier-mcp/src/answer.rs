//! What a call comes to: for the model as text, for programs as data; also what went wrong, with what to do next.

use metier_session::SessionError;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};

/// The result of a tool.
pub(crate) struct Answer {
    /// What the model reads.
    pub(crate) text: String,
    /// The same as data, by the tool's schema.
    pub(crate) data: Value,
}

impl From<Answer> for CallToolResult {
    fn from(answer: Answer) -> Self {
        let mut result = Self::structured(answer.data);
        result.content = vec![ContentBlock::text(answer.text)];
        result
    }
}

/// Why a tool did not do what it was called for.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// It was called wrongly.
    Arguments { tool: &'static str, reason: String },
    /// The session said no.
    Session(SessionError),
    /// A person is being asked; the client brings the answer.
    Asked,
    /// Nobody waits for it any more.
    Gone,
    /// Something broke that the model can do nothing about.
    Broken(String),
}

impl From<SessionError> for Refusal {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Asked { .. } => Self::Asked,
            error => Self::Session(error),
        }
    }
}

impl Refusal {
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Arguments { .. } => "tool-arguments",
            Self::Session(error) => error.code(),
            Self::Asked => "permission-asked",
            Self::Gone => "cancelled",
            Self::Broken(_) => "internal",
        }
    }

    /// Whether it is nothing that the client did.
    pub(crate) fn is_ours(&self) -> bool {
        use SessionError::{Approvals, Copy, Journal, Store, Unrecorded};
        match self {
            Self::Broken(_) => true,
            Self::Session(error) => {
                matches!(error, Journal(_) | Store(_) | Unrecorded { .. } | Approvals { .. } | Copy { .. })
            }
            _ => false,
        }
    }

    /// What went wrong, in a sentence.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Arguments { tool, reason } => format!("`{tool}` was called wrongly: {reason}"),
            Self::Session(error) => with_causes(error),
            Self::Asked => "a person is being asked".to_owned(),
            Self::Gone => "the call was cancelled".to_owned(),
            Self::Broken(reason) => reason.clone(),
        }
    }

    /// What the model can do about it, if anything.
    fn next(&self, list: &str) -> Option<String> {
        let Self::Session(error) = self else { return None };
        Some(match error {
            SessionError::NotFound { .. } => format!("Call `{list}` to see which skills there are."),
            SessionError::Path { .. } => {
                "Use a path as the loaded skill lists it, relative to the skill's directory.".to_owned()
            }
            SessionError::Denied { .. } => {
                "Do not try to do the same in another way. Go on without it, or tell the person what you need and why."
                    .to_owned()
            }
            SessionError::Changed { .. } => "Load the skill again, then go on.".to_owned(),
            SessionError::Range { .. } => "Ask for a part that the file has.".to_owned(),
            _ => return None,
        })
    }

    /// As an error of a tool, for the model to read.
    pub(crate) fn into_result(self, list: &str) -> CallToolResult {
        let (code, message, next) = (self.code(), self.message(), self.next(list));
        let text = next.iter().fold(message.clone(), |text, next| format!("{text}\n{next}"));
        let mut result = CallToolResult::structured_error(
            json!({ "error": { "code": code, "message": message, "next": next } }),
        );
        result.content = vec![ContentBlock::text(text)];
        // It is no result by the tool's schema, and some clients insist on that.
        result.structured_content = None;
        result
    }
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text = format!("{text}: {next}");
        cause = next.source();
    }
    text
}
