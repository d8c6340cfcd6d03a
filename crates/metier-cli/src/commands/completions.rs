//! `metier completions`: a script that teaches the shell the command line.

use clap_complete::{Shell, generate};

use crate::exit::Exit;
use crate::output::Output;

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metier completions bash > ~/.local/share/bash-completion/completions/metier
  metier completions fish > ~/.config/fish/completions/metier.fish
  metier completions zsh > \"${fpath[1]}/_metier\"")]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: &Args, command: &mut clap::Command, output: &mut Output) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    generate(args.shell, command, "metier", &mut script);
    output.text(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
