//! `metier lock`: the lock of what is installed.

use std::path::{Path, PathBuf};

use metier_host::HostStore;
use metier_store::{LOCK_FILE, LockedSkill};

use crate::exit::Exit;
use crate::files::write;
use crate::installing::{read_lock, store};
use crate::output::Output;
use crate::table::{counted, one_line};

/// Print the lock: source, version and digests of every installed skill
///
/// `metier install --locked` installs exactly these skills on another machine, or fails.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metier lock
  metier lock --output metier.lock       write a file to share with a project
  metier lock --check                    exit with 1 if that file is out of date
  metier lock --json | jq -r '.skill[].name'")]
pub(crate) struct Args {
    /// Write the lock to FILE; sources below its directory are written relative to it
    #[arg(long, short, value_name = "FILE", conflicts_with = "json")]
    output: Option<PathBuf>,

    /// Compare a lock file with what is installed, and exit with 1 if it differs [default: metier.lock in this directory or above, up to the repository's root]
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = LOCK_FILE, conflicts_with_all = ["output", "json"])]
    check: Option<PathBuf>,

    /// Print the lock as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let store = store()?;
    if let Some(path) = &args.check {
        return check(&store, path, output);
    }
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

/// Compares a lock file with the one that would be written in its place.
fn check(store: &HostStore, path: &Path, output: &mut Output) -> anyhow::Result<Exit> {
    let (path, locked) = read_lock(store, path)?;
    let installed = store.installed()?;
    let (installed, _) = installed.lock().beside(path.parent().unwrap_or(Path::new("/")));
    let mut lines = Vec::new();
    for skill in installed.skills() {
        match locked.get(&skill.name) {
            None => lines.push(format!("{} is installed, but not locked", skill.name)),
            Some(other) if other != skill => lines.push(differs(other, skill)),
            Some(_) => {}
        }
    }
    let is_missing = |skill: &&LockedSkill| installed.get(&skill.name).is_none();
    let missing = locked.skills().iter().filter(is_missing);
    lines.extend(missing.map(|skill| format!("{} is locked, but not installed", skill.name)));
    for line in &lines {
        output.line(one_line(line))?;
    }
    let shown = path.display();
    if lines.is_empty() {
        output.summary(format!("{} as locked in {shown}", counted(locked.skills().len(), "skill")))?;
        return Ok(Exit::Done);
    }
    output.summary(format!(
        "{} in {shown}; `metier install --locked` installs what is locked, `metier lock --output {shown}` locks what is installed",
        counted(lines.len(), "difference")
    ))?;
    Ok(Exit::Findings)
}

/// How an installed skill differs from its entry.
fn differs(locked: &LockedSkill, installed: &LockedSkill) -> String {
    let name = &installed.name;
    if locked.digest != installed.digest {
        return format!("{name} has the digest {}, but {} is locked", installed.digest, locked.digest);
    }
    if locked.origin() != installed.origin() {
        return format!("{name} is installed from {}, but {} is locked", installed.origin(), locked.origin());
    }
    format!("{name} has the content that is locked, but another commit, tier, signer or profile")
}
