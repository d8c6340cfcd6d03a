//! `metier list`: the skills that can be used here.

use metier_catalog::{Entry, Problem, State};
use metier_host::{HostCatalog, Refusal};
use metier_session::tools::declared;
use serde::Serialize;
use serde::ser::{SerializeSeq as _, Serializer};

use crate::exit::Exit;
use crate::host::{Flags, finish, note_refusals};
use crate::output::Output;
use crate::table::{Columns, counted, one_line, pad, width_of};

/// List the skills that can be used here
///
/// Without `--root` these are the skills of the project (`.agents/skills` and `.claude/skills` in this directory and
/// above it, up to the top of the repository), your own (the same directories in your home), those that are installed,
/// your organisation's (`/etc/metier/skills`) and those built into metier.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(after_help = "\
Examples:
  metier list
  metier list --all                      also skills that are shadowed, off or broken
  metier list --long                     show where each skill is and its trust tier
  metier list --root vendor:third_party  only skills in `vendor`
  metier list --json | jq -r '.skills[].name'")]
pub(crate) struct Args {
    #[command(flatten)]
    catalog: Flags,

    /// Also list skills that are shadowed by another one of the same name, off or broken
    #[arg(long, short)]
    all: bool,

    /// Show tier, scope, state and path instead of descriptions
    #[arg(long, short, conflicts_with = "json")]
    long: bool,

    /// Print only the number of skills
    #[arg(long, conflicts_with_all = ["all", "long", "json"])]
    count: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let skills = args.catalog.find(output)?;
    if args.count {
        output.line(skills.skills().count())?;
    } else if args.json {
        output.json_lines(&Listing::new(&skills, args.all))?;
    } else {
        print(&skills, args, output)?;
    }
    finish(skills, output)?;
    Ok(Exit::Done)
}

/// The shape of `--json`.
#[derive(Serialize)]
struct Listing<'a> {
    #[serde(serialize_with = "rows")]
    skills: Vec<&'a Entry>,
    problems: &'a [Problem],
    #[serde(skip_serializing_if = "<[Problem]>::is_empty")]
    warnings: &'a [Problem],
    #[serde(serialize_with = "rows")]
    shadowed: Vec<&'a Entry>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    refusals: Vec<Refusal>,
}

impl<'a> Listing<'a> {
    fn new(skills: &'a HostCatalog, all: bool) -> Self {
        let catalog = skills.catalog();
        let usable = catalog.all().iter().filter(|entry| entry.shadowed_by.is_none());
        Self {
            skills: usable.filter(|entry| all || entry.is_enabled()).collect(),
            problems: catalog.problems(),
            warnings: catalog.warnings(),
            shadowed: catalog.shadowed().collect(),
            refusals: skills.refusals(),
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
    #[serde(flatten)]
    declared: serde_json::Map<String, serde_json::Value>,
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
            declared: declared(entry),
        })?;
    }
    rows.end()
}

