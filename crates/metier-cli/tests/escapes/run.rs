//! One run of an attempt, bare or in the sandbox, and what can be seen of it from outside.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::attempt::Attempt;
use crate::place::{Base, Place};

/// How long a run may take: what metier is told, and a little more.
const WALL: u64 = 10;
const PATIENCE: Duration = Duration::from_secs(WALL + 3);
const STEP: Duration = Duration::from_millis(2);

/// What came of a run.
pub(crate) struct Run {
    /// Whether the attempt was begun at all.
    pub(crate) began: bool,
    /// What shows that it got what it should not get.
    pub(crate) evidence: Vec<String>,
    pub(crate) output: String,
}

/// Runs an attempt with nothing to hold it.
pub(crate) fn bare(base: &Base, attempt: &Attempt) -> Run {
    run(base, attempt, false)
}

/// Runs an attempt in the sandbox.
pub(crate) fn inside(base: &Base, attempt: &Attempt) -> Run {
    run(base, attempt, true)
}

fn run(base: &Base, attempt: &Attempt, inside: bool) -> Run {
    let place = Place::new(base, attempt);
    let outside = attempt.needs("outside").then(|| Outside::start(base, &place));
    let mut variables = place.variables();
    variables.extend(outside.iter().flat_map(|outside| outside.addresses.clone()));
    let before = place.state();

    let logs = base.path().join("logs").join(place.directory.file_name().unwrap());
    let streams = [logs.with_extension("out"), logs.with_extension("err")];
    let start = || {
        let mut command = command(base, attempt, &place, &variables, inside);
        let open = |path: &Path| fs::File::options().create(true).append(true).open(path).unwrap();
        command.stdout(open(&streams[0])).stderr(open(&streams[1])).process_group(0).spawn().unwrap()
    };
    let ended = drive(attempt, &place.work(), start);
    let mut evidence = survivors(&place, outside.as_ref());
    evidence.extend(obeyed(base, attempt, &place));

    let [stdout, stderr] = streams.map(|path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned());
    if inside && !ended {
        evidence.push(format!("still running after {PATIENCE:?}"));
    }
    evidence.extend(stdout.lines().filter(|line| line.starts_with("ESCAPED")).map(str::to_owned));
    if stdout.contains(&place.token) || stderr.contains(&place.token) {
        evidence.push("the token was printed".to_owned());
    }
    let after = place.state();
    for path in before.keys().chain(after.keys().filter(|path| !before.contains_key(*path))) {
        if before.get(path) != after.get(path) {
            evidence.push(format!(
                "{} was {:?} and is {:?}",
                path.display(),
                before.get(path),
                after.get(path)
            ));
        }
    }
    evidence.extend(place.litter());
    let left = Path::new("/tmp").join(format!("{}-left", place.name));
    if fs::remove_file(&left).is_ok() {
        evidence.push(format!("{} was left", left.display()));
    }
    evidence.extend(outside.map(|outside| outside.end(base)).unwrap_or_default());
    // The place stays until all is over: ext4 is slow to make files where others were just removed.
    let began = stdout.lines().any(|line| line == "TRYING");
    Run { began, evidence, output: format!("{}{}", short(&stdout), short(&stderr)) }
}

fn command(
    base: &Base,
    attempt: &Attempt,
    place: &Place,
    variables: &BTreeMap<String, String>,
    inside: bool,
) -> Command {
    // Whoever starts metier has the secret and its directory open, and a token in the environment.
    let open = "exec 7<\"$1\" 8<\"$2\"; shift 2;";
    let then = if inside { "exec \"$@\"" } else { "\"$@\"; exit $?" };
    let mut command = if attempt.needs("terminal") {
        let mut command = base.user.command("/usr/bin/python3");
        command.arg("-B").arg(base.path().join("terminal.py")).arg(base.shell());
        command
    } else {
        let mut command = base.user.command(base.shell());
        command.stdin(Stdio::null());
        command
    };
    command.args(["-c", &format!("{open} {then}"), "sh"]).arg(place.secret()).arg(&place.directory);
    if inside {
        command.arg(base.metier()).args(["sandbox", "run", "--profile", "third_party"]);
        command.arg("--skill").arg(place.skill()).arg("--work").arg(place.work());
        for (name, value) in variables {
            command.arg("--env").arg(format!("{name}={value}"));
        }
        if !attempt.options.iter().any(|option| option == "--wall") {
            command.args(["--wall", &WALL.to_string()]);
        }
        command.args(&attempt.options).arg("--");
    } else {
        command.envs(variables);
    }
    if place.script.extension().is_some_and(|extension| extension == "py") {
        command.args(["/usr/bin/python3", "-B"]);
    } else {
        command.arg("/bin/sh");
    }
    command.arg(&place.script).current_dir(place.work());
    command.env("HOME", place.home()).env("OUTSIDE_TOKEN", &place.token);
    command
        .env("USER", "outside-user")
        .env("LOGNAME", "outside-user")
        .env("SSH_CONNECTION", "192.0.2.1 1 192.0.2.2 22");
    command.env("SSH_AUTH_SOCK", place.directory.join("outside.sock"));
    // What metier keeps for itself is not what an attempt did.
    for kept in ["XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"] {
        command.env(kept, base.path().join("logs"));
    }
    command
}

