//! `metier search`: the skills that fit a question.

use metier_catalog::State;
use metier_search::{SearchHit, SearchMatch};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::host::{Flags, finish};
use crate::output::Output;
use crate::table::{Columns, one_line, width_of};

/// Search for skills that fit a task
///
/// Names and exact words weigh most; other words for the same thing, words that begin alike and words with one typing
/// error find too.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metier search release notes
  metier search 'get the text out of a scanned document'
  metier search --json 'code revew' | jq -r '.hits[0].name'")]
pub(crate) struct Args {
    /// What you are looking for
    #[arg(required = true)]
    query: Vec<String>,

    /// At most so many
    #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,

    #[command(flatten)]
    catalog: Flags,

    /// Print all of it as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let skills = args.catalog.find(output)?;
    output.flush()?;
    let search = skills.search()?;
    let hits = search.query(&args.query.join(" "), args.limit as usize);
    if args.json {
        output.json(&json!({ "hits": hits.iter().map(to_json).collect::<Vec<_>>() }))?;
    } else {
        print(&hits, output)?;
    }
    finish(skills, output)?;
    // As `grep` does: nothing found is not an error, but worth knowing.
    Ok(if hits.is_empty() { Exit::Findings } else { Exit::Done })
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
        output.note("no skill fits; try other words, or `metier list`")?;
    }
    let names = hits.iter().map(|hit| width_of(hit.name())).max().unwrap_or(0);
    let tiers = hits.iter().map(|hit| hit.tier().as_str().len()).max().unwrap_or(0);
    let columns = Columns::new(names, tiers, output);
    for hit in hits {
        let about = match hit.skill {
            SearchMatch::Entry(entry) if entry.state == State::On => one_line(&hit.snippet),
            SearchMatch::Entry(entry) => one_line(&format!("[{}] {}", entry.state, hit.snippet)),
            SearchMatch::Unusable(unusable) => {
                let code = unusable.problem.code;
                let word = if code.is_strictness() { "only in lenient agents" } else { "not usable" };
                one_line(&format!("[{word}: {code}] {}", hit.snippet))
            }
        };
        output.whole(columns.row(hit.name(), hit.tier().as_str(), &about, output))?;
    }
    Ok(())
}
