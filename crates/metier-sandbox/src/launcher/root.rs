//! The file tree inside: empty at first, then the allowed paths are mounted by descriptor.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode as FileMode, OFlags, ResolveFlags};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags};
use rustix::process::{Signal, WaitOptions};
use rustix::thread::UnshareFlags;

use super::{During, Failure};
use crate::plan::{Bind, Identity, Kind, Plan, Step};
use crate::sys::{self, Fork, MountAttr};

pub(super) const RDONLY: u64 = MountAttrFlags::MOUNT_ATTR_RDONLY.bits() as u64;
pub(super) const NOSUID: u64 = MountAttrFlags::MOUNT_ATTR_NOSUID.bits() as u64;
pub(super) const NODEV: u64 = MountAttrFlags::MOUNT_ATTR_NODEV.bits() as u64;
pub(super) const NOEXEC: u64 = MountAttrFlags::MOUNT_ATTR_NOEXEC.bits() as u64;
const IDMAP: u64 = 0x0010_0000;
pub(super) const PRIVATE: u64 = 1 << 18;

/// A file that nothing inside may read, to check that Landlock is active.
pub(super) const UNREADABLE: &str = "/.unreadable";
/// Covers a directory that must not be visible.
const EMPTY: &str = ".empty";

/// Entries of /proc about the machine instead of the processes inside: directories, then files. Entries that only root
/// may read are not readable here anyway.
const MASKED_DIRECTORIES: &[&str] = &[
    "sys",
    "acpi",
    "asound",
    "bus",
    "driver",
    "dynamic_debug",
    "fs",
    "irq",
    "pressure",
    "scsi",
    "sysvipc",
    "tty",
];
const MASKED_FILES: &[&str] = &[
    "buddyinfo",
    "cmdline",
    "config.gz",
    "consoles",
    "devices",
    "diskstats",
    "fb",
    "interrupts",
    "iomem",
    "ioports",
    "kallsyms",
    "key-users",
    "keys",
    "latency_stats",
    "locks",
    "mdstat",
    "misc",
    "modules",
    "mtrr",
    "partitions",
    "sched_debug",
    "schedstat",
    "softirqs",
    "swaps",
    "zoneinfo",
];

/// For each outer owner whose files appear as the script's own, a user namespace with that mapping.
///
/// If root starts the script, it runs as a user that owns nothing. The work directory and the skill appear as its own,
/// and files that it writes belong to the outer owner, through id-mapped mounts.
#[derive(Debug, Default)]
pub(super) struct Owners(Vec<((u32, u32), OwnedFd)>);

impl Owners {
    pub(super) fn prepare(plan: &Plan) -> Result<Self, Failure> {
        let mut all = Self::default();
        for owner in plan.binds.iter().filter_map(|bind| bind.owner) {
            if all.get(owner).is_none() {
                let namespace = owner_namespace(owner, plan.identity)
                    .during(Step::UserNamespace, "mapping the owner's ids")?;
                all.0.push((owner, namespace));
            }
        }
        Ok(all)
    }

    fn get(&self, owner: (u32, u32)) -> Option<&OwnedFd> {
        self.0.iter().find(|(other, _)| *other == owner).map(|(_, namespace)| namespace)
    }
}

/// A user namespace in which `owner` stands for the script's user. A process is needed to create it, but not to keep
/// it.
fn owner_namespace(owner: (u32, u32), identity: Identity) -> io::Result<OwnedFd> {
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    // A parent-death signal could be requested too late; the end of a pipe is never missed.
    let (held, holder) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    match sys::fork()? {
        Fork::Child => {
            drop(holder);
            let done = sys::unshare(UnshareFlags::NEWUSER);
            if done.and_then(|()| File::from(writer).write_all(b".")).is_ok() {
                // Until it is killed, or its parent has ended, however early.
                let _ = File::from(held).read(&mut [0]);
            }
            sys::leave(1)
        }
        Fork::Parent(child) => {
            drop((writer, held));
            let namespace = File::from(reader).read_exact(&mut [0]).and_then(|()| {
                let of = |file: &str| format!("/proc/{}/{file}", child.as_raw_nonzero());
                std::fs::write(of("uid_map"), format!("{} {} 1", owner.0, identity.outer.0))?;
                std::fs::write(of("gid_map"), format!("{} {} 1", owner.1, identity.outer.1))?;
                Ok(rustix::fs::open(of("ns/user"), OFlags::RDONLY | OFlags::CLOEXEC, FileMode::empty())?)
            });
            let _ = rustix::process::kill_process(child, Signal::KILL);
            let _ = rustix::process::waitpid(Some(child), WaitOptions::empty());
            drop(holder);
            namespace
        }
    }
}

