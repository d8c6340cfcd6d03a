//! `metier doctor`: whether metier works here, and what it works with: roots, index, agents, the protections that scripts would
//! run with.

mod agents;
mod checks;
mod planted;

use std::collections::BTreeSet;
use std::fs;

use metier_catalog::RootReport;
use metier_host::{Environment, HostCatalog, HostError, Metier};
use metier_journal::{JournalError, JournalReader};
use metier_sandbox::{Local, MeasuredProtection, Protections, SandboxError, Strictness};
use metier_skill::Coded as _;
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::host::{Flags, save, scan, tell};
use crate::output::Output;
use crate::table::{counted, one_line, pad};
use checks::{Check, Status};

/// Check whether metier works here, and show what it works with
///
/// Checks that settings and policies can be read, that the journal can be appended to, that there is space, that installed skills are
/// what was installed, and that approvals are what you approved. Shows roots, agents, and how well scripts are contained.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exits with 1 if a check failed, so that metier refuses to work or to do a part of it; what
fixes it is printed below the check. Skills that are not usable are notices.

Examples:
  metier doctor
  metier doctor --json | jq '.checks[] | select(.status != \"ok\")'
  metier doctor --json | jq '.roots[] | select(.exists)'
  metier doctor --clean                         removes what killed processes left
  metier doctor --json | jq '.sandbox[] | select(.active | not)'")]
pub(crate) struct Args {
    #[command(flatten)]
    catalog: Flags,

    /// Remove homes of agents, copies of skills and work directories that a killed metier left, and nothing else
    #[arg(long)]
    clean: bool,

    /// Print all of it as JSON
    #[arg(long)]
    json: bool,
}

fn clean(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let homes = metier_home::remove_leftovers(&Environment::read().homes());
    let private = metier_sandbox::remove_leftovers();
    let removed = homes.removed + private.removed;
    let left = homes.left.into_iter().chain(private.left);
    let left: Vec<String> =
        left.map(|(path, error)| format!("cannot remove {}: {error}", path.display())).collect();
    if args.json {
        output.json(&json!({ "removed": removed, "left": left }))?;
    } else {
        output.line(format_args!("{} removed", counted(removed, "leftover")))?;
        for one in &left {
            output.note(format_args!("warning: {one}"))?;
        }
    }
    Ok(if left.is_empty() { Exit::Done } else { Exit::Environment })
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    if args.clean {
        return clean(args, output);
    }
    let opened = args.catalog.open_silently();
    // Without settings there are still the usual places.
    let usual = || Metier::with_defaults(Environment::read());
    let metier = opened.as_ref().map_or_else(|_| usual(), Metier::clone);
    let mut checks = checks(&opened, &metier);
    // Without settings there is no knowing where skills are.
    let skills = match &opened {
        Ok(metier) => {
            tell(&metier.settings().notes, output)?;
            let mut skills = scan(metier, output)?;
            save(&mut skills, output)?;
            Some(skills)
        }
        Err(_) => None,
    };
    let protections = metier_sandbox::probe(&Local::new());
    let agents = agents::find(metier.environment());
    let planted = planted::settle(metier.environment());
    checks.push(checks::planted(&planted));
    checks.push(checks::scripts(&protections));
    let is_well = !checks.iter().any(|check| check.status == Status::Failed);
    if args.json {
        let roots = skills.iter().flat_map(|skills| skills.roots());
        let directory = skills.as_ref().and_then(|skills| skills.metier().cache("catalog"));
        output.json(&json!({
            "ok": is_well,
            "checks": checks,
            "roots": roots.map(root_json).collect::<Vec<_>>(),
            "index": { "directory": directory.map(|path| path.to_string_lossy().into_owned()) },
            "journal": journal_json(look(&metier)),
            "agents": agents::as_json(&agents),
            "warnings": skills.as_ref().map(|skills| skills.warnings()).unwrap_or_default(),
            "problems": skills.as_ref().map(|skills| skills.problems()).unwrap_or_default(),
            "planted": planted::as_json(&planted),
            "sandbox": match &protections {
                Ok(found) => Value::Array(found.iter().map(protection_json).collect()),
                Err(error) => json!({ "error": error.to_string(), "code": error.code() }),
            },
        }))?;
    } else {
        if let Some(skills) = &skills {
            found(skills, output)?;
        }
        agents::print(&agents, output)?;
        sandbox(&protections, output)?;
        planted::print(&planted, output)?;
        let mut last = "";
        for check in &checks {
            check.print(check.name() != last, output)?;
            last = check.name();
        }
        output.summary(sum(&checks, skills.as_ref()))?;
    }
    Ok(if is_well { Exit::Done } else { Exit::Findings })
}

/// Everything that decides whether metier works here.
fn checks(opened: &Result<Metier, HostError>, metier: &Metier) -> Vec<Check> {
    let mut all = vec![
        checks::settings(opened.as_ref().map(Metier::settings)),
        checks::policies(opened.as_ref().ok()),
        checks::keys(metier),
        checks::journal(metier),
    ];
    all.extend(checks::archives(metier));
    all.extend(checks::space(metier.environment()));
    all.extend(checks::store(metier.installed().as_ref()));
    all.push(checks::leftovers(metier.environment()));
    all.extend(checks::approvals(metier.approvals().as_ref()));
    all
}

