//! The container executor with a real engine: podman with an image of nothing but busybox.
//!
//! `scripts/test` installs both where it can. Elsewhere the tests say that they were skipped.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![expect(clippy::print_stderr, reason = "a skipped test says so")]

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use metier_sandbox::{Cancel, Container, Ending, Executor, Job, Limit, Outcome, Place, Profile, Protection};
use metier_skill::Tier;

const IMAGE: &str = "metier-test:latest";
/// This machine's control groups are of both versions, which only runc takes; vfs needs nothing of the kernel.
const OPTIONS: [&str; 2] = ["--storage-driver=vfs", "--runtime=runc"];

/// The executor, with its image made once.
fn container() -> Option<Container> {
    static READY: OnceLock<bool> = OnceLock::new();
    let ready = *READY.get_or_init(|| {
        let done = import();
        if !done {
            eprintln!("SKIPPED: podman, runc and busybox-static are needed for this test");
        }
        done
    });
    ready.then(|| Container::new("podman", IMAGE).with_options(OPTIONS.map(OsString::from)))
}

/// Makes the image; whether there is everything for it.
fn import() -> bool {
    let Ok(busybox) = std::fs::read("/bin/busybox") else { return false };
    if !rustix::process::geteuid().is_root() {
        return false;
    }
    let root = tempfile::tempdir().unwrap();
    let bin = root.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::fs::create_dir(root.path().join("tmp")).unwrap();
    std::fs::write(bin.join("busybox"), busybox).unwrap();
    std::fs::set_permissions(bin.join("busybox"), PermissionsExt::from_mode(0o755)).unwrap();
    for name in ["sh", "cat", "env", "id", "ls", "sleep", "touch", "true", "wget", "yes"] {
        std::os::unix::fs::symlink("busybox", bin.join(name)).unwrap();
    }
    let mut tar = Command::new("tar")
        .arg("-C")
        .arg(root.path())
        .args(["-c", "."])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let podman = Command::new("podman")
        .args(OPTIONS)
        .args(["import", "-", IMAGE])
        .stdin(tar.stdout.take().unwrap())
        .output();
    tar.wait().unwrap();
    let works = |podman: std::process::Output| {
        let run = [
            "run",
            "--rm",
            "--network=none",
            "--ulimit=nofile=1024:1024",
            "--ulimit=nproc=64:64",
            IMAGE,
            "/bin/true",
        ];
        podman.status.success()
            && Command::new("podman").args(OPTIONS).args(run).output().is_ok_and(|ran| ran.status.success())
    };
    podman.is_ok_and(works)
}

/// A work directory of somebody who is not root.
fn work() -> tempfile::TempDir {
    let work = tempfile::tempdir().unwrap();
    std::os::unix::fs::chown(work.path(), Some(61_234), Some(61_234)).unwrap();
    work
}

fn sh(container: &Container, work: &Path, script: &str, change: impl FnOnce(&mut Job)) -> Outcome {
    let profile = Profile::new(Tier::ThirdParty, Place::pin(work).unwrap());
    let mut job = Job::new(profile, "/bin/sh", vec!["-c".into(), script.into()]);
    change(&mut job);
    container.run(&job, &mut ()).unwrap()
}

#[test]
fn it_runs_with_what_the_profile_gives_and_no_more() {
    let Some(container) = container() else { return };
    let work = work();
    std::fs::create_dir(work.path().join(".claude")).unwrap();
    let script = "id -u; cat; echo \"$GIVEN\"; echo made > made; echo no > .claude/x || echo refused; ls / | wc -l; exit 7";
    let outcome = sh(&container, work.path(), script, |job| {
        job.input = b"input\n".to_vec();
        job.profile.environment.insert("GIVEN".into(), "a b".into());
    });
    let text = String::from_utf8(outcome.output.bytes).unwrap();
    assert!(text.starts_with("61234\ninput\na b\nrefused\n"), "{text}");
    assert_eq!(outcome.ending, Ending::Exited(7));
    assert_eq!(std::fs::read(work.path().join("made")).unwrap(), b"made\n");
    assert!(!work.path().join(".claude/x").exists());
    let missing: Vec<Protection> = outcome.protections.missing().map(|found| found.protection).collect();
    assert_eq!(missing, [Protection::UserNamespace, Protection::Landlock]);
}

