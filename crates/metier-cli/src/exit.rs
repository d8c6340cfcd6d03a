//! Exit codes, and errors on their way to the terminal.

use std::io;
use std::process::ExitCode;

use metier_journal::JournalError;
use metier_sandbox::SandboxError;
use metier_skill::SkillError;

use crate::output::Output;

/// What the process ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    Findings,
    Usage,
    Denied,
    NotFound,
    Environment,
    Bug,
    /// What a program ended with that metier ran.
    Program(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Findings => 1,
            Exit::Usage => 2,
            Exit::Denied => 3,
            Exit::NotFound => 4,
            Exit::Environment => 5,
            Exit::Bug => 70,
            Exit::Program(code) => code,
        })
    }
}

/// An error that the user can mend by calling differently.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) String);

/// What was asked for is not there.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NotFoundError(pub(crate) String);

/// The policy does not allow it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct DeniedError(pub(crate) String);

/// Prints an error with its causes and says what to exit with.
pub(crate) fn report(error: &anyhow::Error, output: &mut Output) -> Exit {
    // The reader of a pipe has gone and knows; whether all was well, nobody can say any more.
    if error.chain().any(is_broken_pipe) {
        return Exit::Environment;
    }
    let text: Vec<String> = error.chain().map(ToString::to_string).collect();
    output.error(&text.join(": "));
    if error.downcast_ref::<UsageError>().is_some() {
        return Exit::Usage;
    }
    if error.downcast_ref::<DeniedError>().is_some() {
        return Exit::Denied;
    }
    if error.downcast_ref::<NotFoundError>().is_some() {
        return Exit::NotFound;
    }
    if let Some(error) = error.downcast_ref::<SandboxError>() {
        return report_sandbox(error, output);
    }
    match error.downcast_ref::<JournalError>() {
        Some(JournalError::NotFound { .. }) => return Exit::NotFound,
        Some(JournalError::Damaged { .. } | JournalError::Record { .. }) => return Exit::Findings,
        Some(JournalError::Place { .. } | JournalError::Checkpoint { .. }) => return Exit::Usage,
        _ => {}
    }
    match error.downcast_ref::<SkillError>() {
        Some(SkillError::NotFound { .. }) => Exit::NotFound,
        Some(SkillError::Validation { .. } | SkillError::Limit { .. }) => Exit::Findings,
        _ => Exit::Environment,
    }
}

/// Why a script was not started, with what would help.
fn report_sandbox(error: &SandboxError, output: &mut Output) -> Exit {
    if let SandboxError::Missing { missing } = error {
        for one in missing {
            output.complaint(&format!("{}: {}", one.protection, one.protection.remedy()));
        }
    }
    match error {
        SandboxError::Destination { .. } | SandboxError::TooWide { .. } => Exit::Usage,
        SandboxError::Program { .. } | SandboxError::NotAScript { .. } => Exit::NotFound,
        _ => Exit::Environment,
    }
}

fn is_broken_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
