//! `metier doctor`: whether metier works here, and what it works with, as the host's checkup has it.

use std::collections::BTreeSet;

use metier_catalog::Problem;
use metier_home::Agent;
use metier_host::{
    Check, CheckStatus, CheckedProtection, CheckedRoot, Checkup, Environment, Inspection, LocalAgent, Metier,
    RunnableTiers, remove_leftovers,
};

use crate::exit::Exit;
use crate::host::{Flags, tell};
use crate::output::Output;
use crate::table::{counted, one_line, pad};

/// Check whether metier works here, and show what it works with
///
/// Checks settings, policies, keys, the journal, free space, installed skills, approvals and the sandbox. Shows the roots
/// and the agents.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exits with 1 if a check failed; the fix is printed below the check. Skills that are not usable
are only notices.

Examples:
  metier doctor
  metier doctor --verbose                       also directories without skills, every protection
  metier doctor --json | jq '.checks[] | select(.status != \"ok\")'
  metier doctor --json | jq '.roots[] | select(.exists)'
  metier doctor --clean                         remove what killed processes left
  metier doctor --json | jq '.sandbox[] | select(.active | not)'")]
pub(crate) struct Args {
    #[command(flatten)]
    catalog: Flags,

    /// Remove agents' homes, copies of skills and work directories that killed processes left, and nothing else
    #[arg(long)]
    clean: bool,

