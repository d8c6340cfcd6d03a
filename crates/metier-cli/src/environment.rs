//! What the process was given: directories, variables, the clock. Nothing else here looks at them.

#![expect(clippy::disallowed_methods, reason = "this is where ambient state comes in")]

use std::env;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use metier_catalog::{Root, RootLocations, Scope, TrustStore};
use metier_home::HostVariables;
use metier_journal::{Identity, Time};
use metier_sandbox::Local;
use metier_skill::Tier;
use metier_store::Store;

/// What the organisation sets up for everybody on a machine.
const SYSTEM: &str = "/etc/metier";

/// Variables that say where git's configuration is.
const GIT_CONFIGS: [&str; 2] = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"];

/// The process's surroundings, read once.
#[derive(Debug, Clone)]
pub(crate) struct Environment {
    pub(crate) working: Option<PathBuf>,
    pub(crate) home: Option<PathBuf>,
    /// The home that the system has for the account, whatever variables say.
    pub(crate) account_home: Option<PathBuf>,
    pub(crate) now: SystemTime,
    pub(crate) path: OsString,
    variables: Vec<(String, String)>,
}

impl Environment {
    pub(crate) fn read() -> Self {
        let text =
            |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
        Self {
            working: env::current_dir().ok(),
            home: env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute()),
            account_home: account_home(),
            now: SystemTime::now(),
            path: env::var_os("PATH").unwrap_or_default(),
            variables: env::vars_os()
                .filter_map(text)
                .filter(|(name, _)| {
                    let is_ours = name.starts_with("METIER_") || name.starts_with("XDG_");
                    is_ours || GIT_CONFIGS.contains(&name.as_str())
                })
                .collect(),
        }
    }

    /// One with nothing but a home and a working directory.
    #[cfg(test)]
    pub(crate) fn at(home: &Path, working: &Path) -> Self {
        Self {
            working: Some(working.to_owned()),
            home: Some(home.to_owned()),
            account_home: None,
            now: SystemTime::UNIX_EPOCH,
            path: OsString::new(),
            variables: Vec::new(),
        }
    }

    /// A variable of ours, of the XDG directories or of git's configuration that is set to something.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        let found = self.variables.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// Every variable of ours that is set.
    pub(crate) fn metier_variables(&self) -> impl Iterator<Item = &str> {
        self.variables.iter().map(|(name, _)| name.as_str()).filter(|name| name.starts_with("METIER_"))
    }

    /// Where the person's settings are.
    pub(crate) fn config_directory(&self) -> Option<PathBuf> {
        self.xdg("XDG_CONFIG_HOME", ".config")
    }

    /// Files that variables make git take configuration from.
    pub(crate) fn git_configs(&self) -> Vec<PathBuf> {
        let named = GIT_CONFIGS.iter().filter_map(|name| self.variable(name));
        let of_xdg = self.variable("XDG_CONFIG_HOME").map(|base| Path::new(base).join("git/config"));
        named.map(PathBuf::from).chain(of_xdg).map(|path| self.absolute(&path)).collect()
    }

    /// What can be made again.
    pub(crate) fn cache_directory(&self) -> Option<PathBuf> {
        self.xdg("XDG_CACHE_HOME", ".cache")
    }

    /// What the person decided on this machine.
    pub(crate) fn state_directory(&self) -> Option<PathBuf> {
        self.xdg("XDG_STATE_HOME", ".local/state")
    }

    /// Where runs of scripts are noted; nowhere without a home.
    pub(crate) fn run_notes(&self) -> Option<PathBuf> {
        Some(self.state_directory()?.join("runs"))
    }

    /// What runs scripts here.
    pub(crate) fn executor(&self) -> Local {
        self.run_notes().map_or_else(Local::new, |notes| Local::new().with_notes(notes))
    }

    /// Skills that are kept.
    pub(crate) fn store(&self) -> Option<Store> {
        Some(Store::new(self.xdg("XDG_DATA_HOME", ".local/share")?.join("store")))
    }

    /// Where skills are found that were installed, a root for each tier that any can have. Links there lead to the store, and nowhere else.
    pub(crate) fn installed_roots(&self) -> Vec<Root> {
        let Some(store) = self.store() else { return Vec::new() };
        let root = |tier| {
            let mut root = Root::new(store.skills_directory(tier), tier, Scope::User);
            root.is_optional = true;
            store.root().clone_into(&mut root.confines);
            root
        };
        [Tier::Org, Tier::User, Tier::ThirdParty].map(root).to_vec()
    }

    /// What an agent's home is made from: every variable of the process.
    pub(crate) fn host() -> HostVariables {
        let text =
            |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
        let mut host = HostVariables::new(env::vars_os().filter_map(text).collect());
        host.is_root = rustix::process::geteuid().is_root();
        host
    }

    /// The name of the account, as the system has it.
    pub(crate) fn account() -> String {
        let uid = rustix::process::getuid().as_raw();
        uzers::get_user_by_uid(uid)
            .map_or_else(|| uid.to_string(), |user| user.name().to_string_lossy().into_owned())
    }

    /// The account and the machine, as records name them.
    pub(crate) fn identity() -> Identity {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Identity { user: Self::account(), uid: rustix::process::getuid().as_raw(), host }
    }

    /// The homes of other people, as far as this account could change them: for root those in `/home` and those of accounts
    /// that can log in, none for others.
    pub(crate) fn other_homes() -> Vec<PathBuf> {
        if !rustix::process::geteuid().is_root() {
            return Vec::new();
        }
        let entries = std::fs::read_dir("/home").into_iter().flatten().flatten();
        let in_home = entries.map(|entry| entry.path()).filter(|path| path.is_dir());
        in_home.chain(homes_in(&std::fs::read_to_string("/etc/passwd").unwrap_or_default())).collect()
    }

    /// What tells this program from one that was built at another time.
    pub(crate) fn program_stamp() -> Option<String> {
        let meta = env::current_exe().ok()?.metadata().ok()?;
        let version = env!("CARGO_PKG_VERSION");
        Some(format!("{version} {} {} {} {}", meta.ino(), meta.size(), meta.mtime(), meta.mtime_nsec()))
    }

    /// What was said on the command line, without the program.
    pub(crate) fn words() -> Vec<String> {
        env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect()
    }

    /// The width that the person sets for terminals, if any.
    pub(crate) fn columns() -> Option<usize> {
        env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns > 0)
    }

    /// What time it is.
    pub(crate) fn time() -> SystemTime {
        SystemTime::now()
    }

    /// Where temporary files go.
    pub(crate) fn temporary() -> PathBuf {
        env::temp_dir()
    }

    /// Where homes of agents are made. Never in the working directory: scripts that work there could read what agents
    /// authenticate with.
    pub(crate) fn homes(&self) -> PathBuf {
        let usual = Self::temporary();
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let is_inside = self.working.as_deref().is_some_and(|here| real(&usual).starts_with(real(here)));
        if is_inside { PathBuf::from("/tmp") } else { usual }
    }

    /// A program on the path, or at a path.
    pub(crate) fn program(&self, name: &Path) -> Option<PathBuf> {
        if name.components().count() > 1 {
            return Some(self.absolute(name)).filter(|path| path.is_file());
        }
        env::split_paths(&self.path).map(|directory| directory.join(name)).find(|path| path.is_file())
    }

    /// Variables of the process whose names look like a secret's.
    pub(crate) fn secrets() -> Vec<(String, String)> {
        let text =
            |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
        env::vars_os().filter_map(text).filter(|(name, _)| metier_skill::is_secret_name(name)).collect()
    }

    pub(crate) fn system_directory() -> &'static Path {
        Path::new(SYSTEM)
    }

    pub(crate) fn places(&self) -> RootLocations {
        RootLocations {
            working: self.working.clone(),
            home: self.home.clone(),
            system: Some(Self::system_directory().to_owned()),
        }
    }

    pub(crate) fn trust(&self) -> TrustStore {
        self.state_directory()
            .map_or_else(TrustStore::default, |state| TrustStore::new(state.join("trusted")))
    }

    /// A path as the person meant it: from the working directory.
    pub(crate) fn absolute(&self, path: &Path) -> PathBuf {
        self.working.as_deref().unwrap_or(Path::new("/")).join(path).components().collect()
    }

    /// A path in which `~` at the beginning is the person's home.
    pub(crate) fn at_home(&self, path: &Path) -> PathBuf {
        match (path.strip_prefix("~"), &self.home) {
            (Ok(below), Some(home)) => home.join(below),
            _ => path.to_owned(),
        }
    }

    fn xdg(&self, variable: &str, below_home: &str) -> Option<PathBuf> {
        // The XDG specification has relative paths ignored.
        let set = self.variable(variable).map(PathBuf::from).filter(|path| path.is_absolute());
        let base = set.or_else(|| Some(self.home.as_deref()?.join(below_home)))?;
        Some(base.join("metier"))
    }
}

