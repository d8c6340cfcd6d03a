//! The result of a tool: text for the model, facts for programs, or an error that says what to do next.

use metier_policy::DecisionCode;
use metier_session::SessionError;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, MetaObject};
use serde_json::Value;

/// Under which programs find what a result is about. Clients do not show `_meta` to their model.
const FACTS: &str = "io.metier/result";

/// The result of a tool.
///
/// There is no `structuredContent`: several agents show their model nothing else when it is present, and so hide the text.
pub(crate) struct Answer {
    /// What the model reads.
    pub(crate) text: String,
    /// What programs may want to know beside it: ids, digests, codes. It does not repeat the text.
    pub(crate) facts: Value,
}

impl From<Answer> for CallToolResult {
    fn from(answer: Answer) -> Self {
        let mut meta = MetaObject::new();
        meta.0.insert(FACTS.to_owned(), answer.facts);
        let mut result = Self::success(vec![ContentBlock::text(answer.text)]);
        result.meta = Some(meta);
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

impl From<SessionError> for Refusal {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Asked { .. } => Self::Asked,
            error => Self::Session(error),
        }
    }
}

/// What a call was about, and what a person types to allow it.
#[derive(Debug, Default)]
pub(crate) struct Subject {
    pub(crate) skill: Option<String>,
    pub(crate) script: Option<String>,
}

impl Subject {
    /// The skill and the script that a tool was called with, as far as it was.
    pub(crate) fn of(arguments: Option<&JsonObject>) -> Self {
        let get = |names: &[&str]| {
            let named = |name: &&str| arguments?.get(*name)?.as_str().map(str::to_owned);
            names.iter().find_map(named)
        };
        Self { skill: get(&["skill_name", "name", "skill_id"]), script: get(&["script_name", "script"]) }
    }

    /// The command that allows it.
    fn approve(&self, command: &str) -> Option<String> {
        let mut words = format!("{command} {}", quoted(self.skill.as_deref()?));
        if let Some(script) = &self.script {
            words.extend([" --script ", &quoted(script)]);
        }
        Some(words)
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// What helps to put a refusal into words.
pub(crate) struct Advice<'a> {
    /// What the tool that lists skills is called.
    pub(crate) list: &'a str,
    /// What a person types to allow something, before the skill's name.
    pub(crate) approve: &'a str,
    pub(crate) subject: &'a Subject,
}

impl Refusal {
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Arguments { .. } => "tool-arguments",
            Self::Session(error) => error.code(),
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
            Self::Arguments { tool, reason } => format!("invalid arguments for `{tool}`: {reason}"),
            Self::Session(error) => with_causes(error),
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

    /// What the model can do about it, if anything.
    pub(crate) fn next(&self, advice: &Advice<'_>) -> Option<String> {
        let allow = || {
            let command = advice.subject.approve(advice.approve)?;
            Some(format!(
                "A person can allow it by running `{command}`. Tell them that, and continue without it until then. Do not try to do \
                 the same in another way."
            ))
        };
        let error = match self {
            Self::Session(error) => error,
            Self::Declined { .. } => return allow(),
            _ => return None,
        };
        Some(match error {
            SessionError::NotFound { .. } => format!("Call `{}` to see the available skills.", advice.list),
            SessionError::Path { .. } => {
                "Use a path that the loaded skill lists, relative to the skill's directory.".to_owned()
            }
            SessionError::Denied { decision } if decision.code == DecisionCode::NobodyToAsk => return allow(),
            SessionError::Denied { .. } => {
                "Do not try to do the same in another way. Continue without it, or tell the person what you need and why."
                    .to_owned()
            }
            SessionError::Changed { .. } => "Load the skill again, then continue.".to_owned(),
            SessionError::Range { .. } => "Request a part that the file has.".to_owned(),
            _ => return None,
        })
    }

    /// As an error of a tool, for the model to read.
    pub(crate) fn into_result(self, advice: &Advice<'_>) -> CallToolResult {
        let mut text = self.message();
        if let Some(next) = self.next(advice) {
            text.extend(["\n", &next]);
        }
        CallToolResult::error(vec![ContentBlock::text(text)])
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_command_that_allows_it_can_be_pasted() {
        let command =
            |arguments: Value| Subject::of(arguments.as_object()).approve("metier approve --root skills");
        let full = json!({ "skill_name": "notes", "script_name": "scripts/collect.sh" });
        let expected = "metier approve --root skills notes --script scripts/collect.sh";
        assert_eq!(command(full).as_deref(), Some(expected));
        let odd = json!({ "name": "notes", "script": "a b'; rm -r x" });
        let expected = r"metier approve --root skills notes --script 'a b'\''; rm -r x'";
        assert_eq!(command(odd).as_deref(), Some(expected));
        assert_eq!(command(json!({})), None);
    }
}