fn print(skills: &HostCatalog, args: &Args, output: &mut Output) -> anyhow::Result<()> {
    let (catalog, all) = (skills.catalog(), args.all);
    let listed: Vec<&Entry> = catalog.skills().collect();
    if args.long {
        long(&listed, output)?;
    } else {
        table(&listed, output)?;
    }
    let off: Vec<&Entry> = catalog.all().iter().filter(|entry| !entry.is_enabled()).collect();
    let shadowed: Vec<&Entry> = catalog.shadowed().collect();
    // A skill that needs another one which is missing is listed and can be used.
    let (unmet, unusable): (Vec<&Problem>, Vec<&Problem>) =
        catalog.problems().iter().partition(|problem| problem.code.leaves_usable());
    let (strict, broken): (Vec<&Problem>, Vec<&Problem>) =
        unusable.into_iter().partition(|problem| problem.code.is_strictness());
    let refused: Vec<&Problem> = catalog.warnings().iter().collect();
    if all {
        section("Off", &off, output, |entry| entry.path_text().into_owned())?;
        section("Shadowed", &shadowed, output, |entry| {
            let winner = entry.shadowed_by.as_ref().map(ToString::to_string).unwrap_or_default();
            format!("{winner} wins over {}", entry.path_text())
        })?;
        problems("Not usable", &broken, output)?;
        problems("Refused by this profile; Claude Code and Codex load it", &strict, output)?;
        problems("Usable here, refused by some other clients", &refused, output)?;
        problems("Requirements not met", &unmet, output)?;
    }
    let mut counts = vec![counted(listed.len(), "skill")];
    let more = [
        (shadowed.len(), "shadowed"),
        (off.len(), "off"),
        (broken.len(), "not usable"),
        (strict.len(), "refused by this profile"),
        (refused.len(), "refused by some other clients"),
        (unmet.len(), "with unmet requirements"),
    ];
    counts.extend(more.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")));
    let hint = if counts.len() > 1 && !all { "; `metier list --all` shows them" } else { "" };
    output.note(format_args!("{}{hint}", counts.join(", ")))?;
    note_refusals(skills, output)?;
    if catalog.all().iter().all(|entry| entry.builtin().is_some()) {
        where_to_put_skills(skills, output)?;
    }
    Ok(())
}

fn table(entries: &[&Entry], output: &mut Output) -> anyhow::Result<()> {
    let names = entries.iter().map(|entry| width_of(entry.name())).max().unwrap_or(0);
    let tiers = entries.iter().map(|entry| entry.tier().as_str().len()).max().unwrap_or(0);
    let columns = Columns::new(names, tiers, output);
    for entry in entries {
        let mark = if entry.state == State::On {
            String::new()
        } else {
            output.warning(&format!("[{}]", entry.state)) + " "
        };
        let about = format!("{mark}{}", one_line(entry.description()));
        output.whole(columns.row(entry.name(), entry.tier().as_str(), &about, output))?;
    }
    Ok(())
}

/// Tier, scope, state and path of each skill; the path is on a line of its own if the terminal is narrow.
fn long(entries: &[&Entry], output: &mut Output) -> anyhow::Result<()> {
    let widest = |of: &dyn Fn(&Entry) -> usize| entries.iter().map(|entry| of(entry)).max().unwrap_or(0);
    let (names, tiers, scopes, states) = (
        widest(&|entry| width_of(entry.name())),
        widest(&|entry| entry.tier().as_str().len()),
        widest(&|entry| entry.scope().as_str().len()),
        widest(&|entry| entry.state.as_str().len()),
    );
    let paths = widest(&|entry| width_of(&one_line(&entry.path_text())));
    let room = output.columns().unwrap_or(usize::MAX);
    let is_wide = names + tiers + scopes + states + paths + 8 <= room;
    for entry in entries {
        let state = pad(entry.state.as_str(), states);
        let state = if entry.state == State::On { state } else { output.warning(&state) };
        let name = output.bold(&pad(&one_line(entry.name()), if is_wide { names } else { 0 }));
        let (tier, scope) = (pad(entry.tier().as_str(), tiers), pad(entry.scope().as_str(), scopes));
        let path = one_line(&entry.path_text());
        if is_wide {
            output.whole(format_args!("{name}  {tier}  {scope}  {state}  {path}"))?;
        } else {
            output.line(&name)?;
            output.line(format_args!("  {tier}  {scope}  {state}"))?;
            output.whole(format_args!("  {path}"))?;
        }
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
    output.line("")?;
    output.line(title)?;
    for entry in entries {
        output.line(format_args!("  {}  {}", output.bold(&entry.id.to_string()), one_line(&about(entry))))?;
    }
    Ok(())
}

fn problems(title: &str, problems: &[&Problem], output: &mut Output) -> anyhow::Result<()> {
    if problems.is_empty() {
        return Ok(());
    }
    output.line("")?;
    output.line(title)?;
    for problem in problems {
        output.line(format_args!("  {}", one_line(&problem.path.to_string_lossy())))?;
        output.line(format_args!("    {}: {}", problem.code, one_line(&problem.message)))?;
        if !problem.refused_by.is_empty() {
            output.line(format_args!("    refused by {}", problem.refused_by.join(", ")))?;
        }
        if matches!(problem.code, metier_catalog::ProblemCode::Skill(_)) {
            let path = one_line(&problem.path.to_string_lossy());
            output.line(format_args!("    see `metier validate {path}`"))?;
        }
    }
    Ok(())
}

/// What to do for a person who has no skills yet.
fn where_to_put_skills(skills: &HostCatalog, output: &mut Output) -> anyhow::Result<()> {
    let searched = match skills.roots() {
        [only] => only.root.path.display().to_string(),
        several => format!("{} directories", several.len()),
    };
    output.note("")?;
    output.note(format_args!(
        "No skills of your own or of this project were found in {searched}; `metier doctor --verbose` lists where metier looks."
    ))?;
    output
        .note("hint: `metier install OWNER/REPOSITORY` installs skills, `metier new NAME --in .claude/skills` starts one, `metier list --root DIR` lists another directory")?;
    Ok(())
}
