//! `metier prompt`: the catalogue that a model chooses skills from.

use std::collections::HashMap;

use clap::ValueEnum;
use metier_catalog::{Entry, Hit, State};
use metier_prompt::{Catalogue, Format, Listed};
use metier_skill::SKILL_FILES;

use crate::config::Flags;
use crate::exit::Exit;
use crate::output::Output;
use crate::skills::Skills;
use crate::table::counted;

/// Print the list of skills for a model's prompt
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metier prompt
  metier prompt --format markdown --budget 2000
  metier prompt --budget 2000 --task 'fill in the tax form'   the skills that fit come first")]
pub(crate) struct Args {
    #[command(flatten)]
    catalog: Flags,

    /// How to write the list
    #[arg(long, value_name = "FORMAT", default_value = "xml")]
    format: FormatArg,

    /// At most so many tokens: descriptions are shortened, then the least relevant skills left out
    #[arg(long, value_name = "TOKENS")]
    budget: Option<usize>,

    /// What the prompt is for: the skills that fit come first
    #[arg(long, value_name = "TEXT")]
    task: Option<String>,

    /// The same as `--format json`
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FormatArg {
    Xml,
    Markdown,
    Json,
}

impl From<FormatArg> for Format {
    fn from(format: FormatArg) -> Self {
        match format {
            FormatArg::Xml => Self::Xml,
            FormatArg::Markdown => Self::Markdown,
            FormatArg::Json => Self::Json,
        }
    }
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let skills = Skills::find(&args.catalog, output)?;
    let entries = relevant(&skills, args.task.as_deref(), output)?;
    let locations: Vec<Option<String>> = entries.iter().map(|entry| location(entry, &skills)).collect();
    let listed: Vec<Listed<'_>> = entries
        .iter()
        .zip(&locations)
        // What cannot be read is no use to a model.
        .filter_map(|(entry, location)| {
            let description = (entry.state == State::On).then(|| entry.description());
            Some(Listed { name: entry.name(), description, location: Some(location.as_deref()?) })
        })
        .collect();
    let format = if args.json { Format::Json } else { args.format.into() };
    let rendered = Catalogue::new(&listed).format(format).budget(args.budget).render();
    output.text(&rendered.text)?;
    for (count, what) in [
        (listed.len() - rendered.omitted, "listed"),
        (rendered.shortened, "with a shortened description"),
        (rendered.omitted, "left out for the budget"),
        (entries.len() - listed.len(), "left out because there is nowhere to unpack them"),
    ] {
        if count > 0 {
            output.note(format_args!("{} {what}", counted(count, "skill")))?;
        }
    }
    match args.budget {
        Some(budget) if rendered.text.is_empty() && rendered.omitted > 0 => {
            output.note(format_args!(
                "nothing fits into {budget} tokens; the list needs about a hundred to begin with"
            ))?;
        }
        _ => output.note(format_args!("about {} tokens", rendered.tokens))?,
    }
    skills.finish(output)?;
    Ok(Exit::Done)
}

/// The skills that models are shown, the most relevant first: by the task, else by tier and name.
fn relevant<'a>(
    skills: &'a Skills,
    task: Option<&str>,
    output: &mut Output,
) -> anyhow::Result<Vec<&'a Entry>> {
    let mut entries: Vec<&Entry> =
        skills.catalog.skills().filter(|entry| entry.state.is_for_models()).collect();
    // By name already; the sort keeps that within a tier.
    entries.sort_by_key(|entry| skills.config.precedence.value.rank(entry.tier()));
    if let Some(task) = task {
        let search = skills.search(output)?;
        let hits = search.query(task, entries.len());
        let places = hits.iter().map(Hit::name).zip(0..).collect::<HashMap<&str, usize>>();
        entries.sort_by_key(|entry| places.get(entry.name()).copied().unwrap_or(usize::MAX));
    }
    Ok(entries)
}

/// Where a model finds `SKILL.md`.
fn location(entry: &Entry, skills: &Skills) -> Option<String> {
    let directory = match entry.builtin() {
        Some(builtin) => builtin.unpack(&skills.environment.cache_directory()?.join("builtin")).ok()?,
        None => entry.path().to_owned(),
    };
    // Only what is not simply a `SKILL.md` has no time; looking at each would take as long as all the rest.
    let file = match entry.modified {
        None if directory.join(SKILL_FILES[1]).is_file() => SKILL_FILES[1],
        _ => SKILL_FILES[0],
    };
    Some(directory.join(file).to_string_lossy().into_owned())
}
