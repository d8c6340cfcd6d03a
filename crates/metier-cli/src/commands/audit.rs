//! `metier audit`: reading, verifying and archiving the journal.

mod archive;
mod checkpoint;
mod export;
mod log;
mod replay;
mod show;
mod stats;
mod verify;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use clap::Subcommand;
use metier_host::{Environment, Metier, now};
use metier_journal::{ArchivedRecords, JournalAddress, JournalReader, RecordQuery, Time};

use crate::exit::{Exit, UsageError};
use crate::host::tell;
use crate::output::Output;
use crate::table::one_line;

/// Read, verify and archive the journal: what was shown, read, run, approved and refused
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: AuditCommand,
}

#[derive(Debug, Subcommand)]
enum AuditCommand {
    Log(log::Args),
    Show(show::Args),
    Verify(verify::Args),
    Replay(replay::Args),
    Export(export::Args),
    Stats(stats::Args),
    Checkpoint(checkpoint::Args),
    Archive(archive::Args),
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    match &args.command {
        AuditCommand::Log(args) => log::run(args, output),
        AuditCommand::Show(args) => show::run(args, output),
        AuditCommand::Verify(args) => verify::run(args, output),
        AuditCommand::Replay(args) => replay::run(args, output),
        AuditCommand::Export(args) => export::run(args, output),
        AuditCommand::Stats(args) => stats::run(args, output),
        AuditCommand::Checkpoint(args) => checkpoint::run(args, output),
        AuditCommand::Archive(args) => archive::run(args, output),
    }
}

/// The last decisions on tool calls, for `metier guard log`.
pub(super) fn decisions(
    skill: Option<String>,
    session: Option<String>,
    limit: usize,
    (follow, json): (bool, bool),
    output: &mut Output,
) -> anyhow::Result<Exit> {
    let kind = Some("skill.tool_call_decided".to_owned());
    let query = QueryArgs { skill, session, kind, since: None, until: None };
    log::run(&log::Args::of(query, limit, follow, json), output)
}

/// The journal to read.
#[derive(Debug, clap::Args)]
struct JournalArgs {
    /// Another journal than that of the settings: a file, an archive, an export, or `postgres://user@host/database?stream=name`
    #[arg(long, value_name = "PLACE")]
    journal: Option<String>,
}

impl JournalArgs {
    /// The journal, and the host. Settings are not read if the journal is named.
    fn open(&self, output: &mut Output) -> anyhow::Result<(Metier, JournalAddress)> {
        if let Some(text) = &self.journal {
            let metier = Metier::with_defaults(Environment::read());
            let place = metier.journal_at(text)?;
            return Ok((metier, place));
        }
        let metier = Metier::open()?;
        tell(&metier.settings().notes, output)?;
        let place = metier.journal_address()?;
        Ok((metier, place))
    }

    fn place(&self, output: &mut Output) -> anyhow::Result<JournalAddress> {
        Ok(self.open(output)?.1)
    }
}

/// The records to select.
#[derive(Debug, clap::Args)]
struct QueryArgs {
    /// Only records about this skill
    #[arg(long, value_name = "NAME")]
    skill: Option<String>,

    /// Records of this session: its id, or the beginning or end of the id
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    /// Records of this kind, such as skill.activated; `skill.` matches all kinds that begin with it
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,

    /// Only records since this time: 30m, 1h, 2d, today, yesterday, 2026-11-16, '2026-11-17 14:00' (UTC) or
    /// 2026-11-16T09:30+01:00
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    /// Only records before this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
}

/// Where an archived record can be found, for an error message.
fn where_is(sequence: u64, reader: &mut JournalReader, command: &str) -> anyhow::Result<String> {
    let has_it =
        |one: &ArchivedRecords| (one.first..one.first.saturating_add(one.records)).contains(&sequence);
    let archive = reader.archives()?.into_iter().find(has_it).map(|one| one.path);
    let path = archive.map_or_else(|| "ARCHIVE".to_owned(), |path| one_line(&path));
    Ok(format!(
        "record {sequence} is in an archive; run `metier audit {command} {sequence} --journal {path}`"
    ))
}

impl QueryArgs {
    /// The query. Values that no record has are reported; an ambiguous session id is an error.
    fn query(
        &self,
        reader: &mut JournalReader,
        limit: Option<usize>,
        output: &mut Output,
    ) -> anyhow::Result<RecordQuery> {
        let now = now();
        let time = |text: &String| {
            Time::parse_near(text, now).ok_or_else(|| {
                UsageError(format!(
                    "invalid time `{text}`; use 1h, yesterday, 2026-11-16 or 2026-11-16T09:30Z"
                ))
            })
        };
        let Self { skill, session, kind, since, until } = self;
        let mut query = RecordQuery {
            skill: skill.clone(),
            session: session.clone(),
            kind: kind.clone(),
            since: since.as_ref().map(time).transpose()?,
            until: until.as_ref().map(time).transpose()?,
            limit,
        };
        if skill.is_some() || session.is_some() || kind.is_some() {
            self.check(reader, &mut query, output)?;
        }
        Ok(query)
    }

    fn check(
        &self,
        reader: &mut JournalReader,
        query: &mut RecordQuery,
        output: &mut Output,
    ) -> anyhow::Result<()> {
        let (mut sessions, mut kinds, mut has_skill) = (BTreeSet::new(), BTreeSet::new(), false);
        reader.each_matching(&RecordQuery::default(), |record| {
            let matches = |id: &&String| {
                self.session.as_ref().is_some_and(|wanted| id.starts_with(wanted) || id.ends_with(wanted))
            };
            sessions.extend(record.session.as_ref().filter(matches).cloned());
            kinds.insert(record.event["kind"].as_str().unwrap_or_default().to_owned());
            has_skill |= self.skill.as_ref().is_some_and(|name| record.is_about(name));
            ControlFlow::Continue(())
        })?;
        if let Some(kind) = &self.kind
            && !kinds
                .iter()
                .any(|other| other == kind || (kind.ends_with('.') && other.starts_with(kind.as_str())))
        {
            let kinds: Vec<String> = kinds.into_iter().collect();
            let (kind, kinds) = (one_line(kind), one_line(&kinds.join(", ")));
            output.note(format_args!(
                "note: no record has the kind `{kind}`; the kinds in this journal are {kinds}"
            ))?;
        }
        if let Some(name) = self.skill.as_ref().filter(|_| !has_skill) {
            output.note(format_args!("note: no record is about a skill named `{}`", one_line(name)))?;
        }
        let Some(wanted) = &self.session else { return Ok(()) };
        if sessions.contains(wanted) {
            return Ok(());
        }
        match sessions.len() {
            0 => output.note(format_args!("note: no session has the id `{}`", one_line(wanted)))?,
            1 => query.session = sessions.pop_first(),
            _ => {
                let ids: Vec<String> = sessions.iter().take(10).map(|id| one_line(id)).collect();
                let more = if sessions.len() > 10 { ", …" } else { "" };
                let message =
                    format!("`{}` matches several session ids: {}{more}", one_line(wanted), ids.join(", "));
                return Err(UsageError(message).into());
            }
        }
        Ok(())
    }
}
