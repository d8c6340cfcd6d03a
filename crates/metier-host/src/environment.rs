//! The environment of the process: directories, variables, the account, the clock. The only file that reads them.

#![expect(clippy::disallowed_methods, reason = "this is where ambient state comes in")]

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fmt;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use metier_catalog::{RootLocations, TrustStore};
// The one place that names the journal's clock.
#[cfg(feature = "session")]
use metier_journal::{Clock, Time};

/// The organisation's directory, which applies to all users of a machine.
const SYSTEM: &str = "/etc/metier";

/// Variables that say where git's configuration is.
const GIT_CONFIGS: [&str; 2] = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"];

/// The environment of the process, read once and passed to everything else.
///
/// [`Environment::read`] reads that of this process. A host that serves several people, or a test, creates one with
/// [`Environment::new`].
#[derive(Clone)]
#[non_exhaustive]
pub struct Environment {
    /// The working directory; `None` if it was removed.
    pub working: Option<PathBuf>,
    /// The user's home directory, from `HOME`.
    pub home: Option<PathBuf>,
    /// The home directory of the account in the system's database, whatever `HOME` is.
    pub account_home: Option<PathBuf>,
    /// The name of the account, from the system's database.
    pub account: String,
    /// The user id of the account.
    pub uid: u32,
    /// Whether the process has the rights of root.
    pub is_root: bool,
    /// The host name.
    pub machine: String,
    /// The directories that are searched for programs, from `PATH`.
    pub path: OsString,
    /// The directory for temporary files.
    pub temporary: PathBuf,
    variables: Vec<(String, String)>,
}

