//! Observes writes that a script tried and the sandbox refused.
//!
//! The kernel reports each call that could write (seccomp's user notification), waits, and is always told to continue:
//! this only observes. A script can change a path in memory after it was read, and so hide an attempt; it gains nothing
//! else.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Component, Path, PathBuf};
use std::thread::JoinHandle;

use libc::c_long;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, StatVfsMountFlags};
use rustix::io::Errno;

use crate::executor::PathSample;
use crate::seccomp::{WRITES, Write, Written};
use crate::sys::{self, Notified};

/// The maximum number of reported paths, and their kinds.
const MOST_TOLD: usize = 100;
const KINDS: usize = 4;
/// How often a path is looked up again after a temporary failure.
const TRIES: usize = 100;
/// The maximum length of a path in the kernel.
const LONGEST: usize = 4096;

/// Examines every call that could write, until the job has ended.
#[derive(Debug)]
pub(super) struct Observer {
    stop: Option<PipeWriter>,
    thread: Option<JoinHandle<PathSample>>,
}

impl Observer {
    /// Reads the kernel's reports at `listener`. Paths below `work` are shown relative to it.
    pub(super) fn start(listener: OwnedFd, work: PathBuf) -> io::Result<Self> {
        let (stopped, stop) = io::pipe()?;
        sys::wake_together(&listener);
        let thread = std::thread::Builder::new().name("refused".into());
        let thread = thread.spawn(move || observe(&listener, &stopped, &work))?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }

    /// The refused writes. No process waits for an answer any more.
    pub(super) fn finish(mut self) -> Option<PathSample> {
        self.stop = None;
        self.thread.take()?.join().ok()
    }
}

/// A job that could not be started leaves no thread behind.
impl Drop for Observer {
    fn drop(&mut self) {
        self.stop = None;
        self.thread.take().map(JoinHandle::join);
    }
}

fn observe(listener: &OwnedFd, stopped: &PipeReader, work: &Path) -> PathSample {
    let mut all = Refusals::default();
    loop {
        let mut open = [PollFd::new(listener, PollFlags::IN), PollFd::new(stopped, PollFlags::IN)];
        match poll(&mut open, None) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(_) => break,
        }
        if !open[1].revents().is_empty() {
            break;
        }
        if open[0].revents().contains(PollFlags::IN) {
            // A process that was killed meanwhile needs no answer.
            let Ok(call) = sys::next_call(listener) else { continue };
            let refused = refused(&call);
            // The process that was examined may be another one by now.
            let is_it = sys::is_waiting(listener, &call);
            sys::go_on(listener, &call);
            for (path, exists) in refused.into_iter().filter(|_| is_it) {
                all.add(&path, exists, work);
            }
        } else if !open[0].revents().is_empty() {
            break;
        }
    }
    all.paths()
}

/// The refused writes. A script can try any number of irrelevant paths, so each kind of path has a share of the list.
#[derive(Debug, Default)]
struct Refusals {
    count: u64,
    /// In the work directory and then elsewhere, each with existing paths before others.
    kinds: [BTreeSet<PathBuf>; KINDS],
}

impl Refusals {
    /// Adds an attempt. Paths below `work` are shown relative to it.
    fn add(&mut self, path: &Path, exists: bool, work: &Path) {
        self.count += 1;
        // `sub/../../other` only starts like one of them.
        let below = path.strip_prefix(work).ok();
        let below = below.filter(|below| !below.components().any(|part| part == Component::ParentDir));
        let kind = match (below.is_some(), exists) {
            (true, true) => 0,
            (true, false) => 1,
            (false, true) => 2,
            (false, false) => 3,
        };
        if self.kinds[kind].len() < MOST_TOLD {
            self.kinds[kind].insert(below.unwrap_or(path).to_owned());
        }
    }

    fn paths(self) -> PathSample {
        const SHARE: usize = MOST_TOLD / KINDS;
        let mut room = MOST_TOLD - self.kinds.iter().map(|kind| kind.len().min(SHARE)).sum::<usize>();
        let mut first = Vec::new();
        for kind in self.kinds {
            let more = kind.len().saturating_sub(SHARE).min(room);
            room -= more;
            first.extend(kind.into_iter().take(SHARE + more));
        }
        PathSample { count: self.count, first }
    }
}

/// The paths of a call that are not writable, and whether something exists there.
fn refused(call: &Notified) -> Vec<(PathBuf, bool)> {
    let written = WRITES.iter().filter(|write| write.call == c_long::from(call.number));
    written.filter_map(|write| refused_path(call, write)).collect()
}