/// Builds the tree and makes it the root.
pub(super) fn enter(plan: &Plan, owners: &Owners) -> Result<(), Failure> {
    let step = Step::MountNamespace;
    let everything = open_directory(Path::new("/")).during(step, "opening the root")?;
    // So that mounts made here are not visible outside.
    let private = MountAttr { propagation: PRIVATE, ..MountAttr::default() };
    sys::mount_setattr(everything.as_fd(), true, &private).during(step, "making mounts private")?;

    // All sources are opened before anything is mounted, because the new root may hide them.
    let mut trees = Vec::new();
    for bind in &plan.binds {
        if let Some(tree) = take(bind, owners)? {
            trees.push((bind, tree));
        }
    }
    trees.sort_by_key(|(bind, _)| bind.path.path().components().count());

    // The tree is built on top of a directory that every system has, and then becomes the root.
    let root = tmpfs(16 << 20, 65_536, 0o755, (0, 0)).during(step, "mounting the new root")?;
    attach(&root, CWD.as_fd(), "/tmp").during(step, "mounting the new root")?;
    std::env::set_current_dir("/tmp").during(step, "entering the new root")?;
    fill(plan)?;
    mount_temporary(plan).during(step, "mounting /tmp")?;
    for (bind, tree) in &trees {
        let target = relative(bind.path.path());
        let at = |error| Failure::at(step, "mounting", bind.path.path(), error);
        move_onto(tree, &make_target(&target, tree).map_err(at)?).map_err(at)?;
        // A plan's own mounts there are put on top of it.
        if bind.kind == Kind::Write {
            hide_mounts_on(&target).map_err(at)?;
        }
    }
    let aliases = show_elsewhere(plan, &trees)?;
    for bind in plan.binds.iter().filter(|bind| bind.kind == Kind::Write) {
        protect(bind.path.path(), plan)?;
        let read = plan.binds.iter().filter(|other| other.kind == Kind::Read).map(|other| other.path.path());
        for kept in read.chain(aliases.iter().copied()) {
            hold(bind.path.path(), kept)?;
        }
    }
    for alias in aliases {
        hold(Path::new("/tmp"), alias)?;
    }
    // Nothing writes there any more; mounts inside it are not affected.
    let attr = MountAttr { set: RDONLY, ..MountAttr::default() };
    let here = open_directory(Path::new(".")).during(step, "opening the new root")?;
    sys::mount_setattr(here.as_fd(), false, &attr).during(step, "making the new root read-only")?;
    drop(here);
    mount_processes().during(step, "mounting /proc")?;
    rustix::process::pivot_root(".", ".").during(step, "changing the root")?;
    rustix::mount::unmount(".", UnmountFlags::DETACH).during(step, "leaving the old root")
}

/// The path of an inner path while the new root is the current directory.
fn relative(path: &Path) -> PathBuf {
    Path::new(".").join(path.strip_prefix("/").unwrap_or(path))
}

fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, FileMode::empty())?)
}

/// Opens a path that must not contain links.
fn without_links(path: &Path) -> io::Result<OwnedFd> {
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    Ok(rustix::fs::openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, FileMode::empty(), resolve)?)
}

/// The same, below the current directory.
fn beneath(path: &Path) -> io::Result<OwnedFd> {
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::BENEATH;
    Ok(rustix::fs::openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, FileMode::empty(), resolve)?)
}

