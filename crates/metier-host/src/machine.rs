//! The machine that metier runs on: programs are looked up in `PATH`, and those of one list are started to ask for their
//! version. Nothing else is ever started.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::Read;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{OnceLock, mpsc};
use std::time::Duration;
use std::{fs, thread};

use metier_catalog::{Machine, Os};
use rustix::process::{Pid, Signal, kill_process_group};
use semver::Version;

/// The programs that are asked for their version, the arguments that ask, and where the answer comes.
const QUESTIONS: &[(&str, &[&str], Stream)] = &[
    (
        "python3 python pip3 pip uv node npm npx pnpm yarn bun deno cargo rustc ruby php perl javac dotnet make cmake \
         gcc git gh glab docker podman aws jq yq rg sqlite3 psql magick pandoc tesseract curl wget bash",
        &["--version"],
        Stream::Output,
    ),
    ("go", &["version"], Stream::Output),
    ("java", &["-version"], Stream::Errors),
    ("kubectl", &["version", "--client"], Stream::Output),
    ("terraform ffmpeg", &["-version"], Stream::Output),
    ("pdftotext", &["-v"], Stream::Errors),
];

/// Where a program writes its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stream {
    Output,
    Errors,
}

/// How long a program may take to say its version.
const PATIENCE: Duration = Duration::from_secs(2);
/// Bytes of its answer that are read.
const ANSWER: u64 = 4096;
/// After its answer a program is looked at this often to see whether it has ended, at this distance.
const LOOKS: u32 = 50;
const BETWEEN_LOOKS: Duration = Duration::from_millis(4);

/// The machine that metier runs on. Programs are looked up on the path it is given. Versions are asked for by
/// running the program, once for each of those that metier knows, and no other.
#[derive(Debug)]
pub struct ThisMachine {
    path: OsString,
    agent: Option<String>,
    network: Option<bool>,
    os: OnceLock<Os>,
    versions: HashMap<&'static str, OnceLock<Option<Version>>>,
    patience: Duration,
}

impl ThisMachine {
    /// The machine with this value of `PATH`, and the agent that will use the skills.
    pub fn new(path: OsString, agent: Option<String>) -> Self {
        let programs = QUESTIONS.iter().flat_map(|(programs, ..)| programs.split(' '));
        let versions = programs.map(|program| (program, OnceLock::new())).collect();
        Self { path, agent, network: None, os: OnceLock::new(), versions, patience: PATIENCE }
    }

    /// The same machine, with the caller's word on whether it has a network.
    #[must_use]
    pub fn with_network(mut self, network: bool) -> Self {
        self.network = Some(network);
        self
    }

    /// Where a program is. Relative entries of the path are left out: what they mean depends on the directory
    /// one happens to be in, and that may be one full of someone else's files.
    fn find(&self, name: &str) -> Option<PathBuf> {
        if !is_program_name(name) {
            return None;
        }
        std::env::split_paths(&self.path)
            .filter(|directory| directory.is_absolute())
            .map(|directory| directory.join(name))
            .find(|file| {
                fs::metadata(file)
                    .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
            })
    }

    fn ask(&self, executable: &str) -> Option<Version> {
        let question =
            QUESTIONS.iter().find(|(programs, ..)| programs.split(' ').any(|program| program == executable));
        let (_, arguments, stream) = question?;
        let mut command = Command::new(self.find(executable)?);
        command.args(*arguments).env("PATH", &self.path);
        let version = version_in(&answer(command, *stream, self.patience)?)?;
        // Java 8 and before called themselves 1.8.
        let old_java = version.major == 1 && matches!(executable, "java" | "javac");
        Some(if old_java { Version::new(version.minor, version.patch, 0) } else { version })
    }
}

impl Machine for ThisMachine {
    fn os(&self) -> Os {
        *self.os.get_or_init(|| match std::env::consts::OS {
            "linux" if is_wsl() => Os::Wsl,
            "linux" => Os::Linux,
            "macos" => Os::MacOs,
            "windows" => Os::Windows,
            _ => Os::Other,
        })
    }

