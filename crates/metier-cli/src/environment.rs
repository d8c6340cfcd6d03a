//! What the process was given: directories, variables, the clock. Nothing else here looks at them.

#![expect(clippy::disallowed_methods, reason = "this is where ambient state comes in")]

use std::env;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use metier_catalog::{Places, Root, Scope, TrustStore};
use metier_home::Host;
use metier_journal::Time;
use metier_skill::Tier;
use metier_store::Store;

/// What the organisation sets up for everybody on a machine.
const SYSTEM: &str = "/etc/metier";

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
                .filter(|(name, _)| name.starts_with("METIER_") || name.starts_with("XDG_"))
                .collect(),
        }
    }

    /// A variable of ours or of the XDG directories that is set to something.
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

    /// What can be made again.
    pub(crate) fn cache_directory(&self) -> Option<PathBuf> {
        self.xdg("XDG_CACHE_HOME", ".cache")
    }

    /// What the person decided on this machine.
    pub(crate) fn state_directory(&self) -> Option<PathBuf> {
        self.xdg("XDG_STATE_HOME", ".local/state")
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
    pub(crate) fn host() -> Host {
        let text =
            |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
        let mut host = Host::new(env::vars_os().filter_map(text).collect());
        host.is_root = rustix::process::geteuid().is_root();
        host
    }

    /// The name of the account, as the system has it.
    pub(crate) fn account() -> String {
        let uid = rustix::process::getuid().as_raw().to_string();
        let accounts = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let own = |line: &str| {
            let mut fields = line.split(':');
            let name = fields.next()?.to_owned();
            (fields.nth(1)? == uid).then_some(name)
        };
        accounts.lines().find_map(own).unwrap_or(uid)
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

    /// What time it is.
    pub(crate) fn time() -> SystemTime {
        SystemTime::now()
    }

    /// Where homes of agents are made.
    pub(crate) fn temporary() -> PathBuf {
        env::temp_dir()
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

    pub(crate) fn places(&self) -> Places {
        Places {
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

/// The home of the account that runs this, from the system's list of them.
fn account_home() -> Option<PathBuf> {
    let uid = rustix::process::getuid().as_raw().to_string();
    let accounts = std::fs::read_to_string("/etc/passwd").ok()?;
    let fields = accounts.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let home = fields.into_iter().find_map(|fields| match fields[..] {
        [_, _, other, _, _, home, ..] if other == uid => Some(PathBuf::from(home)),
        _ => None,
    });
    home.filter(|home| home.is_absolute())
}
