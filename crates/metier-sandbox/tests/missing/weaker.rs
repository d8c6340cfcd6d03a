//! Without namespaces: what still holds.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use metier_sandbox::{Ending, Executor, Job, Limit, Local, Protection, RunOutcome, Strictness};

use crate::common;
use crate::filter::Lacking;
use crate::kinds::KINDS;
use crate::processes::{is_running, left, named_launcher, number};

/// What a script tries to do to what is not its own, in Python.
const ATTEMPTS: [(&str, &str); 22] = [
    ("read a secret", r#"open(outside + "/secret").read()"#),
    ("list a directory", "os.listdir(outside)"),
    ("list the root", r#"os.listdir("/")"#),
    ("make a file", r#"open(outside + "/new", "w")"#),
    ("change a file", r#"open(outside + "/victim", "a").write("changed")"#),
    ("cut a file", r#"os.truncate(outside + "/victim", 0)"#),
    ("make a directory", r#"os.mkdir(outside + "/directory")"#),
    ("make a link", r#"os.symlink("x", outside + "/symlink")"#),
    ("remove a file", r#"os.unlink(outside + "/other")"#),
    ("take a file", r#"os.link(outside + "/secret", "taken")"#),
    ("move a file out", r#"open("own", "w"); os.rename("own", outside + "/moved")"#),
    ("follow a link out", r#"os.symlink(outside, "out"); open("out/secret").read()"#),
    ("open a network socket", "socket.socket(socket.AF_INET, socket.SOCK_STREAM)"),
    ("open a datagram socket", "socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)"),
    ("open a local socket", "socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)"),
    ("slow a process down", "os.setpriority(os.PRIO_PROCESS, process, 19)"),
    ("bind a process", "os.sched_setaffinity(process, {0})"),
    ("limit a process", "resource.prlimit(process, resource.RLIMIT_CORE, (0, 0))"),
    ("look into a process", r#"open(f"/proc/{process}/environ").read()"#),
    ("share memory", r#"name = f"/dev/shm/metier-{process}"; open(name, "w"); os.unlink(name)"#),
    ("share memory in the old way", "share()"),
    // Only a newer Landlock refuses this: it must be the last.
    ("signal a process", "os.kill(process, signal.SIGWINCH)"),
];

/// The first version of Landlock that refuses signals.
const SIGNALS: u32 = 6;

const BEGINNING: &str = r#"
import ctypes, os, resource, signal, socket, sys
outside, process = sys.argv[1], int(sys.argv[2])
libc = ctypes.CDLL(None, use_errno=True)
def share():
    memory = libc.shmget(process, 4096, 0o1600)
    if memory < 0: raise OSError(ctypes.get_errno(), "shmget")
    libc.shmctl(memory, 0, None)
def attempt(number, act):
    try: exec(act, globals())
    except OSError: print(number, "refused")
    else: print(number, "done")
with open(os.environ["TMPDIR"] + "/own", "w") as file: file.write("own")
with open("own", "w") as file: file.write("own")
print(os.environ["TMPDIR"])
"#;

/// A kernel without namespaces, as far as it matters here.
fn without_namespaces() -> Lacking {
    Lacking::new(libc::SYS_pivot_root, None, libc::EPERM)
}

/// A directory that everybody may write to.
fn open_to_all() -> tempfile::TempDir {
    let directory = common::work();
    fs::set_permissions(directory.path(), Permissions::from_mode(0o777)).unwrap();
    directory
}

fn contents(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(directory).unwrap().map(Result::unwrap);
    let read = |path: &Path| if path.is_file() { fs::read(path).unwrap() } else { b"not a file".to_vec() };
    entries.map(|entry| (entry.file_name().into_string().unwrap(), read(&entry.path()))).collect()
}

/// Makes all attempts; what came of each, and whether everything outside is as it was.
fn attempt_all(strictness: Strictness) -> (RunOutcome, Vec<String>, bool) {
    let (work, outside) = (open_to_all(), open_to_all());
    for name in ["secret", "victim", "other"] {
        let path = outside.path().join(name);
        fs::write(&path, "of the outside").unwrap();
        fs::set_permissions(path, Permissions::from_mode(0o666)).unwrap();
    }
    let before = contents(outside.path());
    let mut process = Command::new("sleep").arg("60").spawn().unwrap();
    let attempts = ATTEMPTS.iter().enumerate();
    let lines: Vec<_> = attempts.map(|(number, (_, act))| format!("attempt({number}, {act:?})")).collect();
    let arguments = [
        "-c".into(),
        format!("{BEGINNING}{}", lines.join("\n")).into(),
        outside.path().into(),
        process.id().to_string().into(),
    ];
    let mut profile = common::profile(work.path());
    profile.strictness = strictness;
    let job = Job::new(profile, "/usr/bin/python3", arguments.to_vec());
    let outcome = without_namespaces().during(|| common::local().run(&job, &mut ())).unwrap();
    process.kill().unwrap();
    process.wait().unwrap();
    let lines = String::from_utf8_lossy(&outcome.output.bytes).lines().map(str::to_owned).collect();
    (outcome, lines, contents(outside.path()) == before)
}

#[test]
fn nothing_outside_can_be_reached() {
    let (outcome, lines, is_as_before) = attempt_all(Strictness::Core);
    assert_eq!(lines.len(), ATTEMPTS.len() + 1, "{outcome:?}");
    assert!(!outcome.protections.has(Protection::MountNamespace), "{:#?}", outcome.protections);
    assert!(!Path::new(&lines[0]).exists(), "{} is left", lines[0]);
    let landlock = outcome.protections.iter().find(|found| found.protection == Protection::Landlock);
    let version: u32 = landlock.unwrap().detail.trim_start_matches("version ").parse().unwrap();
    let expected = if version >= SIGNALS { ATTEMPTS.len() } else { ATTEMPTS.len() - 1 };
    let done = |number: &usize| lines[number + 1] != format!("{number} refused");
    let done: Vec<_> = (0..expected).filter(done).map(|number| ATTEMPTS[number].0).collect();
    assert!(done.is_empty() && is_as_before, "{done:?}");

    // Where nothing is in the way, every one of them works.
    let (outcome, lines, is_as_before) = attempt_all(Strictness::Unprotected);
    assert!(lines.iter().skip(1).all(|line| line.ends_with(" done")) && !is_as_before, "{outcome:?}");
    println!("missing: without namespaces, {expected} attempts, all refused");
}

#[test]
fn nothing_is_left_without_namespaces() {
    let mut wrong = Vec::new();
    let place = common::work();
    let (launcher, name) = named_launcher(place.path());
    for kind in &KINDS {
        for exits in [true, false] {
            let work = open_to_all();
            let number = number();
            let mut job = kind.job(&number, work.path());
            job.profile.strictness = Strictness::Core;
            job.profile.limits.wall = if exits { Duration::from_mins(1) } else { Duration::from_millis(400) };
            if exits {
                fs::write(work.path().join("go"), "").unwrap();
            }
            let local = Local::with_launcher(&launcher);
            let outcome = without_namespaces().during(|| local.run(&job, &mut ())).unwrap();
            let expected = if exits { Ending::Exited(0) } else { Ending::Limit(Limit::Wall) };
            // Those that never stop forking may reach a limit in the end.
            let is_limited = matches!(kind.name(), "comet" | "breeder")
                && outcome.ending == Ending::Limit(Limit::Processes);
            let left = left(&number, &BTreeSet::new());
            if !left.is_empty() || is_running(&name) || (outcome.ending != expected && !is_limited) {
                wrong.push(format!("{}, {expected:?}: {:?}, left {left:?}", kind.name(), outcome.ending));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
