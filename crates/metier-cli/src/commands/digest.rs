//! `metier digest`: the digest over all files of a skill.

use std::path::{Path, PathBuf};

use metier_skill::{Code, Digest, Limits, Location, Rules, SkillError};
use serde_json::json;

use crate::exit::{self, Exit};
use crate::output::Output;
use crate::progress::Progress;

/// Print the digest over all files of a skill
///
/// It covers the path, the executable bit and the content of every file.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The digest does not depend on times, owners or platforms. It can be computed with find and
sha256sum, as docs/digests.md shows.

Examples:
  metier digest skills/code-review
  metier digest skills/*")]
pub(crate) struct Args {
    /// Skills: directories, or single Markdown files
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Print the digests as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let mut rows = Vec::new();
    let mut exit = Exit::Done;
    let progress = Progress::begin(output, "digesting skills");
    let digests: Vec<_> = args.paths.iter().map(|path| digest(path)).inspect(|_| progress.count()).collect();
    drop(progress);
    for (path, digest) in args.paths.iter().zip(digests) {
        match digest {
            Ok(digest) => rows.push((path, digest)),
            Err(error) => exit = exit::report(&error.into(), output),
        }
    }
    if args.json {
        let row = |(path, digest): &(&PathBuf, Digest)| json!({ "path": path.display().to_string(), "tree_digest": digest });
        output.json(&json!({ "skills": rows.iter().map(row).collect::<Vec<_>>() }))?;
    } else {
        for (path, digest) in rows {
            output.whole(format_args!("{digest}  {}", path.display()))?;
        }
    }
    Ok(exit)
}

/// The digest of a skill, valid or not; anything else is an error.
fn digest(path: &Path) -> Result<Digest, SkillError> {
    let location = Location::find(path)?;
    let diagnostics = location.load(&Rules::lenient())?.diagnostics;
    let is_none =
        |code: Code| matches!(code, Code::SkillMdMissing | Code::SkillMdNotFile | Code::NotMarkdown);
    if diagnostics.iter().any(|found| is_none(found.code)) {
        return Err(SkillError::Validation { path: path.to_owned(), diagnostics });
    }
    location.tree_digest(&Limits::default())
}
