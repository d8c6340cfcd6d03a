//! Errors of a session.

use std::io;
use std::path::PathBuf;

use metier_journal::JournalError;
use metier_policy::{Decision, DecisionCode, PolicyError};
use metier_prompt::PromptError;
use metier_sandbox::SandboxError;
use metier_skill::{Coded, SkillError, did_you_mean};
use metier_store::StoreError;

use crate::budget::{BudgetBreach, BudgetError};

/// Why an operation was not performed. Nothing was handed out or run, unless the variant says otherwise.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The skill does not exist.
    #[error("unknown skill `{name}`{}", did_you_mean(nearest, ""))]
    NotFound {
        /// The requested name.
        name: String,
        /// Similar names.
        nearest: Vec<String>,
    },
    /// The skill exists but cannot be used.
    #[error("`{name}` cannot be used: {reason}")]
    Invalid {
        /// The skill.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The skill is disabled.
    #[error("`{name}` is disabled")]
    Disabled {
        /// The skill.
        name: String,
    },
    /// An installed skill was modified.
    #[error(
        "`{name}` differs from what was installed; `metier verify` shows the changes, and `metier update {name}` restores it"
    )]
    NotAsInstalled {
        /// The skill.
        name: String,
    },
    /// Only users may activate the skill.
    #[error("`{name}` cannot be activated by models, only by a user")]
    NotForModels {
        /// The skill.
        name: String,
    },
    /// This machine lacks something that the skill requires, and the host enforces requirements.
    #[error("missing requirements of `{name}`: {reason}")]
    Incompatible {
        /// The skill.
        name: String,
        /// What is missing.
        reason: String,
    },
    /// The skill is not active.
    #[error("`{name}` is not active")]
    NotActive {
        /// The skill.
        name: String,
    },
    /// The skill has changed since its first use in this session.
    #[error(
        "`{name}` has changed since this session first used it ({what}); activate it again to use the new content"
    )]
    Changed {
        /// The skill.
        name: String,
        /// What has changed.
        what: String,
    },
    /// The copy of a skill that was mounted for an agent is not what was mounted.
    #[error("the copy of `{name}` at {} changed after it was mounted", path.display())]
    CopyChanged {
        /// The skill.
        name: String,
        /// The directory of the copy.
        path: std::path::PathBuf,
    },
    /// The policy or a user denied it.
    #[error("{}", decision.reason)]
    Denied {
        /// The decision, and its reason.
        decision: Box<Decision>,
    },
    /// Approval was requested. Nothing was done or recorded; repeat the operation when the answer is available.
    #[error("{}; waiting for the answer", decision.reason)]
    Asked {
        /// What needs approval, and why.
        decision: Box<Decision>,
    },
    /// The path does not name a readable file of the skill.
    #[error("`{}` of `{skill}` cannot be read: {}", shown(path), problem.reason())]
    Path {
        /// The skill.
        skill: String,
        /// The requested path.
        path: String,
        /// What is wrong with it.
        problem: PathProblem,
    },
    /// The requested part of a file does not exist.
    #[error("{reason}")]
    Range {
        /// Why.
        reason: String,
    },
    /// The budget is exhausted.
    #[error("{0}")]
    Budget(#[from] BudgetBreach),
    /// The budget is invalid.
    #[error("{0}")]
    NoBudget(#[from] BudgetError),
    /// The prompt cannot be rendered.
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// A model keeps expanding sections and does nothing else.
    #[error(
        "the model expanded sections {most} times in a row without an answer; check whether the prompt lacks something it needs"
    )]
    Expansions {
        /// The maximum.
        most: usize,
    },
    /// Stored prompt overrides cannot be read or written.
    #[error("{reason}: {}", path.display())]
    Overrides {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The skill's files cannot be read.
    #[error(transparent)]
    Skill(#[from] SkillError),
    /// The request cannot be expressed as an approval question.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The script was not started.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The operation cannot be recorded, so it was not performed.
    #[error("cannot write to the journal, so the operation was not performed")]
    Journal(#[from] JournalError),
    /// The operation was performed, but its result could not be recorded.
    #[error("the operation was performed, but its result could not be written to the journal")]
    Unrecorded {
        /// The cause.
        source: JournalError,
    },
    /// The skill cannot be stored for later proof, so it was not used.
    #[error("cannot store the skill, so it was not used")]
    Store(#[from] StoreError),
    /// Stored approvals cannot be read or written.
    #[error("{reason}: {}", path.display())]
    Approvals {
        /// The file or directory.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A saved session cannot be restored.
    #[error("cannot restore the session: {reason}")]
    State {
        /// Why.
        reason: String,
    },
    /// A private copy of the skill could not be made.
    #[error("cannot make a private copy of the skill in {}", path.display())]
    Copy {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// What is wrong with a path.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathProblem {
    /// It is absolute.
    Absolute,
    /// It contains `..`.
    LeadsUp,
    /// It has invalid characters.
    Odd,
    /// It is too long.
    TooLong,
    /// It is or contains a link.
    Link,
    /// It is not a regular file.
    NotAFile,
    /// It is in a directory, and only files beside `SKILL.md` are available here.
    Nested,
    /// The file does not exist; with the closest match.
    NotFound(Option<String>),
}

impl SessionError {
    /// The policy rule that denied it, if any.
    pub(crate) fn deciding_rule(&self) -> Option<&str> {
        match self {
            Self::Denied { decision } => decision.deciding_rule(),
            _ => None,
        }
    }
}

impl PathProblem {
    /// The problem as part of a sentence.
    pub fn reason(&self) -> String {
        match self {
            Self::Absolute => "it must be relative to the skill's directory".to_owned(),
            Self::LeadsUp => "it must not leave the skill's directory with `..`".to_owned(),
            Self::Odd => "it contains invalid characters".to_owned(),
            Self::TooLong => "it is too long".to_owned(),
            Self::Link => "it is a link; links are not followed".to_owned(),
            Self::NotAFile => "it is not a regular file".to_owned(),
            Self::Nested => "only files beside `SKILL.md` are available here".to_owned(),
            Self::NotFound(None) => "the skill has no such file".to_owned(),
            Self::NotFound(Some(nearest)) => format!("the skill has no such file; did you mean `{nearest}`?"),
        }
    }
}

impl Coded for SessionError {
    fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "skill-not-found",
            Self::Invalid { .. } => "skill-invalid",
            Self::Disabled { .. } => "skill-disabled",
            Self::NotAsInstalled { .. } => "skill-not-as-installed",
            Self::NotForModels { .. } => "skill-not-for-models",
            Self::Incompatible { .. } => "skill-incompatible",
            Self::NotActive { .. } => "skill-not-active",
            Self::Changed { .. } => "skill-changed",
            Self::CopyChanged { .. } => "skill-copy-changed",
            Self::Denied { .. } => "permission-denied",
            Self::Asked { .. } => "permission-asked",
            Self::Path { problem: PathProblem::NotFound(_), .. } => "resource-not-found",
            Self::Path { .. } => "resource-path",
            Self::Range { .. } => "resource-range",
            Self::Budget(breach) => breach.code(),
            Self::NoBudget(error) => error.code(),
            Self::Prompt(error) => error.code(),
            Self::Expansions { .. } => "session-expansions",
            Self::Overrides { .. } => "prompt-overrides",
            Self::Skill(error) => error.code(),
            Self::Policy(error) => error.code(),
            Self::Sandbox(error) => error.code(),
            Self::Journal(error) => error.code(),
            Self::Unrecorded { source } => source.code(),
            Self::Store(error) => error.code(),
            Self::Approvals { .. } => "approvals",
            Self::State { .. } => "session-state",
            Self::Copy { .. } => "session-copy",
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NotFound { .. } => "`metier list` shows the available skills".to_owned(),
            Self::Invalid { name, .. } => format!("`metier validate {name}` shows what is wrong"),
            Self::Disabled { .. } => {
                "enable it in the settings; `metier config` shows where they are".to_owned()
            }
            Self::NotActive { .. } => "activate it first".to_owned(),
            Self::Denied { decision } if decision.code == DecisionCode::NobodyToAsk => {
                "`metier approve` approves it in advance".to_owned()
            }
            Self::Path { problem: PathProblem::NotFound(_), .. } => {
                "use a path that the activated skill lists".to_owned()
            }
            Self::Approvals { .. } => {
                "fix the file, or remove it; you will be asked again for what it allowed".to_owned()
            }
            Self::State { .. } => "start a new session".to_owned(),
            Self::Skill(error) => return error.hint(),
            Self::Sandbox(error) => return error.hint(),
            // Their messages already contain the fix, or there is none.
            _ => return None,
        };
        Some(hint)
    }
}

/// A path of unknown origin, shortened and on one line.
fn shown(path: &str) -> String {
    let clean = path.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c });
    let mut text: String = clean.clone().take(120).collect();
    if clean.count() > 120 {
        text.push('…');
    }
    text
}
