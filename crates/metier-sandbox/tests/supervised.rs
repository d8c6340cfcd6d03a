//! Programs that are not contained: what they start ends with them, and what is covered they do not see. As root and as an ordinary
//! user.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "support/common.rs"]
mod common;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use metier_sandbox::{CoveredPath, Program, ProgramEnd};
use metier_skill::Coded as _;

use common::{again_as_ordinary_user, local, work};

#[test]
fn as_an_ordinary_user() {
    again_as_ordinary_user();
}

/// A shell with a script, in a directory.
fn shell(directory: &Path, script: &str) -> Program {
    let mut program = Program::new("/bin/sh", directory);
    program.arguments = ["-c", script].map(Into::into).to_vec();
    program.environment = vec![("PATH".into(), "/usr/bin:/bin".into())];
    program
}

fn run(program: &Program) -> ProgramEnd {
    local().start(program).unwrap().wait().unwrap()
}

/// Runs a script that does not see these paths; what it wrote into `out`.
fn covered(directory: &Path, paths: &[&str], script: &str) -> String {
    let mut program = shell(directory, &format!("{{ {script}\n}} > out 2>&1"));
    let cover = |path: &&str| CoveredPath { path: directory.join(path), text: "{}\n" };
    program.covered = Some(paths.iter().map(cover).collect());
    run(&program);
    fs::read_to_string(directory.join("out")).unwrap()
}

fn is_alive(pid: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    status.is_ok_and(|status| !status.contains(") Z "))
}

#[test]
fn the_exit_code_and_the_signal_are_those_of_the_program() {
    let work = work();
    let ended = run(&shell(work.path(), "exit 7"));
    assert_eq!((ended.code, ended.signal, ended.left), (Some(7), None, 0));
    let ended = run(&shell(work.path(), "kill -9 $$"));
    assert_eq!((ended.code, ended.signal, ended.left), (None, Some(9), 0));
    let error = local().start(&Program::new("/nonexistent/program", work.path())).unwrap_err();
    assert_eq!(error.code(), "sandbox-start");
    let error = local().start(&shell(Path::new("/nonexistent"), "true")).unwrap_err();
    assert!(error.to_string().contains("/nonexistent"), "{error}");
}

#[test]
fn what_a_program_leaves_running_ends_with_it() {
    let work = work();
    // In the background; in a session of its own; deaf to what asks it to end; the child of one that has ended.
    let script = "sleep 1000 & echo $! > a
        setsid sleep 1001 & echo $! > b
        sh -c 'trap \"\" TERM HUP INT; echo $$ > c; while :; do sleep 1; done' &
        sh -c '(sleep 1002 & echo $! > d)'
        while [ ! -s c ] || [ ! -s d ]; do sleep 0.01; done";
    let ended = run(&shell(work.path(), script));
    assert_eq!((ended.code, ended.left), (Some(0), 0));
    for file in ["a", "b", "c", "d"] {
        let pid = fs::read_to_string(work.path().join(file)).unwrap();
        assert!(!is_alive(&pid), "{file}: {pid} is still there");
    }
}

#[test]
fn a_program_that_is_dropped_is_ended_with_all_it_started() {
    let work = work();
    let script = "sleep 1000 & echo $! > child; echo $$ > own; mv own started; wait";
    let program = local().start(&shell(work.path(), script)).unwrap();
    let started = work.path().join("started");
    while !started.exists() {
        std::thread::yield_now();
    }
    drop(program);
    for file in ["started", "child"] {
        let pid = fs::read_to_string(work.path().join(file)).unwrap();
        assert!(!is_alive(&pid), "{file}: {pid} is still there");
    }
}

#[test]
fn a_piped_program_is_talked_to_and_its_streams_close_with_it() {
    use std::io::{Read as _, Write as _};
    let work = work();
    // What it leaves running has the pipes as well, and must not keep them open.
    let script = "sleep 1000 & read line; echo \"got $line\"; echo problem >&2; cat >rest";
    let (mut program, mut pipes) = local().start_piped(&shell(work.path(), script)).unwrap();
    pipes.input.write_all(b"hello\nmore\n").unwrap();
    drop(pipes.input);
    let (mut said, mut complained) = (String::new(), String::new());
    pipes.output.read_to_string(&mut said).unwrap();
    pipes.errors.read_to_string(&mut complained).unwrap();
    assert_eq!((said.as_str(), complained.as_str()), ("got hello\n", "problem\n"));
    assert_eq!(program.wait().unwrap().code, Some(0));
    assert_eq!(fs::read_to_string(work.path().join("rest")).unwrap(), "more\n");
}

