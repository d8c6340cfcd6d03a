//! Exit codes, and errors on their way to the terminal.

use std::process::ExitCode;

use metier_harness::HarnessError;
use metier_home::HomeError;
use metier_host::{GuardInstallError, HostError};
use metier_journal::JournalError;
use metier_sandbox::SandboxError;
use metier_session::{PathProblem, SessionError};
use metier_skill::{Coded as _, SkillError};
use metier_store::{ArchiveError, SignatureError, StoreError, TrustError};

use crate::files::is_missing;
use crate::output::Output;

/// The exit code of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    Findings,
    Usage,
    Denied,
    NotFound,
    Environment,
    Bug,
    /// The exit code of a program that metier ran.
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

/// Wrong use: calling the command differently fixes it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) String);

/// What was asked for does not exist.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NotFoundError(pub(crate) String);

/// The policy does not allow it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct DeniedError(pub(crate) String);

/// Prints an error with its causes, and returns the exit code.
pub(crate) fn report(error: &anyhow::Error, output: &mut Output) -> Exit {
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
    if let Some(error) = error.downcast_ref::<HostError>() {
        return of_host(error, output);
    }
    if let Some(error) = error.downcast_ref::<SessionError>() {
        return of_session(error, output);
    }
    if let Some(error) = error.downcast_ref::<StoreError>() {
        return crate::installing::exit_of(error);
    }
    if let Some(error) = error.downcast_ref::<SignatureError>() {
        return crate::installing::exit_of_signature(error);
    }
    if error.downcast_ref::<TrustError>().is_some() {
        return Exit::Usage;
    }
    if error.downcast_ref::<ArchiveError>().is_some() {
        return Exit::Findings;
    }
    if let Some(error) = error.downcast_ref::<HarnessError>() {
        return of_harness(error, output);
    }
    if let Some(error) = error.downcast_ref::<HomeError>() {
        return of_home(error);
    }
    if let Some(error) = error.downcast_ref::<SandboxError>() {
        return report_sandbox(error, output);
    }
    if let Some(error) = error.downcast_ref::<JournalError>() {
        return of_journal(error);
    }
    error.downcast_ref::<SkillError>().map_or(Exit::Environment, of_skill)
}

/// How an error of the host ends a command.
fn of_host(error: &HostError, output: &mut Output) -> Exit {
    match error {
        HostError::NoSettingsFile { .. }
        | HostError::Settings { .. }
        | HostError::Variable { .. }
        | HostError::Override { .. }
        | HostError::RaisedTier { .. }
        | HostError::NoHome { .. }
        | HostError::NoDirectory { .. }
        | HostError::NoWorkingDirectory
        | HostError::NoCache { .. }
        | HostError::TrustsAll
        | HostError::NoAgentSandbox { .. }
        | HostError::NotAFolder { .. }
        | HostError::Policy(_)
        | HostError::NoJournalDirectory { .. }
        | HostError::TrustedKeys { .. }
        | HostError::NoKey
        | HostError::EmptyKey { .. }
        | HostError::LinkInside { .. }
        | HostError::LinkNotRecorded { .. } => Exit::Usage,
        HostError::NoRoot { .. }
        | HostError::NoFolder { .. }
        | HostError::NoSkill { .. }
        | HostError::NoSkillAt { .. }
        | HostError::NotAName { .. }
        | HostError::UnusableSkill { .. }
        | HostError::NoFile { .. }
        | HostError::NoSkills
        | HostError::NoProgram { .. }
        | HostError::NoAgent { .. }
        | HostError::NoHarness { .. } => Exit::NotFound,
        HostError::SkillOff { .. } => Exit::Denied,
        HostError::Guard(error) => of_guard(error, output),
        HostError::Io { action: "read", source, .. } if is_missing(source) => Exit::NotFound,
        HostError::Skill(error) => of_skill(error),
        HostError::Journal(error)
        | HostError::Telemetry { source: error }
        | HostError::NotRecorded { source: error } => of_journal(error),
        HostError::Session(error) => of_session(error, output),
        HostError::Resume { source, .. } => of_session(source, output),
        HostError::Sandbox(error) => report_sandbox(error, output),
        HostError::Store(error) => crate::installing::exit_of(error),
        HostError::Home(error) => of_home(error),
        _ => Exit::Environment,
    }
}