/// The file at a path of the plan, if it is the chosen one; `None` if the system has no such path.
pub(super) fn find(bind: &Bind) -> Result<Option<OwnedFd>, Failure> {
    let path = bind.path.path();
    let found = match without_links(path) {
        Ok(found) => found,
        // System paths were looked up when the plan was made, and may be gone now.
        Err(error)
            if bind.identity.is_none()
                && matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ELOOP | libc::ENOTDIR)) =>
        {
            return Ok(None);
        }
        Err(error) if matches!(error.raw_os_error(), Some(libc::ELOOP | libc::ENOTDIR | libc::ENOENT)) => {
            return Err(Failure::at(Step::Swapped, "opening", path, error));
        }
        Err(error) => return Err(Failure::at(Step::Path, "opening", path, error)),
    };
    if let Some(identity) = bind.identity {
        let stat = rustix::fs::fstat(&found)
            .map_err(|error| Failure::at(Step::Path, "checking the file", path, error))?;
        if (stat.st_dev, stat.st_ino) != identity {
            return Err(Failure::at(Step::Swapped, "comparing", path, io::ErrorKind::NotFound));
        }
    }
    Ok(Some(found))
}

/// A detached copy of the mount at a path.
fn take(bind: &Bind, owners: &Owners) -> Result<Option<OwnedFd>, Failure> {
    let path = bind.path.path();
    let Some(found) = find(bind)? else { return Ok(None) };
    let at = |error| Failure::at(Step::MountNamespace, "taking", path, error);
    let recursive = bind.kind != Kind::Device;
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_EMPTY_PATH;
    let flags = if recursive { flags | OpenTreeFlags::AT_RECURSIVE } else { flags };
    let tree = rustix::mount::open_tree(&found, "", flags).map_err(|error| at(error.into()))?;
    let set = match bind.kind {
        Kind::Read => RDONLY | NOSUID | NODEV,
        Kind::Write => NOSUID | NODEV,
        Kind::Device => NOSUID | NOEXEC,
    };
    sys::mount_setattr(tree.as_fd(), recursive, &MountAttr { set, ..MountAttr::default() }).map_err(at)?;
    if let Some(namespace) = bind.owner.and_then(|owner| owners.get(owner)) {
        let number = std::os::fd::AsRawFd::as_raw_fd(namespace);
        let user_namespace = u64::try_from(number).unwrap_or_default();
        let attr = MountAttr { set: IDMAP, user_namespace, ..MountAttr::default() };
        if let Err(error) = sys::mount_setattr(tree.as_fd(), false, &attr)
            && bind.kind == Kind::Write
        {
            return Err(Failure::at(Step::Owner, "mapping the owner of files", path, error));
        }
    }
    Ok(Some(tree))
}

/// A new, empty file system in memory.
pub(super) fn tmpfs(bytes: u64, inodes: u64, mode: u32, owner: (u32, u32)) -> io::Result<OwnedFd> {
    let context = rustix::mount::fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_set_string(&context, "size", bytes.to_string())?;
    rustix::mount::fsconfig_set_string(&context, "nr_inodes", inodes.to_string())?;
    rustix::mount::fsconfig_set_string(&context, "mode", format!("{mode:o}"))?;
    if owner != (0, 0) {
        rustix::mount::fsconfig_set_string(&context, "uid", owner.0.to_string())?;
        rustix::mount::fsconfig_set_string(&context, "gid", owner.1.to_string())?;
    }
    rustix::mount::fsconfig_create(&context)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    Ok(rustix::mount::fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?)
}

fn attach(tree: &OwnedFd, directory: impl AsFd, path: &str) -> io::Result<()> {
    Ok(rustix::mount::move_mount(tree, "", directory, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
}

/// Mounts a tree onto a file or directory that is already open, whatever its path means by now.
pub(super) fn move_onto(tree: &OwnedFd, place: &OwnedFd) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(rustix::mount::move_mount(tree, "", place, "", flags)?)
}

fn directory(path: &Path) -> io::Result<()> {
    match rustix::fs::mkdir(path, FileMode::from_raw_mode(0o755)) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(()),
        Err(rustix::io::Errno::NOENT) => DirBuilder::new().mode(0o755).recursive(true).create(path),
        Err(error) => Err(error.into()),
    }
}

fn file(path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true).mode(0o644).custom_flags(libc::O_NOFOLLOW);
    let opened = match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            directory(path.parent().unwrap_or(Path::new(".")))?;
            options.open(path)
        }
        other => other,
    };
    let mut opened = opened?;
    if contents.is_empty() { Ok(()) } else { opened.write_all(contents) }
}

