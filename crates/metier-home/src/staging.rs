//! Directories that are made where nobody looks, and become visible in one step; and what dead processes left of such.
//!
//! Whoever makes one says in a file beside it or in its name who they are: a process by its number, when it began, and the boot of
//! the machine. Whoever comes later removes what belongs to nobody any more.

use std::fmt;
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, RenameFlags, openat, renameat_with};
use rustix::path::Arg;

use crate::error::HomeError;

const PREFIX: &str = ".metier-staging-";

/// How often a directory is tried to be removed that somebody still writes to.
const TRIES: usize = 20;

/// A process, so that no other is taken for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner {
    pid: u32,
    /// In ticks since the boot; numbers are used again.
    began: u64,
    /// Numbers mean something only where they were given.
    namespace: u64,
    boot: String,
}

impl Owner {
    /// This process.
    pub(crate) fn own() -> Self {
        Self::of(std::process::id()).unwrap_or(Self {
            pid: std::process::id(),
            began: 0,
            namespace: 0,
            boot: boot(),
        })
    }

    /// A process that is there, seen from here.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        Some(Self { pid, began: began(pid)?, namespace: namespace(), boot: boot() })
    }

    /// As names and marks have it, and nothing else: `12-345-4026531836-0123abcd`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(4, '-');
        let mut number = || parts.next().filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
        let (pid, began, namespace) =
            (number()?.parse().ok()?, number()?.parse().ok()?, number()?.parse().ok()?);
        let boot = parts.next()?;
        let is_boot = boot.len() == BOOT && boot.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_boot.then(|| Self { pid, began, namespace, boot: boot.to_owned() })
    }

    /// The process in a name that ends with one and a number, as `claude-agent-12-345-4026531836-0123abcd.0`.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let (name, number) = name.rsplit_once('.')?;
        number.parse::<u32>().ok()?;
        let at = name.rmatch_indices('-').nth(3)?.0;
        Self::parse(&name[at + 1..])
    }

    /// Whether it is still there. Where that cannot be told, it is.
    pub(crate) fn is_alive(&self) -> bool {
        let own = Self::own();
        if own.began == 0 || own.boot.len() != BOOT {
            return true;
        }
        self.boot == own.boot && (self.namespace != own.namespace || began(self.pid) == Some(self.began))
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pid, began, namespace, boot } = self;
        write!(f, "{pid}-{began}-{namespace}-{boot}")
    }
}

/// When a process began, as the system counts; `None` where there is none that does anything.
fn began(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The program's name is in brackets, and may have anything in it.
    let mut after = stat.rsplit_once(')')?.1.split_whitespace();
    let is_dead = matches!(after.next()?, "Z" | "X");
    // What it is doing was the first.
    after.nth(18)?.parse().ok().filter(|_| !is_dead)
}

/// Where this process's numbers are given.
fn namespace() -> u64 {
    fs::metadata("/proc/self/ns/pid").map_or(0, |meta| meta.ino())
}

/// How much of the boot's id is in names, which should be short: sockets have little room for them.
const BOOT: usize = 8;

fn boot() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.chars().take(BOOT).collect()
}

/// Whether a directory is this person's, and no link to one.
pub(crate) fn is_own_directory(path: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir() && meta.uid() == own)
}

/// A directory that nobody sees yet. What does not become visible is removed.
#[derive(Debug)]
pub(crate) struct Staging {
    path: PathBuf,
}

impl Staging {
    /// A new one beside a directory, on the same file system. What dead processes left there is removed.
    pub(crate) fn beside(directory: &Path) -> Result<Self, HomeError> {
        let parent = directory.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        fs::create_dir_all(parent).map_err(HomeError::io("make", parent))?;
        remove_leftovers(parent);
        let owner = Owner::own();
        for number in 0..u32::MAX {
            let path = parent.join(format!("{PREFIX}{owner}.{number}"));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self { path }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                // Its own name says nothing to anybody.
                Err(error) => return Err(HomeError::io("make", directory)(error)),
            }
        }
        Err(HomeError::io("make", parent)(io::ErrorKind::AlreadyExists.into()))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// All of it becomes that directory, which must not be there, or be empty.
    pub(crate) fn become_directory(self, directory: &Path) -> Result<(), HomeError> {
        if let Ok(meta) = fs::symlink_metadata(directory).and_then(|_| fs::metadata(directory)) {
            // Who may look into it was somebody's choice.
            let _ = fs::set_permissions(&self.path, Permissions::from_mode(meta.mode() & 0o777));
        }
        match fs::remove_dir(directory) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                return Err(HomeError::Occupied { path: directory.to_owned() });
            }
            Err(error) => return Err(HomeError::io("replace", directory)(error)),
        }
        rename(&self.path, directory)
    }

    /// One entry of it becomes visible.
    pub(crate) fn give(&self, name: &str, target: &Path) -> Result<(), HomeError> {
        rename(&self.path.join(name), target)
    }
}

