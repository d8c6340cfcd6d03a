//! `metier guard`: skills' rules inside a person's own agents, by hooks in their settings.

mod change;
mod deactivate;
mod log;
mod status;

use clap::Subcommand;
use metier_host::GuardScope;

use crate::exit::Exit;
use crate::output::Output;

/// Apply skills' tool rules and the policy inside your own agents, by hooks in their settings
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: GuardCommand,
}

#[derive(Debug, Subcommand)]
enum GuardCommand {
    Install(change::InstallArgs),
    Status(status::Args),
    Remove(change::RemoveArgs),
    Log(log::Args),
    Deactivate(deactivate::Args),
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    match &args.command {
        GuardCommand::Install(args) => change::install(args, output),
        GuardCommand::Status(args) => status::run(args, output),
        GuardCommand::Remove(args) => change::remove(args, output),
        GuardCommand::Log(args) => log::run(args, output),
        GuardCommand::Deactivate(args) => deactivate::run(args, output),
    }
}

/// Whose settings.
#[derive(Debug, clap::Args)]
struct ScopeArgs {
    /// In your home: for the agent in every directory (the default)
    #[arg(long)]
    user: bool,

    /// In the current directory: for all users of the agent in this project
    #[arg(long, conflicts_with = "user")]
    project: bool,
}

impl ScopeArgs {
    const fn scope(&self) -> GuardScope {
        if self.project { GuardScope::Project } else { GuardScope::User }
    }
}