#[test]
fn signals_reach_the_program() {
    let work = work();
    let script = "trap 'exit 42' TERM; : > started; while :; do sleep 0.01; done";
    let mut program = local().start(&shell(work.path(), script)).unwrap();
    while !work.path().join("started").exists() {
        std::thread::yield_now();
    }
    program.signals().unwrap().send(15).unwrap();
    assert_eq!(program.wait().unwrap().code, Some(42));
}

/// A directory with something in it of each kind.
fn ground() -> (tempfile::TempDir, PathBuf) {
    let work = work();
    let path = work.path().to_owned();
    fs::create_dir_all(path.join("rules/deep")).unwrap();
    fs::write(path.join("rules/deep/text"), "secret").unwrap();
    fs::write(path.join("settings.json"), "secret").unwrap();
    symlink("rules", path.join("to-directory")).unwrap();
    symlink("settings.json", path.join("to-file")).unwrap();
    symlink("nowhere", path.join("to-nothing")).unwrap();
    fs::write(path.join("kept"), "kept").unwrap();
    (work, path)
}

#[test]
fn what_is_covered_is_empty_and_cannot_be_written() {
    let (_work, path) = ground();
    let said = covered(
        &path,
        &["rules", "settings.json", "to-directory", "to-file", "to-nothing", "absent", "rules/deep"],
        "ls -A rules; cat settings.json kept; cat to-file to-directory to-nothing 2>/dev/null
         ls to-directory/ 2>/dev/null; (echo x > to-file) 2>/dev/null && echo written
         cat rules/deep/text to-directory/deep/text 2>/dev/null; ls absent 2>/dev/null
         (echo x > settings.json) 2>/dev/null && echo written
         mkdir rules/new 2>/dev/null && echo made; true",
    );
    assert_eq!(said, "{}\nkept");
    assert_eq!(fs::read_to_string(path.join("settings.json")).unwrap(), "secret");
    assert_eq!(fs::read_to_string(path.join("rules/deep/text")).unwrap(), "secret");
    assert!(!path.join("absent").exists() && path.join("to-nothing").is_symlink());
}

/// A link alone is covered, not what it leads to: a link to the working directory must not hide that.
#[test]
fn what_a_link_leads_to_stays() {
    let (_work, path) = ground();
    symlink(".", path.join("own")).unwrap();
    let said =
        covered(&path, &["own", "to-file"], "cat own/settings.json to-file 2>/dev/null; cat settings.json");
    assert_eq!(said, "secret");
}

#[test]
fn a_covered_program_has_no_powers_and_cannot_uncover() {
    let (_work, path) = ground();
    let said = covered(
        &path,
        &["rules"],
        "grep -E '^(CapInh|CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs)' /proc/self/status | tr -d ' \\t' | tr '\\n' ' '
         umount rules 2>/dev/null && echo uncovered
         unshare --user --map-root-user --mount umount rules 2>/dev/null && echo uncovered again
         mount --bind kept settings.json 2>/dev/null && echo mounted
         ls -A rules; id -u",
    );
    let none = "0000000000000000";
    let own = rustix::process::geteuid().as_raw();
    assert_eq!(
        said,
        format!("CapInh:{none} CapPrm:{none} CapEff:{none} CapBnd:{none} CapAmb:{none} NoNewPrivs:1 {own}\n")
    );
}

/// Root would write to any file; without its powers it cannot, and nor can an ordinary user.
#[test]
fn a_covered_program_cannot_write_to_read_only_copies() {
    use std::os::unix::fs::PermissionsExt as _;
    let (_work, path) = ground();
    fs::set_permissions(path.join("kept"), fs::Permissions::from_mode(0o444)).unwrap();
    for paths in [&["rules"][..], &[]] {
        let said = covered(&path, paths, "(echo x >> kept) 2>/dev/null && echo written; cat kept");
        assert_eq!(said, "kept", "{paths:?}");
    }
}

#[test]
fn a_program_that_is_not_covered_runs_as_it_is() {
    let work = work();
    let script = "grep -E '^(CapEff|CapBnd)' /proc/self/status > out";
    run(&shell(work.path(), script));
    let own = fs::read_to_string("/proc/self/status").unwrap();
    let own: Vec<&str> =
        own.lines().filter(|line| line.starts_with("CapEff") || line.starts_with("CapBnd")).collect();
    let said = fs::read_to_string(work.path().join("out")).unwrap();
    assert_eq!(said.lines().collect::<Vec<_>>(), own);
}
