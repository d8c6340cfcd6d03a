//! `metier install`: skills from directories, archives and git repositories, all that is asked for or nothing.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use metier_store::{FetchContext, InstallRequest, LOCK_FILE, Lockfile, SkillSelection, parse_source};

use crate::config::read_regular;
use crate::exit::{Exit, UsageError};
use crate::installing::{Installing, Place, Progress, checked, finish};
use crate::output::Output;

/// Install skills: checked, scanned, pinned by their digests; all that is asked for, or nothing
///
/// A SOURCE is a skill's directory or one with skills below it, an archive (.zip, .skill, .tar.gz), or a git repository:
/// `owner/repository` or any address, with `//directory` and `#reference` (branch, tag or commit) after it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metier install ./my-skill
  metier install my-skill.skill --dry-run
  metier install acme/skills --skill pdf --skill ocr
  metier install https://git.example.org/skills.git//tools#v2 --all
  metier install --locked                       exactly what metier.lock here says, or nothing")]
pub(crate) struct Args {
    /// Where from
    #[arg(value_name = "SOURCE")]
    sources: Vec<String>,

    /// The skill of this name, of several. May be repeated
    #[arg(long, value_name = "NAME", conflicts_with = "all")]
    skill: Vec<String>,

    /// Every skill there is
    #[arg(long)]
    all: bool,

    /// Take the place of an installed skill of the same name that came from elsewhere
    #[arg(long)]
    replace: bool,

    /// Install exactly what a lock says, or nothing; without FILE the metier.lock here or above, up to the repository's root
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = LOCK_FILE, conflicts_with_all = ["sources", "skill", "all"])]
    locked: Option<PathBuf>,

    #[command(flatten)]
    installing: Installing,
}

/// A larger lock is something else.
const LOCK_MOST: u64 = 64 << 20;

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let place = Place::find()?;
    let mut options = place.options(&args.installing)?;
    options.replace = args.replace;
    if args.locked.is_none() && args.sources.is_empty() {
        let message = "name what to install, or `--locked`; see `metier install --help`";
        return Err(UsageError(message.to_owned()).into());
    }
    let working = place.working();
    // What cannot be recorded is not done.
    let recorder = place.recorder(args.installing.dry_run)?;
    let installed = {
        let progress = Progress::begin(output);
        let say = |text: &str| progress.say(text);
        let fetching = FetchContext::new(place.git()).telling(&say);
        if let Some(path) = &args.locked {
            let path = lock_file(place.environment.absolute(path));
            let text =
                read_regular(&path, LOCK_MOST).with_context(|| format!("cannot read {}", path.display()))?;
            options.replace = true;
            // Where it says where something is, it means from where it is itself.
            let here = path.parent().unwrap_or(&working);
            place.store.install_locked(&Lockfile::parse(&text, &path)?, here, &options, &fetching)
        } else {
            let request = |text: &String| -> anyhow::Result<InstallRequest> {
                let wanted = match (args.all, args.skill.is_empty()) {
                    (true, _) => SkillSelection::All,
                    (_, true) => SkillSelection::Only,
                    _ => SkillSelection::Named(args.skill.clone()),
                };
                Ok(InstallRequest {
                    source: parse_source(text, &working, &place.config.git_host.value)?,
                    wanted,
                })
            };
            let requests = args.sources.iter().map(request).collect::<anyhow::Result<Vec<_>>>()?;
            place.store.install(&requests, &options, &fetching)
        }
    };
    let outcome = checked(installed, &place, args.installing.dry_run, output)?;
    finish(&outcome, recorder, &args.installing, output)
}

/// The lock at a path or, where there is none and its name is the usual one, in a directory above in the same repository.
fn lock_file(path: PathBuf) -> PathBuf {
    if path.exists() || path.file_name().is_none_or(|name| name != LOCK_FILE) {
        return path;
    }
    let directories: Vec<&Path> = path.ancestors().skip(1).collect();
    let top = directories.iter().position(|directory| directory.join(".git").exists());
    let mut project = directories.iter().take(top.map_or(0, |top| top + 1));
    project
        .find_map(|directory| Some(directory.join(LOCK_FILE)).filter(|lock| lock.is_file()))
        .unwrap_or(path)
}