/// The entries of the new root itself.
fn fill(plan: &Plan) -> Result<(), Failure> {
    let step = Step::MountNamespace;
    for path in ["proc", "tmp", "dev", "dev/shm", "etc", EMPTY] {
        directory(Path::new(path)).during(step, "creating directories")?;
    }
    for (path, contents) in &plan.files {
        file(&relative(path.path()), contents).during(step, "writing files")?;
    }
    file(&relative(Path::new(UNREADABLE)), b"").during(step, "writing files")?;
    for (link, target) in &plan.links {
        let link = relative(link.path());
        let made = match rustix::fs::symlink(target.path(), &link) {
            Err(rustix::io::Errno::NOENT) => {
                directory(link.parent().unwrap_or(Path::new("."))).during(step, "creating directories")?;
                rustix::fs::symlink(target.path(), &link)
            }
            other => other,
        };
        made.during(step, "creating links")?;
    }
    Ok(())
}

/// Creates a mount point: a directory or an empty file, like the tree. If an outer directory is already mounted there,
/// the mount point must exist, and nothing is created in it.
fn make_target(path: &Path, tree: &OwnedFd) -> io::Result<OwnedFd> {
    match beneath(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        other => return other,
    }
    if is_directory(tree) {
        directory(path)?;
    } else {
        file(path, b"")?;
    }
    beneath(path)
}

/// Mounts already mounted trees at other paths as well; returns the paths that exist.
fn show_elsewhere<'a>(plan: &'a Plan, trees: &[(&'a Bind, OwnedFd)]) -> Result<Vec<&'a Path>, Failure> {
    let all =
        trees.iter().flat_map(|(bind, tree)| bind.aliases.iter().map(move |alias| (alias.path(), tree)));
    let mut shown = Vec::new();
    for (path, tree) in all {
        let at = |error| Failure::at(Step::MountNamespace, "mounting at a second path", path, error);
        let is_outsides = plan.binds.iter().any(|bind| path.starts_with(bind.path.path()));
        let target = match beneath(&relative(path)) {
            // Anything created there would be created outside.
            Err(error) if is_outsides && error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) if is_outsides => {
                let is_other = matches!(error.raw_os_error(), Some(libc::ELOOP | libc::ENOTDIR));
                let step = if is_other { Step::Swapped } else { Step::Path };
                return Err(Failure::at(step, "opening", path, error));
            }
            Err(_) => make_target(&relative(path), tree).map_err(at)?,
            Ok(target) => target,
        };
        if is_directory(&target) != is_directory(tree) {
            return Err(Failure::at(Step::Swapped, "comparing", path, io::ErrorKind::NotADirectory));
        }
        // Read-only including everything below, even if writable at its own path: protected paths are only protected
        // there.
        put_copy(tree, &target, true).map_err(at)?;
        shown.push(path);
    }
    Ok(shown)
}

/// Makes the protected paths of a writable directory read-only, if they exist.
///
/// Each directory on the way becomes a mount of its own, so that it cannot be moved away with its content.
fn protect(writable: &Path, plan: &Plan) -> Result<(), Failure> {
    for protected in &plan.protected {
        let mut path = relative(writable);
        let parts: Vec<&OsStr> = protected.path().iter().collect();
        for (index, part) in parts.iter().enumerate() {
            path.push(part);
            let shown = || writable.join(protected.path());
            let place = match beneath(&path) {
                Ok(place) => place,
                Err(error) if error.kind() == io::ErrorKind::NotFound => break,
                Err(error) if error.raw_os_error() == Some(libc::ELOOP) => {
                    return Err(Failure::at(Step::ProtectedLink, "opening", &shown(), error));
                }
                // A file in the place of a directory: `.git` in a work tree. It is protected itself.
                Err(error) if error.raw_os_error() == Some(libc::ENOTDIR) => break,
                Err(error) => return Err(Failure::at(Step::Path, "opening", &shown(), error)),
            };
            let is_last = index + 1 == parts.len() || !is_directory(&place);
            let at = |error: io::Error| Failure::at(Step::MountNamespace, "protecting", &shown(), error);
            if is_last || !is_mount(&place, &path) {
                cover(&place, is_last).map_err(at)?;
            }
        }
    }
    Ok(())
}

/// Makes each directory between a writable one and a protected path in it a mount, so that it cannot be moved away.
fn hold(writable: &Path, kept: &Path) -> Result<(), Failure> {
    let Ok(rest) = kept.strip_prefix(writable) else { return Ok(()) };
    let mut path = relative(writable);
    for part in rest.parent().unwrap_or(Path::new("")) {
        path.push(part);
        let at = |error: io::Error| Failure::at(Step::MountNamespace, "holding", &writable.join(rest), error);
        let place = beneath(&path).map_err(at)?;
        if !is_mount(&place, &path) {
            cover(&place, false).map_err(at)?;
        }
    }
    Ok(())
}

/// Covers other mounts below a directory: they are not the directory that was chosen and checked.
fn hide_mounts_on(directory: &Path) -> io::Result<()> {
    let missing = || io::Error::from(io::ErrorKind::NotFound);
    let all = crate::mounts::all()?;
    let here = mount_id(&beneath(Path::new("."))?).ok_or_else(missing)?;
    let root = &all.iter().find(|mount| mount.id == here).ok_or_else(missing)?.point;
    for mount in crate::mounts::on(mount_id(&beneath(directory)?).ok_or_else(missing)?, &all) {
        let path = Path::new(".").join(mount.point.strip_prefix(root).map_err(|_| missing())?);
        let place = match beneath(&path) {
            // Inside one that is already covered.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            other => other?,
        };
        let source = if is_directory(&place) { Path::new(EMPTY) } else { &*relative(Path::new(UNREADABLE)) };
        put_copy(&beneath(source)?, &place, true)?;
    }
    Ok(())
}

fn mount_id(place: &OwnedFd) -> Option<u64> {
    let stat = rustix::fs::statx(place, "", AtFlags::EMPTY_PATH, rustix::fs::StatxFlags::MNT_ID).ok()?;
    Some(stat.stx_mnt_id)
}

pub(super) fn is_directory(place: &OwnedFd) -> bool {
    rustix::fs::fstat(place).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_dir())
}