/// The machine's clock, and ids that nothing else has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock;

impl metier_journal::Source for Clock {
    fn now(&self) -> Time {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Time::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }

    fn id(&self) -> uuid::Uuid {
        uuid::Uuid::now_v7()
    }
}

/// The home of the account that runs this, as the system knows it: accounts of a directory or an identity service are not in
/// `/etc/passwd`.
fn account_home() -> Option<PathBuf> {
    use uzers::os::unix::UserExt as _;

    let user = uzers::get_user_by_uid(rustix::process::getuid().as_raw())?;
    Some(user.home_dir().to_owned()).filter(|home| home.is_absolute())
}

/// The homes of the accounts that can log in. One that has the root of all files for a home has none of its own.
fn homes_in(accounts: &str) -> Vec<PathBuf> {
    let home = |line: &str| {
        let fields: Vec<&str> = line.split(':').collect();
        let (home, shell) = (Path::new(*fields.get(5)?), fields.get(6).copied().unwrap_or_default());
        let logs_in = !shell.ends_with("nologin") && !shell.ends_with("false") && !shell.ends_with("sync");
        (logs_in && home.is_absolute() && home.parent().is_some()).then(|| home.to_owned())
    };
    accounts.lines().filter_map(home).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_are_those_of_accounts_that_can_log_in() {
        let accounts = "root:x:0:0:root:/root:/bin/bash\nwww:x:33:33::/var/www:/usr/sbin/nologin\n\
            all:x:7:7::/:/bin/sh\nalice:x:1001:1001::/srv/alice:/bin/zsh\nbroken\nsync:x:4:0::/bin:/bin/sync\n";
        assert_eq!(homes_in(accounts), ["/root", "/srv/alice"].map(PathBuf::from));
    }
}
