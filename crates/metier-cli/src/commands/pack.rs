//! `metier pack`: a skill as a reproducible archive.

use std::path::PathBuf;

use clap::ValueEnum;
use metier_host::Environment;
use metier_skill::{Folder, Location, Rules};
use metier_store::{ArchiveFormat, pack};
use serde_json::json;

use crate::exit::Exit;
use crate::files::{note_placeholders, write};
use crate::output::Output;

/// Pack a skill into a reproducible archive
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metier pack my-skill                        writes my-skill.skill
  metier pack my-skill -o my-skill.tar.gz")]
pub(crate) struct Args {
    /// The skill's directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// File to write [default: NAME.skill or NAME.tar.gz in this directory]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Kind of archive [default: by the extension of FILE, else zip]
    #[arg(long, value_enum)]
    format: Option<Kind>,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// A ZIP archive with the extension .skill
    Zip,
    /// A compressed tar archive
    TarGz,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let environment = Environment::read();
    let ends =
        |ending: &str| args.output.as_ref().is_some_and(|path| path.to_string_lossy().ends_with(ending));
    let by_name = if ends(".tar.gz") || ends(".tgz") { Kind::TarGz } else { Kind::Zip };
    let (format, ending) = match args.format.unwrap_or(by_name) {
        Kind::Zip => (ArchiveFormat::Zip, "skill"),
        Kind::TarGz => (ArchiveFormat::TarGz, "tar.gz"),
    };
    let directory = environment.absolute(&args.directory);
    let packed = pack(&Folder::open(&directory)?, &Rules::standard(), format)?;
    note_placeholders(&Location::directory(&directory)?, output)?;
    for skipped in &packed.skipped {
        output.note(format_args!("note: skipped {}", skipped.path))?;
    }
    let path = args.output.clone().unwrap_or_else(|| format!("{}.{ending}", packed.name.as_str()).into());
    let path = environment.absolute(&path);
    write(&path, &packed.bytes)?;
    let name = packed.name.as_str();
    if args.json {
        output.json(
            &json!({ "name": name, "path": path, "bytes": packed.bytes.len(), "tree_digest": packed.digest }),
        )?;
    } else {
        output.whole(format_args!("{}  {}", packed.digest, path.display()))?;
    }
    Ok(Exit::Done)
}