    fn has_program(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    fn version_of(&self, program: &str) -> Option<Version> {
        // Only the names of the table have a place here, so that nothing else can be run.
        self.versions.get(program)?.get_or_init(|| self.ask(program)).clone()
    }

    fn has_network(&self) -> Option<bool> {
        self.network
    }

    fn agent(&self) -> Option<&str> {
        self.agent.as_deref()
    }
}

/// Whether `name` can be the name of a program, and not a path or an option.
fn is_program_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte);
    name.len() <= 64
        && name.bytes().all(plain)
        && name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric())
}

fn is_wsl() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    release.to_ascii_lowercase().contains("microsoft")
}

/// What a program says in time; `None` where it says nothing, fails or does not end.
fn answer(mut command: Command, stream: Stream, patience: Duration) -> Option<String> {
    let pipe = |wanted: Stream| if wanted == stream { Stdio::piped() } else { Stdio::null() };
    command
        .stdin(Stdio::null())
        .stdout(pipe(Stream::Output))
        .stderr(pipe(Stream::Errors))
        // Version managers take their orders from files in the directory, and some then fetch what is ordered.
        .current_dir("/")
        .env("GOTOOLCHAIN", "local")
        .env("COREPACK_ENABLE_NETWORK", "0")
        .process_group(0);
    let mut child = command.spawn().ok()?;
    let text = match (child.stdout.take(), child.stderr.take()) {
        (Some(pipe), _) => read_in_time(pipe, patience),
        (_, Some(pipe)) => read_in_time(pipe, patience),
        _ => None,
    };
    let looks = if text.is_some() { LOOKS } else { 0 };
    match exit_status(&mut child, looks) {
        Some(status) => text.filter(|_| status.success()),
        None => {
            end(&mut child);
            None
        }
    }
}

/// Reads in a thread of its own, since reading from a pipe cannot be told to stop. The thread ends with the
/// last process that holds the pipe, which is ended right after.
fn read_in_time(pipe: impl Read + Send + 'static, patience: Duration) -> Option<String> {
    let (sender, receiver) = mpsc::channel();
    let read = move || {
        let mut bytes = Vec::new();
        let read = pipe.take(ANSWER).read_to_end(&mut bytes);
        // Nobody listens any more when it took too long.
        let _ = sender.send(read.map(|_| String::from_utf8_lossy(&bytes).into_owned()));
    };
    thread::Builder::new().spawn(read).ok()?;
    receiver.recv_timeout(patience).ok()?.ok()
}

fn exit_status(child: &mut Child, looks: u32) -> Option<ExitStatus> {
    for _ in 0..looks {
        match child.try_wait() {
            Ok(None) => thread::sleep(BETWEEN_LOOKS),
            Ok(status) => return status,
            Err(_) => return None,
        }
    }
    None
}

