//! `metier digest`: the digest of whole skills.

use std::path::{Path, PathBuf};

use metier_skill::{Code, Digest, Limits, Location, Rules, SkillError};
use serde_json::json;

use crate::exit::{self, Exit};
use crate::output::Output;

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
    let mut exit = Exit::Done;
    for path in &args.paths {
        match digest(path) {
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

/// The digest of what is a skill, valid or not; pinning anything else would be a mistake.
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
