//! `metier trust`: folders whose skills count as the person's own.

use std::path::{Path, PathBuf};

use metier_host::{Environment, Metier};
use metier_journal::{Event, RecordContext};
use serde_json::json;

use crate::exit::{Exit, NotFoundError, UsageError};
use crate::host::tell;
use crate::output::Output;
use crate::table::one_line;

/// Mark a folder as trusted: its skills count as your own
///
/// Skills in `.agents/skills` and `.claude/skills` of a project's folder are `third_party` until that folder is trusted.
/// Folders below it need to be trusted themselves. Only trust what you would run.
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
    if !args.remove && folder == Path::new("/") {
        return Err(
            UsageError("that would trust everything on this machine; name a project".to_owned()).into()
        );
    }
    let is_trusted = !args.remove;
    // A folder that is gone can still lose its mark.
    let real = match folder.canonicalize() {
        Ok(real) if is_trusted && !real.is_dir() => {
            return Err(UsageError(format!("{} is not a directory", folder.display())).into());
        }
        Ok(real) => real,
        Err(_) if is_trusted => {
            return Err(NotFoundError(format!("{} does not exist", folder.display())).into());
        }
        Err(_) => folder.clone(),
    };
    let changed = trust.is_marked(&real) != is_trusted;
    if args.remove {
        // First the mark: while it is there, settings of that folder count and may stop everything else.
        if trust.unmark(&real)? {
            record(&real, false, &environment, output)?;
        }
    } else if changed {
        // First the record: trust that nobody could look up later does not count.
        record(&real, true, &environment, output)?;
        trust.mark(&real)?;
    }
    if real != folder {
        output.note(format_args!("note: {} resolves to {}", folder.display(), real.display()))?;
    }
    let path = one_line(&real.to_string_lossy());
    if args.json {
        output
            .json(&json!({ "folder": real.to_string_lossy(), "trusted": is_trusted, "changed": changed }))?;
        return Ok(Exit::Done);
    }
    match (is_trusted, changed) {
        (true, _) => output.line(format_args!(
            "{path} is trusted: its skills count as yours, and all of its metier.toml is used"
        ))?,
        (false, true) => output.line(format_args!("{path} is no longer trusted"))?,
        (false, false) => output.line(format_args!("{path} was not trusted"))?,
    }
    Ok(Exit::Done)
}

fn record(
    folder: &Path,
    trusted: bool,
    environment: &Environment,
    output: &mut Output,
) -> anyhow::Result<()> {
    let metier = Metier::builder().environment(environment.clone()).build()?;
    let recorder = metier.recorder()?;
    let folder = folder.to_string_lossy().into_owned();
    recorder.record(&RecordContext::default(), &Event::TrustChanged { folder, trusted })?;
    tell(&recorder.close(), output)
}
