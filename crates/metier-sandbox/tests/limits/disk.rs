//! Too much on the disk: bytes, files, and the ways around counting them.

use std::fs;

use metier_sandbox::Limit::{Disk, File, Files, Memory};
use metier_sandbox::{Ending, Executor, Job, Sink, Stream};

use crate::{BASH, MIB, PYTHON, as_usual, common, ends, measured, small};

ends_at! {
    one_file: Disk, as_usual, BASH, "exec cat /dev/zero >f";
    many_files: Disk, as_usual, BASH, "n=0; while :; do head -c 1M /dev/zero >f$((n++)); done";
    many_files_of_many: Disk, as_usual, BASH,
        "for w in {1..8}; do (n=0; while :; do head -c 1M /dev/zero >f$w-$((n++)); done) & done; wait";
    one_file_again_and_again: Disk, as_usual, BASH, "while :; do head -c 4M /dev/zero >f; sync f; done";
    one_file_that_is_deleted: Disk, as_usual, PYTHON, "
import tempfile
file = tempfile.TemporaryFile(dir='.')
while True: file.write(b'x' * (1 << 20))
";
    mapped_file: Disk, as_usual, PYTHON, "
import mmap, os
file = open('f', 'w+b')
file.truncate(160 << 20)
memory = mmap.mmap(file.fileno(), 0)
for page in range(0, len(memory), 4096): memory[page] = 1
import time
time.sleep(60)
";
    // Nothing is written, and yet the space is taken.
    reserved_space: Disk, as_usual, PYTHON, "
import os, time
for n in range(10): os.posix_fallocate(os.open(f'f{n}', os.O_CREAT | os.O_WRONLY), 0, 40 << 20)
time.sleep(3)
";
    // Nobody waits for them, so what they wrote is nobody's.
    children_that_nobody_waits_for: Disk, as_usual, PYTHON, "
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for n in range(100):
    reader, writer = os.pipe()
    if os.fork() == 0:
        open(f'f{n}', 'wb').write(b'x' * (4 << 20))
        os._exit(0)
    os.close(writer)
    os.read(reader, 1)
    os.close(reader)
time.sleep(3)
";
    many_empty_files: Files, |limits| limits.files = 3000, PYTHON, "
n = 0
while True:
    open(f'f{n}', 'w').close()
    n += 1
";
    many_directories_and_links: Files, |limits| limits.files = 3000, PYTHON, "
import os
n = 0
while True:
    os.mkdir(f'd{n}')
    os.symlink('nowhere', f'd{n}/link')
    n += 1
";
    too_large_a_file: File, |limits| limits.file = 8 * MIB, BASH, "exec cat /dev/zero >f";
    too_large_a_file_of_a_child: File, |limits| limits.file = 8 * MIB, BASH, "cat /dev/zero >f";
    too_large_a_sparse_file: File, |limits| limits.file = 8 * MIB, BASH, "exec truncate -s 10G f";
    writing_far_behind_the_end: File, |limits| limits.file = 8 * MIB, BASH,
        "exec dd if=/dev/zero of=f bs=1 count=1 seek=10G";
}

goes_well! {
    a_sparse_file: as_usual, BASH, "truncate -s 200M f; [ $(stat -c %s f) = 209715200 ]";
    half_of_the_files: as_usual, BASH, "for n in {1..300}; do : >f$n; done";
    half_of_the_space: as_usual, BASH, "head -c 32M /dev/zero >f";
}

/// Python takes the signal for an error, and goes on.
#[test]
fn too_large_a_file_of_python() {
    let script = "open('f', 'wb').write(b'x' * (20 << 20))";
    let outcome = ends("python", Ending::Exited(1), |limits| limits.file = 8 * MIB, PYTHON, script);
    assert!(String::from_utf8_lossy(&outcome.errors.bytes).contains("File too large"));
}

/// Others use the same disk at the same time.
#[test]
fn files_of_others_do_not_count() {
    const MANY: u64 = 2000;
    struct Others(tempfile::TempDir);
    impl Sink for Others {
        fn take(&mut self, _: Stream, _: &[u8]) {
            for n in 0..2 * MANY {
                fs::write(self.0.path().join(n.to_string()), "").unwrap();
            }
        }
    }
    let work = common::work();
    let mut profile = small(work.path());
    profile.limits.files = MANY;
    let script = "echo started; sleep 0.5";
    let job = Job::new(profile, "/bin/sh", vec!["-c".into(), script.into()]);
    let outcome = common::local().run(&job, &mut Others(common::work())).unwrap();
    assert_eq!(outcome.ending, Ending::Exited(0));
}

/// There, what is on the disk is in memory.
#[test]
fn work_directory_in_memory() {
    let Ok(work) = tempfile::Builder::new().prefix("metier-test-").tempdir_in("/dev/shm") else {
        common::skip("/dev/shm cannot be written to; work directories in memory are not tested");
        return;
    };
    let script = "for n in {1..20}; do head -c 20M /dev/zero >f$n; done";
    let outcome = measured("work_directory_in_memory", small(work.path()), BASH, script);
    assert!(matches!(outcome.ending, Ending::Limit(Disk | Memory)), "{:?}", outcome.ending);
}
