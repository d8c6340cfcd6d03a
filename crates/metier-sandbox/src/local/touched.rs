//! Which files of the work directory were created, changed and deleted while a job ran.
//!
//! Names are listed before the job is released, while the launcher is still busy; from then on the kernel tells what happens
//! (inotify). Where it cannot, or tells more than is taken in, the directory is listed again at the end and compared.
//! Nobody says who did something: what others do there at the same time is counted too.

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
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use crate::executor::{Paths, Touched};
use crate::profile::Place;

/// The most names that are looked at, directories that are watched, and the deepest of them.
const MOST_NAMES: usize = 100_000;
const MOST_DIRECTORIES: usize = 10_000;
const DEEPEST: usize = 100;
/// The most paths that are told.
const MOST_TOLD: usize = 100;
/// Before events are taken in, so that many come at once.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };

const TOLD: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::ONLYDIR);

/// Looks at a directory from before a job is released until it has ended.
#[derive(Debug)]
pub(super) struct Touches {
    ready: Receiver<()>,
    stop: Option<PipeWriter>,
    found: Receiver<Touched>,
    thread: Option<JoinHandle<()>>,
}

impl Touches {
    /// Begins to look. The job waits for [`Touches::is_ready`].
    pub(super) fn start(place: &Place) -> io::Result<Self> {
        let ((told, ready), (tell, found)) = (channel(), channel());
        let (stopped, stop) = io::pipe()?;
        let place = place.clone();
        let thread = std::thread::Builder::new().name("touched".into());
        let thread = thread.spawn(move || {
            let Some(mut seen) = observe(&place, &told, &stopped) else { return };
            // The kernel takes longer to remove the watches than everything else takes; nobody waits for that.
            let _ = tell.send(seen.touched());
        })?;
        Ok(Self { ready, stop: Some(stop), found, thread: Some(thread) })
    }

    /// Waits until everything before the job is known.
    pub(super) fn is_ready(&self) {
        // Whoever could not look at it has gone, and says nothing.
        let _ = self.ready.recv();
    }

