//! Finds which files of the work directory were created, changed and deleted while a job ran.
//!
//! Names are listed before the job starts, while the launcher is still busy; from then on the kernel reports changes
//! (inotify). If it cannot, or there are too many reports, the directory is listed again at the end and compared. The
//! source of a change is unknown: changes by other programs at the same time are counted too.

mod tree;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use self::tree::{Closed, Listed, MOST_NAMES, Parent, State, files, state, walk};
use crate::executor::{PathSample, TouchedFiles};
use crate::profile::PinnedPath;

/// The maximum number of watched directories.
const MOST_DIRECTORIES: usize = 10_000;
/// The maximum number of reported paths.
const MOST_TOLD: usize = 100;
/// The delay before events are read, so that many arrive at once.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };

const TOLD: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::ONLYDIR);

/// Observes a directory from before a job starts until it has ended.
#[derive(Debug)]
pub(super) struct Touches {
    ready: Receiver<()>,
    stop: Option<PipeWriter>,
    found: Receiver<TouchedFiles>,
    thread: Option<JoinHandle<()>>,
}

impl Touches {
    /// Starts to observe. The job waits for [`Touches::is_ready`].
    pub(super) fn start(place: &PinnedPath) -> io::Result<Self> {
        let ((told, ready), (tell, found)) = (channel(), channel());
        let (stopped, stop) = io::pipe()?;
        let place = place.clone();
        let thread = std::thread::Builder::new().name("touched".into());
        let thread = thread.spawn(move || {
            let Some(mut seen) = observe(&place, &told, &stopped) else { return };
            // The kernel takes longer to remove the watches than everything else; nothing waits for that.
            let _ = tell.send(seen.touched());
        })?;
        Ok(Self { ready, stop: Some(stop), found, thread: Some(thread) })
    }

    /// Waits until the state before the job is known.
    pub(super) fn is_ready(&self) {
        // A thread that could not read it has exited without a message.
        let _ = self.ready.recv();
    }

    /// What was created, changed and deleted since.
    pub(super) fn finish(mut self) -> Option<TouchedFiles> {
        self.stop = None;
        self.thread = None;
        self.found.recv().ok()
    }
}

/// A job that could not be started leaves no thread behind.
impl Drop for Touches {
    fn drop(&mut self) {
        self.stop = None;
        self.thread.take().map(JoinHandle::join);
    }
}

/// Reads events until it is stopped.
fn observe(place: &PinnedPath, ready: &Sender<()>, stopped: &PipeReader) -> Option<Seen> {
    let mut seen = Seen::look(place)?;
    let _ = ready.send(());
    while let Some(queue) = &seen.queue {
        let mut open = [PollFd::new(stopped, PollFlags::IN), PollFd::new(queue, PollFlags::IN)];
        let _ = poll(&mut open, None);
        let is_over = |open: &PollFd<'_>| !open.revents().is_empty();
        if is_over(&open[0]) {
            break;
        }
        let mut open = [PollFd::new(stopped, PollFlags::IN)];
        let _ = poll(&mut open, Some(&PAUSE));
        if is_over(&open[0]) {
            break;
        }
        seen.take_in();
    }
    let mut open = [PollFd::new(stopped, PollFlags::IN)];
    while matches!(poll(&mut open, None), Err(Errno::INTR)) {}
    seen.take_in();
    Some(seen)
}

/// What happened to a name: all events of the kernel.
#[derive(Debug, Clone, Copy)]
struct Happened(ReadFlags);

impl Happened {
    /// It was created or moved in.
    const fn came(self) -> bool {
        self.0.intersects(ReadFlags::CREATE.union(ReadFlags::MOVED_TO))
    }

    /// It was created, removed or replaced.
    const fn renewed(self) -> bool {
        self.came() || self.0.intersects(ReadFlags::DELETE.union(ReadFlags::MOVED_FROM))
    }

    /// Its content or attributes changed; otherwise it was only open for writing.
    const fn changed(self) -> bool {
        self.0.intersects(ReadFlags::MODIFY.union(ReadFlags::ATTRIB))
    }

