//! Directories that are made where nobody looks, and become visible in one step; and what dead processes left of such.
//!
//! Whoever makes one says in a file beside it or in its name who they are: a process by its number, when it began, and the boot of
//! the machine. Whoever comes later removes what belongs to nobody any more.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::error::HomeError;

const PREFIX: &str = ".metier-staging-";

/// A process, so that no other is taken for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner {
    pid: u32,
    /// In ticks since the boot; numbers are used again.
    began: String,
    boot: String,
}

impl Owner {
    /// This process.
    pub(crate) fn own() -> Self {
        let pid = std::process::id();
        Self { pid, began: began(pid).unwrap_or_default(), boot: boot() }
    }

    /// As part of a file's name.
    pub(crate) fn text(&self) -> String {
        format!("{}-{}-{}", self.pid, self.began, self.boot)
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, '-');
        let (pid, began, boot) = (parts.next()?, parts.next()?, parts.next()?);
        Some(Self { pid: pid.parse().ok()?, began: began.to_owned(), boot: boot.trim().to_owned() })
    }

    /// The process in a name that ends with one and a number, as `claude-agent-12-345-abc.0`.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let mut parts = name.rsplit_once('.')?.0.rsplitn(4, '-');
        let (boot, began, pid) = (parts.next()?, parts.next()?, parts.next()?);
        Self::parse(&format!("{pid}-{began}-{boot}"))
    }

    /// Whether it is still there.
    pub(crate) fn is_alive(&self) -> bool {
        // Where the system does not tell, nobody is taken for dead.
        if began(std::process::id()).is_none() {
            return true;
        }
        self.boot == boot() && began(self.pid).is_some_and(|began| began == self.began)
    }
}

/// When a process began, as the system counts; `None` where there is none.
fn began(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The program's name is in brackets, and may have anything in it.
    let after = stat.rsplit_once(')')?.1;
    Some(after.split_whitespace().nth(19)?.to_owned())
}

fn boot() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().chars().filter(char::is_ascii_alphanumeric).take(16).collect()
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
        let owner = Owner::own().text();
        for number in 0..u32::MAX {
            let path = parent.join(format!("{PREFIX}{owner}.{number}"));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self { path }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(HomeError::io("make", &path)(error)),
            }
        }
        Err(HomeError::io("make", parent)(io::ErrorKind::AlreadyExists.into()))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// All of it becomes that directory, which must not be there, or be empty.
    pub(crate) fn become_directory(self, directory: &Path) -> Result<(), HomeError> {
        match fs::remove_dir(directory) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => return Err(HomeError::Occupied { path: directory.to_owned() }),
        }
        rename(&self.path, directory)
    }

    /// One entry of it becomes visible.
    pub(crate) fn give(self, name: &str, target: &Path) -> Result<(), HomeError> {
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

/// Removes a directory that others may look at: first out of sight, so that nobody sees it by half.
pub(crate) fn retire(path: &Path) -> io::Result<()> {
    let Some(parent) = path.parent() else { return remove_all(path) };
    let owner = Owner::own().text();
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // Its own name is in it, so that two who end at once do not get into each other's way.
    let unseen = parent.join(format!("{PREFIX}{owner}.{name}"));
    match fs::rename(path, &unseen) {
        Ok(()) => remove_all(&unseen),
        Err(_) => remove_all(path),
    }
}

/// Removes what processes left in a directory that are not there any more; how many.
pub(crate) fn remove_leftovers(parent: &Path) -> usize {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let mut count = 0;
    for entry in entries {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        let owner = owner.and_then(|text| Owner::parse(text.split_once('.')?.0));
        if owner.is_some_and(|owner| !owner.is_alive()) && remove_all(&entry.path()).is_ok() {
            count += 1;
        }
    }
    count
}

/// Removes a directory with everything in it, also what was closed to writing. Nothing that a link leads to is touched.
pub(crate) fn remove_all(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Ok(()) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(_) => {}
    }
    open_up(path);
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn open_up(directory: &Path) {
    let Ok(meta) = fs::symlink_metadata(directory) else { return };
    if !meta.is_dir() {
        return;
    }
    let _ = fs::set_permissions(directory, Permissions::from_mode(0o700));
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path());
        }
    }
}