    /// What was created, changed and deleted since.
    pub(super) fn finish(mut self) -> Option<Touched> {
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

/// Takes in what happens until it is to stop.
fn observe(place: &Place, ready: &Sender<()>, stopped: &PipeReader) -> Option<Seen> {
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

/// A name in a directory.
#[derive(Debug, Clone)]
struct Name {
    name: OsString,
    is_directory: bool,
}

type Tree = BTreeMap<PathBuf, Vec<Name>>;

/// What happened to a name.
#[derive(Debug, Clone, Copy, Default)]
struct Happened {
    /// Something came, went or took its place.
    renewed: bool,
    /// Its bytes or its attributes changed; else it was only open for writing.
    changed: bool,
}

/// What was there, and what has happened since.
struct Seen {
    root: OwnedFd,
    before: Tree,
    is_incomplete: bool,
    /// Without it, everything is compared in the end.
    queue: Option<OwnedFd>,
    watched: HashMap<i32, PathBuf>,
    happened: BTreeMap<PathBuf, BTreeMap<OsString, Happened>>,
    /// How many names that is.
    count: usize,
    /// When the job was released; changes before that have earlier times.
    start: (i64, i64),
}

impl Seen {
    fn look(place: &Place) -> Option<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let root = File::from(rustix::fs::openat2(CWD, place.path(), flags, Mode::empty(), resolve).ok()?);
        if !place.is(&root.metadata().ok()?) {
            return None;
        }
        let mut seen = Self {
            root: root.into(),
            before: Tree::new(),
            is_incomplete: false,
            queue: inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok(),
            watched: HashMap::new(),
            happened: BTreeMap::new(),
            count: 0,
            start: (0, 0),
        };
        let (mut queue, mut watched) = (seen.queue.take(), HashMap::new());
        let (before, is_whole) = walk(&seen.root, Path::new(""), |path, directory| {
            // Watched before it is listed, so that nothing falls between.
            let door = format!("/proc/self/fd/{}", directory.as_raw_fd());
            let added = queue.as_ref().map(|queue| inotify::add_watch(queue, door.as_str(), TOLD));
            match added {
                Some(Ok(number)) if watched.len() < MOST_DIRECTORIES => {
                    watched.insert(number, path.to_owned());
                }
                _ => queue = None,
            }
        });
        (seen.before, seen.is_incomplete, seen.queue, seen.watched) = (before, !is_whole, queue, watched);
        let now = clock_gettime(ClockId::RealtimeCoarse);
        seen.start = (now.tv_sec, now.tv_nsec);
        Some(seen)
    }

    /// Takes in what the kernel has told since.
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
                    names.entry(name.to_owned()).or_default()
                }
            };
            let renews = ReadFlags::CREATE | ReadFlags::DELETE | ReadFlags::MOVED_FROM | ReadFlags::MOVED_TO;
            happened.renewed |= what.intersects(renews);
            happened.changed |= what.intersects(ReadFlags::MODIFY | ReadFlags::ATTRIB);
        }
        if is_too_much {
            self.queue = None;
            self.happened.clear();
        }
    }

    fn touched(&mut self) -> Touched {
        let mut found = Found::default();
        if self.queue.is_none() {
            self.compare(Path::new(""), &mut found);
            return found.touched(self.is_incomplete);
        }
        // Parents come before what is in them, so that what was compared whole is not looked at again.
        let mut compared: Vec<PathBuf> = Vec::new();
        for (directory, names) in std::mem::take(&mut self.happened) {
            if compared.iter().any(|whole| directory.starts_with(whole)) {
                continue;
            }
            let before = self.before.get(&directory).map(Vec::as_slice).unwrap_or_default();
            let before: HashMap<OsString, bool> =
                before.iter().map(|name| (name.name.clone(), name.is_directory)).collect();
            for (name, happened) in names {
                let path = directory.join(&name);
                let (was, now) = (before.get(&name).copied(), self.now(&path));
                let is_directory = now.map(|(is_directory, _)| is_directory);
                if was == Some(true) || is_directory == Some(true) {
                    let stayed = was == Some(true) && is_directory == Some(true) && !happened.renewed;
                    if !stayed {
                        self.compare(&path, &mut found);
                        compared.push(path.clone());
                    }
                }
                let is_other =
                    happened.renewed || happened.changed || now.is_some_and(|(_, time)| time >= self.start);
                match (was, is_directory) {
                    (Some(false), Some(false)) if is_other => found.changed.push(path),
                    (Some(false), Some(false)) => {}
                    (Some(false), _) => found.deleted.push(path),
                    (_, Some(false)) => found.created.push(path),
                    _ => {}
                }
            }
        }
        found.touched(self.is_incomplete)
    }

    /// Whether something at a path is a directory, and when it last changed.
    fn now(&self, path: &Path) -> Option<(bool, (i64, i64))> {
        let parent = open(&self.root, path.parent().unwrap_or(Path::new(""))).ok()?;
        let found = rustix::fs::statat(&parent, path.file_name()?, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let is_directory = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
        Some((is_directory, (found.st_ctime, found.st_ctime_nsec.try_into().unwrap_or(0))))
    }

    /// Lists a directory again, with all below it, and compares it with what was there.
    fn compare(&mut self, top: &Path, found: &mut Found) {
        let (now, is_whole) = walk(&self.root, top, |_, _| {});
        self.is_incomplete |= !is_whole;
        let empty = Vec::new();
        let before = |path: &Path| {
            let names = self.before.get(path).unwrap_or(&empty).iter().filter(|name| !name.is_directory);
            names.map(|name| name.name.clone()).collect::<BTreeSet<OsString>>()
        };
        for (path, names) in &now {
            let before = before(path);
            let directory = open(&self.root, path).ok();
            for name in names.iter().filter(|name| !name.is_directory) {
                let whole = path.join(&name.name);
                if !before.contains(&name.name) {
                    found.created.push(whole);
                    continue;
                }
                let state = directory
                    .as_ref()
                    .and_then(|it| rustix::fs::statat(it, &name.name, AtFlags::SYMLINK_NOFOLLOW).ok());
                let time = state.map(|it| (it.st_ctime, it.st_ctime_nsec.try_into().unwrap_or(0)));
                if time.is_some_and(|time: (i64, i64)| time >= self.start) {
                    found.changed.push(whole);
                }
            }
        }
        let there = self.before.range(top.to_owned()..).take_while(|(path, _)| path.starts_with(top));
        for (path, names) in there {
            let left: BTreeSet<&OsString> = match now.get(path) {
                Some(names) => names.iter().filter(|it| !it.is_directory).map(|it| &it.name).collect(),
                // A part that could not be listed is not gone for that.
                None if !is_whole && self.now(path).is_some() => continue,
                None => BTreeSet::new(),
            };
            for name in names.iter().filter(|name| !name.is_directory && !left.contains(&name.name)) {
                found.deleted.push(path.join(&name.name));
            }
        }
    }
}