/// Runs it once, or as often and in such an order as it needs; whether all came to their end.
fn drive(attempt: &Attempt, work: &Path, start: impl Fn() -> Child) -> bool {
    let mut first = start();
    if attempt.needs("overlap") {
        soon(|| work.join("first").exists());
        let second = start();
        let ended = wait(first);
        // Only in its first run does the attempt make this.
        let _ = fs::write(work.join("first/over"), "");
        return wait(second) && ended;
    }
    if attempt.needs("killing") {
        soon(|| work.join("ready").exists());
        first.kill().unwrap();
        first.wait().unwrap();
        return wait(start());
    }
    wait(first)
}

/// Waits until it is so, or for as long as a run may take.
fn soon(condition: impl Fn() -> bool) {
    let mut waited = Duration::ZERO;
    while !condition() && waited < PATIENCE {
        std::thread::sleep(STEP);
        waited += STEP;
    }
}

/// What other programs would obey now. Git is run to see whether it does; what it then runs leaves its trace outside.
fn obeyed(base: &Base, attempt: &Attempt, place: &Place) -> Vec<String> {
    if let Some(directory) = &attempt.git {
        let mut git = base.user.command("git");
        git.args(["status", "--short"]).current_dir(place.work().join(directory));
        // Where there is no git, the control shows nothing and does not count.
        let _ = git.env("HOME", place.home()).stdin(Stdio::null()).output();
    }
    let is_there = |path: &&String| place.work().join(path).symlink_metadata().is_ok();
    attempt.obeyed.iter().filter(is_there).map(|path| format!("{path} is there to be obeyed")).collect()
}

/// Waits until a run is over, and ends it when that takes too long.
fn wait(mut child: Child) -> bool {
    let mut waited = Duration::ZERO;
    while waited < PATIENCE {
        if child.try_wait().unwrap().is_some() {
            return true;
        }
        std::thread::sleep(STEP);
        waited += STEP;
    }
    // It may have ended just now.
    let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
    child.wait().unwrap();
    false
}

/// Finds what is still alive of a run, and ends it.
fn survivors(place: &Place, outside: Option<&Outside>) -> Vec<String> {
    let directory = place.directory.to_str().unwrap().as_bytes();
    let find = || {
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let Some(id) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
                continue;
            };
            let has = |file: &str, part: &[u8]| {
                fs::read(entry.path().join(file))
                    .is_ok_and(|text| text.windows(part.len()).any(|w| w == part))
            };
            let ours = outside.is_some_and(|outside| outside.child.id().cast_signed() == id);
            if !ours && (has("environ", place.name.as_bytes()) || has("cmdline", directory)) {
                found.push(id);
            }
        }
        found
    };
    // The kernel may take a moment to bury the dead.
    let mut found = find();
    for _ in 0..20 {
        if found.is_empty() {
            return Vec::new();
        }
        std::thread::sleep(Duration::from_millis(10));
        found = find();
    }
    for id in &found {
        let _ = kill_process(Pid::from_raw(*id).unwrap(), Signal::KILL);
    }
    vec![format!("{} processes were left", found.len())]
}

fn short(text: &str) -> String {
    text.chars().take(4000).collect()
}

/// The servers, queues and processes outside.
struct Outside {
    child: Child,
    output: BufReader<ChildStdout>,
    addresses: BTreeMap<String, String>,
}

impl Outside {
    fn start(base: &Base, place: &Place) -> Self {
        let mut command = base.user.command("/usr/bin/python3");
        command.arg("-B").arg(base.path().join("outside.py")).arg(&place.directory).arg(&place.token);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let addresses = serde_json::from_str(&line).unwrap();
        Self { child, output, addresses }
    }

    /// Takes everything away; what was done to it.
    fn end(mut self, base: &Base) -> Vec<String> {
        let mut line = String::new();
        // Whether it still listens shows in what it answers.
        let _ = self.child.stdin.take().unwrap().write_all(b"\n");
        self.output.read_line(&mut line).unwrap();
        let done = serde_json::from_str(&line).unwrap_or_else(|_| {
            let mut clean = base.user.command("/usr/bin/python3");
            clean.arg(base.path().join("outside.py")).arg("clean");
            clean.arg(serde_json::to_string(&self.addresses).unwrap()).status().unwrap();
            vec!["the process that watches outside died".to_owned()]
        });
        self.child.wait().unwrap();
        done
    }
}