/// Where skills are found, and which of them cannot be used.
fn found(skills: &HostCatalog, output: &mut Output) -> anyhow::Result<()> {
    for report in skills.roots() {
        root(report, output)?;
    }
    match skills.metier().cache("catalog") {
        Some(directory) => output.row("index", &directory.to_string_lossy())?,
        None => output.row("index", "none: every skill is read each time")?,
    }
    for problem in skills.problems() {
        let (path, message) = (problem.path.to_string_lossy(), &problem.message);
        let word = match problem.code {
            code if code.leaves_usable() => "unmet",
            code if code.is_strictness() => "lenient only",
            _ => "not usable",
        };
        let (path, message) = (one_line(&path), one_line(message));
        let code = output.warning(&problem.code.to_string());
        output.styled_row(word, &format!("{path}: {code}: {message}"))?;
    }
    for problem in skills.warnings() {
        let (path, clients) = (problem.path.to_string_lossy(), problem.refused_by.join(", "));
        output.row("warning", &one_line(&format!("{path}: {}: refused by {clients}", problem.code)))?;
    }
    Ok(())
}

/// Whether metier works here, in a line.
fn sum(checks: &[Check], skills: Option<&HostCatalog>) -> String {
    let count = |status: Status| checks.iter().filter(|check| check.status == status).count();
    let unusable = skills.map_or(0, |skills| skills.problems().len() + skills.warnings().len());
    match (count(Status::Failed), count(Status::Notice) + unusable) {
        (0, 0) => "metier works here: every check passed".to_owned(),
        (0, notices) => format!("metier works here; {}", counted(notices, "notice")),
        (failed, _) => {
            format!("{} FAILED; `fix` says what to do", counted(failed, "check"))
        }
    }
}

/// Where a journal is, and how many records are in it.
type Journal = (String, Result<u64, JournalError>);

/// The journal of the settings; without records, if there is nothing yet.
fn look(metier: &Metier) -> Option<Journal> {
    let place = metier.journal_address().ok()?;
    let size = match JournalReader::open(&place).and_then(|mut reader| reader.size()) {
        Err(JournalError::NotFound { .. }) => Ok(0),
        other => other,
    };
    Some((place.to_string(), size))
}

fn journal_json(journal: Option<Journal>) -> Value {
    match journal {
        None => Value::Null,
        Some((place, Ok(size))) => json!({ "place": place, "records": size }),
        Some((place, Err(error))) => {
            json!({ "place": place, "error": error.to_string(), "code": error.code() })
        }
    }
}

fn protection_json(found: &MeasuredProtection) -> Value {
    json!({
        "protection": found.protection,
        "active": found.active,
        "detail": found.detail,
        "remedy": (!found.active).then(|| found.protection.remedy()),
    })
}

/// Each protection for this user, and what would enable a missing one.
fn sandbox(protections: &Result<Protections, SandboxError>, output: &mut Output) -> anyhow::Result<()> {
    let found = match protections {
        Ok(found) => found,
        Err(error) => {
            output.row("sandbox", &one_line(&format!("no script can be run: {error}")))?;
            return Ok(());
        }
    };
    for (index, one) in found.iter().enumerate() {
        let key = if index == 0 { "sandbox" } else { "" };
        let state = output.colored(if one.active { "yes" } else { "NO " }, one.active);
        let detail = one_line(&one.detail);
        // Where a purpose says it already, once is enough.
        let detail = if detail == "its own" { String::new() } else { format!(" ({detail})") };
        let name = pad(one.protection.as_str(), 19);
        output.styled_row(key, &format!("{name} {state} {}{detail}", one.protection.purpose()))?;
    }
    let missing: Vec<&MeasuredProtection> = found.missing().collect();
    if missing.is_empty() {
        output.row("", "scripts of every tier can be run")?;
        return Ok(());
    }
    let core = missing.iter().all(|one| !Strictness::Core.needs(one.protection));
    let who = if core {
        "scripts of builtin and org can be run, of user after an approval, of third_party not"
    } else {
        "no script can be run"
    };
    output.row("", who)?;
    let remedies: BTreeSet<&str> = missing.iter().map(|one| one.protection.remedy()).collect();
    for remedy in remedies {
        output.row("to fix it", remedy)?;
    }
    Ok(())
}

/// How large the index file of a root is, if it is there.
fn index_bytes(report: &RootReport) -> Option<u64> {
    fs::metadata(report.index.as_ref()?).ok().map(|meta| meta.len())
}

fn root_json(report: &RootReport) -> Value {
    let root = &report.root;
    json!({
        "path": root.path.to_string_lossy(),
        "tier": root.tier,
        "scope": root.scope,
        "exists": report.exists,
        "skills": report.skills,
        "problems": report.problems,
        "read": report.read,
        "index": report.index.as_ref().map(|path| path.to_string_lossy()),
        "index_bytes": index_bytes(report),
    })
}

fn root(report: &RootReport, output: &mut Output) -> anyhow::Result<()> {
    let root = &report.root;
    let about = if report.exists {
        let index = index_bytes(report)
            .map_or_else(String::new, |bytes| format!(", index {} kB", bytes.div_ceil(1000)));
        // What the index had was not read again.
        let read = if report.read == 0 { String::new() } else { format!(", {} read anew", report.read) };
        let (skills, problems) = (counted(report.skills, "skill"), counted(report.problems, "problem"));
        format!("{skills}, {problems}{read}{index}")
    } else {
        "does not exist".to_owned()
    };
    let path = root.path.to_string_lossy();
    output.row("root", &one_line(&format!("{path} (tier {}, scope {}): {about}", root.tier, root.scope)))?;
    Ok(())
}
