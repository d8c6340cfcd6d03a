//! `metier audit stats`: usage and tokens per skill.

use std::fmt::Display;

use metier_journal::{EvaluationStats, JournalReader, SkillStats};

use super::{JournalArgs, QueryArgs};
use crate::exit::Exit;
use crate::output::Output;
use crate::progress::Progress;
use crate::table::{counted, one_line, pad, width_of};

/// Show usage and tokens per skill
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Columns: how often the skill was loaded, and could not be; reads of its files; runs of its scripts,
those with an exit code that is not 0, those that were refused, and those that could not start;
tokens shown to models; and answers that approved something.

Examples:
  metier audit stats
  metier audit stats --since 2026-11-01 --until 2026-12-01
  metier audit stats --json | jq '.skills | to_entries[] | select(.value.script_failures > 0) | .key'")]
pub(super) struct Args {
    #[command(flatten)]
    query: QueryArgs,

    #[command(flatten)]
    journal: JournalArgs,

    /// Print the statistics as JSON
    #[arg(long)]
    json: bool,
}

const COLUMNS: [&str; 9] =
    ["loads", "load fails", "reads", "runs", "run fails", "refused", "errors", "tokens", "approved"];

pub(super) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let (metier, place) = args.journal.open(output)?;
    let mut reader = JournalReader::open(&place)?;
    let query = args.query.query(&mut reader, None, output)?;
    let progress = Progress::begin(output, "counting records");
    let stats = reader.stats(&query)?;
    drop(progress);
    if args.json {
        output.json(&stats)?;
        return Ok(Exit::Done);
    }
    let names = stats.skills.keys().map(|name| width_of(&one_line(name))).max().unwrap_or(5).max(5);
    let is_narrow = output.columns().is_some_and(|columns| columns < names + COLUMNS.len() * 12);
    if !stats.skills.is_empty() && !is_narrow {
        output.whole(output.bold(&row("skill", names, &COLUMNS)))?;
    }
    for (name, skill) in &stats.skills {
        if is_narrow {
            narrow(&one_line(name), &cells(skill), output)?;
        } else {
            output.whole(row(&one_line(name), names, &cells(skill)))?;
        }
    }
    let count = |count: u64, noun| counted(usize::try_from(count).unwrap_or(usize::MAX), noun);
    for (agent, used) in &stats.evaluations {
        let (agent, evaluations) = (one_line(agent), count(used.evaluations, "evaluation"));
        let EvaluationStats { failures, input, output: out, .. } = used;
        let cost =
            format!("${}.{:06}", used.cost_microdollars / 1_000_000, used.cost_microdollars % 1_000_000);
        output.whole(format_args!(
            "{agent}: {evaluations}, {failures} failed, {input} input tokens, {out} output tokens, {cost}"
        ))?;
    }
    output.summary(format_args!(
        "{} in {}",
        count(stats.records, "record"),
        count(stats.sessions, "session")
    ))?;
    let first = reader.first()?;
    if first > 0 {
        output.note(format_args!("note: records before {first} are in archives and not counted"))?;
    }
    if args.journal.journal.is_none() && metier.archiving_due()?.is_some() {
        output.note("note: old records are due to be archived; run `metier audit archive`")?;
    }
    Ok(Exit::Done)
}

fn row<T: Display>(name: &str, names: usize, cells: &[T; COLUMNS.len()]) -> String {
    cells.iter().fold(pad(name, names), |line, cell| format!("{line}  {cell:>10}"))
}

/// The same for a terminal without room for the table: what is not 0, below the name.
fn narrow(name: &str, cells: &[u64; COLUMNS.len()], output: &mut Output) -> std::io::Result<()> {
    output.line(output.bold(name))?;
    let counts = COLUMNS.iter().zip(cells).filter(|(_, count)| **count > 0);
    let counts: Vec<String> = counts.map(|(what, count)| format!("{what}: {count}")).collect();
    output
        .line(format_args!("  {}", if counts.is_empty() { "not used".to_owned() } else { counts.join(", ") }))
}

fn cells(skill: &SkillStats) -> [u64; COLUMNS.len()] {
    let tokens = skill.catalogue_tokens + skill.body_tokens + skill.resource_tokens;
    [
        skill.activations,
        skill.activation_failures,
        skill.reads,
        skill.script_runs,
        skill.script_failures,
        skill.script_denials,
        skill.script_errors,
        tokens,
        skill.approvals,
    ]
}