impl Environment {
    /// The environment of this process.
    pub fn read() -> Self {
        let text =
            |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
        Self {
            working: env::current_dir().ok(),
            home: env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute()),
            path: env::var_os("PATH").unwrap_or_default(),
            variables: env::vars_os().filter_map(text).collect(),
            ..Self::of_process()
        }
    }

    /// An environment with a home and a working directory, and no variables: for tests, and for hosts that serve several
    /// people. The account, its rights and the host name are those of the process: they decide what scripts could change, and
    /// records contain them.
    pub fn new(home: impl Into<PathBuf>, working: impl Into<PathBuf>) -> Self {
        Self { working: Some(working.into()), home: Some(home.into()), ..Self::of_process() }
    }

    /// The facts that do not come from variables or the working directory.
    fn of_process() -> Self {
        let uid = rustix::process::getuid().as_raw();
        // Accounts of a directory or an identity service are not in `/etc/passwd`.
        let user = uzers::get_user_by_uid(uid);
        Self {
            working: None,
            home: None,
            account_home: user.as_ref().and_then(account_home),
            account: user.map_or_else(|| uid.to_string(), |user| user.name().to_string_lossy().into_owned()),
            uid,
            is_root: rustix::process::geteuid().is_root(),
            machine: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            path: OsString::new(),
            temporary: env::temp_dir(),
            variables: Vec::new(),
        }
    }

    /// Adds a variable.
    #[must_use]
    pub fn with_variable(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Replaces variables, and removes those that are empty.
    #[must_use]
    pub fn replacing(mut self, variables: &BTreeMap<String, String>) -> Self {
        self.variables.retain(|(name, _)| !variables.contains_key(name));
        let set = variables.iter().filter(|(_, value)| !value.is_empty());
        self.variables.extend(set.map(|(name, value)| (name.clone(), value.clone())));
        if let Some(home) = variables.get("HOME") {
            self.home = Some(PathBuf::from(home)).filter(|home| home.is_absolute());
        }
        self
    }

    /// The same in another working directory.
    #[must_use]
    pub fn working_in(mut self, working: Option<PathBuf>) -> Self {
        self.working = working;
        self
    }

    /// The value of a variable, unless it is empty.
    pub fn variable(&self, name: &str) -> Option<&str> {
        let found = self.variables.iter().rev().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// All variables whose names and values are UTF-8.
    pub fn variables(&self) -> &[(String, String)] {
        &self.variables
    }

    /// The variables whose names look like secrets.
    pub fn secrets(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        all.filter(|(name, _)| metier_skill::is_secret_name(name))
    }

    /// The directory of the user's settings.
    pub fn config_directory(&self) -> Option<PathBuf> {
        self.xdg("XDG_CONFIG_HOME", ".config")
    }

    /// Configuration files of git that variables name.
    pub fn git_configs(&self) -> Vec<PathBuf> {
        let named = GIT_CONFIGS.iter().filter_map(|name| self.variable(name));
        let of_xdg = self.variable("XDG_CONFIG_HOME").map(|base| Path::new(base).join("git/config"));
        named.map(PathBuf::from).chain(of_xdg).map(|path| self.absolute(&path)).collect()
    }

    /// The cache directory.
    pub fn cache_directory(&self) -> Option<PathBuf> {
        self.xdg("XDG_CACHE_HOME", ".cache")
    }

    /// The directory for state: trusted folders, approvals, sessions, the default journal.
    pub fn state_directory(&self) -> Option<PathBuf> {
        self.xdg("XDG_STATE_HOME", ".local/state")
    }

    /// The directory of the store: installed and used skills.
    pub fn store_directory(&self) -> Option<PathBuf> {
        Some(self.xdg("XDG_DATA_HOME", ".local/share")?.join("store"))
    }

    /// The directory for notes about running scripts. They are used to find what killed runs left. `None` without a home.
    pub fn run_notes(&self) -> Option<PathBuf> {
        Some(self.state_directory()?.join("runs"))
    }

    /// The homes of other users that this account could change: for root those in `/home` and those of accounts that can log
    /// in, for other users none.
    pub fn other_homes(&self) -> Vec<PathBuf> {
        if !self.is_root {
            return Vec::new();
        }
        let entries = std::fs::read_dir("/home").into_iter().flatten().flatten();
        let in_home = entries.map(|entry| entry.path()).filter(|path| path.is_dir());
        in_home.chain(homes_in(&std::fs::read_to_string("/etc/passwd").unwrap_or_default())).collect()
    }

    /// A text that differs for every build of this program.
    pub fn program_stamp() -> Option<String> {
        let meta = env::current_exe().ok()?.metadata().ok()?;
        let version = env!("CARGO_PKG_VERSION");
        Some(format!("{version} {} {} {} {}", meta.ino(), meta.size(), meta.mtime(), meta.mtime_nsec()))
    }

    /// The program of this process, for settings of other programs: as it is found in `PATH` if it is, because a later version
    /// is found there as well.
    pub fn own_program(&self) -> Option<PathBuf> {
        let program = env::current_exe().ok()?;
        let real = program.canonicalize().ok();
        let found = self.program(Path::new(program.file_name()?)).map(|found| self.absolute(&found));
        Some(found.filter(|found| found.canonicalize().ok() == real).unwrap_or(program))
    }

    /// The program that hooks of agents call: this one if it is `metier`, or the `metier` beside it or in `PATH`.
    #[cfg(feature = "guard")]
    pub fn hook_program(&self) -> Option<PathBuf> {
        let name = Path::new("metier");
        let own = env::current_exe().ok();
        if own.as_deref().and_then(Path::file_name) == Some(name.as_os_str()) {
            return own;
        }
        let beside = own.and_then(|own| Some(own.parent()?.join(name)));
        beside.filter(|path| path.is_file()).or_else(|| self.program(name)).map(|path| self.absolute(&path))
    }

    /// The arguments of the command line, without the program.
    pub fn arguments() -> Vec<String> {
        env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect()
    }

    /// The terminal width from `COLUMNS`, if it is set.
    pub fn columns() -> Option<usize> {
        env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns > 0)
    }

    /// The directory in which homes of agents are created. It is never in the working directory, where scripts could read the
    /// credentials of agents.
    pub fn homes(&self) -> PathBuf {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let is_inside =
            self.working.as_deref().is_some_and(|here| real(&self.temporary).starts_with(real(here)));
        if is_inside { PathBuf::from("/tmp") } else { self.temporary.clone() }
    }

    /// The program that starts scripts in the sandbox, unless this program does so itself: `metier-launcher` or `metier`,
    /// beside this program or in `PATH`.
    #[cfg(feature = "session")]
    pub fn launcher(&self) -> Option<PathBuf> {
        if metier_sandbox::is_own_launcher() {
            return None;
        }
        let beside = env::current_exe().ok().and_then(|program| program.parent().map(Path::to_owned));
        let names = ["metier-launcher", "metier"].map(Path::new);
        let near =
            names.iter().filter_map(|name| Some(beside.as_deref()?.join(name))).find(|path| path.is_file());
        near.or_else(|| names.iter().find_map(|name| self.program(name)))
    }

    /// A program in `PATH`, or at a path.
    pub fn program(&self, name: &Path) -> Option<PathBuf> {
        if name.components().count() > 1 {
            return Some(self.absolute(name)).filter(|path| path.is_file());
        }
        env::split_paths(&self.path).map(|directory| directory.join(name)).find(|path| path.is_file())
    }

    /// The directory of the organisation's settings for this machine.
    pub fn system_directory() -> &'static Path {
        Path::new(SYSTEM)
    }

    /// The locations of the default skill roots.
    pub fn root_locations(&self) -> RootLocations {
        RootLocations {
            working: self.working.clone(),
            home: self.home.clone(),
            system: Some(Self::system_directory().to_owned()),
        }
    }

    /// The trusted folders of the user.
    pub fn trust(&self) -> TrustStore {
        self.state_directory()
            .map_or_else(TrustStore::default, |state| TrustStore::new(state.join("trusted")))
    }

    /// Makes a path absolute; relative paths begin at the working directory.
    pub fn absolute(&self, path: &Path) -> PathBuf {
        self.working.as_deref().unwrap_or(Path::new("/")).join(path).components().collect()
    }

    /// Replaces `~` at the beginning of a path with the user's home.
    pub fn at_home(&self, path: &Path) -> PathBuf {
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

/// Without the values of variables: secrets are among them.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { working, home, account, .. } = self;
        f.debug_struct("Environment")
            .field("working", working)
            .field("home", home)
            .field("account", account)
            .finish_non_exhaustive()
    }
}

/// The system clock, and random ids. Use it wherever a clock is needed, unless a test needs fixed times.
///
/// With the feature `session` it implements the journal's `Clock`.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl SystemClock {
    /// The current time, for file stamps and scans.
    pub fn time() -> SystemTime {
        SystemTime::now()
    }
}

#[cfg(feature = "session")]
impl Clock for SystemClock {
    fn now(&self) -> Time {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Time::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }

    fn id(&self) -> uuid::Uuid {
        uuid::Uuid::now_v7()
    }
}

/// The current time in the format of records.
#[cfg(feature = "session")]
pub fn now() -> Time {
    Clock::now(&SystemClock)
}

/// The time since this was first called, by a clock that is never set back.
#[cfg(feature = "mcp")]
pub(crate) fn since_start() -> std::time::Duration {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed()
}

fn account_home(user: &uzers::User) -> Option<PathBuf> {
    use uzers::os::unix::UserExt as _;

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
