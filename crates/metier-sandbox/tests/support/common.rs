//! What the suites of this crate share: a launcher, a place to work, short ways to run something, and the same tests
//! once more as an ordinary user.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![expect(clippy::print_stdout, reason = "what the second run said is for people to read")]

#[path = "../../../../tests/shared/skips.rs"]
mod skips;

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use metier_sandbox::{Executor, Job, Local, ReservedPaths, RunOutcome, SandboxProfile, WorkDirectory};
use metier_skill::Tier;
use tempfile::TempDir;

pub(crate) use skips::skip;

/// A user and group that no system has given to anybody.
pub(crate) const ORDINARY: u32 = 61_234;

/// The test that starts the others again, by this name in every suite.
const AGAIN: &str = "as_an_ordinary_user";

/// What the launcher is called where it is copied to.
const LAUNCHER: &str = "metier-launcher";

// Not every suite needs all of it.
const _: () = {
    let _ = (
        local,
        work,
        profile,
        run,
        sh,
        run_job,
        is_root,
        again_as_ordinary_user,
        open_to_all,
        skip,
        ORDINARY,
    );
};

/// The executor, with the launcher that lies beside this program or the one that was built with it.
pub(crate) fn local() -> Local {
    let own = std::env::current_exe().unwrap();
    let beside = own.with_file_name(LAUNCHER);
    Local::with_launcher(if beside.exists() { beside } else { env!("CARGO_BIN_EXE_metier-launcher").into() })
}

/// A new directory that everybody may enter.
pub(crate) fn work() -> TempDir {
    let directory = tempfile::Builder::new().prefix("metier-test-").tempdir().unwrap();
    fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
    directory
}

/// Lets everybody read and write something.
pub(crate) fn open_to_all(path: &Path) {
    let mode = if path.is_dir() { 0o777 } else { 0o666 };
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// What a script of a third party may, with this to work in.
pub(crate) fn profile(work: &Path) -> SandboxProfile {
    SandboxProfile::new(Tier::ThirdParty, WorkDirectory::open(work, &ReservedPaths::default()).unwrap())
}

/// Runs a program to its end.
pub(crate) fn run(profile: SandboxProfile, program: &str, arguments: &[&str]) -> RunOutcome {
    run_job(&Job::new(profile, program, arguments.iter().map(OsString::from).collect()))
}

/// Runs a script for the shell to its end.
pub(crate) fn sh(profile: SandboxProfile, script: &str) -> RunOutcome {
    run(profile, "/bin/sh", &["-c", script])
}

/// Runs a job to its end.
pub(crate) fn run_job(job: &Job) -> RunOutcome {
    local().run(job, &mut ()).unwrap()
}

/// Whether the tests are run by root.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Runs every other test of this suite once more, as a user without any rights, if that is not who runs them now.
///
/// The one test that calls this is named `as_an_ordinary_user`.
pub(crate) fn again_as_ordinary_user() {
    if !is_root() {
        println!("this is an ordinary user already");
        return;
    }
    // Where everybody can read it: the target directory may lie in somebody's home.
    let place = work();
    let suite = place.path().join("suite");
    // By another process: a child that another test starts meanwhile would have the copy open for writing, and nobody could run it.
    let copies = [
        (std::env::current_exe().unwrap(), suite.clone()),
        (env!("CARGO_BIN_EXE_metier-launcher").into(), place.path().join(LAUNCHER)),
    ];
    for (from, to) in copies {
        assert!(Command::new("cp").args([from, to]).status().unwrap().success());
    }
    // Setting the user drops the supplementary groups as well.
    let output = Command::new(&suite)
        .args(["--skip", AGAIN, "--nocapture"])
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        // How often, and what becomes of a test that lacks something.
        .envs(std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("METIER_")))
        .current_dir(place.path())
        .stdin(Stdio::null())
        .uid(ORDINARY)
        .gid(ORDINARY)
        .output()
        .unwrap();
    let (said, complained) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    println!("as user {ORDINARY}: {said}\n{complained}");
    assert!(output.status.success(), "as user {ORDINARY}: {}", output.status);
    assert!(!said.contains("running 0 tests"), "nothing was run");
}
