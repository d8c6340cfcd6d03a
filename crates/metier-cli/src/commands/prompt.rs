//! `metier prompt`: the skill list for a model's prompt.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use metier_catalog::Entry;
use metier_host::HostCatalog;
use metier_prompt::{ActivationHint, Fate, ListFormat, ListedSkill, LocationStyle, SkillList};

use crate::exit::{Exit, UsageError};
use crate::host::{Flags, finish, note_refusals};
use crate::output::Output;
use crate::table::counted;

mod explain;

/// Print the skill list for a model's prompt
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metier prompt
  metier prompt --format markdown --budget 2000
  metier prompt --budget 2000 --task 'fill in the tax form'   the best matches come first
  metier prompt --budget 2000 --explain                       show the tokens of each skill
  metier prompt --location none --activation tool:load_skill --search tool:search_skills
                                                              for an agent with such tools")]
pub(crate) struct Args {
    #[command(flatten)]
    catalog: Flags,

    /// Format of the list [default: xml]
    #[arg(long, value_name = "FORMAT")]
    format: Option<FormatArg>,

    /// Maximum size: descriptions are shortened first, then the least relevant skills are left out
    #[arg(long, value_name = "TOKENS", value_parser = budget, allow_hyphen_values = true)]
    budget: Option<usize>,

    /// What the prompt is for: the best matches come first
    #[arg(long, value_name = "TEXT")]
    task: Option<String>,

    /// Location of each skill in the list: the path of its SKILL.md (absolute, or relative to this directory), its
    /// directory, or none
    #[arg(long, value_name = "HOW", default_value = "absolute")]
    location: LocationArg,

    /// How the model is told to load a skill: `read` its location, call `tool:NAME`, or load it by `name` [default: what
    /// fits `--location`]
    #[arg(long, value_name = "HOW", value_parser = activation)]
    activation: Option<ActivationArg>,

    /// How the model is told to find skills that were left out: `command` (`metier search`), `tool:NAME` or `none`
    #[arg(long, value_name = "HOW", default_value = "command", value_parser = search)]
    search: SearchArg,

    /// Print the tokens of each skill instead, and which skills are missing and why
    #[arg(long)]
    explain: bool,

    /// Same as `--format json`; with `--explain`, print the explanation as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FormatArg {
    Xml,
    Markdown,
    Json,
}

