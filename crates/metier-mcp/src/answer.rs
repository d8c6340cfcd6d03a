//! A tool's result in protocol form: text for the model and structured facts for programs, or an error that says what
//! to do next.

use metier_session::tools::ToolSubject;
use metier_session::{SessionError, SkillToolAnswer, SkillToolError, SkillToolOptions};
use metier_skill::Coded as _;
use rmcp::model::{CallToolResult, ContentBlock, MetaObject};

/// The `_meta` key under which programs find the subject of a result. Clients do not show `_meta` to their model.
const FACTS: &str = "io.metier/result";

/// An answer in protocol form.
///
/// `structuredContent` is not used: if it is present, several agents show their model only that and hide the text.
pub(crate) fn into_result(answer: SkillToolAnswer) -> CallToolResult {
    let mut meta = MetaObject::new();
    meta.0.insert(FACTS.to_owned(), answer.facts);
    let mut result = CallToolResult::success(vec![ContentBlock::text(answer.text)]);
    result.meta = Some(meta);
    result
}

/// Why a tool call failed.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The tool or the session refused.
    Tool(SkillToolError),
    /// The client declined to ask, or the user declined in the client. The protocol does not distinguish these.
    Declined { client: Option<String> },
    /// The user is being asked; the client returns the answer.
    Asked,
    /// Too many scripts of this client are already waiting.
    Busy { running: usize, waiting: usize },
    /// The client cancelled the call.
    Gone,
    /// An internal error that the model cannot fix.
    Broken(String),
}

impl From<SkillToolError> for Refusal {
    fn from(error: SkillToolError) -> Self {
        match error {
            SkillToolError::Session { error, .. } if matches!(*error, SessionError::Asked { .. }) => {
                Self::Asked
            }
            SkillToolError::Search(error) => Self::Broken(error.to_string()),
            error => Self::Tool(error),
        }
    }
}

impl From<SessionError> for Refusal {
    fn from(error: SessionError) -> Self {
        SkillToolError::from(error).into()
    }
}

impl Refusal {
    /// The session's error, if it came from the session.
    pub(crate) fn session(&self) -> Option<&SessionError> {
        match self {
            Self::Tool(SkillToolError::Session { error, .. }) => Some(error),
            _ => None,
        }
    }

    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Tool(error) => error.code(),
            Self::Declined { .. } => "permission-declined",
            Self::Asked => "permission-asked",
            Self::Busy { .. } => "too-many-scripts",
            Self::Gone => "cancelled",
            Self::Broken(_) => "internal",
        }
    }

    /// Whether the error is the server's fault.
    pub(crate) fn is_ours(&self) -> bool {
        use SessionError::{Approvals, Copy, Journal, Store, Unrecorded};
        let ours = |error: &SessionError| {
            matches!(error, Journal(_) | Store(_) | Unrecorded { .. } | Approvals { .. } | Copy { .. })
        };
        matches!(self, Self::Broken(_)) || self.session().is_some_and(ours)
    }

    /// What went wrong, in one sentence.
    fn message(&self) -> String {
        match self {
            Self::Tool(error) => error.to_string(),
            Self::Declined { client } => {
                let client = client.as_deref().unwrap_or("unnamed");
                format!("this needs the user's approval; the client ({client}) was asked and declined")
            }
            Self::Asked => "waiting for the user's approval".to_owned(),
            Self::Busy { running, waiting } => format!(
                "too many scripts: a client can run {running} scripts at a time, and {waiting} calls are already waiting; the script was not started; call again when one of them has finished"
            ),
            Self::Gone => "the call was cancelled".to_owned(),
            Self::Broken(reason) => reason.clone(),
        }
    }

    /// What went wrong and what to do next, for the model.
    pub(crate) fn text(&self, tools: &SkillToolOptions, subject: &ToolSubject) -> String {
        let next = match self {
            Self::Declined { .. } => tools.how_to_allow(subject),
            _ => self.session().and_then(|error| tools.next_step(error, subject)),
        };
        let next = next.map(|next| format!("\n{next}")).unwrap_or_default();
        self.message() + &next
    }
}
