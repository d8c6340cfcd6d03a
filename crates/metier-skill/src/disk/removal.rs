//! Removes a directory that a script could write to, at any depth, with unwritable directories in it, and while
//! files are still being added.
//!
//! A script can nest directories without limit, so the code does not use a stack frame or descriptor per level.
//! Directories below a few levels are moved to the top of the tree and removed from there.

use std::ffi::CString;
use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, openat, renameat, unlinkat};
use rustix::io::Errno;
use rustix::path::Arg;

/// How often to retry while another process still writes to the directory.
const TRIES: usize = 20;
/// The maximum number of levels that are open at a time.
const MOST_LEVELS: usize = 16;

/// Removes a directory and everything in it at any depth, including unwritable directories, and while other
/// processes add files. Links are removed, but their targets are not touched.
pub fn remove_all(path: &Path) -> io::Result<()> {
    let mut removed = Ok(());
    for _ in 0..TRIES {
        removed = remove(path);
        match &removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {}
            _ => return Ok(()),
        }
    }
    removed
}

fn remove(path: &Path) -> io::Result<()> {
    let top = match open_up(CWD, path) {
        Err(Errno::NOTDIR) if path.symlink_metadata()?.is_symlink() => return fs::remove_file(path),
        other => other?,
    };
    // Random, from the system's source.
    let name = format!("{:016x}", RandomState::new().hash_one(0));
    let mut removal = Removal { levels: Vec::new(), moved: 0, failed: None, name };
    removal.enter(top, CString::default());
    while let Some((name, level)) = removal.next() {
        removal.remove(name, level);
    }
    unlinkat(CWD, path, AtFlags::REMOVEDIR).map_err(|error| removal.failed.unwrap_or(error).into())
}

/// A directory whose content is being removed.
struct Level {
    directory: OwnedFd,
    /// Its name in its parent.
    name: CString,
    /// Entries still to be removed: directories, and entries that may be directories.
    left: Vec<CString>,
}

struct Removal {
    /// The open levels; each is inside the one before it, and the first is the top.
    levels: Vec<Level>,
    /// The number of directories that were moved to the top.
    moved: u64,
    /// Their name there, followed by a number. No script can guess it.
    name: String,
    /// The first error.
    failed: Option<Errno>,
}

impl Removal {
    /// The next name to remove, with its level. Leaves levels that are empty.
    fn next(&mut self) -> Option<(CString, usize)> {
        while let Some(level) = self.levels.last_mut() {
            if let Some(name) = level.left.pop() {
                return Some((name, self.levels.len() - 1));
            }
            let done = self.levels.pop()?;
            if let Some(above) = self.levels.last() {
                let removed = unlinkat(&above.directory, &done.name, AtFlags::REMOVEDIR);
                self.note(removed);
            }
        }
        None
    }

    /// Removes an entry, or enters it if it is a directory that is not empty.
    fn remove(&mut self, name: CString, level: usize) {
        let directory = &self.levels[level].directory;
        match unlinkat(directory, &name, AtFlags::REMOVEDIR) {
            Ok(()) => return,
            Err(Errno::NOTDIR) => {
                let removed = unlinkat(directory, &name, AtFlags::empty());
                return self.note(removed);
            }
            // Most likely not empty. Any other reason shows below.
            Err(_) => {}
        }
        match open_up(directory, &name) {
            Err(error) => self.note(Err(error)),
            Ok(inner) if self.levels.len() < MOST_LEVELS => self.enter(inner, name),
            Ok(_) => self.move_to_the_top(&name, level),
        }
    }

    /// Enters a level: removes its files now and its directories later.
    fn enter(&mut self, directory: OwnedFd, name: CString) {
        let mut left = Vec::new();
        let listing = Dir::read_from(&directory);
        self.note(listing.as_ref().map(|_| ()).map_err(|error| *error));
        for entry in listing.into_iter().flatten().flatten() {
            if matches!(entry.file_name().to_bytes(), b"." | b"..") {
                continue;
            }
            if !matches!(entry.file_type(), FileType::Directory | FileType::Unknown) {
                match unlinkat(&directory, entry.file_name(), AtFlags::empty()) {
                    // A directory has taken its name.
                    Err(Errno::ISDIR) => {}
                    removed => {
                        self.note(removed);
                        continue;
                    }
                }
            }
            left.push(entry.file_name().to_owned());
        }
        self.levels.push(Level { directory, name, left });
    }

    /// Moves a directory to the top, to be removed later. It stays in the same tree and file system.
    fn move_to_the_top(&mut self, name: &CString, level: usize) {
        self.moved += 1;
        let moved = format!("{}.{}", self.name, self.moved);
        let (from, top) = (&self.levels[level].directory, &self.levels[0].directory);
        let done = renameat(from, name, top, &moved);
        if let (Ok(()), Ok(moved)) = (done, CString::new(moved)) {
            self.levels[0].left.push(moved);
        }
        self.note(done);
    }

    fn note(&mut self, done: Result<(), Errno>) {
        if let Err(error) = done
            && error != Errno::NOENT
        {
            self.failed.get_or_insert(error);
        }
    }
}

/// Opens a directory and gives its owner full access. It is opened before the mode is changed, so that a link
/// cannot take its place.
#[cfg(target_os = "linux")]
fn open_up(at: impl AsFd, path: impl Arg) -> Result<OwnedFd, Errno> {
    use std::os::fd::AsRawFd as _;

    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let held = openat(at, path, flags, Mode::empty())?;
    if !Mode::from_raw_mode(rustix::fs::fstat(&held)?.st_mode).contains(Mode::RWXU) {
        // A handle opened with `O_PATH` cannot be changed directly, only through this path. A failure shows
        // when it is used.
        let _ = rustix::fs::chmod(format!("/proc/self/fd/{}", held.as_raw_fd()), Mode::RWXU);
    }
    openat(&held, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// The same for systems on which a directory must be readable to be opened.
#[cfg(not(target_os = "linux"))]
fn open_up(at: impl AsFd, path: impl Arg) -> Result<OwnedFd, Errno> {
    let opened = openat(at, path, super::DIRECTORY, Mode::empty())?;
    let _ = rustix::fs::fchmod(&opened, Mode::RWXU);
    Ok(opened)
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn what_is_put_in_the_place_of_a_directory_is_left_as_it_is() {
        let place = tempfile::tempdir().unwrap();
        let [own, link, theirs] = ["own", "link", "theirs"].map(|name| place.path().join(name));
        for directory in [&own, &theirs] {
            fs::create_dir_all(directory.join("inner")).unwrap();
        }
        symlink(&theirs, &link).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let closed = [theirs.join("inner"), theirs];
        for path in &closed {
            fs::set_permissions(path, Permissions::from_mode(0o500)).unwrap();
        }
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let flags = rustix::fs::RenameFlags::EXCHANGE;
                    rustix::fs::renameat_with(CWD, &own, CWD, &link, flags).unwrap();
                }
            });
            for _ in 0..20_000 {
                if let Ok(opened) = open_up(CWD, &own) {
                    let _ = open_up(opened, "inner");
                }
            }
            is_over.store(true, Ordering::Relaxed);
        });
        assert_eq!(closed.each_ref().map(|path| mode(path)), [0o500; 2]);
        for path in closed.iter().rev() {
            fs::set_permissions(path, Permissions::from_mode(0o700)).unwrap();
        }
    }
}
