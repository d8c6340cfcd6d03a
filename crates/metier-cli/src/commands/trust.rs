//! `metier trust`: folders whose skills count as the person's own.

use std::path::PathBuf;

use serde_json::json;

use crate::environment::Environment;
use crate::exit::{Exit, UsageError};
use crate::output::Output;
use crate::table::one_line;

/// Mark a folder as trusted: skills of projects in it count as your own
///
/// Skills of a project are `third_party` until its folder, or one above it, is trusted. Only trust what you would run.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metier trust .             trust this project
  metier trust --list        what is trusted
  metier trust --remove .    trust it no longer")]
pub(crate) struct Args {
    /// The folder
    #[arg(required_unless_present = "list")]
    folder: Option<PathBuf>,

    /// Take the mark off the folder
    #[arg(long, requires = "folder")]
    remove: bool,

    /// Print the folders that are trusted
    #[arg(long, conflicts_with_all = ["folder", "remove"])]
    list: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let environment = Environment::read();
    let trust = environment.trust();
    let Some(folder) = &args.folder else {
        let folders = trust.marked()?;
        let folders = folders.iter().map(|folder| folder.to_string_lossy());
        if args.json {
            output.json(&json!({ "trusted": folders.collect::<Vec<_>>() }))?;
        } else {
            for folder in folders {
                output.line(one_line(&folder))?;
            }
        }
        return Ok(Exit::Done);
    };
    let folder = environment.absolute(folder);
    if !args.remove && folder == std::path::Path::new("/") {
        return Err(
            UsageError("that would trust everything on this machine; name a project".to_owned()).into()
        );
    }
    let (is_trusted, changed) = if args.remove {
        let had_mark = trust.unmark(&folder)?;
        (trust.is_trusted(&folder), had_mark)
    } else {
        let was = trust.is_trusted(&folder);
        trust.mark(&folder)?;
        (true, !was)
    };
    let path = one_line(&folder.to_string_lossy());
    if args.json {
        output.json(
            &json!({ "folder": folder.to_string_lossy(), "trusted": is_trusted, "changed": changed }),
        )?;
        return Ok(Exit::Done);
    }
    match (args.remove, is_trusted, changed) {
        (false, ..) => output.line(format_args!(
            "{path} is trusted: its skills count as yours, and all of its metier.toml is used"
        ))?,
        (true, false, true) => output.line(format_args!("{path} is no longer trusted"))?,
        (true, false, false) => output.line(format_args!("{path} was not trusted"))?,
        (true, true, _) => {
            output.line(format_args!("{path} is still trusted, because a folder above it is"))?;
        }
    }
    Ok(Exit::Done)
}
