//! `metier guard install` and `metier guard remove`: changing settings of agents, and showing the change.

use metier_home::Agent;
use metier_host::{GuardChange, GuardFileChange, GuardInstall, Metier};
use serde_json::{Value, json};
use similar::TextDiff;

use super::ScopeArgs;
use crate::exit::{Exit, UsageError};
use crate::host::tell;
use crate::mounting::agent;
use crate::output::{Output, clean_line};
use crate::table::one_line;

/// Install the guard into an agent, or update it
///
/// The agent then asks metier before each of its tool calls. Hooks of metier are added to its settings; everything else in
/// these files stays as it is, to the byte. The change is shown and recorded. `metier guard remove` undoes it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Hooks call this program by its path. If it is missing or fails, the agent's calls are refused. A model
that may run shell commands can undo the guard: `metier guard status` says what it cannot prevent.

Examples:
  metier guard install claude --dry-run     show what would change
  metier guard install claude
  metier guard install codex --suggest      also name skills that fit each prompt
  metier guard install gemini --project     in the settings of this project")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(super) struct InstallArgs {
    /// Agent: claude, codex, opencode, gemini, goose or copilot
    #[arg(value_parser = agent)]
    agent: Agent,

    #[command(flatten)]
    scope: ScopeArgs,

    /// Name skills that fit when you send a prompt (not in Goose)
    #[arg(long)]
    suggest: bool,

    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,

    /// Accept an agent that is older than the version that the guard was tested with
    #[arg(long)]
    any_version: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Remove the guard from an agent
///
/// Removes the hooks of metier and what was created for them. What you or others wrote stays.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metier guard remove claude
  metier guard remove gemini --project
  metier guard remove codex --dry-run     show what would change")]
pub(super) struct RemoveArgs {
    /// Agent: claude, codex, opencode, gemini, goose or copilot
    #[arg(value_parser = agent)]
    agent: Agent,

    #[command(flatten)]
    scope: ScopeArgs,

    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// How the result of a change is shown.
struct Shown {
    is_install: bool,
    is_dry: bool,
    is_json: bool,
}

pub(super) fn install(args: &InstallArgs, output: &mut Output) -> anyhow::Result<Exit> {
    let metier = Metier::open()?;
    tell(&metier.settings().notes, output)?;
    let program = metier.environment().own_program();
    let program = program.ok_or_else(|| UsageError("the path of this program is not known".to_owned()))?;
    let mut install = GuardInstall::new(args.agent, args.scope.scope(), program);
    install.suggests = args.suggest;
    install.any_version = args.any_version;
    let change = metier.install_guard(&install)?;
    let shown = Shown { is_install: true, is_dry: args.dry_run, is_json: args.json };
    finish(&change, &shown, output)
}

pub(super) fn remove(args: &RemoveArgs, output: &mut Output) -> anyhow::Result<Exit> {
    let metier = Metier::open()?;
    tell(&metier.settings().notes, output)?;
    let change = metier.remove_guard(args.agent, args.scope.scope())?;
    let shown = Shown { is_install: false, is_dry: args.dry_run, is_json: args.json };
    finish(&change, &shown, output)
}

/// Makes the change unless it is only to be shown, and prints it.
fn finish(change: &GuardChange, shown: &Shown, output: &mut Output) -> anyhow::Result<Exit> {
    if !shown.is_json {
        for file in change.files.iter().filter(|file| file.is_change()) {
            // A change that is made is only summed up with `--quiet`.
            let diff = diff(file);
            diff.lines().try_for_each(
                |line| {
                    if shown.is_dry { output.line(line) } else { output.summary(line) }
                },
            )?;
        }
    }
    let notes = if shown.is_dry { Vec::new() } else { change.apply()? };
    tell(&notes, output)?;
    if shown.is_json {
        let files: Vec<Value> = change.files.iter().map(row).collect();
        output.json(&json!({
            "agent": change.agent.name(),
            "scope": change.scope,
            "dry_run": shown.is_dry,
            "changed": change.is_change(),
            "files": files,
            "notes": change.notes,
            "leaks": change.leaks,
        }))?;
        return Ok(Exit::Done);
    }
    for note in &change.notes {
        output.note(format_args!("note: {note}"))?;
    }
    if shown.is_install && change.is_change() && !change.leaks.is_empty() {
        output.note("note: what the guard cannot prevent here:")?;
        for leak in change.leaks {
            output.note(format_args!("  - {leak}"))?;
        }
    }
    output.summary(sum(change, shown))?;
    Ok(Exit::Done)
}

fn sum(change: &GuardChange, shown: &Shown) -> String {
    let title = change.agent.title();
    let place = format!("{title} ({})", change.scope.as_str());
    match (shown.is_install, change.is_change(), shown.is_dry) {
        (true, false, _) => format!("the guard is already installed in {place}"),
        (true, true, true) => format!("the guard would be installed in {place}; nothing was changed"),
        (true, true, false) => format!("installed the guard in {place}"),
        (false, false, _) => format!("the guard is not installed in {place}"),
        (false, true, true) => format!("the guard would be removed from {place}; nothing was changed"),
        (false, true, false) => format!("removed the guard from {place}"),
    }
}

fn kind(file: &GuardFileChange) -> &'static str {
    match (&file.before, &file.after) {
        _ if !file.is_change() => "unchanged",
        (None, _) => "created",
        (_, None) => "removed",
        _ => "changed",
    }
}

fn row(file: &GuardFileChange) -> Value {
    let text = |path: &std::path::Path| path.to_string_lossy().into_owned();
    json!({
        "path": text(&file.path),
        "real_path": text(&file.real),
        "change": kind(file),
        "diff": if file.is_change() { diff(file) } else { String::new() },
    })
}

/// A unified diff. Settings can have secrets, so little is shown of what stays.
fn diff(file: &GuardFileChange) -> String {
    let name = clean_line(&one_line(&file.real.display().to_string()));
    let (old, new) = (file.before.as_deref(), file.after.as_deref());
    let header = |text: Option<&str>| text.map_or("/dev/null", |_| name.as_str()).to_owned();
    TextDiff::from_lines(old.unwrap_or_default(), new.unwrap_or_default())
        .unified_diff()
        .context_radius(1)
        .header(&header(old), &header(new))
        .to_string()
}
