//! Too many processes and threads.

use metier_sandbox::Limit::Processes;

use crate::{BASH, PYTHON, as_usual};

ends_at! {
    fork_bomb_of_the_shell: Processes, as_usual, BASH, ":(){ :|:& };:; sleep 60";
    fork_bomb_of_python: Processes, as_usual, PYTHON, "
import os
while True:
    try: os.fork()
    except OSError: pass
";
    fork_bomb_that_hides: Processes, as_usual, PYTHON, "
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    try:
        if os.fork() == 0:
            os.setsid()
            if os.fork(): os._exit(0)
    except OSError: time.sleep(0.001)
";
    too_many_threads: Processes, as_usual, PYTHON, "
import threading
stay = threading.Event()
while True:
    try: threading.Thread(target=stay.wait, daemon=True).start()
    except RuntimeError: pass
";
    too_many_that_wait: Processes, as_usual, BASH, "for n in {1..100}; do sleep 60 & done 2>/dev/null; wait";
}

goes_well! {
    as_many_as_allowed: |limits| limits.processes = 20, PYTHON, "
import os, time
pipes = [os.pipe() for _ in range(19)]
for reader, writer in pipes:
    if os.fork() == 0:
        os.read(reader, 1)
        os._exit(0)
time.sleep(0.3)
for _, writer in pipes: os.write(writer, b'x')
for _ in pipes: os.wait()
";
    many_one_after_another: |limits| limits.processes = 8, BASH, "for n in {1..300}; do (:); done";
}