/// Opens a directory beneath another, without links and on the same disk.
fn open(root: &OwnedFd, path: &Path) -> Result<OwnedFd, Errno> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let resolve = ResolveFlags::BENEATH
        | ResolveFlags::NO_SYMLINKS
        | ResolveFlags::NO_MAGICLINKS
        | ResolveFlags::NO_XDEV;
    rustix::fs::openat2(root, path, flags, Mode::empty(), resolve)
}

/// The names in a directory and in all below it, and whether these are all. Each directory is shown before it is listed.
fn walk(root: &OwnedFd, top: &Path, mut each: impl FnMut(&Path, &OwnedFd)) -> (Tree, bool) {
    let (mut tree, mut is_whole, mut left) = (Tree::new(), true, MOST_NAMES);
    let mut waiting = vec![(top.to_owned(), 0)];
    while let Some((path, depth)) = waiting.pop() {
        let directory = match open(root, &path) {
            Ok(directory) if depth < DEEPEST && left > 0 => directory,
            // Gone, or never there.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
            _ => {
                is_whole = false;
                continue;
            }
        };
        each(&path, &directory);
        let Ok(listing) = Dir::read_from(&directory) else {
            is_whole = false;
            continue;
        };
        let mut names = Vec::new();
        for entry in listing.flatten() {
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            if left == 0 {
                is_whole = false;
                break;
            }
            left -= 1;
            let is_directory = match entry.file_type() {
                FileType::Unknown => rustix::fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)
                    .is_ok_and(|it| FileType::from_raw_mode(it.st_mode) == FileType::Directory),
                kind => kind == FileType::Directory,
            };
            if is_directory {
                waiting.push((path.join(name), depth + 1));
            }
            names.push(Name { name: name.to_owned(), is_directory });
        }
        tree.insert(path, names);
    }
    (tree, is_whole)
}

/// Paths as they are found: how many, and the first in order.
#[derive(Default)]
struct List {
    count: u64,
    first: BTreeSet<PathBuf>,
}

impl List {
    fn push(&mut self, path: PathBuf) {
        self.count += 1;
        self.first.insert(path);
        if self.first.len() > MOST_TOLD {
            self.first.pop_last();
        }
    }

    fn paths(self) -> Paths {
        Paths { count: self.count, first: self.first.into_iter().collect() }
    }
}

#[derive(Default)]
struct Found {
    created: List,
    changed: List,
    deleted: List,
}