    /// Also list directories without skills and protections that are active
    #[arg(long, short)]
    verbose: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

fn clean(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let removal = remove_leftovers(&Environment::read());
    if args.json {
        output.json(&removal)?;
    } else {
        output.line(format_args!("{} removed", counted(removal.removed, "leftover")))?;
        for one in &removal.left {
            output.note(format_args!("warning: {one}"))?;
        }
    }
    Ok(if removal.left.is_empty() { Exit::Done } else { Exit::Environment })
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    if args.clean {
        return clean(args, output);
    }
    let checkup = Metier::builder().overrides(args.catalog.overrides()).doctor()?;
    tell(&checkup.notes, output)?;
    if args.json {
        output.json(&checkup)?;
    } else {
        print(&checkup, args.verbose, output)?;
    }
    Ok(if checkup.ok { Exit::Done } else { Exit::Findings })
}

/// The verdict, every check, then what metier works with.
fn print(checkup: &Checkup, is_verbose: bool, output: &mut Output) -> anyhow::Result<()> {
    output.summary(sum(checkup, output))?;
    output.summary("")?;
    let mut last = "";
    for check in &checkup.checks {
        print_check(check, check.name != last, output)?;
        last = check.name;
    }
    // What cannot be read is reported by the check.
    for planted in checkup.planted.found().into_iter().flatten().flat_map(|one| &one.planted) {
        output.row("planted", &one_line(&format!("a script {planted}")))?;
    }
    output.summary("")?;
    // Without settings it is not known where skills are.
    if !checkup.roots.is_empty() {
        found(checkup, is_verbose, output)?;
    }
    agents(&checkup.agents, output)?;
    sandbox(&checkup.sandbox, is_verbose, output)
}

/// Where skills are found, and which of them cannot be used.
fn found(checkup: &Checkup, is_verbose: bool, output: &mut Output) -> anyhow::Result<()> {
    let is_listed = |root: &&CheckedRoot| is_verbose || root.skills + root.problems > 0;
    checkup.roots.iter().filter(is_listed).try_for_each(|report| root(report, output))?;
    let rest = checkup.roots.iter().filter(|root| !is_listed(root));
    let (empty, absent): (Vec<_>, Vec<_>) = rest.partition(|root| root.exists);
    let counts = [(empty.len(), "empty"), (absent.len(), "missing")];
    let counts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    if !counts.is_empty() {
        let is_first = empty.len() + absent.len() == checkup.roots.len();
        let (key, more) = if is_first { ("roots", "") } else { ("", "also ") };
        output.row(key, &format!("{more}{}; `--verbose` lists them", counts.join(", ")))?;
    }
    output
        .row("index", checkup.index.directory.as_deref().unwrap_or("none: every skill is read each time"))?;
    for Problem { path, code, message, .. } in &checkup.problems {
        let word = match code {
            code if code.leaves_usable() => "unmet",
            code if code.is_strictness() => "lenient only",
            _ => "not usable",
        };
        let (path, message) = (one_line(&path.to_string_lossy()), one_line(message));
        let code = output.warning(&code.to_string());
        output.styled_row(word, &format!("{path}: {code}: {message}"))?;
    }
    for Problem { path, code, refused_by, .. } in &checkup.warnings {
        let (path, clients) = (path.to_string_lossy(), refused_by.join(", "));
        output.row("warning", &one_line(&format!("{path}: {code}: refused by {clients}")))?;
    }
    Ok(())
}

fn root(root: &CheckedRoot, output: &mut Output) -> anyhow::Result<()> {
    let about = if root.exists {
        let index = root.index_bytes.map(|bytes| format!(", index {} kB", bytes.div_ceil(1000)));
        // What the index had was not read again.
        let read = if root.read == 0 { String::new() } else { format!(", {} read anew", root.read) };
        let (skills, problems) = (counted(root.skills, "skill"), counted(root.problems, "problem"));
        format!("{skills}, {problems}{read}{}", index.unwrap_or_default())
    } else {
        "does not exist".to_owned()
    };
    let CheckedRoot { path, tier, scope, .. } = root;
    Ok(output.row("root", &one_line(&format!("{path} (tier {tier}, scope {scope}): {about}")))?)
}

/// The agents, and what they find beside the skills that they are given.
fn agents(found: &[LocalAgent], output: &mut Output) -> anyhow::Result<()> {
    if found.is_empty() {
        let names = Agent::ALL.map(Agent::program).join(", ");
        output.row("agents", &format!("none of these programs is in PATH: {names}"))?;
    }
    for (index, one) in found.iter().enumerate() {
        let key = if index == 0 { "agents" } else { "" };
        let version = one.version.as_deref().unwrap_or("says no version");
        let program = one.program.display();
        output.row(key, &one_line(&format!("{}: {version} ({program})", one.agent.title())))?;
        for leak in &one.leaks {
            let count = counted(leak.skills.len(), "skill");
            output.row("", &one_line(&format!("also finds {count} in {}", leak.directory.display())))?;
        }
    }
    Ok(())
}

/// Each protection for this user, and what would enable a missing one.
fn sandbox(
    protections: &Inspection<Vec<CheckedProtection>>,
    is_verbose: bool,
    output: &mut Output,
) -> anyhow::Result<()> {
    let found = match protections {
        Inspection::Found(found) => found,
        Inspection::Failed { error, .. } => {
            output.row("sandbox", &one_line(&format!("no script can be run: {error}")))?;
            return Ok(());
        }
    };
    let active = found.iter().filter(|one| one.measured.active).count();
    output.row("sandbox", &format!("{active} of {} protections are active", found.len()))?;
    for one in found.iter().map(|one| &one.measured).filter(|one| is_verbose || !one.active) {
        let state = output.colored(if one.active { "yes" } else { "NO " }, one.active);
        let detail = one_line(&one.detail);
        // Where a purpose says it already, once is enough.
        let detail = if detail == "its own" { String::new() } else { format!(" ({detail})") };
        let name = pad(one.protection.as_str(), 19);
        output.styled_row("", &format!("{name} {state} {}{detail}", one.protection.purpose()))?;
    }
    let missing = found.iter().map(|one| &one.measured).filter(|one| !one.active);
    output.row(
        "",
        match RunnableTiers::without(missing) {
            RunnableTiers::All => "scripts of every tier can be run",
            RunnableTiers::Trusted => {
                "scripts of builtin and org can be run, of user after an approval, of third_party not"
            }
            _ => "no script can be run",
        },
    )?;
    let remedies: BTreeSet<&str> = found.iter().filter_map(|one| one.remedy).collect();
    for remedy in remedies {
        output.row("to fix it", remedy)?;
    }
    Ok(())
}

fn print_check(check: &Check, is_first: bool, output: &mut Output) -> anyhow::Result<()> {
    let status = match check.status {
        CheckStatus::Ok => output.colored("ok", true),
        CheckStatus::Notice => output.warning("notice"),
        _ => output.colored("FAILED", false),
    };
    let mut lines = check.message.lines();
    let key = if is_first { check.name } else { "" };
    let first = one_line(lines.next().unwrap_or_default());
    output.styled_row(key, &format!("{status}: {first}"))?;
    for line in lines {
        output.row("", &format!("  | {line}"))?;
    }
    if let Some(place) = check.place.as_ref().filter(|place| !check.message.contains(place.as_str())) {
        output.row("", &format!("  in {place}"))?;
    }
    Ok(check.fix.as_ref().map_or(Ok(()), |fix| output.row("", &format!("  fix: {fix}")))?)
}

/// Whether metier works here, in a line.
fn sum(checkup: &Checkup, output: &Output) -> String {
    let unusable = checkup.problems.len() + checkup.warnings.len();
    let works = output.colored("metier works here", true);
    match (checkup.count(CheckStatus::Failed), checkup.count(CheckStatus::Notice) + unusable) {
        (0, 0) => format!("{works}: every check passed"),
        (0, notices) => format!("{works}; {}", counted(notices, "notice")),
        (failed, _) => {
            let failed = output.colored(&format!("{} FAILED", counted(failed, "check")), false);
            format!("{failed}; `fix` says what to do")
        }
    }
}
