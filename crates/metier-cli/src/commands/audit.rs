//! `metier audit`: what was recorded, and whether it still is what was written.

mod checkpoint;
mod export;
mod log;
mod replay;
mod stats;
mod verify;

use clap::Subcommand;
use metier_journal::{Place, Query, Time};

use crate::config::{Config, Flags};
use crate::environment::Environment;
use crate::exit::{Exit, UsageError};
use crate::output::Output;
use crate::recording;

/// Look at the journal: what was shown, read, run, approved and refused
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: AuditCommand,
}

#[derive(Debug, Subcommand)]
enum AuditCommand {
    Log(log::Args),
    Verify(verify::Args),
    Replay(replay::Args),
    Export(export::Args),
    Stats(stats::Args),
    Checkpoint(checkpoint::Args),
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    match &args.command {
        AuditCommand::Log(args) => log::run(args, output),
        AuditCommand::Verify(args) => verify::run(args, output),
        AuditCommand::Replay(args) => replay::run(args, output),
        AuditCommand::Export(args) => export::run(args, output),
        AuditCommand::Stats(args) => stats::run(args, output),
        AuditCommand::Checkpoint(args) => checkpoint::run(args, output),
    }
}

/// Which journal.
#[derive(Debug, clap::Args)]
struct JournalArgs {
    /// Another journal than the one of the settings: a file, or `postgres://user@host/database?stream=name`
    #[arg(long, value_name = "PLACE")]
    journal: Option<String>,
}

impl JournalArgs {
    fn place(&self, environment: &Environment, output: &mut Output) -> anyhow::Result<Place> {
        if let Some(text) = &self.journal {
            let base = environment.working.clone().unwrap_or_default();
            return Ok(recording::place(text, &base, environment)?);
        }
        let config = Config::read(environment, &Flags::default())?;
        for note in &config.notes {
            output.note(format_args!("note: {note}"))?;
        }
        Ok(config.recording.place()?.clone())
    }
}

/// Which records.
#[derive(Debug, clap::Args)]
struct QueryArgs {
    /// Records about this skill
    #[arg(long, value_name = "NAME")]
    skill: Option<String>,

    /// Records of this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    /// Records of this kind, as skill.activated; `skill.` stands for all that begin so
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,

    /// Not before this time, as 2026-11-16 or 2026-11-16T09:30:00+01:00
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    /// Before this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
}

impl QueryArgs {
    fn query(&self, limit: Option<usize>) -> Result<Query, UsageError> {
        let time = |text: &String| {
            Time::parse(text)
                .ok_or_else(|| UsageError(format!("`{text}` is no time; write it like 2026-11-16T09:30:00Z")))
        };
        let Self { skill, session, kind, since, until } = self;
        Ok(Query {
            skill: skill.clone(),
            session: session.clone(),
            kind: kind.clone(),
            since: since.as_ref().map(time).transpose()?,
            until: until.as_ref().map(time).transpose()?,
            limit,
        })
    }
}
