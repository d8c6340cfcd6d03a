//! Too much CPU time, and too long.

use std::time::Duration;

use metier_sandbox::Ending;
use metier_sandbox::Limit::{Cpu, Wall};

use crate::{BASH, PYTHON, as_usual, common, ends, small};

const SECOND: Duration = Duration::from_secs(1);

ends_at! {
    one_process_that_spins: Cpu, |limits| limits.cpu = SECOND, BASH, "while :; do :; done";
    many_processes_that_spin: Cpu, |limits| limits.cpu = SECOND, BASH,
        "for n in {1..8}; do while :; do :; done & done; wait";
    threads_that_spin: Cpu, |limits| limits.cpu = SECOND, PYTHON, "
import hashlib, threading
def spin():
    while True: hashlib.sha256(b'x' * (1 << 20))
for _ in range(4): threading.Thread(target=spin).start()
";
    short_children: Cpu, |limits| limits.cpu = SECOND, BASH, "while :; do /bin/true; done";
    short_orphans: Cpu, |limits| limits.cpu = SECOND, BASH, "while :; do ended=$( (/bin/true &) ); done";
    // Nobody inherits the time of such children, so that only the clock ends them.
    short_children_that_nobody_waits_for: Wall, |limits| { limits.cpu = SECOND; limits.wall = 5 * SECOND }, PYTHON, "
import os, signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    reader, writer = os.pipe()
    if os.fork() == 0:
        for _ in range(100000): pass
        os._exit(0)
    os.close(writer)
    os.read(reader, 1)
    os.close(reader)
";
    ignores_the_signal: Cpu, |limits| limits.cpu = SECOND, PYTHON, "
import signal
signal.signal(signal.SIGXCPU, signal.SIG_IGN)
while True: pass
";
    sleeps: Wall, |limits| limits.wall = SECOND, BASH, "sleep 60";
    ignores_being_told_to_end: Wall, |limits| limits.wall = SECOND, BASH,
        "trap '' TERM INT HUP QUIT; while :; do sleep 1; done";
    stopped: Wall, |limits| limits.wall = SECOND, BASH, "kill -STOP $$";
    stopped_children: Wall, |limits| limits.wall = SECOND, BASH, "sleep 60 & kill -STOP $!; wait";
    waits_for_a_pipe_of_its_own: Wall, |limits| limits.wall = SECOND, BASH, "mkfifo pipe; cat <pipe";
    waits_for_itself: Wall, |limits| limits.wall = SECOND, PYTHON, "import os; os.read(os.pipe()[0], 1)";
    closes_its_streams: Wall, |limits| limits.wall = SECOND, BASH, "exec <&- >&- 2>&-; sleep 60";
    leaves_it_to_a_session_of_its_own: Wall, |limits| limits.wall = SECOND, BASH, "setsid sleep 60 & wait";
}

goes_well! {
    waiting_is_no_work: |limits| limits.cpu = SECOND, BASH, "sleep 1.5";
    what_it_leaves_ends_with_it: as_usual, BASH, "setsid sleep 60 & sleep 60 & (trap '' TERM; sleep 60) & exit 0";
    reads_input_that_is_not_there: as_usual, BASH, "cat; read -r line; [ -z \"$line\" ]";
}

#[test]
fn input_that_is_used_up_is_at_its_end() {
    let work = common::work();
    let script = "read -r a; read -r b; read -r c || echo \"$a, $b, end\"";
    let mut job = metier_sandbox::Job::new(small(work.path()), "/bin/sh", vec!["-c".into(), script.into()]);
    job.input = b"one\ntwo\n".to_vec();
    let outcome = common::run_job(&job);
    assert_eq!((outcome.ending, outcome.output.bytes), (Ending::Exited(0), b"one, two, end\n".to_vec()));
}

/// A limit does not come before its time.
#[test]
fn as_long_as_allowed() {
    let outcome = ends("wall", Ending::Limit(Wall), |limits| limits.wall = SECOND, BASH, "sleep 60");
    assert!(outcome.usage.wall >= SECOND, "{:?}", outcome.usage.wall);
    let outcome = ends("cpu", Ending::Limit(Cpu), |limits| limits.cpu = SECOND, BASH, "while :; do :; done");
    assert!(outcome.usage.cpu >= SECOND, "{:?}", outcome.usage.cpu);
}

/// Also when not the script itself, or its first process, was the one to end it.
#[test]
fn what_was_used_is_told_however_it_ended() {
    let script = "x=$(printf %5000000s); while :; do :; done";
    let outcome = ends("used", Ending::Limit(Wall), |limits| limits.wall = SECOND, BASH, script);
    assert!(outcome.usage.cpu >= SECOND / 10, "{:?}", outcome.usage);
    assert!(outcome.usage.memory >= 5_000_000, "{:?}", outcome.usage);
}
