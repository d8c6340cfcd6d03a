//! A PostgreSQL server of the test's own: in a directory that goes with it, on a port that nobody else has, gone when the test is.

use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use metier_journal::JournalAddress;
use rustix::process::{Pid, Signal, geteuid, kill_process};
use tempfile::TempDir;

use crate::common::asked;

/// With characters that mean something in urls, in the shell and in SQL.
pub(crate) const PASSWORD: &str = "p@ss/w'rd:%?&";
/// The same inside of a url.
pub(crate) const ENCODED: &str = "p%40ss%2Fw'rd%3A%25%3F%26";

/// A server.
pub(crate) struct Server {
    directory: TempDir,
    port: u16,
    process: Child,
    /// Settings beyond the usual, as `name=value`.
    settings: Vec<String>,
}

/// Where a program of PostgreSQL is; they are not all in one place.
fn program(name: &str) -> Option<PathBuf> {
    let path = asked("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    places.extend(versions.map(|version| version.path().join("bin")));
    places.into_iter().map(|place| place.join(name)).find(|program| program.exists())
}

/// Whether PostgreSQL is installed. Who has none must say that this is fine.
fn is_installed() -> bool {
    let is_installed = ["initdb", "postgres", "psql"].into_iter().all(|name| program(name).is_some());
    if !is_installed {
        println!("SKIPPED: PostgreSQL is not installed, so nothing of its store was tested");
        assert!(
            asked("SKIP_POSTGRES").is_some(),
            "PostgreSQL is not installed; install its server, or set SKIP_POSTGRES to go without these tests"
        );
    }
    is_installed
}

/// The server refuses to run as root; then it runs as this user.
fn ordinary_user() -> Option<(u32, u32)> {
    if !geteuid().is_root() {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").unwrap();
    let ids = |name: &str| {
        let user = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut numbers = user.split(':').skip(2).map(|number| number.parse().unwrap());
        Some((numbers.next()?, numbers.next()?))
    };
    Some(ids("postgres").or_else(|| ids("nobody")).unwrap())
}

/// Runs as somebody who may run a server, and not longer than this thread.
fn ordinary(name: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]);
    if let Some((user, group)) = ordinary_user() {
        command.args([format!("--reuid={user}"), format!("--regid={group}"), "--clear-groups".to_owned()]);
    }
    command.arg(program(name).unwrap()).stdin(Stdio::null());
    command
}

/// Asks until it is so; there is no other way to know that a server is there.
pub(crate) fn wait_for<F: FnMut() -> bool>(what: &str, mut condition: F) {
    for _ in 0..1500 {
        if condition() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("waited too long for {what}");
}

impl Server {
    pub(crate) fn start() -> Option<Self> {
        Self::start_with(&[], |_| {})
    }

    /// With settings, and with whatever is put into its directory before it starts.
    pub(crate) fn start_with(settings: &[&str], prepare: impl FnOnce(&Path)) -> Option<Self> {
        if !is_installed() {
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let password = directory.path().join("password");
        fs::write(&password, PASSWORD).unwrap();
        own(&password);
        own(directory.path());
        let made = ordinary("initdb")
            .args(["--no-sync", "--username=admin", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C"])
            .arg(format!("--pwfile={}", password.display()))
            .arg(directory.path().join("data"))
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        prepare(directory.path());
        let settings = settings.iter().map(|&setting| setting.to_owned()).collect();
        let process = Command::new("true").spawn().unwrap();
        let mut server = Self { directory, port: 0, process, settings };
        server.process.wait().unwrap();
        for _ in 0..5 {
            // Somebody else may take it before the server does.
            server.port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            if server.try_run() {
                return Some(server);
            }
        }
        panic!("the server does not start: {}", server.log());
    }

    fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }

    /// Starts it; whether it is there then.
    fn try_run(&mut self) -> bool {
        let log = File::options().create(true).append(true).open(self.directory.path().join("log")).unwrap();
        let mut command = ordinary("postgres");
        command.arg("-D").arg(self.directory.path().join("data")).arg("-p").arg(self.port.to_string());
        let usual = ["listen_addresses=127.0.0.1", "unix_socket_directories="].map(str::to_owned);
        for setting in usual.iter().chain(&self.settings) {
            command.args(["-c", setting]);
        }
        self.process = command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        let mut is_there = false;
        wait_for("a server", || {
            is_there = self.psql("postgres", "SELECT 1").status().unwrap().success();
            is_there || self.process.try_wait().unwrap().is_some()
        });
        is_there
    }

    /// Starts it again after it was ended; what is left of the old one may take a moment to go.
    pub(crate) fn run(&mut self) {
        wait_for("the server to start again", || self.try_run());
    }

    /// Ends it without a chance to finish anything. With `QUIT`, which is what `pg_ctl stop -m immediate` sends, it
    /// tells its processes first; with `KILL` they find out.
    pub(crate) fn end(&mut self, signal: Signal) {
        let id = Pid::from_child(&self.process);
        kill_process(id, signal).unwrap();
        self.process.wait().unwrap();
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// A url of a role of this server.
    pub(crate) fn url(&self, role: &str, database: &str, parameters: &str) -> String {
        format!("postgres://{role}:{ENCODED}@127.0.0.1:{}/{database}?{parameters}", self.port)
    }

    pub(crate) fn place(&self, stream: &str) -> JournalAddress {
        self.url("admin", "postgres", &format!("stream={stream}")).parse().unwrap()
    }

    fn psql(&self, database: &str, statements: &str) -> Command {
        let mut command = Command::new(program("psql").unwrap());
        command
            .args(["-X", "-q", "-At", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-U", "admin"])
            .args(["-p", &self.port.to_string(), "-d", database, "-c", statements])
            .env("PGPASSWORD", PASSWORD)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// Does something behind the journal's back; what the server answers.
    pub(crate) fn sql(&self, statements: &str) -> String {
        self.sql_in("postgres", statements)
    }

    pub(crate) fn sql_in(&self, database: &str, statements: &str) -> String {
        let mut command = self.psql(database, statements);
        let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap();
        assert!(output.status.success(), "{statements}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have been ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Gives a file to whom the server runs as, and to nobody else.
pub(crate) fn own(path: &Path) {
    if let Some((user, group)) = ordinary_user() {
        chown(path, Some(user), Some(group)).unwrap();
    }
    let mode = if path.is_dir() { 0o700 } else { 0o600 };
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}
