//! `metier lock`: the lock of what is installed.

use std::path::{Path, PathBuf};

use crate::exit::Exit;
use crate::files::write;
use crate::installing::store;
use crate::output::Output;
use crate::table::counted;

/// Print the lock: source, version and digests of every installed skill
///
/// `metier install --locked` installs exactly these skills on another machine, or fails.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metier lock
  metier lock --output metier.lock       write a file to share with a project
  metier lock --json | jq -r '.skill[].name'")]
pub(crate) struct Args {
    /// Write the lock to FILE; sources below its directory are written relative to it
    #[arg(long, short, value_name = "FILE", conflicts_with = "json")]
    output: Option<PathBuf>,

    /// Print the lock as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let store = store()?;
    let installed = store.installed()?;
    if args.json {
        output.json(installed.lock())?;
        return Ok(Exit::Done);
    }
    let Some(path) = &args.output else {
        output.text(&installed.lock().text()?)?;
        return Ok(Exit::Done);
    };
    let path = store.metier().environment().absolute(path);
    let (lock, here) = installed.lock().beside(path.parent().unwrap_or(Path::new("/")));
    write(&path, lock.text()?)?;
    if !here.is_empty() {
        let names: Vec<&str> = here.iter().map(|skill| skill.name.as_str()).collect();
        output.note(format_args!(
            "note: the sources of {} are only on this machine; move them below {} to share the lock",
            names.join(", "),
            path.parent().unwrap_or(Path::new("/")).display()
        ))?;
    }
    output.summary(format!(
        "{} locked in {}",
        counted(installed.lock().skills().len(), "skill"),
        path.display()
    ))?;
    Ok(Exit::Done)
}
