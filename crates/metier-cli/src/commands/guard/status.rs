//! `metier guard status`: in which agents the guard is installed, and whether it stands.

use metier_home::Agent;
use metier_host::{GuardScope, GuardState, InstalledGuard, Metier};
use serde_json::json;

use crate::exit::Exit;
use crate::host::tell;
use crate::mounting::agent;
use crate::output::Output;
use crate::table::one_line;

/// Show in which agents the guard is installed, what stops it, and what it cannot prevent
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Looks in your home and in the current directory. Exits with 1 if a guard that is installed does not work.

Examples:
  metier guard status
  metier guard status claude
  metier guard status --json | jq '.guards[] | select(.state == \"broken\") | .problems'")]
pub(super) struct Args {
    /// Agent: claude, codex, opencode, gemini, goose or copilot; all of them without
    #[arg(value_parser = agent)]
    agent: Option<Agent>,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let metier = Metier::open()?;
    tell(&metier.settings().notes, output)?;
    let guards = metier.guards(args.agent)?;
    let is_broken = guards.iter().any(|guard| matches!(guard.state, GuardState::Broken | GuardState::Gone));
    let exit = if is_broken { Exit::Findings } else { Exit::Done };
    if args.json {
        output.json(&json!({ "guards": guards }))?;
        return Ok(exit);
    }
    let is_listed = |guard: &&InstalledGuard| {
        guard.state != GuardState::NotInstalled || (args.agent.is_some() && guard.scope == GuardScope::User)
    };
    let listed: Vec<&InstalledGuard> = guards.iter().filter(is_listed).collect();
    for guard in &listed {
        print(guard, output)?;
    }
    if listed.is_empty() {
        output
            .summary("the guard is not installed in any agent; `metier guard install AGENT` installs it")?;
    }
    Ok(exit)
}

fn print(guard: &InstalledGuard, output: &mut Output) -> anyhow::Result<()> {
    let title = format!("{} ({})", guard.agent.title(), guard.scope.as_str());
    let state = match guard.state {
        GuardState::Installed => output.colored("installed", true),
        GuardState::Broken => output.colored("BROKEN", false),
        GuardState::Gone => output.colored("GONE", false),
        _ => "not installed".to_owned(),
    };
    output.line(format_args!("{}: {state}", output.bold(&title)))?;
    for file in &guard.files {
        output.row("in", &one_line(&file.to_string_lossy()))?;
    }
    if let Some(program) = &guard.program {
        output.row("program", &one_line(program))?;
    }
    if guard.suggests {
        output.row("suggests", "skills that fit a prompt")?;
    }
    for (index, problem) in guard.problems.iter().enumerate() {
        output.row(if index == 0 { "problem" } else { "" }, &one_line(problem))?;
    }
    for (index, leak) in guard.leaks.iter().enumerate() {
        output.row(if index == 0 { "leaks" } else { "" }, leak)?;
    }
    Ok(())
}
