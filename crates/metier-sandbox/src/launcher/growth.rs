//! Measures how much a directory has grown, and lists it only if needed.
//!
//! Less free space on its file system can have other causes. When a quarter of the allowed amount is used, the
//! directory is measured; when all of it is used, it is measured again: the difference shows whether the script is the
//! cause.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};

use crate::executor::Limit;

/// The maximum depth that is examined.
const DEPTH: usize = 200;

/// A writable directory.
pub(super) struct Growth {
    directory: OwnedFd,
    before: Size,
    /// Its content when a quarter of the bytes, or of the files, was used.
    bytes: Option<u64>,
    files: Option<u64>,
    /// Its size at the last measurement, so that the next one is not too early.
    looked: Size,
}

/// Bytes and files, in use or free.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Size {
    bytes: u64,
    files: u64,
}

impl Growth {
    pub(super) fn watch(path: &Path) -> Option<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let directory = rustix::fs::openat(CWD, path, flags, Mode::empty()).ok()?;
        let before = room(&directory)?;
        Some(Self { directory, before, bytes: None, files: None, looked: Size::default() })
    }

    /// The limit that was reached, if any.
    pub(super) fn check(&mut self, bytes: u64, files: u64) -> Option<Limit> {
        let now = room(&self.directory)?;
        let gone = Size {
            bytes: self.before.bytes.saturating_sub(now.bytes),
            files: self.before.files.saturating_sub(now.files),
        };
        // Measuring can be slow, so it is repeated only if something has changed.
        let is_news = gone.bytes > self.looked.bytes.saturating_add(bytes / 8)
            || gone.files > self.looked.files.saturating_add(files / 8);
        if !is_news || (gone.bytes <= bytes / 4 && gone.files <= files / 4) {
            return None;
        }
        self.looked = gone;
        let size = measure(&self.directory);
        let (first_bytes, first_files) =
            (*self.bytes.get_or_insert(size.bytes), *self.files.get_or_insert(size.files));
        // A quarter of the content at the first measurement may already be from the script.
        if gone.bytes > bytes && size.bytes.saturating_sub(first_bytes) > bytes / 2 {
            return Some(Limit::Disk);
        }
        (gone.files > files && size.files.saturating_sub(first_files) > files / 2).then_some(Limit::Files)
    }
}

/// The free space.
fn room(directory: &OwnedFd) -> Option<Size> {
    let stat = rustix::fs::fstatvfs(directory).ok()?;
    Some(Size { bytes: stat.f_bfree.saturating_mul(stat.f_frsize), files: stat.f_ffree })
}

/// The content of a directory, on its own file system, each file once.
fn measure(directory: &OwnedFd) -> Size {
    let mut size = Size::default();
    if let Ok(top) = rustix::fs::fstat(directory) {
        add(directory, top.st_dev, DEPTH, &mut size, &mut BTreeSet::new());
    }
    size
}

/// Adds everything below a directory, up to a depth. Unreadable entries are skipped.
fn add(directory: &OwnedFd, device: u64, depth: usize, size: &mut Size, seen: &mut BTreeSet<u64>) {
    let Ok(entries) = Dir::read_from(directory) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let Ok(stat) = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        if stat.st_dev != device || (stat.st_nlink > 1 && !seen.insert(stat.st_ino)) {
            continue;
        }
        size.files += 1;
        size.bytes += stat.st_blocks.unsigned_abs() * 512;
        if FileType::from_raw_mode(stat.st_mode).is_dir() && depth > 0 {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
            if let Ok(below) = rustix::fs::openat(directory.as_fd(), name, flags, Mode::empty()) {
                add(&below, device, depth - 1, size, seen);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn each_file_counts_once_and_links_lead_nowhere() {
        let place = tempfile::tempdir().unwrap();
        let write = |path: &str, size: usize| std::fs::write(place.path().join(path), vec![1; size]).unwrap();
        std::fs::create_dir_all(place.path().join("a/b")).unwrap();
        write("a/b/one", 8192);
        write("two", 4096);
        std::fs::hard_link(place.path().join("two"), place.path().join("again")).unwrap();
        std::os::unix::fs::symlink("/usr", place.path().join("link")).unwrap();
        let directory = OwnedFd::from(std::fs::File::open(place.path()).unwrap());
        let before = measure(&directory);
        assert_eq!(before.files, 5);
        // What the file system says of each, and no more for what has two names.
        let used = |path: &str| {
            use std::os::unix::fs::MetadataExt as _;
            place.path().join(path).symlink_metadata().unwrap().blocks() * 512
        };
        assert_eq!(before.bytes, ["a", "a/b", "a/b/one", "two", "link"].map(used).iter().sum::<u64>());
        // What is written is in it, once it is on the disk: room may be given only then.
        let file = std::fs::File::create(place.path().join("large")).unwrap();
        (&file).write_all(&vec![1; 1 << 20]).unwrap();
        file.sync_all().unwrap();
        std::fs::hard_link(place.path().join("large"), place.path().join("a/large")).unwrap();
        let grown = measure(&directory).bytes - before.bytes;
        assert!(((1 << 20)..(2 << 20)).contains(&grown), "{grown}");
    }

    /// The limits are about bytes and files that are the directory's own.
    #[test]
    fn a_directory_that_grows_reaches_its_limits() {
        let place = tempfile::tempdir().unwrap();
        let write = |name: usize| {
            let file = std::fs::File::create(place.path().join(name.to_string())).unwrap();
            (&file).write_all(&vec![1; 64 << 10]).unwrap();
            file.sync_all().unwrap();
        };
        let mut growth = Growth::watch(place.path()).unwrap();
        assert_eq!(growth.check(8 << 20, 1 << 30), None);
        // Others may give back room meanwhile, so that it takes more; but not for ever.
        let hit = (0..4096).find_map(|name| {
            write(name);
            growth.check(8 << 20, 1 << 30).map(|hit| (hit, name))
        });
        let (hit, files) = hit.unwrap();
        assert_eq!(hit, Limit::Disk);
        assert!(files >= (8 << 20) / (64 << 10) / 2, "after {files} files of 64 KiB");
    }
}
