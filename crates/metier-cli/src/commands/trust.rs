//! `metier trust`: folders whose skills have the tier `user`.

use std::path::PathBuf;

use metier_host::{Environment, PROJECT_FILE, distrust_folder, trust_folder};
use serde_json::json;

use crate::exit::Exit;
use crate::host::tell;
use crate::output::Output;
use crate::table::one_line;

/// Mark a folder as trusted: its skills count as your own
///
/// Skills in `.agents/skills` and `.claude/skills` of a project are `third_party` until its folder is trusted. Folders
/// below it are not trusted with it. Only trust folders whose content you would run.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metier trust .             trust this project
  metier trust --list        list trusted folders
  metier trust --remove .    stop trusting this project")]
pub(crate) struct Args {
    /// Folder to trust
    #[arg(required_unless_present = "list")]
    folder: Option<PathBuf>,

    /// Stop trusting the folder
    #[arg(long, requires = "folder")]
    remove: bool,

    /// List the trusted folders
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
    let change = if args.remove {
        distrust_folder(&environment, folder)?
    } else {
        trust_folder(&environment, folder)?
    };
    tell(&change.notes, output)?;
    let given = environment.absolute(folder);
    if change.folder != given {
        output.note(format_args!("note: {} resolves to {}", given.display(), change.folder.display()))?;
    }
    if args.json {
        output.json(&change)?;
        return Ok(Exit::Done);
    }
    let path = one_line(&change.folder.to_string_lossy());
    let has_settings = change.folder.join(PROJECT_FILE).is_file();
    let settings =
        if has_settings { format!(", and all of its {PROJECT_FILE} is used") } else { String::new() };
    match (change.trusted, change.changed) {
        (true, _) => output.line(format_args!("{path} is trusted: its skills count as yours{settings}"))?,
        (false, true) => output.line(format_args!("{path} is no longer trusted"))?,
        (false, false) => output.line(format_args!("{path} was not trusted"))?,
    }
    Ok(Exit::Done)
}