/// Stops a program that has not ended by itself, with its children. Its process id is still valid, because its
/// exit status has not been read.
fn end(child: &mut Child) {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(group) = group {
        // There is nothing left to end where it fails.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// The version in what a program says when asked: the first number with a dot, or else the first number.
fn version_in(answer: &str) -> Option<Version> {
    let mut first = None;
    for word in answer.split(|c: char| !c.is_ascii_digit() && c != '.') {
        let word = word.trim_matches('.');
        let mut numbers = word.split('.').take(3).map_while(|part| part.parse().ok());
        let Some(major) = numbers.next() else { continue };
        let version = Version::new(major, numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        if word.contains('.') {
            return Some(version);
        }
        first.get_or_insert(version);
    }
    first
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn script(directory: &Path, name: &str, text: &str) {
        let file = directory.join(name);
        fs::write(&file, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn with_path(path: &str) -> ThisMachine {
        ThisMachine::new(path.into(), None)
    }

    fn machine(directory: &Path) -> ThisMachine {
        let path = format!("relative::{}:/bin:/usr/bin", directory.display());
        with_path(&path)
    }

    #[test]
    fn programs_are_found_on_the_given_path_only() {
        let directory = tempfile::tempdir().unwrap();
        script(directory.path(), "mine", "exit 0");
        fs::write(directory.path().join("plain"), "no program").unwrap();
        fs::create_dir(directory.path().join("folder")).unwrap();
        let machine = machine(directory.path());
        for (name, expected) in [
            ("mine", true),
            ("plain", false),
            ("folder", false),
            ("gone", false),
            ("", false),
            ("..", false),
            ("../mine", false),
            ("/bin/sh", false),
            ("-mine", false),
            ("mine\0", false),
        ] {
            assert_eq!(machine.has_program(name), expected, "{name}");
        }
        assert!(!with_path("").has_program("sh"));
    }

    #[test]
    fn versions_are_asked_for_once_and_only_of_known_programs() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("log");
        let said = |name: &str, text: &str| {
            script(directory.path(), name, &format!("echo {name} \"$@\" >> {}; {text}", log.display()));
        };
        said("python3", "echo Python 3.12.1");
        said("java", "echo 'java version \"1.8.0_392\"' >&2");
        said("git", "echo git version 2.0.0; exit 1");
        said("jq", "head -c 100000 /dev/zero; echo 1.7");
        said("evil", "echo 6.6.6");
        let machine = machine(directory.path());
        assert_eq!(machine.version_of("python3"), Some(Version::new(3, 12, 1)));
        assert_eq!(machine.version_of("python3"), Some(Version::new(3, 12, 1)));
        assert_eq!(machine.version_of("java"), Some(Version::new(8, 0, 0)));
        assert_eq!(machine.version_of("git"), None, "it failed");
        assert_eq!(machine.version_of("jq"), None, "its answer has no version at the beginning");
        assert_eq!(machine.version_of("evil"), None, "not in the table");
        let log = fs::read_to_string(log).unwrap();
        assert_eq!(log, "python3 --version\njava -version\ngit --version\njq --version\n");
    }

    #[test]
    fn a_program_that_hangs_is_ended_with_what_it_started() {
        let directory = tempfile::tempdir().unwrap();
        let note = directory.path().join("note");
        let shown = note.display();
        script(
            directory.path(),
            "node",
            &format!("sleep 600 & echo $! > {shown}.new; mv {shown}.new {shown}; sleep 600"),
        );
        // A busy machine may take longer than that to start it at all.
        let child = (0..12).find_map(|round| {
            let mut machine = machine(directory.path());
            machine.patience = Duration::from_millis(20 << round);
            assert_eq!(machine.version_of("node"), None);
            fs::read_to_string(&note).ok()
        });
        let status = PathBuf::from(format!("/proc/{}/stat", child.unwrap().trim()));
        // It was told to end; what has ended and was not asked for yet is a zombie.
        let is_running = || {
            let text = fs::read_to_string(&status).unwrap_or_default();
            text.rsplit(") ").next().is_some_and(|state| !state.is_empty() && !state.starts_with(['Z', 'X']))
        };
        let looks = (0..10_000).take_while(|_| is_running()).inspect(|_| thread::yield_now()).count();
        assert!(looks < 10_000, "its child went on");
    }

    #[test]
    fn this_machine_has_a_system_and_says_of_the_rest_what_it_was_told() {
        let machine = with_path("/bin");
        assert!(matches!(machine.os(), Os::Linux | Os::Wsl | Os::MacOs));
        assert_eq!((machine.has_network(), machine.agent()), (None, None));
        assert_eq!(machine.with_network(false).has_network(), Some(false));
    }

    #[test]
    fn the_version_is_found_in_what_programs_say() {
        for (answer, expected) in [
            ("Python 3.12.3\n", Some("3.12.3")),
            ("git version 2.39.5 (Apple Git-154)", Some("2.39.5")),
            ("v22.3.0", Some("22.3.0")),
            ("go version go1.22.1 linux/amd64", Some("1.22.1")),
            ("jq-1.6", Some("1.6.0")),
            ("OpenSSH_9.6p1, OpenSSL 3.0.13 30 Jan 2024", Some("9.6.0")),
            ("openjdk version \"17\" 2021-09-14", Some("17.0.0")),
            ("GNU bash, version 5.2.15(1)-release (x86_64-pc-linux-gnu)", Some("5.2.15")),
            ("psql (PostgreSQL) 16.3", Some("16.3.0")),
            ("command not found", None),
            ("99999999999999999999.1", None),
            ("", None),
        ] {
            assert_eq!(version_in(answer).map(|found| found.to_string()).as_deref(), expected, "{answer}");
        }
    }

    #[test]
    fn programs_are_asked_for_their_version_and_nothing_else() {
        let allowed = ["--version", "version", "-version", "-v", "--client"];
        for (programs, arguments, _) in QUESTIONS {
            assert!(arguments.iter().all(|word| allowed.contains(word)), "{programs:?}");
        }
    }
}
