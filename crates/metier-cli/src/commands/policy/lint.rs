//! `metier policy lint`: finds mistakes in policy files.

use std::path::{Path, PathBuf};

use metier_host::{Metier, organisation_file, policy_file};
use metier_policy::PolicyFinding;
use serde::Serialize;

use crate::exit::{Exit, NotFoundError};
use crate::output::Output;
use crate::table::{counted, one_line};

/// Check policy files for errors and for rules that do not do what they seem to
///
/// A file is an organisation's `policy.toml` or a settings file with `[policy]`. Without FILE, the policies in force are
/// checked.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exits with 1 if there are errors. Warnings alone exit with 0.

Examples:
  metier policy lint                       the policies in force here
  metier policy lint new-policy.toml
  metier policy lint --json *.toml | jq '.files[].findings[]'")]
pub(super) struct Args {
    /// Files to check
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

/// One file, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Linted {
    file: String,
    /// Why it is not a policy, where it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    findings: Vec<PolicyFinding>,
}

impl Linted {
    fn errors(&self) -> usize {
        usize::from(self.error.is_some()) + self.findings.iter().filter(|found| found.is_error).count()
    }
}

pub(super) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let files = if args.files.is_empty() { in_force() } else { args.files.clone() };
    if let Some(missing) = files.iter().find(|path| !path.exists()) {
        return Err(NotFoundError(format!("{} does not exist", missing.display())).into());
    }
    let all: Vec<Linted> = files.iter().map(|path| lint(path)).collect();
    let errors: usize = all.iter().map(Linted::errors).sum();
    if args.json {
        output.json(&serde_json::json!({ "files": all }))?;
    } else {
        for file in &all {
            print(file, output)?;
        }
        let warnings = all.iter().map(|file| file.findings.len()).sum::<usize>()
            - all.iter().flat_map(|file| &file.findings).filter(|found| found.is_error).count();
        if all.is_empty() {
            output.summary("no policy files are in force here")?;
            return Ok(Exit::Done);
        }
        output.summary(format_args!(
            "{}: {}, {}",
            counted(all.len(), "file"),
            counted(errors, "error"),
            counted(warnings, "warning")
        ))?;
    }
    Ok(if errors == 0 { Exit::Done } else { Exit::Findings })
}

/// The organisation's file, and the settings files that say something about the policy. Also where one of them cannot be read.
fn in_force() -> Vec<PathBuf> {
    let organisation = Some(organisation_file()).filter(|path| path.exists());
    let settings = Metier::open().map(|metier| metier.settings().clone());
    let settings = settings.map(|settings| settings.policies).unwrap_or_default();
    organisation.into_iter().chain(settings.into_iter().map(|(path, _)| path)).collect()
}

fn lint(path: &Path) -> Linted {
    let file = path.to_string_lossy().into_owned();
    match policy_file(path) {
        Ok((settings, true)) => Linted { file, error: None, findings: settings.lint_organisation() },
        Ok((settings, false)) => Linted { file, error: None, findings: settings.lint() },
        Err(error) => {
            let error = format!("{:#}", anyhow::Error::new(error));
            Linted { file, error: Some(error), findings: Vec::new() }
        }
    }
}

fn print(linted: &Linted, output: &mut Output) -> anyhow::Result<()> {
    let (error, warning) = (output.colored("error", false), output.warning("warning"));
    if let Some(text) = &linted.error {
        let mut lines = text.lines();
        output.line(format_args!("{error}: {}", one_line(lines.next().unwrap_or_default())))?;
        for line in lines {
            output.line(format_args!("  | {line}"))?;
        }
    }
    let file = one_line(&linted.file);
    for PolicyFinding { rule, is_error, message, .. } in &linted.findings {
        let word = if *is_error { &error } else { &warning };
        output.line(format_args!("{word}: {file}: {}: {}", one_line(rule), one_line(message)))?;
    }
    Ok(())
}
