//! Why a tool call failed, in words for the model: what went wrong, and what to do next.

use std::error::Error;

use metier_policy::DecisionCode;
use metier_prompt::ToolNames;
use metier_skill::Coded;
use serde_json::Value;

use super::SkillToolOptions;
use crate::error::SessionError;

/// Why a tool call failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SkillToolError {
    /// The tool does not exist.
    #[error("unknown tool `{tool}`")]
    Unknown {
        /// The name that was called.
        tool: String,
        /// The names of the tools.
        names: ToolNames,
    },
    /// The arguments are invalid.
    #[error("invalid arguments for `{tool}`: {reason}")]
    Arguments {
        /// The tool.
        tool: &'static str,
        /// What is wrong with them.
        reason: String,
    },
    /// The session refused it, or failed.
    #[error("{}", with_causes(error))]
    Session {
        /// The session's error.
        error: Box<SessionError>,
        /// What the model can do about it.
        next: Option<String>,
    },
    /// The skill search failed.
    #[error("{0}")]
    Search(Box<dyn Error + Send + Sync>),
}

impl From<SessionError> for SkillToolError {
    fn from(error: SessionError) -> Self {
        Self::Session { error: Box::new(error), next: None }
    }
}

impl Coded for SkillToolError {
    fn code(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "tool-unknown",
            Self::Arguments { .. } => "tool-arguments",
            Self::Session { error, .. } => error.code(),
            Self::Search(_) => "skill-search",
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown { names, .. } => Some(format!(
                "Call `{}`, `{}`, `{}` or `{}`.",
                names.list(),
                names.load(),
                names.read(),
                names.run()
            )),
            Self::Session { next, .. } => next.clone(),
            Self::Arguments { .. } | Self::Search(_) => None,
        }
    }
}

impl SkillToolError {
    /// The text for the model: what went wrong, and what to do next.
    pub fn text(&self) -> String {
        match self.hint() {
            Some(next) => format!("{self}\n{next}"),
            None => self.to_string(),
        }
    }

    /// The same with what the model can do about it.
    pub(super) fn advised(self, options: &SkillToolOptions, subject: &ToolSubject) -> Self {
        match self {
            Self::Session { error, next: None } => {
                let next = options.next_step(&error, subject);
                Self::Session { error, next }
            }
            other => other,
        }
    }
}

/// What a call was about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolSubject {
    /// The skill.
    pub skill: Option<String>,
    /// Its script.
    pub script: Option<String>,
}

impl ToolSubject {
    /// A skill without a script.
    pub fn skill(name: impl Into<String>) -> Self {
        Self { skill: Some(name.into()), script: None }
    }

    /// The skill and the script of a tool call, as far as they were given.
    pub fn of(arguments: &Value) -> Self {
        let get = |names: &[&str]| {
            let named = |name: &&str| arguments.get(*name)?.as_str().map(str::to_owned);
            names.iter().find_map(named)
        };
        Self { skill: get(&["skill_name", "name", "skill_id"]), script: get(&["script_name", "script"]) }
    }

    /// The command that approves it.
    fn approve(&self, command: &str) -> Option<String> {
        let mut words = format!("{command} {}", quoted_word(self.skill.as_deref()?));
        if let Some(script) = &self.script {
            words.extend([" --script ", &quoted_word(script)]);
        }
        Some(words)
    }
}

/// A word quoted for a shell.
pub fn quoted_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

impl SkillToolOptions {
    /// What a model is told if the user has to approve something first.
    pub fn how_to_allow(&self, subject: &ToolSubject) -> Option<String> {
        let command = subject.approve(&self.approve)?;
        Some(format!(
            "The user can allow it by running `{command}`. Tell the user, and continue without it until then. Do not try to do the same in another way."
        ))
    }

    /// What a model can do about an error, if anything.
    pub fn next_step(&self, error: &SessionError, subject: &ToolSubject) -> Option<String> {
        Some(match error {
            SessionError::NotFound { .. } => {
                format!("Call `{}` to see the available skills.", self.names.list())
            }
            SessionError::Path { .. } => {
                "Use a path from the list in the loaded skill, relative to the skill's directory.".to_owned()
            }
            SessionError::Denied { decision } if decision.code == DecisionCode::NobodyToAsk => {
                return self.how_to_allow(subject);
            }
            SessionError::Denied { .. } => {
                "Do not try to do the same in another way. Continue without it, or tell the user what you need and why."
                    .to_owned()
            }
            SessionError::Changed { .. } => "Load the skill again, then continue.".to_owned(),
            SessionError::Range { .. } => "Request a part that exists in the file.".to_owned(),
            _ => return None,
        })
    }
}

fn with_causes(error: &SessionError) -> String {
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
        let command = |arguments: Value| ToolSubject::of(&arguments).approve("metier approve --root skills");
        let full = json!({ "skill_name": "notes", "script_name": "scripts/collect.sh" });
        let expected = "metier approve --root skills notes --script scripts/collect.sh";
        assert_eq!(command(full).as_deref(), Some(expected));
        let odd = json!({ "name": "notes", "script": "a b'; rm -r x" });
        let expected = r"metier approve --root skills notes --script 'a b'\''; rm -r x'";
        assert_eq!(command(odd).as_deref(), Some(expected));
        assert_eq!(command(json!({})), None);
    }
}
