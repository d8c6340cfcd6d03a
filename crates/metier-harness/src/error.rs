//! Why an evaluation has no answer.

use std::io;
use std::time::Duration;

use metier_home::HomeError;
use metier_sandbox::SandboxError;
use metier_session::{BudgetBreach, SessionError};
use metier_skill::Coded;

use crate::usage::UsageSoFar;

/// Why an evaluation has no answer. The agent with all its processes has ended, and its home is gone.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HarnessError {
    /// The agent's program does not exist.
    #[error("{agent} is not installed (`{program}` not found)")]
    NotInstalled {
        /// The agent.
        agent: String,
        /// Its program.
        program: String,
    },
    /// The agent ended, or stayed silent, before it was ready.
    #[error("{agent} did not start: {reason}{}", output(.errors))]
    NotStarted {
        /// The agent.
        agent: String,
        /// What happened.
        reason: String,
        /// The end of what it printed to standard error.
        errors: String,
    },
    /// The agent ended before it answered.
    #[error("{agent} ended before it answered: {reason}{}", output(.errors))]
    Crashed {
        /// The agent.
        agent: String,
        /// How it ended.
        reason: String,
        /// The end of what it printed to standard error.
        errors: String,
        /// What was used until then.
        spent: Box<UsageSoFar>,
    },
    /// The agent sent nothing for too long.
    #[error("{agent} sent nothing for {} s", silence.as_secs_f64())]
    Hung {
        /// The agent.
        agent: String,
        /// For how long.
        silence: Duration,
        /// What was used until then.
        spent: Box<UsageSoFar>,
    },
    /// The agent sent something else than its protocol, and nothing of that.
    #[error("{agent} does not speak its protocol; it sent {line:?}")]
    Garbage {
        /// The agent.
        agent: String,
        /// The first line that it sent, shortened.
        line: String,
    },
    /// The settings of a model server cannot be used. Nothing was sent.
    #[error("{agent} cannot be asked: {reason}")]
    Settings {
        /// The server.
        agent: String,
        /// What is wrong with them.
        reason: String,
    },
    /// A model server did not answer at all.
    #[error("{agent} at {address} cannot be reached: {reason}")]
    Unreachable {
        /// The server.
        agent: String,
        /// Its address.
        address: String,
        /// Why.
        reason: String,
        /// What was used until then.
        spent: Box<UsageSoFar>,
    },
    /// A model server refused the API key, or that there is none.
    #[error("{agent} refused the API key: {reason}")]
    Key {
        /// The server.
        agent: String,
        /// What it said, without the key.
        reason: String,
    },
    /// The connection to a model server broke in the middle of an answer.
    #[error("{agent} did not finish its answer: {reason}")]
    Broken {
        /// The server.
        agent: String,
        /// What happened.
        reason: String,
        /// What was used until then.
        spent: Box<UsageSoFar>,
    },
    /// The deadline of the evaluation passed.
    #[error("{agent} did not answer within {} s", limit.as_secs_f64())]
    Deadline {
        /// The agent.
        agent: String,
        /// The time that it had.
        limit: Duration,
        /// What was used until then.
        spent: Box<UsageSoFar>,
    },
    /// The session is over its budget.
    #[error("the budget is used up: {breach}")]
    Budget {
        /// The limit that was exceeded.
        breach: BudgetBreach,
        /// What the evaluation had used.
        spent: Box<UsageSoFar>,
    },
    /// The evaluation was cancelled.
    #[error("the evaluation was cancelled")]
    Cancelled {
        /// What was used until then.
        spent: Box<UsageSoFar>,
    },
    /// The answer does not have the type that was asked for, also after the agent was asked to repair it.
    #[error("the answer does not match the expected type: {reason}")]
    Output {
        /// What is wrong with it.
        reason: String,
        /// The answer.
        text: String,
        /// What was used.
        spent: Box<UsageSoFar>,
    },
    /// The agent reported an error instead of an answer, for example of its model.
    #[error("{agent} reported an error: {message}")]
    Agent {
        /// The agent.
        agent: String,
        /// What it reported.
        message: String,
        /// What was used until then.
        spent: Box<UsageSoFar>,
    },
    /// The hooks of the guard could not be put into the agent's home, or what they saw could not be read.
    #[error("the guard of {agent} cannot be used: {reason}")]
    Guard {
        /// The agent.
        agent: String,
        /// Why.
        reason: String,
    },
    /// The agent used a tool that its hooks had not allowed: they were not asked, or not obeyed.
    #[error("{agent} used tools that the guard had not allowed: {}", tools.join(", "))]
    Unguarded {
        /// The agent.
        agent: String,
        /// The tools.
        tools: Vec<String>,
        /// What was used until then.
        spent: Box<UsageSoFar>,
    },
    /// The prompt or the caller asks for something that this agent cannot do. Nothing was started.
    #[error("{agent} does not support {what}")]
    Unsupported {
        /// The agent.
        agent: String,
        /// What was asked for.
        what: &'static str,
    },
    /// Talking to the agent failed.
    #[error("cannot {action} {agent}")]
    Io {
        /// The agent.
        agent: String,
        /// What was tried: `write to`, `read from`, `stop`.
        action: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The home of the agent could not be made, or a skill not be installed.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// The agent's process could not be started.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The session refused, for example because something could not be recorded.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// The agent's own words, if there are any.
fn output(errors: &str) -> String {
    let last = errors.lines().rev().find(|line| !line.trim().is_empty());
    last.map(|line| format!("; its last message: {}", line.trim())).unwrap_or_default()
}

impl HarnessError {
    /// What was used until the evaluation failed, if the agent had started.
    pub fn spent(&self) -> Option<&UsageSoFar> {
        match self {
            Self::Crashed { spent, .. }
            | Self::Hung { spent, .. }
            | Self::Unreachable { spent, .. }
            | Self::Broken { spent, .. }
            | Self::Deadline { spent, .. }
            | Self::Budget { spent, .. }
            | Self::Cancelled { spent }
            | Self::Output { spent, .. }
            | Self::Unguarded { spent, .. }
            | Self::Agent { spent, .. } => Some(spent),
            _ => None,
        }
    }

    /// The same error, with what was really used.
    pub(crate) fn after(mut self, used: UsageSoFar) -> Self {
        match &mut self {
            Self::Crashed { spent, .. }
            | Self::Hung { spent, .. }
            | Self::Unreachable { spent, .. }
            | Self::Broken { spent, .. }
            | Self::Deadline { spent, .. }
            | Self::Budget { spent, .. }
            | Self::Cancelled { spent }
            | Self::Output { spent, .. }
            | Self::Unguarded { spent, .. }
            | Self::Agent { spent, .. } => **spent = used,
            Self::Session(SessionError::Budget(breach)) => {
                return Self::Budget { breach: *breach, spent: Box::new(used) };
            }
            _ => {}
        }
        self
    }
}

impl Coded for HarnessError {
    fn code(&self) -> &'static str {
        match self {
            Self::NotInstalled { .. } => "harness-not-installed",
            Self::NotStarted { .. } => "harness-not-started",
            Self::Crashed { .. } => "harness-crashed",
            Self::Hung { .. } => "harness-hung",
            Self::Garbage { .. } => "harness-garbage",
            Self::Settings { .. } => "harness-settings",
            Self::Unreachable { .. } => "harness-unreachable",
            Self::Key { .. } => "harness-key",
            Self::Broken { .. } => "harness-broken",
            Self::Deadline { .. } => "harness-deadline",
            Self::Budget { .. } => "harness-budget",
            Self::Cancelled { .. } => "harness-cancelled",
            Self::Output { .. } => "harness-output",
            Self::Agent { .. } => "harness-agent",
            Self::Guard { .. } => "harness-guard",
            Self::Unguarded { .. } => "harness-unguarded",
            Self::Unsupported { .. } => "harness-unsupported",
            Self::Io { .. } => "harness-io",
            Self::Home(error) => error.code(),
            Self::Sandbox(error) => error.code(),
            Self::Session(error) => error.code(),
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NotInstalled { program, .. } => {
                return Some(format!("install it, or give the path of `{program}`"));
            }
            Self::NotStarted { .. } => "run the agent by hand to see whether it works on this machine",
            Self::Hung { .. } => "set a longer silence, or look at what the agent was doing in the events",
            Self::Garbage { .. } => "check that the program or address is that of the agent, and its version",
            Self::Settings { .. } => "name a model, and check the base URL and the headers",
            Self::Unreachable { .. } => "check the base URL, and that the server runs",
            Self::Key { .. } => "check the key, and that it is one of this server",
            Self::Broken { .. } => "ask again; a proxy in between may have a time limit of its own",
            Self::Deadline { .. } => "set a longer deadline, or a smaller task",
            Self::Budget { .. } => "start a session with a larger budget",
            Self::Output { .. } => {
                "the error has the whole answer; describe the expected answer in the prompt"
            }
            Self::Guard { .. } => "check that metier's state directory can be written",
            Self::Unguarded { .. } => {
                "look at what the calls did; check that nothing switches hooks off, and the agent's version"
            }
            Self::Unsupported { .. } => "use another agent, or a prompt without this",
            Self::Home(error) => return error.hint(),
            Self::Sandbox(error) => return error.hint(),
            Self::Session(error) => return error.hint(),
            _ => return None,
        };
        Some(hint.to_owned())
    }
}
