//! Too much memory, and where it could be hidden.

use metier_sandbox::Ending;
use metier_sandbox::Limit::{Memory, Tmp};

use crate::{BASH, MIB, PYTHON, as_usual, common, ends};

ends_at! {
    one_process: Memory, as_usual, PYTHON, "
taken = []
while True: taken.append(b'x' * (1 << 20))
";
    one_large_piece: Memory, as_usual, PYTHON, "taken = b'x' * (400 << 20)\nimport time\ntime.sleep(60)";
    many_processes: Memory, as_usual, PYTHON, "
import os, time
for _ in range(12):
    if os.fork() == 0:
        taken = b'x' * (16 << 20)
        time.sleep(60)
os.wait()
";
    shared_anonymous_mapping: Memory, as_usual, PYTHON, "
import mmap, time
memory = mmap.mmap(-1, 256 << 20)
for page in range(0, len(memory), 4096): memory[page] = 1
time.sleep(60)
";
    shared_anonymous_mappings_of_many: Memory, as_usual, PYTHON, "
import mmap, os, time
for _ in range(12):
    if os.fork() == 0:
        memory = mmap.mmap(-1, 16 << 20)
        for page in range(0, len(memory), 4096): memory[page] = 1
        time.sleep(60)
os.wait()
";
    // Its pages stay, but no process has them any more.
    shared_anonymous_mapping_that_is_let_go: Memory, as_usual, PYTHON, "
import mmap, time
memory = mmap.mmap(-1, 384 << 20)
for page in range(0, len(memory), 4096):
    memory[page] = 1
    if page % (16 << 20) == 0: memory.madvise(mmap.MADV_DONTNEED)
memory.madvise(mmap.MADV_DONTNEED)
time.sleep(3)
";
    // Reading maps the page of zeros, which is nobody's; the tables that lead to it are.
    page_tables: Memory, as_usual, PYTHON, "
import ctypes, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
size = 64 << 30
start = libc.mmap(None, size, 1, 0x4022, -1, 0)
for page in range(start, start + size, 2 << 20): ctypes.c_char.from_address(page).value
time.sleep(3)
";
    files_in_memory: Memory, |limits| limits.tmp = 200 * MIB, BASH, "head -c 150M /dev/zero >/dev/shm/f; sleep 60";
    files_in_memory_that_are_deleted: Memory, |limits| limits.tmp = 200 * MIB, PYTHON, "
import tempfile
files = [tempfile.TemporaryFile(dir=place) for place in ('/tmp', '/dev/shm')]
while True:
    for file in files: file.write(b'x' * (1 << 20))
";
    full_shared_memory: Tmp, as_usual, BASH, "head -c 40M /dev/zero >/dev/shm/f 2>/dev/null; sleep 60";
    full_temporary_directory: Tmp, as_usual, BASH, "head -c 40M /dev/zero >/tmp/f 2>/dev/null; exit 0";
    full_temporary_directory_of_empty_files: Tmp, |limits| limits.tmp = MIB, BASH,
        "n=0; while :; do : >/tmp/$((n++)); done 2>/dev/null";
}

goes_well! {
    many_with_the_same_memory: as_usual, PYTHON, "
import mmap, os, time
memory = mmap.mmap(-1, 40 << 20)
ready, stay = os.pipe(), os.pipe()
for _ in range(10):
    if os.fork() == 0:
        for page in range(0, len(memory), 4096): memory[page] = 1
        os.write(ready[1], b'x')
        os.read(stay[0], 1)
        os._exit(0)
for _ in range(10): os.read(ready[0], 1)
time.sleep(0.5)
os.write(stay[1], b'x' * 10)
for _ in range(10): os.wait()
";
    many_open_files: as_usual, PYTHON, "
import time
files = [open('/dev/null') for _ in range(900)]
time.sleep(0.1)
";
    many_processes_that_inherit_pipes: |limits| limits.processes = 80, PYTHON, "
import os, time
pipes = [os.pipe() for _ in range(30)]
for reader, _ in pipes:
    if os.fork() == 0:
        os.read(reader, 1)
        os._exit(0)
time.sleep(0.2)
for _, writer in pipes: os.write(writer, b'x')
for _ in pipes: os.wait()
";
    memory_that_is_reserved_only: as_usual, PYTHON, "
import mmap, time
memory = mmap.mmap(-1, 8 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory[0] = 1
time.sleep(0.1)
";
    memory_given_back: as_usual, PYTHON, "
for _ in range(20):
    taken = b'x' * (30 << 20)
    del taken
";
    files_that_are_read: |limits| limits.disk = 200 * MIB, BASH,
        "head -c 150M /dev/zero >f; for n in 1 2 3; do cat f >/dev/null; done; \
         python3 -c 'import mmap; f = open(\"f\", \"rb\"); print(sum(mmap.mmap(f.fileno(), 0, prot=1)[::4096]))'";
}

/// Counted where a cgroup counts; where none does, there are no such files.
#[test]
fn memory_files() {
    let script = "
import os
file = os.memfd_create('x')
while True: os.write(file, b'x' * (1 << 20))
";
    let counted = common::is_root();
    let ending = if counted { Ending::Limit(Memory) } else { Ending::Exited(1) };
    let outcome = ends("memory_files", ending, as_usual, PYTHON, script);
    let errors = String::from_utf8_lossy(&outcome.errors.bytes).into_owned();
    assert_eq!(errors.contains("Function not implemented"), !counted, "{errors}");
}

/// The same for what lies in pipes: they cannot be made larger, and many of them count as full.
#[test]
fn pipes() {
    let script = "
import fcntl, os
pipes = []
while True:
    try: pipe = os.pipe()
    except OSError:
        if os.fork(): os.wait()
        for end in sum(pipes, ()): os.close(end)
        pipes = []
        continue
    pipes.append(pipe)
    try: fcntl.fcntl(pipe[1], 1031, 1 << 20)
    except PermissionError: pass
    os.set_blocking(pipe[1], False)
    try:
        while True: os.write(pipe[1], b'x' * 65536)
    except BlockingIOError: pass
";
    ends("pipes", Ending::Limit(Memory), |limits| limits.processes = 200, PYTHON, script);
}
