//! `metier man`: manual pages with the texts of `--help`.

use std::path::PathBuf;

use anyhow::Context as _;

use crate::exit::Exit;
use crate::output::Output;

/// Print the manual page, or write the pages of all commands
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metier man | man -l -
  metier man --out ~/.local/share/man/man1")]
pub(crate) struct Args {
    /// Write one page per command into this directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, command: clap::Command, output: &mut Output) -> anyhow::Result<Exit> {
    match &args.out {
        Some(directory) => {
            std::fs::create_dir_all(directory)
                .and_then(|()| clap_mangen::generate_to(command, directory))
                .with_context(|| format!("cannot write manual pages to {}", directory.display()))?;
            output.note(format_args!("manual pages are in {}", directory.display()))?;
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page)?;
            output.text(&String::from_utf8_lossy(&page))?;
        }
    }
    Ok(Exit::Done)
}
