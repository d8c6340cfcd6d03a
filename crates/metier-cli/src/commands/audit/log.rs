//! `metier audit log`: the records, one per line.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::time::Duration;

use metier_journal::{JournalReader, Record, RecordQuery};
use serde_json::Value;

use super::{JournalArgs, QueryArgs};
use crate::exit::Exit;
use crate::output::Output;
use crate::progress::Progress;
use crate::table::{counted, one_line, pad, width_of};

/// Show the last records, or those that match
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Columns: number, time, who, session (the end of its id), kind, and what the record is about.
`-` stands for what a record does not have. `--kind` and `--session` select by these values.

Examples:
  metier audit log                                  the last 50 records
  metier audit log --skill pdf --kind skill.script_executed
  metier audit log --since 2026-11-16 --all
  metier audit log -f --kind skill.script_executed  the last 50 runs, then each new one
  metier audit log --json | jq -r .event.kind       one record per line
  metier audit log --journal archives/journal-….jsonl.gz")]
pub(super) struct Args {
    #[command(flatten)]
    query: QueryArgs,

    /// The most records to show, the last ones
    #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 50)]
    limit: usize,

    /// Show every record that matches
    #[arg(long, conflicts_with = "limit")]
    all: bool,

    /// Wait for new records and print each one as it is written, until Ctrl-C
    #[arg(long, short, conflicts_with = "until")]
    follow: bool,

    #[command(flatten)]
    journal: JournalArgs,

    /// Print complete records as JSON, one per line
    #[arg(long)]
    json: bool,
}

impl Args {
    /// The last records of a query, with the journal of the settings.
    pub(super) const fn of(query: QueryArgs, limit: usize, follow: bool, json: bool) -> Self {
        Self { query, limit, all: false, follow, journal: JournalArgs { journal: None }, json }
    }
}

pub(super) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let mut reader = JournalReader::open(&args.journal.place(output)?)?;
    let query = args.query.query(&mut reader, (!args.all).then_some(args.limit), output)?;
    if args.follow {
        return follow(args, &query, &mut reader, output);
    }
    let first = reader.first()?;
    let size = reader.size()?.saturating_sub(first);
    // Not all of them are held in memory.
    if args.all {
        return every(args, &query, (first, size), &mut reader, output);
    }
    let progress = Progress::begin(output, "looking for records");
    let records = reader.query(&query)?;
    drop(progress);
    if args.json {
        records.iter().try_for_each(|record| output.json_lines(record))?;
        return Ok(Exit::Done);
    }
    let digits = records.last().map_or(1, |last| last.sequence.to_string().len());
    let kinds = records.iter().map(|record| kind(record).len()).max().unwrap_or(0).min(WIDEST);
    let people = records.iter().map(|record| width_of(&who(record))).max().unwrap_or(0);
    for record in &records {
        print(record, digits, people, kinds, output)?;
    }
    let shown = counted(records.len(), "record");
    let is_cut = records.len() == args.limit && (records.len() as u64) < size;
    let more = if is_cut { "; the last ones, `--all` shows every record that matches" } else { "" };
    output.summary(format_args!("{shown} of {size}{}{more}", archived(first)))?;
    Ok(Exit::Done)
}

/// What to add to a count when older records are in archives.
fn archived(first: u64) -> String {
    if first == 0 { String::new() } else { format!("; records before {first} are in archives") }
}

