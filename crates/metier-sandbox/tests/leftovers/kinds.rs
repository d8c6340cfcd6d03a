//! Ways of a script to stay behind.

use std::path::Path;

use metier_sandbox::Job;

use crate::common;

/// A way to stay: its name, what runs it, and the script. Its only argument is the number to look for; it prints
/// `ready` when everything is as it should be, and its first process ends when there is a file `go`.
pub(crate) struct Kind(&'static str, &'static str, &'static str);

/// What the scripts for Python have in common.
const PYTHON: &str = r#"
import ctypes, os, signal, sys, threading, time
def until(condition):
    while not condition(): time.sleep(0.01)
def wait(): until(lambda: os.path.exists("go"))
def say(): os.write(1, b"ready\n")
def stay():
    say()
    os.execv("/bin/sleep", ["sleep", sys.argv[1]])
def pause():
    while True: signal.pause()
"#;

/// The same for shells, at the end.
const SHELL: &str = "\necho ready; until [ -e go ]; do sleep 0.01; done";

/// As many that all endings come to be with each of them, one number after the other: no multiple of five.
pub(crate) const KINDS: [Kind; 12] = [
    Kind("orphan", "/bin/sh", "(sleep $0 &)"),
    Kind("nohup", "/bin/sh", "nohup sleep $0 >/dev/null 2>&1 &"),
    Kind("disowned", "/bin/bash", "sleep $0 & disown"),
    Kind(
        "forked twice",
        "/usr/bin/python3",
        r"
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0: stay()
    os._exit(0)
wait()",
    ),
    Kind(
        "daemon",
        "/usr/bin/python3",
        r#"
reader, writer = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork(): os._exit(0)
    os.chdir("/"); os.umask(0)
    null = os.open("/dev/null", os.O_RDWR)
    for number in range(3): os.dup2(null, number)
    os.write(writer, b"."); os.closerange(3, 256)
    pause()
os.read(reader, 1); say(); wait()"#,
    ),
    Kind(
        "stopped",
        "/usr/bin/python3",
        r"
children = []
for number in range(3):
    child = os.fork()
    if child == 0:
        if number == 0: os.kill(os.getpid(), signal.SIGSTOP)
        pause()
    if number: os.kill(child, signal.SIGSTOP)
    os.waitpid(child, os.WUNTRACED)
say(); wait()",
    ),
    Kind(
        "stopped first",
        "/usr/bin/python3",
        r#"
first = os.getpid()
if os.fork() == 0:
    until(lambda: open(f"/proc/{first}/stat").read().split()[2] == "T")
    say(); wait(); os.kill(first, signal.SIGCONT); pause()
os.kill(first, signal.SIGSTOP)"#,
    ),
    Kind(
        "deaf",
        "/usr/bin/python3",
        r"
for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}: signal.signal(number, signal.SIG_IGN)
if os.fork() == 0: stay()
wait()",
    ),
    Kind(
        "blocked",
        "/usr/bin/python3",
        r"
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
if os.fork() == 0: stay()
wait()",
    ),
    // Nobody who looks for it finds it, since by then it is another process in another session.
    Kind(
        "comet",
        "/usr/bin/python3",
        r"
if os.fork() == 0:
    say()
    while True:
        try:
            if os.fork(): os._exit(0)
            os.setsid()
        except OSError: pass
wait()",
    ),
    Kind(
        "breeder",
        "/usr/bin/python3",
        r"
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if os.fork() == 0:
    say()
    while True:
        if os.fork() == 0: time.sleep(0.02); os._exit(0)
wait()",
    ),
    // The process's first thread is gone, and with it its command line.
    Kind(
        "headless",
        "/usr/bin/python3",
        r#"
child = os.fork()
if child == 0:
    threading.Thread(target=pause).start()
    ctypes.CDLL(None).syscall({"x86_64": 60}.get(os.uname().machine, 93), 0)
until(lambda: open(f"/proc/{child}/stat").read().rsplit(")")[-1].split()[0] == "Z")
say(); wait()"#,
    ),
];

impl Kind {
    pub(crate) const fn name(&self) -> &'static str {
        self.0
    }

    /// The script with this number, in this directory.
    pub(crate) fn job(&self, number: &str, work: &Path) -> Job {
        let Self(_, program, script) = self;
        let script = match *program {
            "/usr/bin/python3" => format!("{PYTHON}{script}"),
            _ => format!("{script}{SHELL}"),
        };
        Job::new(common::profile(work), *program, ["-c", &script, number].map(Into::into).to_vec())
    }
}
