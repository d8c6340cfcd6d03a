//! Measures rendering a large prompt, compared with writing the same bytes and ranking the skills.
//!
//! `scripts/bench-prompt` prints the table of `docs/benchmarks.md`. All candidates run in turns; each figure is
//! the best of the rounds, which has the least noise.

#![expect(clippy::print_stdout, reason = "the table is the result")]
#![expect(clippy::disallowed_methods, reason = "a benchmark looks at the clock")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use metier_bench::generate;
use metier_catalog::{Catalog, CatalogOptions, Root, Scanner, Scope};
use metier_prompt::{
    AgentSkillsSection, ListFormat, Prompt, Rendering, Section, SessionView, SkillMount, Tool, Visibility,
};
use metier_search::Search;
use metier_session::discovered;
use metier_skill::Tier;

const SKILLS: usize = 10_000;
const SECTIONS: usize = 200;
const BUDGETS: [Option<usize>; 3] = [Some(8_000), Some(200_000), None];
const TASK: &str = "review the release script and update the report";
const ROUNDS: usize = 200;

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Project {
    name: String,
    language: String,
    lines: u64,
}

fn main() -> anyhow::Result<()> {
    let place = tempfile::tempdir()?;
    generate(place.path(), SKILLS, 7)?;
    let options = CatalogOptions::new(vec![Root::new(place.path(), Tier::User, Scope::User)]);
    let catalog = Scanner::new(options).scan(SystemTime::now());
    let search = Arc::new(Search::open(&catalog, None)?);
    println!(
        "| {SECTIONS} sections, {SKILLS} skills | writing the same bytes and ranking | rendering | |\n|---|---|---|---|"
    );
    for budget in BUDGETS {
        for task in [None, Some(TASK)] {
            if budget.is_some() || task.is_none() {
                measure(&catalog, &search, budget, task)?;
            }
        }
    }
    Ok(())
}

fn measure(
    catalog: &Catalog,
    search: &Arc<Search>,
    budget: Option<usize>,
    task: Option<&str>,
) -> anyhow::Result<()> {
    let rendering = rendering(catalog, search, budget)?;
    let session = SessionView { task: task.map(str::to_owned), ..SessionView::default() };
    let text = rendering.render(&session)?.text;
    let pieces: Vec<&str> = text.split_inclusive('\n').collect();
    // In no order, as a walk over directories finds them.
    let mut found: Vec<(Tier, &str)> = catalog.skills().map(|skill| (skill.tier(), skill.name())).collect();
    found.sort_by_cached_key(|(_, name)| metier_skill::Digest::of(name.as_bytes()).to_string());
    let write = || {
        let ranked = match task {
            Some(task) => search.query(task, SKILLS).len(),
            None => {
                let mut order = found.clone();
                order.sort_unstable();
                order.len()
            }
        };
        black_box(ranked);
        let mut out = String::new();
        for piece in &pieces {
            out.push_str(piece);
        }
        black_box(out);
    };
    let (mut writing, mut rendered) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        writing = writing.min(time(write));
        rendered = rendered.min(time(|| drop(black_box(rendering.render(&session)))));
    }
    let budget =
        budget.map_or_else(|| "no budget".to_owned(), |budget| format!("{budget} tokens for the list"));
    let order = if task.is_some() { "by a task" } else { "by tier and name" };
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "| {budget}, {order} ({} kB) | {:.2} ms | {:.2} ms | {:.2}× |",
        text.len() / 1_000,
        milliseconds(writing),
        milliseconds(rendered),
        milliseconds(rendered) / milliseconds(writing),
    );
    Ok(())
}

fn time(run: impl FnOnce()) -> Duration {
    let start = Instant::now();
    run();
    start.elapsed()
}

/// Every kind of section, a quarter of them summaries, and the list of all skills.
fn rendering(catalog: &Catalog, search: &Arc<Search>, budget: Option<usize>) -> anyhow::Result<Rendering> {
    let mut builder = Prompt::builder("bench", "large");
    for number in 0..SECTIONS / 4 {
        let tool = Tool::declared::<Project>(format!("tool_{number}"), "Does something");
        let child = |key: &str| {
            let body = "Look at $name, which has $lines lines of $language.\n\nThen say what you have found, and where.";
            Section::new(key, "A part of it").params::<Project>().body(body)
        };
        let summary = child("third").summary("More about $name.").visibility(Visibility::Summary);
        let section = Section::new(&format!("section-{number}"), "A section")
            .body("What is to be done, in a few words that are the same for everybody who does it.")
            .tool(tool)
            .skill(SkillMount::new(format!("skills/attached-{number}")))
            .child(child("first"))
            .child(child("second").enabled(|project, _| project.lines > 0))
            .child(summary);
        builder = builder.section(section);
    }
    let search = Arc::clone(search);
    let rank = move |task: &str| search.query(task, SKILLS).iter().map(|hit| hit.name().to_owned()).collect();
    let mut list = AgentSkillsSection::new(discovered(catalog)).format(ListFormat::Xml).ranked_by(rank);
    if let Some(budget) = budget {
        list = list.budget(budget);
    }
    let prompt = builder.section(list).build()?;
    let project = Project { name: "metier".to_owned(), language: "Rust".to_owned(), lines: 70_000 };
    Ok(prompt.with(project).install_skills(true))
}
