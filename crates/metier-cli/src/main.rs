//! The binary `metier`: parses the command line, calls the library, prints.
//!
//! One file per command in `commands/`, the formats of findings in `render/`. Rules about skills are in other crates.

mod asking;
mod commands;
#[cfg(test)]
mod docs_cli;
mod exit;
mod files;
mod help;
mod host;
mod installing;
mod mounting;
mod output;
mod placing;
mod progress;
mod render;
mod running;
mod table;
mod work;

use std::io;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, FromArgMatches as _, Parser};
use metier_host::Environment;
use metier_skill::{is_invisible, visible_name};

use crate::exit::Exit;
use crate::output::{ColorChoice, Output, is_mark};
use crate::table::width_of;

/// Where help lists the options of every command: after the command's own.
const LAST: usize = 900;

/// The runtime for Agent Skills: folders with a SKILL.md that teach an AI agent how to do a task.
#[derive(Debug, Parser)]
#[command(name = "metier", version, propagate_version = true, max_term_width = help::WIDEST)]
#[command(after_help = "\
Exit codes: 0 done, 1 findings, 2 wrong use, 3 denied, 4 not found,
            5 something is missing or cannot be used, 70 a bug in metier

Examples:
  metier                            show what is here and what to do next
  metier list                       list the skills that can be used here
  metier search 'fill in a form'    find skills for a task
  metier show pdf                   show what a skill says and what it costs
  metier install acme/skills        install skills from a git repository
  metier link claude pdf            make a skill visible to Claude Code
  metier run claude pdf             run Claude Code with this skill in its home
  metier new code-review            start a skill
  metier validate --fix skills/     check skills, and fix what is safe to fix
  metier exec pdf scripts/fill.py   run a script of a skill in the sandbox
  metier audit log                  show what was recorded
  metier audit verify               check that no record was changed
  metier doctor                     check whether metier works here")]
struct Cli {
    /// Print only results and errors: no summaries, no hints
    #[arg(long, short, global = true, display_order = LAST)]
    quiet: bool,

    /// When to use colour: auto, always or never
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true,
        display_order = LAST
    )]
    color: ColorChoice,

    #[command(subcommand)]
    command: Option<commands::Command>,
}

/// The same for servers and hooks alone. An agent waits for their start: describing every other command as well was measured at
/// 0.5 ms, on top of 1.7 ms. The arguments are the same types in both.
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
    let is_waited_for =
        Environment::arguments().first().is_some_and(|first| first == "serve" || first == "hook");
    // What this parser does not understand is parsed again by the full one, which explains it.
    if is_waited_for && let Ok(ServeCli { quiet, color, command }) = ServeCli::try_parse() {
        return Ok(Cli { quiet, color, command: Some(command.into()) });
    }
    let matches = help::grouped(Cli::command()).try_get_matches()?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut Cli::command()))
}

/// Prints what is wrong with the command line. The message repeats its words, which may come from elsewhere: control characters and line
/// feeds in them are replaced.
fn explain(error: &clap::Error) -> io::Result<()> {
    let is_hidden = |c: char| is_invisible(c) || matches!(c, '\n' | '\t');
    let given = Environment::arguments();
    if !given.iter().any(|word| word.contains(is_hidden)) {
        return print_wrapped(error);
    }
    match Cli::try_parse_from(
        std::iter::once("metier".to_owned()).chain(given.iter().map(|word| visible_name(word).into_owned())),
    ) {
        Err(same) if same.kind() == error.kind() => print_wrapped(&same),
        // Wrong only as it was written.
        _ => {
            let text = error.render().to_string().replace(is_mark, "\u{fffd}");
            Output::new(false, ColorChoice::Auto).complaint(text.trim_end());
            Ok(())
        }
    }
}

/// Prints an error of the parser, which does not wrap its lines itself.
fn print_wrapped(error: &clap::Error) -> io::Result<()> {
    let mut output = Output::new(false, ColorChoice::Auto);
    let text = error.render().to_string();
    if error.kind() == ErrorKind::UnknownArgument && text.contains("[-- <") && !text.contains("tip:") {
        text.lines().for_each(|line| output.complaint(line));
        output.complaint("tip: arguments of the script or program go after `--`");
        return Ok(());
    }
    if !text.lines().any(|line| width_of(line) > output.error_columns()) {
        return error.print();
    }
    text.lines().for_each(|line| output.complaint(line));
    Ok(())
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
