//! What keeps a session from doing what it was asked.

use std::io;
use std::path::PathBuf;

use metier_journal::JournalError;
use metier_policy::{Decision, DecisionCode, PolicyError};
use metier_prompt::PromptError;
use metier_sandbox::SandboxError;
use metier_skill::{Coded, SkillError, did_you_mean};
use metier_store::StoreError;

use crate::budget::{BudgetBreach, BudgetError};

/// Why something was not done. Nothing was handed out or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// There is no such skill.
    #[error("there is no skill `{name}`{}", did_you_mean(nearest, ""))]
    NotFound {
        /// What was asked for.
        name: String,
        /// Names that are like it.
        nearest: Vec<String>,
    },
    /// It is there and cannot be used.
    #[error("`{name}` cannot be used: {reason}")]
    Invalid {
        /// The skill.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Somebody switched it off.
    #[error("`{name}` is switched off here")]
    Disabled {
        /// The skill.
        name: String,
    },
    /// It is among what was installed, and is something else.
    #[error(
        "`{name}` is not what was installed: somebody changed it since; `metier verify` says what, and `metier update {name}` puts it right"
    )]
    NotAsInstalled {
        /// The skill.
        name: String,
    },
    /// It is for people to start.
    #[error("`{name}` is not for models: a person must activate it")]
    NotForModels {
        /// The skill.
        name: String,
    },
    /// The machine lacks what the skill needs, and the host insists on it.
    #[error("`{name}` needs what is not here: {reason}")]
    Incompatible {
        /// The skill.
        name: String,
        /// What is missing.
        reason: String,
    },
    /// It is not active.
    #[error("`{name}` is not active")]
    NotActive {
        /// The skill.
        name: String,
    },
    /// It is not what it was when this session first used it.
    #[error(
        "`{name}` has changed since this session first used it ({what}); activate it again to go on with what it is now"
    )]
    Changed {
        /// The skill.
        name: String,
        /// What is different.
        what: String,
    },
    /// The policy, or a person, said no.
    #[error("{}", decision.reason)]
    Denied {
        /// What was decided, and why.
        decision: Box<Decision>,
    },
    /// A person is being asked. Nothing was done or recorded; the same can be tried again with the answer.
    #[error("{}; the answer is awaited", decision.reason)]
    Asked {
        /// What needs an answer, and why.
        decision: Box<Decision>,
    },
    /// A path that is none of a file of the skill.
    #[error("`{}` of `{skill}` cannot be read: {}", shown(path), problem.reason())]
    Path {
        /// The skill.
        skill: String,
        /// What was asked for.
        path: String,
        /// What is wrong with it.
        problem: PathProblem,
    },
    /// A part of a file that it does not have.
    #[error("{reason}")]
    Range {
        /// Why.
        reason: String,
    },
    /// The budget is used up.
    #[error("{0}")]
    Budget(#[from] BudgetBreach),
    /// The budget is none.
    #[error("{0}")]
    NoBudget(#[from] BudgetError),
    /// The prompt cannot be rendered.
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// A model opens sections, and never does anything else.
    #[error(
        "the model opened sections {most} times in a row and would go on; is there something that it does not find?"
    )]
    Expansions {
        /// As often as it may.
        most: usize,
    },
    /// Stored changes to a prompt cannot be read or kept.
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
    /// What is to be decided about cannot be put as a question.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The script was not started.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// It cannot be recorded, and so was not done.
    #[error("it cannot be recorded, and so was not done")]
    Journal(#[from] JournalError),
    /// It was done, and what became of it could not be recorded.
    #[error("it was done, but what became of it could not be recorded")]
    Unrecorded {
        /// Why.
        source: JournalError,
    },
    /// The skill cannot be kept for later proof, and so was not used.
    #[error("the skill cannot be kept, and so was not used")]
    Store(#[from] StoreError),
    /// What people answered cannot be read or kept.
    #[error("{reason}: {}", path.display())]
    Approvals {
        /// The file or directory.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A saved session that cannot be continued.
    #[error("this is no saved session that can be continued: {reason}")]
    State {
        /// Why.
        reason: String,
    },
    /// A private copy of the skill could not be made.
    #[error("no private copy of the skill could be made in {}", path.display())]
    Copy {
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// What is wrong with a path.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathProblem {
    /// It begins at the root.
    Absolute,
    /// It leads up.
    LeadsUp,
    /// It has characters that no path of a skill needs.
    Odd,
    /// It is longer than any path.
    TooLong,
    /// It names a link, or goes through one.
    Link,
    /// It names something that is no file.
    NotAFile,
    /// It is in a directory, and only files beside `SKILL.md` are handed out here.
    Nested,
    /// There is no such file; with the nearest that there is.
    NotFound(Option<String>),
}

impl SessionError {
    /// The rule of the policy that denied it, if it was one.
    pub(crate) fn deciding_rule(&self) -> Option<&str> {
        match self {
            Self::Denied { decision } => decision.deciding_rule(),
            _ => None,
        }
    }
}

impl PathProblem {
    /// As part of a sentence.
    pub fn reason(&self) -> String {
        match self {
            Self::Absolute => "it must be relative to the skill's directory".to_owned(),
            Self::LeadsUp => "it must not lead out of the skill with `..`".to_owned(),
            Self::Odd => "it has characters that no path here has".to_owned(),
            Self::TooLong => "it is longer than any path here".to_owned(),
            Self::Link => "it is a link, and links are never followed".to_owned(),
            Self::NotAFile => "it is no regular file".to_owned(),
            Self::Nested => "only files beside `SKILL.md` are handed out here".to_owned(),
            Self::NotFound(None) => "the skill has no such file".to_owned(),
            Self::NotFound(Some(nearest)) => format!("the skill has no such file; it has `{nearest}`"),
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
            Self::NotFound { .. } => "`metier list` shows the skills that there are".to_owned(),
            Self::Invalid { name, .. } => format!("`metier validate {name}` says what is wrong"),
            Self::Disabled { .. } => {
                "switch it on in the settings; `metier config` shows where they are".to_owned()
            }
            Self::NotActive { .. } => "activate it first".to_owned(),
            Self::Denied { decision } if decision.code == DecisionCode::NobodyToAsk => {
                "`metier approve` records a person's answer beforehand".to_owned()
            }
            Self::Path { problem: PathProblem::NotFound(_), .. } => {
                "use a path that the activated skill lists".to_owned()
            }
            Self::Approvals { .. } => {
                "repair the file, or remove it: what it allowed is asked again".to_owned()
            }
            Self::State { .. } => "start a new session".to_owned(),
            Self::Skill(error) => return error.hint(),
            Self::Sandbox(error) => return error.hint(),
            // Their messages say it, or there is nothing to do.
            _ => return None,
        };
        Some(hint)
    }
}

/// A path that somebody made up, short and on one line.
fn shown(path: &str) -> String {
    let clean = path.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c });
    let mut text: String = clean.clone().take(120).collect();
    if clean.count() > 120 {
        text.push('…');
    }
    text
}