fn every(
    args: &Args,
    query: &RecordQuery,
    (first, size): (u64, u64),
    reader: &mut JournalReader,
    output: &mut Output,
) -> anyhow::Result<Exit> {
    let (digits, mut count, mut printed) = ((first + size).to_string().len(), 0, Ok(()));
    reader.each_matching(query, |record| {
        count += 1;
        printed = if args.json {
            output.json_lines(&record)
        } else {
            print(&record, digits, USUAL, WIDEST, output)
        };
        if printed.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    printed?;
    if !args.json {
        output.summary(format_args!("{} of {size}{}", counted(count, "record"), archived(first)))?;
    }
    Ok(Exit::Done)
}

/// How often to check for new records.
const INTERVAL: Duration = Duration::from_millis(250);

/// Prints the existing records and then each new one, until the process is interrupted or its output is closed.
fn follow(
    args: &Args,
    query: &RecordQuery,
    reader: &mut JournalReader,
    output: &mut Output,
) -> anyhow::Result<Exit> {
    let mut last = VecDeque::new();
    let mut next = reader.each_matching_from(0, query, |record| {
        last.push_back(record);
        if query.limit.is_some_and(|limit| last.len() > limit) {
            last.pop_front();
        }
        ControlFlow::Continue(())
    })?;
    let digits = next.to_string().len();
    let mut show = |record: &Record| {
        if args.json {
            output.json_lines(record)?;
        } else {
            print(record, digits, USUAL, WIDEST, output)?;
        }
        output.flush()
    };
    last.iter().try_for_each(&mut show)?;
    drop(last);
    loop {
        let mut printed = Ok(());
        next = reader.each_matching_from(next, query, |record| {
            printed = show(&record);
            if printed.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        printed?;
        std::thread::sleep(INTERVAL);
    }
}

/// The largest width of the column of kinds.
const WIDEST: usize = 28;
/// The width of the column of users if the records are not known in advance.
const USUAL: usize = 12;

/// Prints a record. On a terminal its end may be cut, but never the name of a skill.
fn print(
    record: &Record,
    digits: usize,
    people: usize,
    kinds: usize,
    output: &mut Output,
) -> std::io::Result<()> {
    let (line, name) = row(record, digits, people, kinds, output);
    if output.columns().is_some_and(|columns| name > columns) {
        return narrow(record, output);
    }
    output.cut_after(line, name)
}

/// A record on a terminal that is too narrow for its row.
fn narrow(record: &Record, output: &mut Output) -> std::io::Result<()> {
    output.line(format_args!("{}  {}  {}", record.sequence, time(record), one_line(kind(record))))?;
    let who = Some(who(record)).filter(|who| who != NOT_KNOWN).map(|who| format!("by {who}"));
    let session = record.session.as_deref().map(|id| format!("in session {}", short(id)));
    let origin = [who, session].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let rest = [describe(&record.event, output), origin];
    rest.iter().filter(|line| !line.is_empty()).try_for_each(|line| output.line(format_args!("  {line}")))
}

/// When it was recorded, to the second; `--json` has all of it.
fn time(record: &Record) -> String {
    let time = record.time.get(..19).unwrap_or(&record.time).replace('T', " ");
    format!("{}Z", one_line(&time))
}

/// The line of a record, and how many columns it has up to the end of what it is about.
fn row(record: &Record, digits: usize, people: usize, kinds: usize, output: &Output) -> (String, usize) {
    let session = record.session.as_deref().map_or_else(|| "-".to_owned(), short);
    let (kind, what) = (pad(&one_line(kind(record)), kinds), describe(&record.event, output));
    let (time, who) = (time(record), pad(&who(record), people));
    let before = format!("{:>digits$}  {time}  {who}  {}  {kind}  ", record.sequence, pad(&session, 8));
    let name = width_of(&before) + width_of(what.split("  ").next().unwrap_or_default());
    ((before + &what).trim_end().to_owned(), name)
}

fn kind(record: &Record) -> &str {
    record.event["kind"].as_str().unwrap_or("?")
}

/// Stands for who did it if the record does not say.
const NOT_KNOWN: &str = "-";

/// Who did it: the client or the holder of a token, and the account; older records have no account.
fn who(record: &Record) -> String {
    let text = |member: &str| record.event[member].as_str().map(one_line).filter(|text| !text.is_empty());
    match (text("actor").filter(|actor| actor != "user"), text("user")) {
        (Some(actor), Some(user)) => format!("{actor} ({user})"),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => NOT_KNOWN.to_owned(),
    }
}

/// The end of an id, which differs between sessions of one day.
fn short(session: &str) -> String {
    let session = one_line(session);
    let count = session.chars().count();
    if count <= 8 { session } else { session.chars().skip(count - 8).collect() }
}

/// A summary of the event.
fn describe(event: &Value, output: &Output) -> String {
    const TOLD: [&str; 22] = [
        "name", "check", "section", "tool", "target", "answer", "decision", "outcome", "exit", "path",
        "script", "access", "trigger", "tier", "code", "rule", "size", "records", "journal", "folder",
        "trusted", "place",
    ];
    // Skills that were installed, and those with accepted findings.
    let names = |member: &str| match &event[member] {
        Value::Object(skills) => {
            Some(skills.keys().map(|name| one_line(name)).collect::<Vec<_>>().join(", "))
        }
        Value::Array(names) if !names.is_empty() => {
            let names: Vec<String> = names.iter().filter_map(Value::as_str).map(one_line).collect();
            Some(format!("{member}: {}", names.join(", ")))
        }
        _ => None,
    };
    let names = ["skills", "added", "changed", "removed", "accepted"].into_iter().filter_map(names);
    let told = TOLD.iter().filter_map(|member| match (*member, &event[*member]) {
        ("exit", Value::Number(exit)) => Some(format!("exit {exit}")),
        ("size" | "records", Value::Number(size)) => Some(format!("{size} records")),
        ("trusted", Value::Bool(trusted)) => {
            Some(if *trusted { "trusted" } else { "not trusted" }.to_owned())
        }
        ("answer" | "decision" | "outcome", Value::String(text)) => Some(verdict(&one_line(text), output)),
        (_, Value::String(text)) => Some(one_line(text)),
        _ => None,
    });
    told.chain(names).chain(touched(event)).collect::<Vec<_>>().join("  ")
}

/// A decision or an outcome, coloured unless it is a plain success.
fn verdict(word: &str, output: &Output) -> String {
    match word {
        "deny" | "denied" | "refused" | "failed" | "limit" => output.colored(word, false),
        "ask" | "asked" => output.warning(word),
        _ => word.to_owned(),
    }
}

/// The number of files that a script changed, and of refused writes.
fn touched(event: &Value) -> Option<String> {
    let count = |value: &Value, word: &str| {
        value["count"].as_u64().filter(|count| *count > 0).map(|count| format!("{count} {word}"))
    };
    let of = |word: &str| count(&event["touched"][word], word);
    let refused = count(&event["refused_writes"], "refused");
    let all = ["created", "changed", "deleted"].into_iter().filter_map(of).chain(refused);
    let all = all.collect::<Vec<_>>().join(", ");
    (!all.is_empty()).then(|| format!("files: {all}"))
}
