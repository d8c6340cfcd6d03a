//! The rules for work directories of scripts: the homes and everything that belongs to metier are never given to a script.

use std::path::Path;

use metier_catalog::AGENT_DIRECTORIES;
use metier_journal::JournalAddress;
use metier_sandbox::{Local, ReservedPaths, SandboxError, WorkDirectory};

use crate::environment::Environment;
use crate::error::HostError;
use crate::host::Metier;
use crate::settings::{OBEYED_FILES, Settings, project_roots};

/// The directory that a script works in where none is named: see [`Metier::usual_work`].
#[derive(Debug)]
pub enum UsualWork {
    /// The working directory.
    Here(WorkDirectory),
    /// An empty temporary directory, and why the working directory is not used.
    Temporary(SandboxError),
}

impl Metier {
    /// The executor for scripts: the local sandbox. It takes notes of its runs, so that files of a killed run are found.
    pub fn executor(&self) -> Local {
        let local = self.environment().launcher().map_or_else(Local::new, Local::with_launcher);
        match self.environment().run_notes() {
            Some(notes) => local.with_notes(notes),
            None => local,
        }
    }

    /// The paths that no script may change: the homes and everything that belongs to metier.
    pub fn reserved_paths(&self) -> ReservedPaths {
        reserved(self.environment(), self.settings())
    }

    /// Opens a directory for scripts to work in. Symlinks in the path are an error unless `follow_links` is set; the rules then
    /// apply to the target.
    pub fn work_directory(
        &self,
        path: &Path,
        follow_links: bool,
        reserved: &ReservedPaths,
    ) -> Result<WorkDirectory, HostError> {
        match WorkDirectory::open(path, reserved) {
            Err(SandboxError::Link { target: Some(target), .. }) if follow_links => {
                Ok(WorkDirectory::open(target, reserved)?)
            }
            other => Ok(other?),
        }
    }

    /// Opens the working directory, if scripts may work in it.
    pub fn work_here(&self, reserved: &ReservedPaths) -> Result<WorkDirectory, SandboxError> {
        WorkDirectory::open(self.environment().working.as_deref().unwrap_or(Path::new(".")), reserved)
    }

    /// The work directory of a script where none is named: the working directory, or where that is never given to scripts,
    /// an empty temporary one, with the reason. People are at home or among their skills when they try scripts.
    pub fn usual_work(&self, reserved: &ReservedPaths) -> Result<UsualWork, SandboxError> {
        match self.work_here(reserved) {
            Ok(here) => Ok(UsualWork::Here(here)),
            Err(error @ (SandboxError::Reserved { .. } | SandboxError::TooWide { .. })) => {
                Ok(UsualWork::Temporary(error))
            }
            Err(error) => Err(error),
        }
    }
}

/// What no script changes here: the home, and everything of metier's, as the settings have it.
fn reserved(environment: &Environment, settings: &Settings) -> ReservedPaths {
    let mut all = ReservedPaths::default();
    let own = [&environment.home, &environment.account_home].into_iter().flatten().cloned();
    for home in own.chain(environment.other_homes()) {
        all = all.home(home);
    }
    all = environment.git_configs().into_iter().fold(all, ReservedPaths::git_config);
    let journal = settings.recording.journal.value.as_ref().and_then(JournalAddress::as_file);
    let own = [
        ("metier's settings", environment.config_directory()),
        ("metier's state", environment.state_directory()),
        ("metier's cache", environment.cache_directory()),
        ("the store", environment.store_directory()),
        ("the journal", journal.map(Path::to_owned)),
    ];
    for (what, path) in own {
        if let Some(path) = path {
            all = all.own(what, path);
        }
    }
    for root in &settings.root_paths {
        all = all.kept("a skill root", root);
    }
    for (file, _) in &settings.files {
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
    for folder in trusted.into_iter().chain(environment.root_locations().project_folders()) {
        for name in OBEYED_FILES {
            all = all.kept("a settings file", folder.join(name));
        }
    }
    OBEYED_FILES.into_iter().fold(all, ReservedPaths::name)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::settings::Overrides;

    #[test]
    fn a_home_is_never_given_to_a_script_and_a_project_is() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let project = home.join("project");
        fs::create_dir(&project).unwrap();
        let usual = |working: &Path| {
            let environment = Environment::new(&home, working);
            let metier = Metier::builder().environment(environment).build().unwrap();
            metier.usual_work(&metier.reserved_paths()).unwrap()
        };
        assert!(matches!(usual(&home), UsualWork::Temporary(SandboxError::Reserved { .. })));
        assert!(matches!(usual(&project), UsualWork::Here(work) if work.path() == project));
    }

    #[test]
    fn whatever_metier_obeys_stays_as_it_is_in_any_work_directory() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        let project = base.join("project");
        fs::create_dir_all(project.join(".git")).unwrap();
        fs::create_dir_all(project.join("sub")).unwrap();
        fs::create_dir_all(base.join("elsewhere")).unwrap();
        let environment = Environment::new(base.join("me"), project.join("sub"));
        environment.trust().mark(&project.join("sub")).unwrap();
        let config = Settings::read(&environment, &Overrides::default()).unwrap();
        let reserved = reserved(&environment, &config);
        let kept = |path: &Path| WorkDirectory::open(path, &reserved).unwrap().kept().to_vec();
        for name in OBEYED_FILES {
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
