//! `metier list`: every skill there is here.

use metier_catalog::{Entry, Problem, State};
use serde::Serialize;
use serde::ser::{SerializeSeq as _, Serializer};

use crate::config::Flags;
use crate::exit::Exit;
use crate::output::{self, Output};
use crate::skills::Skills;
use crate::table::{counted, fit, one_line, pad, width_of};

/// List every skill that can be used here
///
/// Without `--root` these are the skills of the project (`.agents/skills` and `.claude/skills` from this directory up
/// to the top of its repository), your own (the same below your home), your organisation's (`/etc/metier/skills`),
/// and those inside metier.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metier list
  metier list --all                      also what is shadowed, off or broken
  metier list --root vendor:third_party  only what is in `vendor`
  metier list --json | jq -r '.skills[].name'")]
pub(crate) struct Args {
    #[command(flatten)]
    catalog: Flags,

    /// Also list skills that another one of the same name wins over, that are off, or that are broken
    #[arg(long, short)]
    all: bool,

    /// Print only how many there are
    #[arg(long, conflicts_with_all = ["all", "json"])]
    count: bool,

    /// Print all of it as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let skills = Skills::find(&args.catalog, output)?;
    if args.count {
        output.line(skills.catalog.skills().count())?;
    } else if args.json {
        output.json_lines(&Listing::new(&skills, args.all))?;
    } else {
        print(&skills, args.all, output)?;
    }
    skills.finish(output)?;
    Ok(Exit::Done)
}

/// The shape of `--json`.
#[derive(Serialize)]
struct Listing<'a> {
    #[serde(serialize_with = "rows")]
    skills: Vec<&'a Entry>,
    problems: &'a [Problem],
    #[serde(serialize_with = "rows")]
    shadowed: Vec<&'a Entry>,
}

impl<'a> Listing<'a> {
    fn new(skills: &'a Skills, all: bool) -> Self {
        let catalog = &skills.catalog;
        let usable = catalog.all().iter().filter(|entry| entry.shadowed_by.is_none());
        Self {
            skills: usable.filter(|entry| all || entry.is_enabled()).collect(),
            problems: catalog.problems(),
            shadowed: catalog.shadowed().collect(),
        }
    }
}

/// One skill of `--json`.
#[derive(Serialize)]
struct Row<'a> {
    #[serde(serialize_with = "text")]
    id: &'a metier_catalog::SkillId,
    name: &'a str,
    description: &'a str,
    tier: &'a str,
    scope: &'a str,
    path: std::borrow::Cow<'a, str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    also_at: Vec<std::borrow::Cow<'a, str>>,
    skill_md_digest: metier_skill::Digest,
    enabled: bool,
    state: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    shadowed_by: Option<&'a metier_catalog::SkillId>,
}

fn text<S: Serializer>(value: &impl std::fmt::Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

fn rows<S: Serializer>(entries: &[&Entry], serializer: S) -> Result<S::Ok, S::Error> {
    let mut rows = serializer.serialize_seq(Some(entries.len()))?;
    for entry in entries {
        let copies = entry.places().iter().skip(1);
        rows.serialize_element(&Row {
            id: &entry.id,
            name: entry.name(),
            description: entry.description(),
            tier: entry.tier().as_str(),
            scope: entry.scope().as_str(),
            path: entry.path_text(),
            also_at: copies.map(|place| place.path.to_string_lossy()).collect(),
            skill_md_digest: entry.facts.skill_md_digest,
            enabled: entry.is_enabled(),
            state: entry.state,
            shadowed_by: entry.shadowed_by.as_ref(),
        })?;
    }
    rows.end()
}

/// The widest that names are shown.
const NAME_MAX: usize = 36;

fn print(skills: &Skills, all: bool, output: &mut Output) -> anyhow::Result<()> {
    let catalog = &skills.catalog;
    let listed: Vec<&Entry> = catalog.skills().collect();
    table(&listed, output)?;
    let off: Vec<&Entry> = catalog.all().iter().filter(|entry| !entry.is_enabled()).collect();
    let shadowed: Vec<&Entry> = catalog.shadowed().collect();
    if all {
        section("Off", &off, output, |entry| entry.path_text().into_owned())?;
        section("Shadowed", &shadowed, output, |entry| {
            let winner = entry.shadowed_by.as_ref().map(ToString::to_string).unwrap_or_default();
            format!("{winner} wins over {}", entry.path_text())
        })?;
        problems(catalog.problems(), output)?;
    }
    let mut counts = vec![counted(listed.len(), "skill")];
    let more = [(shadowed.len(), "shadowed"), (off.len(), "off"), (catalog.problems().len(), "not usable")];
    counts.extend(more.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")));
    let hint = if counts.len() > 1 && !all { "; `metier list --all` shows them" } else { "" };
    output.note(format_args!("{}{hint}", counts.join(", ")))?;
    if catalog.all().iter().all(|entry| entry.builtin().is_some()) {
        where_to_put_skills(skills, output)?;
    }
    Ok(())
}

fn table(entries: &[&Entry], output: &mut Output) -> anyhow::Result<()> {
    let names = entries.iter().map(|entry| width_of(entry.name())).max().unwrap_or(0).clamp(4, NAME_MAX);
    let tiers = entries.iter().map(|entry| entry.tier().as_str().len()).max().unwrap_or(0);
    let rest = output::width().saturating_sub(names + tiers + 4).max(10);
    for entry in entries {
        let mark = if entry.state == State::On { String::new() } else { format!("[{}] ", entry.state) };
        let about = fit(&one_line(&format!("{mark}{}", entry.description())), rest);
        let (name, tier) = (pad(entry.name(), names), pad(entry.tier().as_str(), tiers));
        output.line(format_args!("{}  {tier}  {about}", output.bold(&name)))?;
    }
    Ok(())
}

fn section(
    title: &str,
    entries: &[&Entry],
    output: &mut Output,
    about: impl Fn(&Entry) -> String,
) -> anyhow::Result<()> {
    if entries.is_empty() {
        return Ok(());
    }
    output.line(format_args!("\n{title}"))?;
    for entry in entries {
        output.line(format_args!("  {}  {}", output.bold(&entry.id.to_string()), one_line(&about(entry))))?;
    }
    Ok(())
}

fn problems(problems: &[Problem], output: &mut Output) -> anyhow::Result<()> {
    if problems.is_empty() {
        return Ok(());
    }
    output.line("\nNot usable")?;
    for problem in problems {
        output.line(format_args!("  {}", one_line(&problem.path.to_string_lossy())))?;
        output.line(format_args!("    {}: {}", problem.code, one_line(&problem.message)))?;
        if matches!(problem.code, metier_catalog::ProblemCode::Skill(_)) {
            let path = one_line(&problem.path.to_string_lossy());
            output.line(format_args!(
                "    see `metier validate {path}` (`--fix` mends what it can), or list with `--lenient`"
            ))?;
        }
    }
    Ok(())
}

/// What somebody with no skills of their own wants to know.
fn where_to_put_skills(skills: &Skills, output: &mut Output) -> anyhow::Result<()> {
    output.note("\nNo skills of yours or of this project were found. These places were looked at:")?;
    for report in skills.catalog.roots() {
        output.note(format_args!("  {}", report.root.path.display()))?;
    }
    output
        .note("Start one with `metier new NAME --in .claude/skills`, or name a folder that has some: `metier list --root DIR`")?;
    Ok(())
}
