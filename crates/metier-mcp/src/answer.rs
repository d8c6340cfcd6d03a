//! The result of a tool as the protocol has it: text for the model, facts for programs, or an error that says what to do next.

use metier_session::tools::ToolSubject;
use metier_session::{SessionError, SkillToolAnswer, SkillToolError, SkillToolOptions};
use metier_skill::Coded as _;
use rmcp::model::{CallToolResult, ContentBlock, MetaObject};

/// Under which programs find what a result is about. Clients do not show `_meta` to their model.
const FACTS: &str = "io.metier/result";

/// An answer as the protocol has it.
///
/// There is no `structuredContent`: several agents show their model nothing else when it is present, and so hide the text.
pub(crate) fn into_result(answer: SkillToolAnswer) -> CallToolResult {
    let mut meta = MetaObject::new();
    meta.0.insert(FACTS.to_owned(), answer.facts);
    let mut result = CallToolResult::success(vec![ContentBlock::text(answer.text)]);
    result.meta = Some(meta);
    result
}

/// Why a tool did not do what it was called for.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The tool or the session said no.
    Tool(SkillToolError),
    /// The client declined to ask, or a person declined there: the protocol does not tell these apart.
    Declined { client: Option<String> },
    /// A person is being asked; the client brings the answer.
    Asked,
    /// Too many of this client's scripts wait already.
    Busy { running: usize, waiting: usize },
    /// The client no longer waits for it.
    Gone,
    /// Something broke that the model can do nothing about.
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
    /// What the session said, if it was the session.
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

    /// Whether it is the server's own fault.
    pub(crate) fn is_ours(&self) -> bool {
        use SessionError::{Approvals, Copy, Journal, Store, Unrecorded};
        let ours = |error: &SessionError| {
            matches!(error, Journal(_) | Store(_) | Unrecorded { .. } | Approvals { .. } | Copy { .. })
        };
        matches!(self, Self::Broken(_)) || self.session().is_some_and(ours)
    }

    /// What went wrong, in a sentence.
    fn message(&self) -> String {
        match self {
            Self::Tool(error) => error.to_string(),
            Self::Declined { client } => {
                let client = client.as_deref().unwrap_or("unnamed");
                format!("this needs a person's approval; the client ({client}) was asked for it and declined")
            }
            Self::Asked => "waiting for a person's answer".to_owned(),
            Self::Busy { running, waiting } => format!(
                "too many scripts: at most {running} scripts of a client run at the same time, and {waiting} calls are already waiting; \
                 the script was not started; call again after one of them has finished"
            ),
            Self::Gone => "the call was cancelled".to_owned(),
            Self::Broken(reason) => reason.clone(),
        }
    }

    /// What went wrong, and what to do about it, for the model.
    pub(crate) fn text(&self, tools: &SkillToolOptions, subject: &ToolSubject) -> String {
        let next = match self {
            Self::Declined { .. } => tools.how_to_allow(subject),
            _ => self.session().and_then(|error| tools.next_step(error, subject)),
        };
        let next = next.map(|next| format!("\n{next}")).unwrap_or_default();
        self.message() + &next
    }
}
