//! `metier install`: skills from every kind of source; either all that are requested or none.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use metier_catalog::installed_directory;
use metier_home::Agent;
use metier_host::HostStore;
use metier_store::{ChangeKind, InstallRequest, LOCK_FILE, LockedSkill, PlannedChange, SkillSelection};

use crate::exit::{Exit, UsageError};
use crate::installing::{Installing, checked, finish, read_lock, recorder, store};
use crate::output::Output;
use crate::progress::Progress;

/// Install skills from a directory, an archive, a git repository or a site
///
/// Skills are validated, scanned and pinned by their digests. If one of them cannot be installed, none is.
///
/// A SOURCE is a directory with a skill or with skills below it, an archive (.zip, .skill, .tar.gz) or a git repository:
/// `owner/repository[/directory][#reference][@skill]`, an address from the browser (`https://…/tree/REFERENCE/DIRECTORY`),
/// `git@host:path` or any other URL for git; the URL of an archive with `#sha256:digest`; or a site that lists its skills
/// (`https://example.org`). If a source has two readings, nothing is installed and both are shown.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  metier install ./my-skill
  metier install my-skill.skill --dry-run
  metier install acme/skills --skill pdf --skill ocr
  metier install acme/skills#v2@pdf
  metier install https://github.com/acme/skills/tree/main/tools
  metier install https://example.org --skill pdf
  metier install https://git.example.org/skills.git//tools#v2 --all
  metier install --locked                       exactly the skills in metier.lock")]
pub(crate) struct Args {
    /// Sources to install from
    #[arg(value_name = "SOURCE")]
    sources: Vec<String>,

    /// Install only the skill with this name. Can be repeated
    #[arg(long, value_name = "NAME", conflicts_with = "all")]
    skill: Vec<String>,

    /// Install every skill of the source
    #[arg(long)]
    all: bool,

    /// Replace an installed skill of the same name that has another source
    #[arg(long)]
    replace: bool,

    /// Install exactly the skills of a lock file [default: metier.lock in this directory or above, up to the repository's root]
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = LOCK_FILE, conflicts_with_all = ["sources", "skill", "all"])]
    locked: Option<PathBuf>,

    #[command(flatten)]
    installing: Installing,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> anyhow::Result<Exit> {
    let store = store()?;
    let mut options = args.installing.options(&store)?;
    options.replace = args.replace;
    if args.locked.is_none() && args.sources.is_empty() {
        let message =
            "no source given; name one, such as `metier install owner/repository`, or use `--locked`";
        return Err(UsageError(message.to_owned()).into());
    }
    // What cannot be recorded is not done.
    let recorder = recorder(&store, args.installing.dry_run)?;
    let installed = {
        let progress = Progress::begin(output, "installing");
        let say = |text: &str| progress.say(text);
        let fetching = store.fetching().telling(&say);
        if let Some(path) = &args.locked {
            let (path, lock) = read_lock(&store, path)?;
            options.replace = true;
            // Relative sources in a lock are relative to its directory.
            let here = path.parent().unwrap_or(Path::new("/"));
            store.install_locked(&lock, here, &options, &fetching)
        } else {
            let request = |text: &String| -> anyhow::Result<InstallRequest> {
                let parsed = store.source(text)?;
                let named: Vec<String> = args.skill.iter().chain(&parsed.skill).cloned().collect();
                let wanted = match (args.all, named.is_empty()) {
                    (true, false) => {
                        let message = format!("`{text}` names one skill, and `--all` asks for every one");
                        return Err(UsageError(message).into());
                    }
                    (true, true) => SkillSelection::All,
                    (false, true) => SkillSelection::Only,
                    (false, false) => SkillSelection::Named(named),
                };
                Ok(InstallRequest { source: parsed.source, wanted })
            };
            let requests = args.sources.iter().map(request).collect::<anyhow::Result<Vec<_>>>()?;
            store.install(&requests, &options, &fetching)
        }
    };
    let outcome = checked(installed, &store, args.installing.dry_run, output)?;
    let exit = finish(&outcome, &store, recorder, &args.installing, output)?;
    if !args.installing.dry_run && !args.installing.json {
        tell_where(&outcome.changes, &store, output)?;
    }
    Ok(exit)
}

/// More names than these do not fit into a hint.
const NAMED: usize = 6;

/// Prints where new skills are, and the command that makes them visible to an agent.
fn tell_where(changes: &[PlannedChange], store: &HostStore, output: &mut Output) -> anyhow::Result<()> {
    let new = changes.iter().filter(|change| change.kind == ChangeKind::Installed);
    let new: Vec<&LockedSkill> = new.filter_map(|change| change.after.as_ref()).collect();
    let places: BTreeSet<PathBuf> =
        new.iter().map(|skill| installed_directory(store.root(), skill.tier)).collect();
    for place in &places {
        output.note(format_args!("installed in {}", place.display()))?;
    }
    let environment = store.metier().environment();
    let sees = |agent: Agent, name: &str| {
        let home = environment.home.as_ref();
        home.is_some_and(|home| home.join(agent.skills_directory()).join(name).exists())
    };
    let agents = store.metier().agents();
    let found = agents.iter().copied().find(|agent| new.iter().any(|skill| !sees(*agent, &skill.name)));
    if new.is_empty() || (found.is_none() && !agents.is_empty()) {
        return Ok(());
    }
    let agent = found.unwrap_or(Agent::ClaudeCode);
    let which = if new.len() <= NAMED {
        new.iter().map(|skill| skill.name.as_str()).collect::<Vec<_>>().join(" ")
    } else {
        places.iter().map(|place| format!("--root {}", place.display())).collect::<Vec<_>>().join(" ")
    };
    let (name, title) = (agent.name(), agent.title());
    output.note(format_args!(
        "hint: `metier link {name} {which}` makes {} visible to {title}",
        if new.len() == 1 { "it" } else { "them" }
    ))?;
    Ok(())
}
