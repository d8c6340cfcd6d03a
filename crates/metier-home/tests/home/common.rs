//! A place with skills in it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use metier_home::{Agent, Home, HomeError, HomeOptions, HostVariables, IsolationConfig, Variables};
use tempfile::TempDir;

pub(crate) struct Ground(pub(crate) TempDir);

impl Ground {
    pub(crate) fn new() -> Self {
        Self(tempfile::Builder::new().prefix("metier-test-").tempdir().unwrap())
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// A valid skill; where it is.
    pub(crate) fn skill(&self, path: &str) -> PathBuf {
        let name = Path::new(path).file_name().unwrap().to_str().unwrap();
        self.write(&format!("{path}/SKILL.md"), skill_md(name));
        self.path(path)
    }

    pub(crate) fn mode(&self, path: &str) -> u32 {
        fs::symlink_metadata(self.path(path)).unwrap().permissions().mode() & 0o7777
    }

    pub(crate) fn set_mode(&self, path: &str, mode: u32) {
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Everything below a directory, by path.
    pub(crate) fn listing(&self, path: &str) -> Vec<String> {
        let mut all = Vec::new();
        list(&self.path(path), "", &mut all);
        all.sort();
        all
    }

    pub(crate) fn options(&self) -> HomeOptions {
        HomeOptions::new(self.path("homes"))
    }

    /// A host with these variables and a home of its own.
    pub(crate) fn host(&self, env: &[(&str, &str)]) -> HostVariables {
        let pairs = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let mut all: Variables = pairs.collect();
        all.insert("PATH".to_owned(), "/usr/bin:/bin".to_owned());
        all.insert("HOME".to_owned(), self.path("host").to_string_lossy().into_owned());
        HostVariables::new(all)
    }

    pub(crate) fn home(&self, agent: Agent, env: &[(&str, &str)]) -> Home {
        Home::new(agent, &self.host(env), &self.options()).unwrap()
    }

    pub(crate) fn home_with(
        &self,
        agent: Agent,
        env: &[(&str, &str)],
        change: impl FnOnce(&mut IsolationConfig),
    ) -> Result<Home, HomeError> {
        let mut options = self.options();
        change(&mut options.isolation);
        Home::new(agent, &self.host(env), &options)
    }

    /// How many homes there are.
    pub(crate) fn homes(&self) -> usize {
        fs::read_dir(self.path("homes")).map_or(0, Iterator::count)
    }
}

pub(crate) fn skill_md(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Use when testing {name}.\n---\n\n# {name}\n")
}

fn list(directory: &Path, below: &str, all: &mut Vec<String>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = format!("{below}{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            list(&entry.path(), &format!("{name}/"), all);
        } else {
            all.push(name);
        }
    }
}