fn refused_path(call: &Notified, write: &Write) -> Option<(PathBuf, bool)> {
    let process = PathBuf::from(format!("/proc/{}", call.process));
    let given = text(&process, call.arguments[write.path])?;
    let path = if given.is_absolute() {
        given
    } else {
        base(&process, write.directory.map(|index| call.arguments[index]))?.join(given)
    };
    let root = rustix::fs::open(process.join("root"), OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let flags = write.flags.map_or(0, |index| call.arguments[index]);
    let has = |flag: i32| flags & u64::from(flag.cast_unsigned()) != 0;
    let target = at(&root, &path, !matches!(write.what, Written::Changed) || has(libc::O_NOFOLLOW));
    let exists = target.is_some();
    let parent = || path.parent().and_then(|parent| at(&root, parent, false));
    let is_file = |it: &OwnedFd| {
        rustix::fs::fstat(it).is_ok_and(|it| FileType::from_raw_mode(it.st_mode) == FileType::RegularFile)
    };
    let is_refused = match (write.what, target) {
        (Written::Changed, Some(_)) if has(libc::O_CREAT) && has(libc::O_EXCL) => false,
        // Devices and pipes are writable wherever they are.
        (Written::Changed, Some(target)) => is_file(&target) && is_closed(&target),
        (Written::Changed, None) => has(libc::O_CREAT) && parent().is_some_and(|parent| is_closed(&parent)),
        (Written::Made, target) => target.is_none() && parent().is_some_and(|parent| is_closed(&parent)),
        (Written::Removed, None) => false,
        (Written::Removed | Written::Replaced, target) => {
            target.is_some_and(|target| is_closed(&target))
                || parent().is_some_and(|parent| is_closed(&parent))
        }
    };
    is_refused.then_some((path, exists))
}

/// A path in the memory of a process.
fn text(process: &Path, address: u64) -> Option<PathBuf> {
    let mut bytes = [0; LONGEST];
    let length = File::open(process.join("mem")).ok()?.read_at(&mut bytes, address).ok()?;
    let text = bytes[..length].split(|byte| *byte == 0).next()?;
    Some(PathBuf::from(OsStr::from_bytes(text)))
}

/// The directory that a relative path is relative to: an open one, or the process's current directory.
fn base(process: &Path, descriptor: Option<u64>) -> Option<PathBuf> {
    // The kernel uses 32 bits of it.
    let number = descriptor.map(|number| u32::try_from(number & 0xffff_ffff).unwrap_or(0).cast_signed());
    match number {
        None | Some(libc::AT_FDCWD) => std::fs::read_link(process.join("cwd")).ok(),
        Some(number) => std::fs::read_link(process.join(format!("fd/{number}"))).ok(),
    }
}

/// The file at a path in the file tree of the script.
fn at(root: &OwnedFd, path: &Path, is_link_itself: bool) -> Option<OwnedFd> {
    let path = path.strip_prefix("/").unwrap_or(path);
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let mut flags = OFlags::PATH | OFlags::CLOEXEC;
    if is_link_itself {
        flags |= OFlags::NOFOLLOW;
    }
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    for _ in 0..TRIES {
        match rustix::fs::openat2(root, path, flags, Mode::empty(), resolve) {
            // A rename on this machine interfered with following `..`.
            Err(Errno::AGAIN) => {}
            found => return found.ok(),
        }
    }
    None
}

/// Whether nothing can be written there: it is mounted read-only, or belongs to the kernel.
fn is_closed(place: &OwnedFd) -> bool {
    let read_only = rustix::fs::fstatvfs(place).is_ok_and(|it| it.f_flag.contains(StatVfsMountFlags::RDONLY));
    read_only || rustix::fs::fstatfs(place).is_ok_and(|it| it.f_type == rustix::fs::PROC_SUPER_MAGIC)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whichever kind a script floods the list with, the others keep their share.
    #[test]
    fn no_kind_of_path_takes_the_whole_list() {
        let work = Path::new("/w");
        let told =
            [("/w/.git/config", true), ("/w/.git/new", false), ("/etc/passwd", true), ("/usr/new", false)];
        for flood in ["/w/.git/", "/usr/", "/w/../usr/", "/w/sub/../../"] {
            for exists in [true, false] {
                let mut all = Refusals::default();
                for number in 0..500 {
                    all.add(&Path::new(flood).join(format!("a{number}")), exists, work);
                }
                for (path, exists) in told {
                    all.add(Path::new(path), exists, work);
                }
                let paths = all.paths();
                assert_eq!((paths.count, paths.first.len()), (504, MOST_TOLD));
                let listed = |path: &str| paths.first.iter().any(|one| one == Path::new(path));
                let missing: Vec<_> = told
                    .iter()
                    .filter(|(path, _)| !listed(path.strip_prefix("/w/").unwrap_or(path)))
                    .collect();
                // Nothing can be said for those of the very kind that the list is flooded with.
                assert!(missing.len() <= 1, "{flood} {exists}: {missing:?}");
            }
        }
    }
}
