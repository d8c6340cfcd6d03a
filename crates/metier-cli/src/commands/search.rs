//! `metier search`: the skills that fit a question.

use metier_catalog::State;
use metier_search::{SearchHit, SearchMatch};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::host::{Flags, finish};
use crate::output::Output;
use crate::progress::Progress;
use crate::table::{Columns, counted, one_line, width_of};

/// Search for skills that fit a task
///
/// Matches exact words, prefixes, one-letter typos and synonyms. Names and exact words count most.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metier search release notes
  metier search 'get the text out of a scanned document'
  metier search --json 'code revew' | jq -r '.hits[0].name'")]
pub(crate) struct Args {
    /// Words that describe the task
    #[arg(required = true)]
    query: Vec<String>,

    /// Maximum number of skills [default: 10, on a terminal only those that match almost as well as the best]
    #[arg(long, short = 'n', value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,

    #[command(flatten)]
    catalog: Flags,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// How many skills are printed if no number is given.
const USUAL: u32 = 10;

/// On a terminal, skills with a smaller part of the best score are left out if no number is given.
const CLOSE: f32 = 0.7;

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let skills = args.catalog.find(output)?;
    output.flush()?;
    let progress = Progress::begin(output, "preparing the search index");
    let search = skills.search()?;
    drop(progress);
    let hits = search.query(&args.query.join(" "), args.limit.unwrap_or(USUAL) as usize);
    if args.json {
        output.json(&json!({ "hits": hits.iter().map(to_json).collect::<Vec<_>>() }))?;
    } else {
        let is_cut = args.limit.is_none() && output.columns().is_some();
        let shown = if is_cut { close(&hits) } else { hits.len() };
        print(&hits[..shown], output)?;
        if shown < hits.len() {
            let less = counted(hits.len() - shown, "less relevant skill");
            output.note(format_args!("{less} not shown; `-n {USUAL}` shows up to {USUAL}"))?;
        }
    }
    finish(skills, output)?;
    // As `grep` does: nothing found is not an error, but worth knowing.
    Ok(if hits.is_empty() { Exit::Findings } else { Exit::Done })
}

/// How many of the hits match almost as well as the first.
fn close(hits: &[SearchHit<'_>]) -> usize {
    let best = hits.first().map_or(0.0, |hit| hit.score);
    hits.iter().take_while(|hit| hit.score >= best * CLOSE).count()
}

fn to_json(hit: &SearchHit<'_>) -> Value {
    let mut value = json!({
        "id": format!("{}/{}", hit.tier(), hit.name()),
        "name": hit.name(),
        "score": hit.score,
        "snippet": hit.snippet,
    });
    match hit.skill {
        SearchMatch::Entry(entry) => {
            value["id"] = json!(entry.id);
            value["state"] = json!(entry.state);
            value["path"] = json!(entry.path_text());
        }
        SearchMatch::Unusable(unusable) => {
            value["path"] = json!(unusable.problem.path.to_string_lossy());
            value["problem"] = json!({ "code": unusable.problem.code, "message": unusable.problem.message });
        }
    }
    value
}

fn print(hits: &[SearchHit<'_>], output: &mut Output) -> anyhow::Result<()> {
    if hits.is_empty() {
        output.note("no skill matches; try other words, or `metier list`")?;
    }
    let names = hits.iter().map(|hit| width_of(hit.name())).max().unwrap_or(0);
    let tiers = hits.iter().map(|hit| hit.tier().as_str().len()).max().unwrap_or(0);
    let columns = Columns::new(names, tiers, output);
    for hit in hits {
        let about = match hit.skill {
            SearchMatch::Entry(entry) if entry.state == State::On => one_line(&hit.snippet),
            SearchMatch::Entry(entry) => {
                let state = output.warning(&format!("[{}]", entry.state));
                format!("{state} {}", one_line(&hit.snippet))
            }
            SearchMatch::Unusable(unusable) => {
                let code = unusable.problem.code;
                let word = if code.is_strictness() { "only in lenient agents" } else { "not usable" };
                let why = output.warning(&format!("[{word}: {code}]"));
                format!("{why} {}", one_line(&hit.snippet))
            }
        };
        output.whole(columns.row(hit.name(), hit.tier().as_str(), &about, output))?;
    }
    Ok(())
}