    /// Whether it was a directory, at least for a time.
    const fn is_directory(self) -> bool {
        self.0.contains(ReadFlags::ISDIR)
    }
}

/// The earlier state, and the events since.
struct Seen {
    root: OwnedFd,
    before: Listed,
    /// `None` if everything is compared at the end.
    queue: Option<OwnedFd>,
    watched: HashMap<i32, PathBuf>,
    happened: BTreeMap<PathBuf, BTreeMap<OsString, Happened>>,
    /// The number of names.
    count: usize,
    /// When the job started; earlier changes have earlier times.
    start: (i64, i64),
}

impl Seen {
    fn look(place: &PinnedPath) -> Option<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let root = File::from(rustix::fs::openat2(CWD, place.path(), flags, Mode::empty(), resolve).ok()?);
        if !place.is(&root.metadata().ok()?) {
            return None;
        }
        let mut seen = Self {
            root: root.into(),
            before: Listed::default(),
            queue: inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok(),
            watched: HashMap::new(),
            happened: BTreeMap::new(),
            count: 0,
            start: (0, 0),
        };
        let (mut queue, mut watched) = (seen.queue.take(), HashMap::new());
        seen.before = walk(&seen.root, Path::new(""), Closed::Unlisted, |path, directory| {
            // Watched before it is listed, so that no change is missed.
            let door = format!("/proc/self/fd/{}", directory.as_raw_fd());
            let added = queue.as_ref().map(|queue| inotify::add_watch(queue, door.as_str(), TOLD));
            match added {
                Some(Ok(number)) if watched.len() < MOST_DIRECTORIES => {
                    watched.insert(number, path.to_owned());
                }
                _ => queue = None,
            }
        });
        (seen.queue, seen.watched) = (queue, watched);
        let now = clock_gettime(ClockId::RealtimeCoarse);
        seen.start = (now.tv_sec, now.tv_nsec);
        Some(seen)
    }

    /// Reads the new events of the kernel.
    fn take_in(&mut self) {
        let Some(queue) = &self.queue else { return };
        let mut buffer = vec![MaybeUninit::uninit(); 64 << 10];
        let mut reader = Reader::new(queue, &mut buffer);
        let mut is_too_much = false;
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::INTR) => continue,
                Err(_) => break,
            };
            let what = event.events();
            is_too_much |= what.contains(ReadFlags::QUEUE_OVERFLOW) || self.count > MOST_NAMES;
            let (Some(path), Some(name)) = (self.watched.get(&event.wd()), event.file_name()) else {
                continue;
            };
            let names = match self.happened.get_mut(path) {
                Some(names) => names,
                None => self.happened.entry(path.clone()).or_default(),
            };
            let name = OsStr::from_bytes(name.to_bytes());
            let happened = match names.get_mut(name) {
                Some(happened) => happened,
                None => {
                    self.count += 1;
                    names.entry(name.to_owned()).or_insert(Happened(ReadFlags::empty()))
                }
            };
            happened.0 |= what;
        }
        if is_too_much {
            self.queue = None;
        }
    }

    fn touched(&mut self) -> TouchedFiles {
        let mut found = Found { is_incomplete: !self.before.is_whole(), ..Found::default() };
        // Parents come before their content, so that a directory that was compared completely is not examined again.
        let mut compared: BTreeSet<PathBuf> = BTreeSet::new();
        if self.queue.is_none() {
            self.compare(Path::new(""), &mut found);
            compared.insert(PathBuf::new());
        }
        for (directory, names) in std::mem::take(&mut self.happened) {
            let is_compared = directory.ancestors().any(|above| compared.contains(above));
            let is_known = !self.before.is_unlisted(&directory);
            let before = self.before.names(&directory).iter();
            let before: HashMap<&OsStr, bool> =
                before.map(|name| (name.name.as_os_str(), name.is_directory)).collect();
            let parent = Parent::open(&self.root, &directory);
            for (name, happened) in names {
                let path = directory.join(&name);
                let was = before.get(name.as_os_str()).copied();
                if is_compared && was.is_some() {
                    continue;
                }
                let now = parent.state(&name);
                if was.is_none() && now == State::Gone {
                    if happened.came() && is_known {
                        found.temporary.push(&path);
                    }
                } else if !is_compared && self.judge(&path, was, now, happened, &mut found) {
                    compared.insert(path);
                }
            }
        }
        found.touched()
    }

    /// The change of a path with events; `was` says whether it was a directory. Returns whether everything below it was
    /// compared.
    fn judge(
        &self,
        path: &Path,
        was: Option<bool>,
        now: State,
        happened: Happened,
        found: &mut Found,
    ) -> bool {
        let (is_directory, time) = match now {
            State::There { is_directory, changed } => (Some(is_directory), Some(changed)),
            State::Gone => (None, None),
            State::Unknown => {
                // The kernel's events are still valid, but whether it still exists is unknown.
                found.is_incomplete = true;
                match was {
                    Some(false) if happened.renewed() || happened.changed() => found.changed.push(path),
                    None if !happened.is_directory() => found.created.push(path),
                    _ => {}
                }
                return false;
            }
        };
        let stayed = was == Some(true) && is_directory == Some(true) && !happened.renewed();
        let is_compared = (was == Some(true) || is_directory == Some(true)) && !stayed;
        if is_compared {
            self.compare(path, found);
        }
        let is_other =
            happened.renewed() || happened.changed() || time.is_some_and(|time| time >= self.start);
        match (was, is_directory) {
            (Some(false), Some(false)) if is_other => found.changed.push(path),
            (Some(false), Some(false)) => {}
            (Some(false), _) => found.deleted.push(path),
            (_, Some(false)) => found.created.push(path),
            _ => {}
        }
        is_compared
    }

    /// Lists a directory again, with everything below it, and compares it with the earlier state.
    fn compare(&self, top: &Path, found: &mut Found) {
        let now = walk(&self.root, top, Closed::OpenedUp, |_, _| {});
        found.is_incomplete |= !now.is_whole();
        for (path, names) in &now.tree {
            // The earlier state is unknown, so nothing can be reported as new.
            if self.before.is_unlisted(path) {
                continue;
            }
            let before: BTreeSet<&OsString> = files(self.before.names(path)).collect();
            let directory = (!before.is_empty()).then(|| Parent::open(&self.root, path));
            for name in files(names) {
                let state = match &directory {
                    Some(directory) if before.contains(name) => directory.state(name),
                    _ => {
                        found.created.push(&path.join(name));
                        continue;
                    }
                };
                match state {
                    State::There { changed, .. } if changed >= self.start => {
                        found.changed.push(&path.join(name));
                    }
                    State::Unknown => found.is_incomplete = true,
                    _ => {}
                }
            }
        }
        let there = self.before.tree.range(top.to_owned()..).take_while(|(path, _)| path.starts_with(top));
        for (path, names) in there {
            // A part that could not be listed does not count as deleted.
            let is_hidden = !now.is_whole()
                && (now.is_unlisted(path)
                    || !now.tree.contains_key(path) && state(&self.root, path) != State::Gone);
            if is_hidden {
                continue;
            }
            let left: BTreeSet<&OsString> = files(now.names(path)).collect();
            for name in files(names).filter(|name| !left.contains(name)) {
                found.deleted.push(&path.join(name));
            }
        }
    }
}

/// Found paths: their number, and the first ones in order.
#[derive(Default)]
struct List {
    count: u64,
    first: BTreeSet<PathBuf>,
}

impl List {
    fn push(&mut self, path: &Path) {
        self.count += 1;
        self.first.insert(path.to_owned());
        if self.first.len() > MOST_TOLD {
            self.first.pop_last();
        }
    }

    fn paths(self) -> PathSample {
        PathSample { count: self.count, first: self.first.into_iter().collect() }
    }
}

#[derive(Default)]
struct Found {
    created: List,
    changed: List,
    deleted: List,
    temporary: List,
    is_incomplete: bool,
}

impl Found {
    fn touched(self) -> TouchedFiles {
        TouchedFiles {
            created: self.created.paths(),
            changed: self.changed.paths(),
            deleted: self.deleted.paths(),
            temporary: self.temporary.paths(),
            incomplete: self.is_incomplete,
        }
    }
}

#[cfg(test)]
mod tests;
