//! The mounts of this process, as the kernel reports them.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

/// A mount of this process's namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    pub(crate) id: u64,
    pub(crate) parent: u64,
    /// Its path, as seen from this process's root.
    pub(crate) point: PathBuf,
    /// The file system, by its device numbers.
    device: Vec<u8>,
    /// The mounted part of the file system.
    root: PathBuf,
}

/// A path relative to its file system, independent of where that is mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OnDevice {
    device: Vec<u8>,
    path: PathBuf,
}

impl OnDevice {
    /// The location of a path without links, by the mount that contains it.
    pub(crate) fn of(path: &Path, all: &[Mount]) -> Option<Self> {
        let above = all.iter().filter(|mount| path.starts_with(&mount.point));
        // If several mounts have the same path, the last one is visible.
        let mount = above.max_by_key(|mount| mount.point.components().count())?;
        let below = path.strip_prefix(&mount.point).ok()?;
        let path = if below.as_os_str().is_empty() { mount.root.clone() } else { mount.root.join(below) };
        Some(Self { device: mount.device.clone(), path })
    }

    /// The path from another location down to this one, if this is the same or inside it.
    pub(crate) fn below(&self, other: &Self) -> Option<&Path> {
        (self.device == other.device).then(|| self.path.strip_prefix(&other.path).ok()).flatten()
    }
}

/// All mounts of this process's namespace.
pub(crate) fn all() -> io::Result<Vec<Mount>> {
    Ok(parse(&fs::read("/proc/self/mountinfo")?))
}

/// All mounts on top of a mount, at any depth, those further up first.
pub(crate) fn on(id: u64, all: &[Mount]) -> Vec<&Mount> {
    let mut found: Vec<&Mount> = Vec::new();
    let mut open = vec![id];
    while let Some(parent) = open.pop() {
        // The root's mount may be its own parent.
        let here = all.iter().filter(|mount| mount.parent == parent && mount.id != parent);
        for mount in here {
            open.push(mount.id);
            found.push(mount);
        }
    }
    found.sort_by_key(|mount| mount.point.components().count());
    found
}

fn parse(text: &[u8]) -> Vec<Mount> {
    let mount = |line: &[u8]| {
        let mut fields = line.split(|byte| *byte == b' ');
        let mut number = || std::str::from_utf8(fields.next()?).ok()?.parse().ok();
        let (id, parent) = (number()?, number()?);
        let device = fields.next()?.to_vec();
        let mut path = || Some(PathBuf::from(OsString::from_vec(unescaped(fields.next()?))));
        Some(Mount { id, parent, device, root: path()?, point: path()? })
    };
    text.split(|byte| *byte == b'\n').filter_map(mount).collect()
}

/// Spaces, tabs, line feeds and backslashes are escaped as `\040`.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, more @ ..] = rest {
        let code = more.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let code = code.filter(|_| *first == b'\\').and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &more[3..] } else { more };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_on_a_mount() {
        let text = b"20 20 8:1 / / rw - ext4 /dev/a rw\n21 20 0:5 / /a\\040b rw shared:1 - tmpfs x rw\n\
                     22 21 0:6 / /a\\040b/c\\134d rw - tmpfs x rw\n23 20 0:7 / /e rw - tmpfs x rw\n";
        let all = parse(text);
        let points = |id| on(id, &all).iter().map(|mount| mount.point.to_str().unwrap()).collect::<Vec<_>>();
        assert_eq!(points(21), ["/a b/c\\d"]);
        assert_eq!(points(20), ["/a b", "/e", "/a b/c\\d"]);
        assert_eq!(points(23), [] as [&str; 0]);
    }

    #[test]
    fn a_directory_that_is_mounted_twice_is_one() {
        let text =
            b"20 20 8:1 / / rw - ext4 /dev/a rw\n21 20 8:1 /home/ada/.ssh /mnt/keys rw - ext4 /dev/a rw\n\
                     22 20 0:6 / /tmp rw - tmpfs x rw\n23 22 8:1 /home /tmp/h rw - ext4 /dev/a rw\n";
        let all = parse(text);
        let on = |path: &str| OnDevice::of(Path::new(path), &all).unwrap();
        let home = on("/home/ada");
        for (path, below) in [
            ("/mnt/keys", Some(".ssh")),
            ("/mnt/keys/deep", Some(".ssh/deep")),
            ("/tmp/h/ada/x", Some("x")),
            ("/home/ada", Some("")),
            ("/tmp/home/ada/x", None),
            ("/tmp/h", None),
        ] {
            assert_eq!(on(path).below(&home), below.map(Path::new), "{path}");
        }
    }
}