/// Moves a directory in one step to where nothing is yet.
fn rename(from: &Path, to: &Path) -> Result<(), HomeError> {
    // A directory that cannot be written to cannot be moved either: its `..` changes.
    let mode = fs::metadata(from).map_or(0o755, |meta| meta.permissions().mode());
    let _ = fs::set_permissions(from, Permissions::from_mode(mode | 0o700));
    let renamed = renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE);
    match renamed.map_err(io::Error::from) {
        Ok(()) => {
            let _ = fs::set_permissions(to, Permissions::from_mode(mode));
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(HomeError::Occupied { path: to.to_owned() })
        }
        Err(error) => Err(HomeError::io("make", to)(error)),
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        let _ = remove_all(&self.path);
    }
}

/// Removes a directory that others may look at: first out of sight, so that nobody sees it by half. An error is about the path that
/// is still there.
pub(crate) fn retire(path: &Path) -> Result<(), HomeError> {
    let Some(parent) = path.parent() else { return remove_all(path).map_err(HomeError::io("remove", path)) };
    let owner = Owner::own();
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // Its own name is in it, so that two who end at once do not get into each other's way.
    let unseen = parent.join(format!("{PREFIX}{owner}.{name}"));
    let left = if fs::rename(path, &unseen).is_ok() { &unseen } else { path };
    remove_all(left).map_err(HomeError::io("remove", left))
}

/// What leftovers were removed, and which could not be.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Leftovers {
    /// How many are gone.
    pub removed: usize,
    /// What is still there.
    pub left: Vec<HomeError>,
}

impl Leftovers {
    pub(crate) fn remove(&mut self, path: &Path) {
        match remove_all(path) {
            Ok(()) => self.removed += 1,
            Err(error) => self.left.push(HomeError::io("remove", path)(error)),
        }
    }
}

/// Removes what processes left in a directory that are not there any more.
pub(crate) fn remove_leftovers(parent: &Path) -> Leftovers {
    let mut leftovers = Leftovers::default();
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let owner = owner.and_then(|text| Owner::parse(text.split_once('.')?.0));
        if owner.is_some_and(|owner| !owner.is_alive()) && is_own_directory(&entry.path()) {
            leftovers.remove(&entry.path());
        }
    }
    leftovers
}

/// Removes a directory with everything in it, also what was closed to writing, and while somebody still puts things into it. Nothing
/// that a link leads to is touched.
pub(crate) fn remove_all(path: &Path) -> io::Result<()> {
    let mut removed = fs::remove_dir_all(path);
    for _ in 1..TRIES {
        match &removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {}
            _ => return Ok(()),
        }
        open_up(CWD, path);
        removed = fs::remove_dir_all(path);
    }
    removed
}

/// Lets everything in a directory be removed. Each part is opened before it is changed, so that no link can take its place.
fn open_up(at: impl AsFd, path: impl Arg) {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(held) = openat(at, path, flags, Mode::empty()) else { return };
    // What is only held cannot be changed by itself, but by this name.
    let _ = fs::set_permissions(format!("/proc/self/fd/{}", held.as_raw_fd()), Permissions::from_mode(0o700));
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(opened) = openat(&held, ".", flags, Mode::empty()) else { return };
    for name in directories_in(&opened) {
        open_up(&opened, name);
    }
}

fn directories_in(directory: &OwnedFd) -> Vec<std::ffi::CString> {
    let entries = Dir::read_from(directory).into_iter().flatten().flatten();
    let inner = entries.filter(|entry| !matches!(entry.file_name().to_bytes(), b"." | b".."));
    inner
        .filter(|entry| matches!(entry.file_type(), FileType::Directory | FileType::Unknown))
        .map(|entry| entry.file_name().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_name_and_nothing_else_is() {
        let own = Owner::own();
        assert!(own.is_alive());
        assert_eq!(Owner::parse(&own.to_string()), Some(own.clone()));
        assert_eq!(Owner::of_name(&format!("claude-agent-{own}.12")), Some(own.clone()));
        for name in [
            "backup-2024-01-15.d",
            "2024-01-15.old",
            "a-12-foo-bar.0",
            "x-1-2-3-4.0",
            "x-1-2-3-0123abcd",
            "+1-2-3-0123abcd.0",
        ] {
            assert_eq!(Owner::of_name(name), None, "{name}");
        }
        let other = |change: fn(&mut Owner)| {
            let mut other = own.clone();
            change(&mut other);
            other.is_alive()
        };
        assert!(!other(|one| one.began += 1), "another of the same number");
        assert!(!other(|one| one.boot = "00000000".to_owned()), "before the machine was started");
        assert!(other(|one| (one.namespace, one.pid) = (one.namespace + 1, 0)), "nobody knows from here");
    }
}
