//! A place to run `metier` in, and the transcript of a run.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// An empty directory that goes when it is dropped, with another for temporary files.
pub(crate) struct Place {
    here: tempfile::TempDir,
    temporary: OnceLock<tempfile::TempDir>,
}

impl Drop for Place {
    /// What is installed cannot be written to, and would outlive the place of an ordinary user.
    fn drop(&mut self) {
        open_up(self.path());
        if let Some(temporary) = self.temporary.get() {
            open_up(temporary.path());
        }
    }
}

fn open_up(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            // Where this is not allowed, removing it is not either.
            let _ = fs::set_permissions(entry.path(), fs::Permissions::from_mode(0o700));
            open_up(&entry.path());
        }
    }
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { here: tempfile::tempdir().unwrap(), temporary: OnceLock::new() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.here.path()
    }

    /// What `TMPDIR` can be set to: not in this place, where it would be in the working directory.
    pub(crate) fn temporary(&self) -> &Path {
        self.temporary.get_or_init(|| tempfile::tempdir().unwrap()).path()
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path().join(path)).unwrap()
    }

    /// Runs `metier` here, in an environment with nothing in it.
    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// `metier` here, with nothing in its environment but a home, which is `me` here.
    pub(crate) fn at_home(&self, args: &[&str]) -> Command {
        let mut command = self.command(args);
        let home = fs::canonicalize(self.path()).unwrap().join("me");
        fs::create_dir_all(&home).unwrap();
        command.env("HOME", home);
        command
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_metier"));
        command.args(args).current_dir(self.path()).env_clear();
        command
    }

    /// A skill below this place whose name is the last part of the path.
    pub(crate) fn skill(&self, path: &str, description: &str) {
        let name = path.rsplit('/').next().unwrap();
        let text = format!("---\nname: {name}\ndescription: {description}\n---\n# {name}\n\nDo it.\n");
        self.write(&format!("{path}/SKILL.md"), text);
    }

    /// What a person sees: the command, both streams, the exit code. This place is called `PLACE` in it.
    pub(crate) fn transcript(&self, args: &[&str]) -> String {
        self.transcript_of(args, &self.run(args))
    }

    /// The same with a home.
    pub(crate) fn transcript_at_home(&self, args: &[&str]) -> String {
        self.transcript_of(args, &self.at_home(args).output().unwrap())
    }

    pub(crate) fn transcript_of(&self, args: &[&str], output: &Output) -> String {
        let mut text = format!("$ metier {}\n", args.join(" "));
        text.push_str(&String::from_utf8_lossy(&output.stdout));
        for line in String::from_utf8_lossy(&output.stderr).lines() {
            writeln!(text, "stderr: {line}").unwrap();
        }
        writeln!(text, "exit: {}", output.status.code().unwrap()).unwrap();
        let real = fs::canonicalize(self.path()).unwrap();
        text.replace(real.to_str().unwrap(), "PLACE")
    }

    pub(crate) fn json_at_home(&self, args: &[&str]) -> serde_json::Value {
        serde_json::from_slice(&self.at_home(args).output().unwrap().stdout).unwrap()
    }

    pub(crate) fn json(&self, args: &[&str]) -> serde_json::Value {
        serde_json::from_slice(&self.run(args).stdout).unwrap()
    }
}

/// Whether this machine gives processes no namespaces, which `scripts/test` finds out; then the test that asks is reported as skipped.
pub(crate) fn skips_namespaces() -> bool {
    let skips = std::env::vars_os().any(|(name, _)| name == "SKIP_NAMESPACES");
    if skips {
        let thread = std::thread::current();
        let test = thread.name().unwrap_or("a test");
        crate::skips::skip(&format!("{test}: this machine gives processes no namespaces"));
    }
    skips
}
