//! `metier completions`: a script that completes the command line in a shell.

use clap_complete::{Shell, generate};

use crate::exit::Exit;
use crate::output::Output;

/// Print a completion script for a shell
///
/// In bash, zsh and fish, names of skills, scripts, sessions and agents are completed as well.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metier completions bash > ~/.local/share/bash-completion/completions/metier
  metier completions fish > ~/.config/fish/completions/metier.fish
  metier completions zsh > \"${fpath[1]}/_metier\"")]
pub(crate) struct Args {
    /// Shell to print the script for
    shell: Shell,
}

pub(crate) fn run(args: &Args, command: &mut clap::Command, output: &mut Output) -> anyhow::Result<Exit> {
    // These ask `metier complete`, which knows what is here.
    let asking = match args.shell {
        Shell::Bash => include_str!("completions/metier.bash"),
        Shell::Zsh => include_str!("completions/metier.zsh"),
        Shell::Fish => include_str!("completions/metier.fish"),
        _ => {
            let mut script = Vec::new();
            generate(args.shell, command, "metier", &mut script);
            output.text(&String::from_utf8_lossy(&script))?;
            return Ok(Exit::Done);
        }
    };
    output.text(asking)?;
    Ok(Exit::Done)
}
