//! `metier doctor`: what works here: roots, index, journal, agents, the protections that scripts would run with.

mod agents;

use std::collections::BTreeSet;
use std::fs;

use metier_catalog::RootReport;
use metier_journal::{JournalError, Reader};
use metier_sandbox::{Finding, Local, Protections, SandboxError, Strictness};
use serde_json::{Value, json};

use crate::config::Flags;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::output::Output;
use crate::recording::Recording;
use crate::skills::Skills;
use crate::table::{counted, one_line};

/// Look at what metier works with here: roots, index, journal, agents, and how well scripts are contained
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metier doctor
  metier doctor --json | jq '.roots[] | select(.exists)'
  metier doctor --clean                         removes what killed processes left
  metier doctor --json | jq '.sandbox[] | select(.active | not)'")]
pub(crate) struct Args {
    #[command(flatten)]
    catalog: Flags,

    /// Remove the homes of agents whose metier was killed, and nothing else
    #[arg(long)]
    clean: bool,

    /// Print all of it as JSON
    #[arg(long)]
    json: bool,
}

fn clean(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let found = metier_home::remove_leftovers(&Environment::temporary());
    let left: Vec<String> =
        found.left.into_iter().map(|one| format!("{:#}", anyhow::Error::new(one))).collect();
    if args.json {
        output.json(&json!({ "removed": found.removed, "left": left }))?;
    } else {
        output.line(format_args!("{} removed", counted(found.removed, "leftover")))?;
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
    let mut skills = Skills::find(&args.catalog, output)?;
    skills.save(output)?;
    let problems = skills.catalog.problems();
    let protections = metier_sandbox::probe(&Local::new());
    let journal = look(&skills.config.recording);
    let agents = agents::find(&skills.environment);
    let is_recorded = journal.as_ref().is_none_or(|(_, size)| size.is_ok());
    if args.json {
        let roots: Vec<Value> = skills.catalog.roots().iter().map(root_json).collect();
        let directory = skills.cache("catalog").map(|path| path.to_string_lossy().into_owned());
        output.json(&json!({
            "roots": roots,
            "index": { "directory": directory },
            "journal": journal_json(journal),
            "agents": agents::as_json(&agents),
            "problems": problems,
            "sandbox": match &protections {
                Ok(found) => Value::Array(found.iter().map(protection_json).collect()),
                Err(error) => json!({ "error": error.to_string(), "code": error.code() }),
            },
        }))?;
    } else {
        for report in skills.catalog.roots() {
            root(report, output)?;
        }
        match skills.cache("catalog") {
            Some(directory) => output.row("index", &directory.to_string_lossy())?,
            None => output.row("index", "none: every skill is read each time")?,
        }
        output.row("journal", &describe_journal(journal))?;
        agents::print(&agents, output)?;
        sandbox(&protections, output)?;
        for problem in problems {
            let (path, message) = (problem.path.to_string_lossy(), &problem.message);
            output.row("problem", &one_line(&format!("{path}: {}: {message}", problem.code)))?;
        }
        let missing = protections.as_ref().map_or(1, |found| found.missing().count());
        let what = match (problems.len(), missing) {
            _ if !is_recorded => "the journal cannot be read".to_owned(),
            (0, 0) => "all is well".to_owned(),
            (0, missing) => format!("{} of the sandbox missing", counted(missing, "protection")),
            (problems, _) => counted(problems, "problem"),
        };
        output.summary(what)?;
    }
    Ok(if problems.is_empty() && is_recorded { Exit::Done } else { Exit::Findings })
}

/// Where a journal is, and how many records are in it.
type Journal = (String, Result<u64, JournalError>);

/// The journal of the settings; without records, if there is nothing yet.
fn look(recording: &Recording) -> Option<Journal> {
    let place = recording.journal.value.as_ref()?;
    let size = match Reader::open(place).and_then(|mut reader| reader.size()) {
        Err(JournalError::NotFound { .. }) => Ok(0),
        other => other,
    };
    Some((place.to_string(), size))
}

fn describe_journal(journal: Option<Journal>) -> String {
    match journal {
        None => "none: there is no home directory to keep it in".to_owned(),
        Some((place, Ok(size))) => {
            format!("{place} ({})", counted(usize::try_from(size).unwrap_or(usize::MAX), "record"))
        }
        Some((_, Err(error))) => one_line(&error.to_string()),
    }
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

fn protection_json(found: &Finding) -> Value {
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
        let state = if one.active { "yes" } else { "NO" };
        let text = format!("{:<19} {state:<3} {} ({})", one.protection, one.protection.purpose(), one.detail);
        output.row(key, &text)?;
    }
    let missing: Vec<&Finding> = found.missing().collect();
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
        output.row("to mend", remedy)?;
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
        format!(
            "{}, {}, {} read{index}",
            counted(report.skills, "skill"),
            counted(report.problems, "problem"),
            report.read
        )
    } else {
        "not there".to_owned()
    };
    let path = root.path.to_string_lossy();
    output.row("root", &one_line(&format!("{path} ({}, {}): {about}", root.tier, root.scope)))?;
    Ok(())
}
