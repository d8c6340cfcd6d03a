//! The work directory of a command: opened once, checked against everything that this person's settings say is metier's.

use std::path::{Path, PathBuf};

use metier_catalog::AGENT_DIRECTORIES;
use metier_sandbox::{ReservedPaths, SandboxError, WorkDirectory};

use crate::config::{Config, OBEYED, project_roots};
use crate::environment::Environment;
use crate::exit::UsageError;
use crate::output::{Output, clean};

/// Which directory a command works in.
#[derive(Debug, clap::Args)]
pub(crate) struct WorkArgs {
    /// The directory it works in and may change [default: this directory]
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,

    /// Follow links in the path of that directory; where they lead is shown
    #[arg(long)]
    follow_links: bool,
}

impl WorkArgs {
    /// The directory that was named, if one was.
    pub(crate) fn named(
        &self,
        environment: &Environment,
        reserved: &ReservedPaths,
        output: &mut Output,
    ) -> anyhow::Result<Option<WorkDirectory>> {
        let open = |work: &PathBuf| self.open(work, environment, reserved, output);
        self.work.as_ref().map(open).transpose()
    }

    /// Another directory that may be changed, by the same rules.
    pub(crate) fn open(
        &self,
        path: &Path,
        environment: &Environment,
        reserved: &ReservedPaths,
        output: &mut Output,
    ) -> anyhow::Result<WorkDirectory> {
        open(path, self.follow_links, environment, reserved, output)
    }
}

/// Opens a directory for scripts to work in, and says which one it is if that is not what was said.
pub(crate) fn open(
    path: &Path,
    follows_links: bool,
    environment: &Environment,
    reserved: &ReservedPaths,
    output: &mut Output,
) -> anyhow::Result<WorkDirectory> {
    let said = environment.absolute(path);
    let work = match WorkDirectory::open(path, reserved) {
        // The person has said that this is meant; the rules hold for what it leads to.
        Err(SandboxError::Link { target: Some(target), .. }) if follows_links => {
            WorkDirectory::open(target, reserved)?
        }
        Err(error @ SandboxError::Link { .. }) => return Err(UsageError(advice(&error)).into()),
        other => other?,
    };
    if work.path() != said {
        output.note(format_args!(
            "note: the work directory is {}",
            clean(&work.path().display().to_string())
        ))?;
    }
    Ok(work)
}

fn advice(error: &SandboxError) -> String {
    let SandboxError::Link { path, target: Some(target) } = error else {
        return clean(&error.to_string());
    };
    let (path, target) = (path.display(), target.display());
    clean(&format!(
        "`{path}` leads through a link to `{target}`; if you mean that directory, say `--work {target}` or `--follow-links`"
    ))
}

/// What no script changes here: the home, and everything of metier's, as the settings have it.
pub(crate) fn reserved(environment: &Environment, config: &Config) -> ReservedPaths {
    let mut all = ReservedPaths::default();
    let own = [&environment.home, &environment.account_home].into_iter().flatten().cloned();
    for home in own.chain(Environment::other_homes()) {
        all = all.home(home);
    }
    all = environment.git_configs().into_iter().fold(all, ReservedPaths::git_config);
    let own = [
        ("metier's settings", environment.config_directory()),
        ("metier's state", environment.state_directory()),
        ("metier's cache", environment.cache_directory()),
        ("the store", environment.store().map(|store| store.root().to_owned())),
        (
            "the journal",
            config.recording.journal.value.as_ref().and_then(|place| place.as_file().map(Into::into)),
        ),
    ];
    for (what, path) in own {
        if let Some(path) = path {
            all = all.own(what, path);
        }
    }
    for root in &config.root_paths {
        all = all.kept("a skill root", root);
    }
    for (file, _) in &config.files {
        all = all.kept("a settings file", file);
    }
    // Those of other projects as well: they are obeyed when somebody works there.
    let trusted = environment.trust().marked().unwrap_or_default();
    for folder in &trusted {
        let usual = AGENT_DIRECTORIES.iter().map(|below| folder.join(below));
        for root in usual.chain(project_roots(folder, environment)) {
            all = all.kept("a skill root", root);
        }
    }
    for folder in trusted.into_iter().chain(environment.places().project_folders()) {
        for name in OBEYED {
            all = all.kept("a settings file", folder.join(name));
        }
    }
    OBEYED.into_iter().fold(all, ReservedPaths::name)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::config::Flags;

    #[test]
    fn whatever_metier_obeys_stays_as_it_is_in_any_work_directory() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let project = base.join("project");
        fs::create_dir_all(project.join(".git")).unwrap();
        fs::create_dir_all(project.join("sub")).unwrap();
        fs::create_dir_all(base.join("elsewhere")).unwrap();
        let environment = Environment::at(&base.join("me"), &project.join("sub"));
        environment.trust().mark(&project.join("sub")).unwrap();
        let config = Config::read(&environment, &Flags::default()).unwrap();
        let reserved = reserved(&environment, &config);
        let kept = |path: &Path| WorkDirectory::open(path, &reserved).unwrap().kept().to_vec();
        for name in OBEYED {
            assert!(kept(&base.join("elsewhere")).contains(&name.into()), "{name}");
            assert!(kept(&project).contains(&Path::new("sub").join(name)), "{name}");
        }
        // Every root and settings file that was looked for, also those that do not exist.
        let files = config.files.iter().map(|(path, _)| path);
        let all = files.chain(config.roots.iter().map(|root| &root.value.path));
        let inside: Vec<&Path> = all.filter_map(|path| path.strip_prefix(&project).ok()).collect();
        assert!(inside.len() >= 5, "{inside:?}");
        for path in inside {
            assert!(kept(&project).iter().any(|one| path.starts_with(one)), "{}", path.display());
        }
    }
}
