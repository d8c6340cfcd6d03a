//! `metier digest`: the digest of whole skills.

use std::path::PathBuf;

use metier_skill::{Limits, Location};
use serde_json::json;

use crate::exit::Exit;
use crate::output::{Output, clean};

/// Print the digest of a whole skill: every file's path, run bit and content
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The digest is independent of times, owners and platforms, and can be computed with
find and sha256sum; docs/digests.md says how.

Examples:
  metier digest skills/code-review
  metier digest skills/*")]
pub(crate) struct Args {
    /// Skills: directories, or single markdown files
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Print `{"skills":[{"path","tree_digest"}]}`
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let mut rows = Vec::new();
    for path in &args.paths {
        rows.push((path, Location::find(path)?.tree_digest(&Limits::default())?));
    }
    if args.json {
        let row = |(path, digest): &(&PathBuf, _)| json!({ "path": path.display().to_string(), "tree_digest": digest });
        output.json(&json!({ "skills": rows.iter().map(row).collect::<Vec<_>>() }))?;
    } else {
        for (path, digest) in rows {
            output.line(format_args!("{digest}  {}", clean(&path.display().to_string())))?;
        }
    }
    Ok(Exit::Done)
}
