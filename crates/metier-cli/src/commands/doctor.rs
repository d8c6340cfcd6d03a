//! `metier doctor`: what works here: roots, index.

use std::fs;

use metier_catalog::RootReport;
use serde_json::{Value, json};

use crate::config::Flags;
use crate::exit::Exit;
use crate::output::Output;
use crate::skills::Skills;
use crate::table::{counted, one_line};

/// Look at what metier works with here: roots and index
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metier doctor
  metier doctor --json | jq '.roots[] | select(.exists)'")]
pub(crate) struct Args {
    #[command(flatten)]
    catalog: Flags,

    /// Print all of it as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let mut skills = Skills::find(&args.catalog, output)?;
    skills.save(output)?;
    let problems = skills.catalog.problems();
    if args.json {
        let roots: Vec<Value> = skills.catalog.roots().iter().map(root_json).collect();
        let directory = skills.cache("catalog").map(|path| path.to_string_lossy().into_owned());
        output.json(&json!({
            "roots": roots,
            "index": { "directory": directory },
            "problems": problems,
        }))?;
    } else {
        for report in skills.catalog.roots() {
            root(report, output)?;
        }
        match skills.cache("catalog") {
            Some(directory) => output.row("index", &directory.to_string_lossy())?,
            None => output.row("index", "none: every skill is read each time")?,
        }
        for problem in problems {
            let (path, message) = (problem.path.to_string_lossy(), &problem.message);
            output.row("problem", &one_line(&format!("{path}: {}: {message}", problem.code)))?;
        }
        let what =
            if problems.is_empty() { "all is well".to_owned() } else { counted(problems.len(), "problem") };
        output.summary(what)?;
    }
    Ok(if problems.is_empty() { Exit::Done } else { Exit::Findings })
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
