//! `metier sign`: a signature over the digest of a skill, in the format of `ssh-keygen -Y`.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use metier_host::Environment;
use metier_skill::{Digest, Limits, Location};
use metier_store::{sign, skill_digest};
use serde_json::json;

use crate::exit::Exit;
use crate::files::{cannot_read, note_placeholders, write};
use crate::output::Output;

/// Sign a skill with an SSH key
///
/// The signed text is the digest that `metier digest` prints, followed by a line feed, in the namespace `metier-skill`.
/// The signature is written next to the skill or archive as NAME.sig, where `metier install` looks for it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metier sign my-skill --key ~/.ssh/id_ed25519
  metier sign my-skill.skill --key key --passphrase-file passphrase")]
pub(crate) struct Args {
    /// Directory of a skill, or an archive with one skill
    path: PathBuf,

    /// Private ed25519 key, in the format of `ssh-keygen`
    #[arg(long, value_name = "FILE")]
    key: PathBuf,

    /// File whose first line is the passphrase of the key
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let environment = Environment::read();
    let read = |path: &Path| fs::read_to_string(path).map_err(cannot_read(path));
    let path = environment.absolute(&args.path);
    // `metier install` looks beside what a link leads to.
    let path = fs::canonicalize(&path).map_err(cannot_read(&path))?;
    let digest = digest(&path)?;
    let passphrase = args.passphrase_file.as_deref().map(read).transpose()?;
    let passphrase = passphrase.as_deref().and_then(|text| text.lines().next()).map(str::as_bytes);
    let signature = sign(&read(&args.key)?, passphrase, &digest)?;
    let mut name = path.file_name().map_or_else(OsString::new, ToOwned::to_owned);
    name.push(".sig");
    let written = path.with_file_name(name);
    write(&written, &signature)?;
    if path.is_dir() {
        note_placeholders(&Location::find(&path)?, output)?;
    }
    if args.json {
        output.json(&json!({ "tree_digest": digest, "signature": written }))?;
    } else {
        output.whole(format_args!("{digest}  {}", written.display()))?;
    }
    Ok(Exit::Done)
}

fn digest(path: &Path) -> anyhow::Result<Digest> {
    if path.is_dir() {
        return Ok(Location::find(path)?.tree_digest(&Limits::default())?);
    }
    let bytes = fs::read(path).map_err(cannot_read(path))?;
    Ok(skill_digest(&bytes)?)
}