fn of_guard(error: &GuardInstallError, output: &mut Output) -> Exit {
    if let Some(hint) = error.hint() {
        output.complaint(&format!("hint: {hint}"));
    }
    match error {
        GuardInstallError::NoAgent { .. } => Exit::NotFound,
        GuardInstallError::ChangedMeanwhile { .. } => Exit::Environment,
        _ => Exit::Usage,
    }
}

const fn of_journal(error: &JournalError) -> Exit {
    match error {
        JournalError::NotFound { .. } => Exit::NotFound,
        JournalError::Damaged { .. } | JournalError::Record { .. } => Exit::Findings,
        JournalError::Address { .. } | JournalError::Checkpoint { .. } | JournalError::NoArchives { .. } => {
            Exit::Usage
        }
        _ => Exit::Environment,
    }
}

pub(crate) const fn of_skill(error: &SkillError) -> Exit {
    match error {
        SkillError::NotFound { .. } => Exit::NotFound,
        SkillError::Validation { .. } | SkillError::Limit { .. } => Exit::Findings,
        _ => Exit::Environment,
    }
}

/// How an error of a session ends a command.
fn of_session(error: &SessionError, output: &mut Output) -> Exit {
    match error {
        SessionError::NotFound { .. } => {
            output.complaint("see `metier list --all`, or `metier search`");
            Exit::NotFound
        }
        SessionError::NotActive { .. } | SessionError::Path { problem: PathProblem::NotFound(_), .. } => {
            Exit::NotFound
        }
        SessionError::Path { .. } | SessionError::Range { .. } => Exit::Usage,
        SessionError::Denied { .. }
        | SessionError::Disabled { .. }
        | SessionError::NotAsInstalled { .. }
        | SessionError::NotForModels { .. }
        | SessionError::Budget(_) => Exit::Denied,
        SessionError::Invalid { .. }
        | SessionError::Changed { .. }
        | SessionError::CopyChanged { .. }
        | SessionError::State { .. } => Exit::Findings,
        SessionError::Skill(error) => of_skill(error),
        SessionError::Sandbox(error) => report_sandbox(error, output),
        SessionError::Journal(error) => of_journal(error),
        _ => Exit::Environment,
    }
}

/// How an evaluation without an answer ends.
fn of_harness(error: &HarnessError, output: &mut Output) -> Exit {
    match error {
        HarnessError::NotInstalled { .. } => Exit::NotFound,
        HarnessError::Unsupported { .. } | HarnessError::Settings { .. } => Exit::Usage,
        HarnessError::Output { text, .. } => {
            output.complaint(&format!("the answer was: {text}"));
            Exit::Findings
        }
        HarnessError::Budget { .. } => Exit::Denied,
        // As a shell reports a program that was interrupted.
        HarnessError::Cancelled { .. } => Exit::Program(130),
        HarnessError::Home(error) => of_home(error),
        HarnessError::Sandbox(error) => report_sandbox(error, output),
        HarnessError::Session(error) => of_session(error, output),
        _ => Exit::Environment,
    }
}

/// How an error of the sandbox ends a command, with hints about missing protections.
fn report_sandbox(error: &SandboxError, output: &mut Output) -> Exit {
    if let SandboxError::Missing { missing } = error {
        for one in missing {
            output.complaint(&format!("{}: {}", one.protection, one.protection.remedy()));
        }
    }
    match error {
        SandboxError::Destination { .. }
        | SandboxError::TooWide { .. }
        | SandboxError::Reserved { .. }
        | SandboxError::Link { .. } => Exit::Usage,
        SandboxError::Program { .. } | SandboxError::NotAScript { .. } => Exit::NotFound,
        SandboxError::Path { source, .. } if is_missing(source) => Exit::NotFound,
        SandboxError::Covering { .. } => Exit::Denied,
        _ => Exit::Environment,
    }
}

fn of_home(error: &HomeError) -> Exit {
    match error {
        HomeError::NotFound { .. } => Exit::NotFound,
        HomeError::Installation { source, .. } => of_home(source),
        HomeError::Validation { .. } => Exit::Findings,
        HomeError::Io { .. } | HomeError::Copy { .. } | HomeError::Auth { .. } => Exit::Environment,
        HomeError::Leaks { .. } => Exit::Denied,
        _ => Exit::Usage,
    }
}
