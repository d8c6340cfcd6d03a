//! A directory of any depth is removed, with few descriptors and little stack. The only test of this program: the limit on
//! descriptors is that of the whole process.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs::{self, Permissions};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags};
use rustix::process::{Resource, Rlimit, Uid, geteuid, getrlimit, setrlimit};

const DEPTH: usize = 3000;
/// Far less than the depth of the tree needs with a descriptor or a frame for each level.
const DESCRIPTORS: u64 = 64;
const STACK: usize = 256 << 10;
/// A user that no system has given to anybody.
const ORDINARY: u32 = 61_234;

/// A chain of directories, some of them closed, with files, links and empty directories on the way.
fn make(top: &Path, outside: &Path) {
    let mut levels: Vec<(OwnedFd, Mode)> = Vec::new();
    fs::create_dir(top).unwrap();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut at = rustix::fs::openat(CWD, top, flags, Mode::empty()).unwrap();
    for level in 0..DEPTH {
        rustix::fs::mkdirat(&at, "d", Mode::RWXU).unwrap();
        if level % 10 == 0 {
            rustix::fs::mkdirat(&at, "empty", Mode::RWXU).unwrap();
            drop(rustix::fs::openat(&at, "file", OFlags::CREATE | OFlags::WRONLY, Mode::RUSR).unwrap());
            rustix::fs::symlinkat(outside, &at, "link").unwrap();
        }
        let inner = rustix::fs::openat(&at, "d", flags, Mode::empty()).unwrap();
        // Closed once everything is made in them.
        let mode = [Mode::RWXU, Mode::empty(), Mode::RUSR | Mode::XUSR, Mode::WUSR | Mode::XUSR][level % 4];
        levels.push((std::mem::replace(&mut at, inner), mode));
        if levels.len() > 20 {
            let (directory, mode) = levels.remove(0);
            rustix::fs::fchmod(directory, mode).unwrap();
        }
    }
}

#[test]
fn deep_directories_are_removed_with_few_descriptors_and_little_stack() {
    let place = tempfile::tempdir().unwrap();
    fs::set_permissions(place.path(), Permissions::from_mode(0o777)).unwrap();
    let outside = place.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("kept"), "").unwrap();
    fs::set_permissions(&outside, Permissions::from_mode(0o777)).unwrap();
    let before = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(DESCRIPTORS), maximum: before.maximum }).unwrap();
    let top = place.path().join("top");
    std::thread::scope(|scope| {
        let ordinary = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, || {
            if geteuid().is_root() {
                let user = Uid::from_raw(ORDINARY);
                rustix::thread::set_thread_res_uid(user, user, user).unwrap();
            }
            make(&top, &outside);
            metier_skill::disk::remove_all(&top).unwrap();
            // A link is removed, and not what it leads to.
            symlink(&outside, &top).unwrap();
            metier_skill::disk::remove_all(&top).unwrap();
            metier_skill::disk::remove_all(&top).unwrap();
        });
        ordinary.unwrap().join().unwrap();
    });
    assert!(top.symlink_metadata().is_err());
    assert!(outside.join("kept").exists());
    assert_eq!(fs::metadata(&outside).unwrap().permissions().mode() & 0o777, 0o777);
}
