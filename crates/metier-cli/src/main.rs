//! The binary `metier`: parses the command line, calls the library, prints.
//!
//! One file a command in `commands/`; how findings look is in `render/`. No rule about skills lives here.

mod commands;
#[cfg(test)]
mod docs_cli;
mod exit;
mod host;
mod installing;
mod mounting;
mod output;
mod render;
mod running;
mod table;
mod work;

use std::io;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use metier_host::Environment;
use metier_skill::{is_invisible, visible_name};

use crate::exit::Exit;
use crate::output::{ColorChoice, Output, is_mark};

/// The runtime for Agent Skills: folders with a SKILL.md that teach an AI agent a craft.
#[derive(Debug, Parser)]
#[command(name = "metier", version, propagate_version = true, max_term_width = 100)]
#[command(after_help = "\
Exit codes: 0 done, 1 findings, 2 wrong use, 3 denied by the policy, 4 not found,
            5 something is missing or cannot be read or written, 70 a bug in metier

Examples:
  metier                            what is here, and what to do next
  metier new code-review            start a skill
  metier validate                   check every skill below this directory
  metier validate --fix skills/     and mend what has one obvious fix
  metier list                       every skill that can be used here
  metier search 'fill in a form'    the skills that fit
  metier show code-review           what a skill says and what it costs
  metier activate code-review       its instructions, as a model is given them
  metier exec pdf scripts/fill.py   a script of a skill, contained and recorded
  metier run claude --skill pdf     an agent with this skill and no other
  metier sandbox run -- ls -la      a command in the sandbox that scripts run in
  metier audit log                  what was recorded
  metier audit verify               whether it still is what was recorded")]
struct Cli {
    /// Print results and errors only: no summaries, no hints
    #[arg(long, short, global = true)]
    quiet: bool,

    /// When to use colour: auto, always or never
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_possible_values = true)]
    color: ColorChoice,

    #[command(subcommand)]
    command: Option<commands::Command>,
}

/// The same for a server alone. A client waits for its start: describing every other command as well was measured at 0.5 ms, on
/// top of 1.7 ms. The arguments of `serve` are the same type in both.
#[derive(Debug, Parser)]
#[command(name = "metier")]
struct ServeCli {
    #[arg(long, short, global = true)]
    quiet: bool,

    #[arg(long, global = true, default_value = "auto")]
    color: ColorChoice,

    #[command(subcommand)]
    command: commands::Serving,
}

fn parse() -> Result<Cli, clap::Error> {
    let is_server = Environment::arguments().first().is_some_and(|first| first == "serve");
    // What it does not understand is for the whole to explain.
    if is_server && let Ok(ServeCli { quiet, color, command }) = ServeCli::try_parse() {
        return Ok(Cli { quiet, color, command: Some(command.into()) });
    }
    Cli::try_parse()
}

/// Prints what is wrong with the command line. It repeats words of it, which may come from elsewhere: what a terminal would obey, and what
/// would begin a line of its own, is replaced before.
fn explain(error: &clap::Error) -> io::Result<()> {
    let is_hidden = |c: char| is_invisible(c) || matches!(c, '\n' | '\t');
    let given = Environment::arguments();
    if !given.iter().any(|word| word.contains(is_hidden)) {
        return error.print();
    }
    match Cli::try_parse_from(
        std::iter::once("metier".to_owned()).chain(given.iter().map(|word| visible_name(word).into_owned())),
    ) {
        Err(same) if same.kind() == error.kind() => same.print(),
        // Wrong only as it was written.
        _ => {
            let text = error.render().to_string().replace(is_mark, "\u{fffd}");
            Output::new(false, ColorChoice::Auto).complaint(text.trim_end());
            Ok(())
        }
    }
}

fn main() -> ExitCode {
    metier_sandbox::launch_if_asked();
    let cli = match parse() {
        Ok(cli) => cli,
        Err(error) => {
            let wants_text = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            let printed = if wants_text { error.print() } else { explain(&error) };
            let is_lost = printed.is_err_and(|error| error.kind() != std::io::ErrorKind::BrokenPipe);
            return match (wants_text, is_lost) {
                (true, true) => Exit::Environment,
                (true, false) => Exit::Done,
                (false, _) => Exit::Usage,
            }
            .into();
        }
    };
    let mut output = Output::new(cli.quiet, cli.color);
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| commands::run(cli.command, &mut output))) {
        Ok(Ok(exit)) => exit.into(),
        Ok(Err(error)) => exit::report(&error, &mut output).into(),
        Err(_) => {
            output.error("this is a bug in metier; please report it with the lines above");
            Exit::Bug.into()
        }
    }
}
