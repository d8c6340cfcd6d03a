//! The commands, one file each. A command's file has its arguments and its `run`.

mod activate;
mod approvals;
mod approve;
mod ask;
mod audit;
mod complete;
mod completions;
mod config;
mod digest;
mod doctor;
mod exec;
mod gateway;
mod gc;
mod guard;
mod hook;
mod install;
mod link;
mod list;
mod lock;
mod man;
mod mount;
mod new;
mod pack;
mod policy;
mod prompt;
mod read;
mod reference;
mod remove;
mod run;
mod sandbox;
mod scan;
mod search;
mod serve;
mod show;
mod sign;
mod status;
mod tour;
mod trust;
mod update;
mod validate;
mod verify;

use clap::{CommandFactory as _, Subcommand};

use crate::Cli;
use crate::exit::Exit;
use crate::output::Output;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Tour(tour::Args),
    List(list::Args),
    Search(search::Args),
    Show(show::Args),
    Prompt(prompt::Args),
    Activate(activate::Args),
    Read(read::Args),
    Exec(Box<exec::Args>),
    Run(Box<run::Args>),
    Ask(Box<ask::Args>),
    Serve(Box<serve::Args>),
    Gateway(Box<gateway::Args>),
    Mount(mount::Args),
    Link(link::Args),
    Install(Box<install::Args>),
    Update(update::Args),
    Remove(remove::Args),
    Verify(verify::Args),
    Lock(lock::Args),
    Pack(pack::Args),
    Sign(sign::Args),
    Gc(gc::Args),
    Validate(validate::Args),
    Scan(scan::Args),
    New(new::Args),
    Trust(trust::Args),
    Approve(approve::Args),
    Approvals(approvals::Args),
    Policy(policy::Args),
    Sandbox(sandbox::Args),
    Guard(guard::Args),
    Audit(audit::Args),
    Config(config::Args),
    Doctor(doctor::Args),
    Digest(digest::Args),
    #[command(name = "ref")]
    Reference(reference::Args),
    Completions(completions::Args),
    #[command(hide = true)]
    Complete(complete::Args),
    #[command(hide = true)]
    Hook(hook::Args),
    Man(man::Args),
}

/// The commands whose start an agent waits for each time.
#[derive(Debug, Subcommand)]
pub(crate) enum Serving {
    Hook(hook::Args),
    Serve(Box<serve::Args>),
}

impl From<Serving> for Command {
    fn from(serving: Serving) -> Self {
        match serving {
            Serving::Hook(args) => Self::Hook(args),
            Serving::Serve(args) => Self::Serve(args),
        }
    }
}

/// Runs a command and flushes its output.
pub(crate) fn run(command: Option<Command>, output: &mut Output) -> anyhow::Result<Exit> {
    let Some(command) = command else {
        status::run(output)?;
        output.flush()?;
        return Ok(Exit::Done);
    };
    let exit = match command {
        Command::Tour(args) => tour::run(&args, output),
        Command::List(args) => list::run(&args, output),
        Command::Search(args) => search::run(&args, output),
        Command::Activate(args) => activate::run(&args, output),
        Command::Read(args) => read::run(&args, output),
        Command::Exec(args) => exec::run(&args, output),
        Command::Run(args) => run::run(&args, output),
        Command::Ask(args) => ask::run(&args, output),
        Command::Serve(args) => serve::run(&args, output),
        Command::Gateway(args) => gateway::run(&args, output),
        Command::Mount(args) => mount::run(&args, output),
        Command::Link(args) => link::run(&args, output),
        Command::Install(args) => install::run(&args, output),
        Command::Update(args) => update::run(&args, output),
        Command::Remove(args) => remove::run(&args, output),
        Command::Verify(args) => verify::run(&args, output),
        Command::Lock(args) => lock::run(&args, output),
        Command::Pack(args) => pack::run(&args, output),
        Command::Sign(args) => sign::run(&args, output),
        Command::Gc(args) => gc::run(&args, output),
        Command::Prompt(args) => prompt::run(&args, output),
        Command::Trust(args) => trust::run(&args, output),
        Command::Approve(args) => approve::run(&args, output),
        Command::Approvals(args) => approvals::run(&args, output),
        Command::Policy(args) => policy::run(&args, output),
        Command::Sandbox(args) => sandbox::run(&args, output),
        Command::Guard(args) => guard::run(&args, output),
        Command::Audit(args) => audit::run(&args, output),
        Command::Config(args) => config::run(&args, output),
        Command::Doctor(args) => doctor::run(&args, output),
        Command::Validate(args) => validate::run(&args, output),
        Command::Scan(args) => scan::run(&args, output),
        Command::New(args) => new::run(&args, output),
        Command::Show(args) => show::run(&args, output),
        Command::Digest(args) => digest::run(&args, output),
        Command::Reference(args) => reference::run(&args, output),
        Command::Completions(args) => completions::run(&args, &mut Cli::command(), output),
        Command::Complete(args) => complete::run(&args, Cli::command(), output),
        Command::Hook(args) => hook::run(&args, output),
        Command::Man(args) => man::run(&args, Cli::command(), output),
    }?;
    output.flush()?;
    Ok(exit)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use metier_policy::{CommandEffect, OWN_COMMANDS};

    use crate::Cli;

    /// Every command that runs, by its words.
    fn leaves(command: &clap::Command, words: &str, found: &mut Vec<(String, clap::Command)>) {
        for inner in command.get_subcommands() {
            let words = format!("{words} {}", inner.get_name()).trim().to_owned();
            if inner.has_subcommands() {
                leaves(inner, &words, found);
            } else {
                found.push((words, inner.clone()));
            }
        }
    }

    #[test]
    fn the_policy_knows_what_every_command_does() {
        let mut found = Vec::new();
        leaves(&Cli::command(), "", &mut found);
        let mut names: Vec<&str> = found.iter().map(|(words, _)| words.as_str()).chain(["help"]).collect();
        let mut known: Vec<&str> = OWN_COMMANDS.iter().map(|command| command.name).collect();
        names.sort_unstable();
        known.sort_unstable();
        assert_eq!(names, known, "metier-policy/src/own.rs classifies every command, and no other");
    }

    /// Options with which a command writes, runs or reaches something, whatever the command.
    const ACTING: &[&str] =
        &["fix", "out", "output", "clean", "journal", "trigger", "revoke", "undo", "yes", "force"];

    #[test]
    fn no_command_that_reads_has_an_option_that_acts() {
        let mut found = Vec::new();
        leaves(&Cli::command(), "", &mut found);
        for own in OWN_COMMANDS {
            let except = match own.effect {
                CommandEffect::Reads => &[][..],
                CommandEffect::ReadsUnless(options) => options,
                _ => continue,
            };
            let Some((_, command)) = found.iter().find(|(words, _)| words == own.name) else { continue };
            for option in except.iter().filter_map(|option| option.strip_prefix("--")) {
                assert!(
                    command.get_arguments().any(|one| one.get_long() == Some(option)),
                    "{} --{option}",
                    own.name
                );
            }
            for argument in command
                .get_arguments()
                .filter(|one| one.get_long().is_some_and(|long| ACTING.contains(&long)))
            {
                let long = argument.get_long().map(|long| format!("--{long}"));
                let short = argument.get_short().map(|short| format!("-{short}"));
                for option in long.into_iter().chain(short) {
                    assert!(except.contains(&option.as_str()), "{} {option}", own.name);
                }
            }
        }
    }
}
