//! Hides files and directories behind empty ones, in the mount namespace of this process only.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::mount::{MoveMountFlags, OpenTreeFlags, UnmountFlags};
use rustix::thread::UnshareFlags;

use super::root::{move_onto, tmpfs};
use super::{During as _, Failure, map_own_ids};
use crate::plan::{Identity, Raw, Step};
use crate::sys::{self, MountAttr};

const STEP: Step = Step::MountNamespace;
/// The covers for a directory and a link. A link is covered by a broken link, because a file in its place would stop
/// programs that expect a directory.
const EMPTY: &str = "empty";
const LINK: &str = "link";
/// A place where nothing can be created.
const NOWHERE: &str = "/proc/covered";

/// Covers each of these paths that exists: a directory by an empty one, a link by a broken one, anything else by a file
/// with its text. Fails unless all of them are covered.
pub(super) fn cover(covered: &[(Raw, String)]) -> Result<(), Failure> {
    if covered.is_empty() {
        return Ok(());
    }
    enter()?;
    let mut texts: Vec<&str> = covered.iter().map(|(_, text)| text.as_str()).collect();
    texts.sort_unstable();
    texts.dedup();
    let covers = Covers::new(texts).during(STEP, "creating the covers")?;
    for (path, text) in covered {
        let path = path.path();
        let Some(place) = find(path)? else { continue };
        let cover = covers.get(&place, text);
        cover
            .and_then(|tree| move_onto(&tree, &place))
            .map_err(|error| Failure::at(STEP, "covering", path, error))?;
    }
    let device = covers.remove().during(STEP, "removing the covers")?;
    for (path, _) in covered {
        check(path.path(), device)?;
    }
    Ok(())
}

/// Enters a mount namespace: as root, or in a user namespace in which the user stays the same.
fn enter() -> Result<(), Failure> {
    let own = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    if sys::unshare(UnshareFlags::NEWNS).is_err() {
        sys::unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNS)
            .during(Step::UserNamespace, "creating a user and a mount namespace")?;
        map_own_ids(Identity { inner: own, outer: own, from_root: false })
            .during(Step::UserNamespace, "mapping user ids")?;
    }
    let root = rustix::fs::open("/", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .during(STEP, "opening the root")?;
    let private = MountAttr { propagation: super::root::PRIVATE, ..MountAttr::default() };
    sys::mount_setattr(root.as_fd(), true, &private).during(STEP, "making mounts private")
}

/// The file at a path, without following a link. `None` if nothing is there that this user could reach.
fn find(path: &Path) -> Result<Option<OwnedFd>, Failure> {
    use rustix::io::Errno;
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(place) => Ok(Some(place)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP | Errno::NAMETOOLONG) => Ok(None),
        Err(error) => Err(Failure::at(Step::Path, "opening", path, error)),
    }
}

/// A small file system with the covers. It is mounted at a path that nothing uses, because only mounted files can be
/// mounted again.
struct Covers<'a> {
    tree: OwnedFd,
    /// The texts of files; each file is named by its number.
    texts: Vec<&'a str>,
}

impl<'a> Covers<'a> {
    fn new(texts: Vec<&'a str>) -> io::Result<Self> {
        let tree = tmpfs(1 << 20, 1024, 0o755, (0, 0))?;
        rustix::fs::mkdirat(&tree, EMPTY, Mode::from_raw_mode(0o555))?;
        rustix::fs::symlinkat(NOWHERE, &tree, LINK)?;
        for (number, text) in texts.iter().enumerate() {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let file = rustix::fs::openat(&tree, number.to_string(), flags, Mode::from_raw_mode(0o444))?;
            File::from(file).write_all(text.as_bytes())?;
        }
        let read_only = super::root::RDONLY | super::root::NOSUID | super::root::NODEV | super::root::NOEXEC;
        sys::mount_setattr(tree.as_fd(), false, &MountAttr { set: read_only, ..MountAttr::default() })?;
        // On top of the root: nothing is looked up through it there.
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        rustix::mount::move_mount(&tree, "", rustix::fs::CWD, "/", flags)?;
        Ok(Self { tree, texts })
    }

    /// The cover for a path.
    fn get(&self, place: &OwnedFd, text: &str) -> io::Result<OwnedFd> {
        let number = self.texts.binary_search(&text).map_err(|_| io::ErrorKind::NotFound)?;
        let name = match FileType::from_raw_mode(rustix::fs::fstat(place)?.st_mode) {
            FileType::Directory => EMPTY.to_owned(),
            FileType::Symlink => LINK.to_owned(),
            _ => number.to_string(),
        };
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
        Ok(rustix::mount::open_tree(&self.tree, name, flags)?)
    }

    /// Unmounts it; mounts at other paths stay. Returns the number of the file system.
    fn remove(self) -> io::Result<u64> {
        let device = rustix::fs::fstat(&self.tree)?.st_dev;
        rustix::process::fchdir(&self.tree)?;
        rustix::mount::unmount(".", UnmountFlags::DETACH)?;
        Ok(device)
    }
}

/// Checks whether a path now leads to a cover, or to nothing.
fn check(path: &Path, device: u64) -> Result<(), Failure> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.dev() != device => {
            Err(Failure::at(Step::Swapped, "comparing", path, io::ErrorKind::InvalidData))
        }
        _ => Ok(()),
    }
}
