//! `metier read`: a file of a skill, confined to the skill and recorded.

use std::io::Write as _;

use metier_session::ResourcePart;

use crate::exit::{Exit, UsageError};
use crate::host::{Flags, SessionArgs, close};
use crate::output::{InSession, Output};

/// Print a file of a skill, and record it
///
/// Only files inside the skill can be read, by their paths in it. Links are never followed. At most 1 MiB is printed at
/// a time.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metier read pdf references/forms.md
  metier read pdf references/forms.md --lines 10-20
  metier read pdf assets/form.pdf --offset 1048576 > rest
  metier read pdf assets/logo.png --json            binary files are base64")]
pub(crate) struct Args {
    /// Skill: its name, id or directory
    #[arg(value_name = "SKILL")]
    name: String,

    /// File: its path in the skill
    path: String,

    /// Print only these lines, counted from 1: `10-20`, `10-` or `10`
    #[arg(long, value_name = "FIRST[-LAST]", conflicts_with_all = ["offset", "length"])]
    lines: Option<String>,

    /// Start at this byte
    #[arg(long, value_name = "BYTES")]
    offset: Option<u64>,

    /// Maximum number of bytes
    #[arg(long, value_name = "BYTES")]
    length: Option<u64>,

    #[command(flatten)]
    session: SessionArgs,

    #[command(flatten)]
    catalog: Flags,

    /// Print the content, its type and digests as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let part = args.part()?;
    let (skills, name) = args.catalog.find_with(&args.name, output)?;
    let mut conversation = args.session.open(&skills, output)?;
    let id = conversation.id().to_owned();
    let done = conversation.read_part(&name, &args.path, part);
    close(conversation, output)?;
    let resource = done.map_err(|error| skills.explained(error))?;
    if args.json {
        output.json(&InSession::new(&id, &resource))?;
        return Ok(Exit::Done);
    }
    output.raw().write_all(&resource.bytes)?;
    if let Some(next) = resource.next_offset().filter(|_| part.is_none()) {
        let total = resource.total_bytes;
        output.note(format_args!("note: printed {next} of {total} bytes; `--offset {next}` continues"))?;
    }
    Ok(Exit::Done)
}

impl Args {
    fn part(&self) -> Result<Option<ResourcePart>, UsageError> {
        if let Some(lines) = &self.lines {
            let wrong = || UsageError(format!("invalid line range `{lines}`; use 10-20, 10- or 10"));
            let number = |text: &str| text.parse().map_err(|_| wrong());
            let (first, last) = match lines.split_once('-') {
                None => (number(lines)?, Some(number(lines)?)),
                Some((first, "")) => (number(first)?, None),
                Some((first, last)) => (number(first)?, Some(number(last)?)),
            };
            return Ok(Some(ResourcePart::Lines { first, last }));
        }
        let is_part = self.offset.is_some() || self.length.is_some();
        Ok(is_part.then(|| ResourcePart::Bytes { offset: self.offset.unwrap_or(0), length: self.length }))
    }
}