#[test]
fn a_place_is_shown_elsewhere_too() {
    let Some(container) = container() else { return };
    let (work, skill) = (work(), tempfile::tempdir().unwrap());
    std::fs::set_permissions(skill.path(), PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::write(skill.path().join("data"), "the copy\n").unwrap();
    let there = work.path().join("skills/x");
    std::fs::create_dir_all(&there).unwrap();
    std::fs::write(there.join("data"), "somebody else's\n").unwrap();
    let missing = work.path().join("missing");
    let script = "cat /nowhere/x/data skills/x/data; echo evil > skills/x/data || echo refused; ls missing || echo none";
    let place = Place::pin(skill.path()).unwrap().also_at("/nowhere/x").also_at(&there).also_at(&missing);
    let outcome = sh(&container, work.path(), script, |job| job.profile.add_skill(place));
    let text = String::from_utf8(outcome.output.bytes).unwrap();
    assert_eq!(
        text,
        "the copy\nthe copy\nrefused\nnone\n",
        "{}",
        String::from_utf8_lossy(&outcome.errors.bytes)
    );
    assert!(!missing.exists());
    assert_eq!(std::fs::read(there.join("data")).unwrap(), b"somebody else's\n");
}

#[test]
fn what_is_shown_elsewhere_covers_nothing_that_is_needed() {
    let work = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/", work.path().join("link")).unwrap();
    let skill = tempfile::tempdir().unwrap();
    for (alias, code) in [
        (Path::new("/usr/bin"), "sandbox_path_too_wide"),
        (work.path(), "sandbox_path_too_wide"),
        (&work.path().join("link"), "sandbox_path_swapped"),
    ] {
        let mut profile = Profile::new(Tier::ThirdParty, Place::pin(work.path()).unwrap());
        profile.add_skill(Place::pin(skill.path()).unwrap().also_at(alias));
        let job = Job::new(profile, "true", Vec::new());
        let error = Container::new("/nowhere/engine", IMAGE).run(&job, &mut ()).unwrap_err();
        assert_eq!(error.code(), code, "{}", alias.display());
    }
}

#[test]
fn limits_and_cancellation_end_it() {
    let Some(container) = container() else { return };
    let work = work();
    let outcome =
        sh(&container, work.path(), "sleep 600", |job| job.profile.limits.wall = Duration::from_secs(1));
    assert_eq!(outcome.ending, Ending::Limit(Limit::Wall));
    let outcome = sh(&container, work.path(), "yes", |job| job.profile.limits.output = 1000);
    assert_eq!(outcome.ending, Ending::Limit(Limit::Output));
    assert_eq!(outcome.output.bytes.len(), 1000);
    let cancel = Cancel::new().unwrap();
    cancel.cancel();
    let outcome = sh(&container, work.path(), "sleep 600", |job| job.cancel = cancel);
    assert_eq!(outcome.ending, Ending::Cancelled);
    let left = Command::new("podman").args(OPTIONS).args(["ps", "--quiet"]).output().unwrap();
    assert!(left.stdout.is_empty(), "containers are left");
}

#[test]
fn what_the_engine_cannot_do_is_an_error() {
    let work = tempfile::tempdir().unwrap();
    let profile = Profile::new(Tier::ThirdParty, Place::pin(work.path()).unwrap());
    let none =
        Container::new("/nowhere/engine", IMAGE).run(&Job::new(profile.clone(), "true", Vec::new()), &mut ());
    assert_eq!(none.unwrap_err().code(), "sandbox_engine");
    let Some(container) = container() else { return };
    let missing = container.run(&Job::new(profile, "/bin/none", Vec::new()), &mut ());
    assert!(missing.is_err() || missing.is_ok_and(|outcome| outcome.ending == Ending::Exited(127)));
}