impl From<FormatArg> for ListFormat {
    fn from(format: FormatArg) -> Self {
        match format {
            FormatArg::Xml => Self::Xml,
            FormatArg::Markdown => Self::Markdown,
            FormatArg::Json => Self::Json,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LocationArg {
    Absolute,
    Relative,
    Directory,
    None,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum ActivationArg {
    Read,
    Tool(String),
    Name,
}

fn activation(text: &str) -> Result<ActivationArg, String> {
    match text {
        "read" => Ok(ActivationArg::Read),
        "name" => Ok(ActivationArg::Name),
        _ => tool(text).map(ActivationArg::Tool).ok_or_else(|| {
            "use read, tool:NAME or name; NAME must not contain spaces or backticks".to_owned()
        }),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum SearchArg {
    Command,
    Tool(String),
    None,
}

fn search(text: &str) -> Result<SearchArg, String> {
    match text {
        "command" => Ok(SearchArg::Command),
        "none" => Ok(SearchArg::None),
        _ => tool(text).map(SearchArg::Tool).ok_or_else(|| {
            "use command, tool:NAME or none; NAME must not contain spaces or backticks".to_owned()
        }),
    }
}

fn budget(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "use a number of tokens, such as 2000".to_owned())
}

/// The name in `tool:NAME`. It will stand between backticks.
fn tool(text: &str) -> Option<String> {
    let name = text.strip_prefix("tool:")?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_graphic() && c != '`');
    is_name.then(|| name.to_owned())
}

impl Args {
    /// The format of the list; `--json` is one only where the list itself is printed.
    fn format(&self) -> Result<ListFormat, UsageError> {
        match self.format {
            Some(_) if self.json && !self.explain => {
                Err(UsageError("`--json` means `--format json`; use only one of the two options".to_owned()))
            }
            Some(format) => Ok(format.into()),
            None if self.json && !self.explain => Ok(ListFormat::Json),
            None => Ok(ListFormat::Xml),
        }
    }

    fn location<'a>(&self, working: Option<&'a Path>) -> Result<LocationStyle<'a>, UsageError> {
        match self.location {
            LocationArg::Absolute => Ok(LocationStyle::Absolute),
            LocationArg::Relative => working.map(LocationStyle::Relative).ok_or_else(|| {
                UsageError(
                    "`--location relative` needs the current directory, which no longer exists".to_owned(),
                )
            }),
            LocationArg::Directory => Ok(LocationStyle::Directory),
            LocationArg::None => Ok(LocationStyle::Omit),
        }
    }

    fn activation(&self, style: LocationStyle<'_>) -> Result<ActivationHint<'_>, UsageError> {
        match &self.activation {
            Some(ActivationArg::Read) if style == LocationStyle::Omit => {
                Err(UsageError("`--activation read` needs a location; remove `--location none`".to_owned()))
            }
            Some(ActivationArg::Tool(name)) => Ok(ActivationHint::Tool(name)),
            Some(ActivationArg::Name) => Ok(ActivationHint::ByName),
            Some(ActivationArg::Read) | None => Ok(style.activation()),
        }
    }

    fn search(&self) -> Option<Cow<'static, str>> {
        match &self.search {
            SearchArg::Command => Some("`metier search`".into()),
            SearchArg::Tool(name) => Some(format!("the tool `{name}`").into()),
            SearchArg::None => None,
        }
    }
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let format = args.format()?;
    let skills = args.catalog.find(output)?;
    let style = args.location(skills.metier().environment().working.as_deref())?;
    let activation = args.activation(style)?;
    output.flush()?;
    let entries = skills.relevant(args.task.as_deref())?;
    // A skill without a readable file is of no use to the model.
    let needs_file = style != LocationStyle::Omit;
    let files: Vec<Option<PathBuf>> =
        entries.iter().map(|entry| if needs_file { skills.skill_md(entry) } else { None }).collect();
    let (mut shown, mut homeless) = (Vec::new(), Vec::new());
    let mut locations = Vec::new();
    for (entry, file) in entries.into_iter().zip(&files) {
        if needs_file && file.is_none() {
            homeless.push(entry);
            continue;
        }
        shown.push(entry);
        locations.push(file.as_deref().and_then(|file| style.text(file)));
    }
    let listed: Vec<ListedSkill<'_>> = shown
        .iter()
        .zip(&locations)
        .filter_map(|(entry, location)| {
            let description = entry.listing()?.description;
            Some(ListedSkill { name: entry.name(), description, location: location.as_deref() })
        })
        .collect();
    let hint = args.search();
    let list = SkillList::new(&listed)
        .format(format)
        .budget(args.budget)
        .activation(Some(activation))
        .search(hint.as_deref());
    let mut exit = Exit::Done;
    if args.explain {
        let explanation = list.explain();
        let explained = explain::Explained::new(&explanation, &shown, &homeless, &skills);
        if args.json || format == ListFormat::Json {
            output.json(&explained)?;
        } else {
            explained.print(output)?;
        }
        if explained.is_empty() && !shown.is_empty() {
            note_nothing(&list, args.budget, output)?;
        }
    } else {
        let is_empty = print(&list, listed.len(), homeless.len(), args.budget, output)?;
        if is_empty && !listed.is_empty() {
            exit = Exit::Findings;
        }
        note_missing(&skills, listed.len(), output)?;
        note_refusals(&skills, output)?;
    }
    finish(skills, output)?;
    Ok(exit)
}

/// Notes how many skills are not in the list because of their state, and the option that lists them.
fn note_missing(skills: &HostCatalog, listed: usize, output: &mut Output) -> anyhow::Result<()> {
    let is_off = |entry: &&Entry| !entry.state.is_for_models() && entry.shadowed_by.is_none();
    let off = skills.all().iter().filter(is_off).count();
    let broken = explain::unusable(skills);
    for (count, what) in [(off, "off or for people only"), (broken, "not usable")] {
        if count > 0 {
            output.note(format_args!("{} {what}; `--explain` lists them", counted(count, "skill")))?;
        }
    }
    if listed == 0 && off + broken == 0 && skills.refused_names().is_empty() {
        output.note("no skills were found; `metier doctor --verbose` lists where metier looks")?;
    }
    Ok(())
}

/// Prints the list; returns whether nothing was printed.
fn print(
    list: &SkillList<'_>,
    count: usize,
    homeless: usize,
    budget: Option<usize>,
    output: &mut Output,
) -> anyhow::Result<bool> {
    let rendered = list.render();
    output.text(&rendered.text)?;
    for (count, what) in [
        (count - rendered.omitted, "listed"),
        (rendered.shortened, "with a shortened description"),
        (rendered.omitted, "left out for the budget"),
        (homeless, "left out because there is no directory to unpack them in"),
    ] {
        if count > 0 {
            output.note(format_args!("{} {what}", counted(count, "skill")))?;
        }
    }
    if rendered.omitted > 0 && rendered.omitted == count {
        note_nothing(list, budget, output)?;
    } else {
        output.note(format_args!("about {}", counted(rendered.tokens, "token")))?;
    }
    Ok(rendered.text.is_empty())
}

/// Says how large the budget must be for the first skill.
fn note_nothing(list: &SkillList<'_>, budget: Option<usize>, output: &mut Output) -> anyhow::Result<()> {
    let given = budget.unwrap_or_default();
    let all = list.budget(None).render();
    let fits = |tokens: usize| {
        list.budget(Some(tokens)).explain().skills.iter().any(|skill| skill.fate != Fate::LeftOut)
    };
    let (mut too_small, mut enough) = (given, all.tokens);
    while too_small + 1 < enough {
        let middle = usize::midpoint(too_small, enough);
        if fits(middle) { enough = middle } else { too_small = middle }
    }
    output.note(format_args!("no skill fits into {given} tokens; use a budget of at least {enough}"))?;
    Ok(())
}