/// Whether something is mounted exactly there.
fn is_mount(place: &OwnedFd, path: &Path) -> bool {
    let parent = path.parent().unwrap_or(Path::new("."));
    let Ok(parent) = beneath(parent) else { return false };
    mount_id(place).is_some() && mount_id(place) != mount_id(&parent)
}

/// Bind-mounts a path onto itself, optionally read-only.
fn cover(place: &OwnedFd, read_only: bool) -> io::Result<()> {
    put_copy(place, place, read_only)
}

/// Mounts a recursive copy of a mount at another path.
fn put_copy(here: &OwnedFd, there: &OwnedFd, read_only: bool) -> io::Result<()> {
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_EMPTY_PATH;
    let tree = rustix::mount::open_tree(here, "", flags | OpenTreeFlags::AT_RECURSIVE)?;
    let set = NOSUID | NODEV | if read_only { RDONLY } else { 0 };
    sys::mount_setattr(tree.as_fd(), true, &MountAttr { set, ..MountAttr::default() })?;
    move_onto(&tree, there)
}

/// The private /tmp and /dev/shm. Binds below them are mounted afterwards.
fn mount_temporary(plan: &Plan) -> io::Result<()> {
    let owner = if plan.identity.from_root { plan.identity.outer } else { (0, 0) };
    let inodes = 65_536.min(plan.bounds.tmp / 1024).max(64);
    for path in ["tmp", "dev/shm"] {
        attach(&tmpfs(plan.bounds.tmp, inodes, 0o1777, owner)?, CWD, path)?;
    }
    Ok(())
}

/// The private /proc, without information about the machine.
fn mount_processes() -> io::Result<()> {
    let context = rustix::mount::fsopen("proc", FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_create(&context)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC
        | MountAttrFlags::MOUNT_ATTR_RDONLY;
    let proc = rustix::mount::fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
    attach(&proc, CWD, "proc")?;
    mask(EMPTY, MASKED_DIRECTORIES)?;
    mask("dev/null", MASKED_FILES)
}

/// Mounts `source` over each of `names` in /proc that exists.
fn mask(source: &str, names: &[&str]) -> io::Result<()> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    for name in names {
        let Ok(place) = beneath(&Path::new("proc").join(name)) else { continue };
        let tree = rustix::mount::open_tree(CWD, source, flags)?;
        move_onto(&tree, &place)?;
    }
    Ok(())
}