impl Found {
    fn touched(self, incomplete: bool) -> Touched {
        let Self { created, changed, deleted } = self;
        Touched { created: created.paths(), changed: changed.paths(), deleted: deleted.paths(), incomplete }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn names(paths: &Paths) -> Vec<String> {
        assert_eq!(paths.count, paths.first.len() as u64);
        paths.first.iter().map(|path| path.to_string_lossy().into_owned()).collect()
    }

    /// A directory with files and directories in it.
    fn place() -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        for path in ["a/one", "a/b/two", "c/three", "c/d/four", "top", "kept", "moved/x", "moved/y"] {
            let path = place.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "before").unwrap();
        }
        symlink("top", place.path().join("link")).unwrap();
        place
    }

    /// What scripts do: each with what is found of it.
    fn change(at: &Path) {
        // Clocks of file systems tick slowly.
        std::thread::sleep(std::time::Duration::from_millis(20));
        fs::write(at.join("top"), "after").unwrap();
        fs::write(at.join("a/new"), "new").unwrap();
        fs::remove_file(at.join("a/one")).unwrap();
        fs::write(at.join("a/b/passing"), "").unwrap();
        fs::remove_file(at.join("a/b/passing")).unwrap();
        // Written beside and put in its place, as editors do.
        fs::write(at.join("a/b/.two.tmp"), "after").unwrap();
        fs::rename(at.join("a/b/.two.tmp"), at.join("a/b/two")).unwrap();
        fs::remove_dir_all(at.join("c")).unwrap();
        fs::create_dir_all(at.join("deep/er")).unwrap();
        fs::write(at.join("deep/er/file"), "").unwrap();
        symlink("/", at.join("deep/root")).unwrap();
        fs::rename(at.join("moved"), at.join("there")).unwrap();
        fs::set_permissions(at.join("kept"), fs::Permissions::from_mode(0o600)).unwrap();
        fs::remove_file(at.join("link")).unwrap();
        symlink("/etc/passwd", at.join("link")).unwrap();
        let odd = OsStr::from_bytes(b"not-\xff-text");
        fs::write(at.join(odd), "").unwrap();
        rustix::fs::mknodat(CWD, at.join("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    }

    fn check(touched: &Touched) {
        assert_eq!(
            names(&touched.created),
            ["a/new", "deep/er/file", "deep/root", "not-\u{fffd}-text", "pipe", "there/x", "there/y"]
        );
        assert_eq!(names(&touched.changed), ["a/b/two", "kept", "link", "top"]);
        assert_eq!(names(&touched.deleted), ["a/one", "c/d/four", "c/three", "moved/x", "moved/y"]);
        assert!(!touched.incomplete);
    }

    #[test]
    fn what_a_job_does_is_found() {
        let directory = place();
        let watch = Touches::start(&Place::pin(directory.path()).unwrap()).unwrap();
        watch.is_ready();
        change(directory.path());
        check(&watch.finish().unwrap());
    }

    #[test]
    fn without_the_kernels_help_the_same_is_found() {
        let directory = place();
        let mut seen = Seen::look(&Place::pin(directory.path()).unwrap()).unwrap();
        assert!(seen.queue.take().is_some(), "inotify works here");
        change(directory.path());
        check(&seen.touched());
    }

    #[test]
    fn only_what_was_written_to_has_changed() {
        let directory = place();
        // What was made in the same tick of the file system's clock cannot be told from what came after it.
        std::thread::sleep(std::time::Duration::from_millis(20));
        let watch = Touches::start(&Place::pin(directory.path()).unwrap()).unwrap();
        watch.is_ready();
        drop(File::options().write(true).open(directory.path().join("top")).unwrap());
        fs::read(directory.path().join("kept")).unwrap();
        assert_eq!(watch.finish().unwrap(), Touched::default());
    }

    #[test]
    fn deep_and_full_directories_are_looked_at_in_part() {
        let directory = tempfile::tempdir().unwrap();
        let mut deep = directory.path().to_owned();
        for _ in 0..DEEPEST + 5 {
            deep.push("d");
        }
        fs::create_dir_all(&deep).unwrap();
        let watch = Touches::start(&Place::pin(directory.path()).unwrap()).unwrap();
        watch.is_ready();
        fs::write(deep.join("below"), "").unwrap();
        let many = directory.path().join("many");
        fs::create_dir(&many).unwrap();
        for number in 0..300 {
            fs::write(many.join(format!("{number:03}")), "").unwrap();
        }
        let touched = watch.finish().unwrap();
        assert!(touched.incomplete);
        assert_eq!((touched.created.count, touched.created.first.len()), (300, MOST_TOLD));
        assert_eq!(touched.created.first[0], Path::new("many/000"));
    }
}
