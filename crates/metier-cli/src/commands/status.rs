//! `metier` alone: what is here, what is wrong and what to do next. It starts and records nothing, and checks only what is fast.

use metier_catalog::Entry;
use metier_home::Agent;
use metier_host::{Environment, HostCatalog, Metier};
use metier_skill::Tier;

use crate::host::save;
use crate::output::Output;
use crate::progress::Progress;
use crate::table::{counted, one_line};

/// A command to try, and what it does.
type Step = (String, &'static str);

pub(crate) fn run(output: &mut Output) -> anyhow::Result<()> {
    let title = concat!("metier ", env!("CARGO_PKG_VERSION"));
    output.summary(format_args!("{}: the runtime for Agent Skills", output.bold(title)))?;
    let (mut problems, mut steps) = (Vec::new(), Vec::new());
    let progress = Progress::begin(output, "looking for skills");
    let found = Metier::open().and_then(|metier| metier.catalog());
    drop(progress);
    match found {
        Ok(mut skills) => {
            save(&mut skills, output)?;
            here(&skills, &mut problems, &mut steps, output)?;
        }
        Err(error) => {
            problems.push(format!("{:#}", anyhow::Error::new(error)));
            agents(&Metier::with_defaults(Environment::read()), None, output)?;
        }
    }
    for (index, problem) in problems.iter().enumerate() {
        let key = if index == 0 { "problems" } else { "" };
        // Without the line of a settings file that some errors show.
        let text = one_line(problem.lines().next().unwrap_or_default());
        output.styled_row(key, &output.warning(&text))?;
    }
    if problems.is_empty() {
        output.styled_row("problems", &output.colored("none", true))?;
    } else {
        steps.insert(0, ("metier doctor".to_owned(), "checks everything and shows how to fix each problem"));
    }
    output.summary("")?;
    for (index, (command, what)) in steps.iter().take(3).enumerate() {
        let key = if index == 0 { "next" } else { "" };
        output.row(key, &format!("`{command}` {what}"))?;
    }
    output.summary("")?;
    output.summary("`metier --help` lists every command.")?;
    Ok(())
}

/// The skills and the agents that can use them.
fn here(
    skills: &HostCatalog,
    problems: &mut Vec<String>,
    steps: &mut Vec<Step>,
    output: &mut Output,
) -> anyhow::Result<()> {
    let of = |tier: Tier| skills.skills().filter(|one| one.builtin().is_none() && one.tier() == tier).count();
    let own = of(Tier::User);
    let outside = skills.skills().filter(|entry| entry.builtin().is_none()).count();
    let more = [
        (of(Tier::ThirdParty), "third-party"),
        (of(Tier::Org), "of your organisation"),
        (skills.skills().count() - own - of(Tier::ThirdParty) - of(Tier::Org), "built in"),
        (skills.shadowed().count(), "shadowed"),
        (skills.all().iter().filter(|entry| !entry.is_enabled()).count(), "off"),
    ];
    let more = more.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!(", {count} {what}"));
    output.row("skills", &format!("{own} of yours{}", more.collect::<String>()))?;
    let installed = skills.metier().installed().map(|store| store.installed()).transpose();
    match installed {
        Ok(installed) => {
            let count = installed.map_or(0, |installed| installed.lock().skills().len());
            output.row("installed", &count.to_string())?;
        }
        Err(error) => problems.push(format!("{:#}", anyhow::Error::new(error))),
    }
    let agents = agents(skills.metier(), Some(skills), output)?;
    let unusable = skills.problems().iter().filter(|problem| !problem.code.leaves_usable()).count();
    if unusable > 0 {
        problems.push(format!("{} not usable: `metier list --all` says why", counted(unusable, "skill")));
    }
    if let Err(error) = skills.metier().policy() {
        problems.push(format!("{:#}", anyhow::Error::new(error)));
    }
    problems.extend(skills.metier().journal_problem().map(|check| check.message));
    let notes = skills.metier().settings().notes.iter().chain(skills.notes());
    problems.extend(notes.cloned());
    problems.extend(skills.refusals().into_iter().map(|refusal| refusal.message));
    steps.extend(next(outside, &agents, skills));
    Ok(())
}

/// The installed agents, and how many skills each of them sees.
fn agents(
    metier: &Metier,
    skills: Option<&HostCatalog>,
    output: &mut Output,
) -> anyhow::Result<Vec<(Agent, usize)>> {
    let found = metier.agents().into_iter();
    let found: Vec<(Agent, usize)> =
        found.map(|agent| (agent, skills.map_or(0, |skills| skills.visible_to(agent)))).collect();
    if found.is_empty() {
        output.row("agents", "none found in PATH")?;
    }
    for (index, (agent, visible)) in found.iter().enumerate() {
        let key = if index == 0 { "agents" } else { "" };
        let title = agent.title();
        let text = match skills {
            Some(_) => format!("{title}: {} in ~/{}", counted(*visible, "skill"), agent.skills_directory()),
            None => title.to_owned(),
        };
        output.row(key, &text)?;
    }
    Ok(found)
}

/// The commands to suggest next.
fn next(outside: usize, agents: &[(Agent, usize)], skills: &HostCatalog) -> Vec<Step> {
    if outside == 0 {
        return vec![
            ("metier tour".to_owned(), "shows what metier does in one minute"),
            ("metier install OWNER/REPOSITORY".to_owned(), "installs skills from a git repository"),
            ("metier new NAME --in ~/.claude/skills".to_owned(), "starts a skill of your own"),
        ];
    }
    let mut steps = Vec::new();
    if let Some((agent, _)) = agents.iter().find(|(_, visible)| *visible == 0) {
        steps.push((format!("metier link {agent} --all"), "makes your skills visible to it"));
    }
    // `run` hands agents only what keeps the standard profile.
    let is_refused = |entry: &Entry| skills.warnings().iter().any(|warning| warning.path == entry.path());
    let is_own =
        |entry: &&Entry| entry.builtin().is_none() && entry.state.is_for_models() && !is_refused(entry);
    if let (Some((agent, _)), Some(entry)) = (agents.first(), skills.skills().find(is_own)) {
        let command = format!("metier run {agent} {}", entry.name());
        steps.push((command, "runs it in a temporary home with that skill"));
    }
    steps.push(("metier list".to_owned(), "lists every skill that can be used here"));
    steps.push(("metier search 'fill in a form'".to_owned(), "finds the skills for a task"));
    steps
}
