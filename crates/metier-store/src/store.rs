//! Objects on disk: one file each, named by its digest, written once and never changed.

use std::collections::HashSet;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use metier_skill::{Digest, Manifest, ManifestFile};
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, utimensat};

use crate::error::{StoreError, io_error};

/// The largest object that is read, which is more than the largest file of a skill.
const MOST: u64 = 1 << 30;

/// A content-addressed store for skills and their files.
///
/// Any number of processes can use one store at the same time: an object is written to a temporary file and renamed,
/// and equal objects are stored once.
///
/// ```
/// # fn main() -> Result<(), metier_store::StoreError> {
/// # let place = tempfile::tempdir().unwrap();
/// let store = metier_store::Store::new(place.path());
/// let digest = store.keep(b"a file of a skill")?;
/// assert_eq!(store.read(&digest)?, b"a file of a skill");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
    is_durable: bool,
    /// Skills that this process has already found complete.
    whole: Arc<Mutex<HashSet<Digest>>>,
}

/// At most this many are remembered.
const MOST_REMEMBERED: usize = 100_000;

impl Store {
    /// A store in a directory, which is created when something is stored.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), is_durable: true, whole: Arc::default() }
    }

    /// Faster, but the most recent objects may be lost if the machine stops.
    #[must_use]
    pub fn batched(self) -> Self {
        Self { is_durable: false, ..self }
    }

    /// The directory of the store.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Stores bytes under their digest.
    pub fn keep(&self, bytes: &[u8]) -> Result<Digest, StoreError> {
        let digest = Digest::of(bytes);
        self.keep_as(&digest, bytes)?;
        Ok(digest)
    }

    /// Stores bytes whose digest is already known.
    pub fn keep_as(&self, digest: &Digest, bytes: &[u8]) -> Result<(), StoreError> {
        let path = self.path(digest);
        // After a crash, the file can have the right length but contain zeros; then it is written again.
        let is_same = |meta: &fs::Metadata| {
            meta.is_file() && meta.len() == bytes.len() as u64 && has_bytes(&path, bytes)
        };
        if let Some(known) = fs::symlink_metadata(&path).ok().filter(is_same) {
            // Renew the time, so that a sweep keeps it. If that fails, the old time stays. Objects that installed
            // skills share are kept anyway, and must not look modified.
            if known.nlink() == 1 {
                let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
                let times = Timestamps { last_access: now, last_modification: now };
                let _ = utimensat(CWD, &path, &times, AtFlags::SYMLINK_NOFOLLOW);
            }
            return Ok(());
        }
        let directory = path.parent().unwrap_or(&self.root);
        let write = || {
            DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
            let mut file = tempfile::NamedTempFile::new_in(directory)?;
            file.write_all(bytes)?;
            file.as_file().set_permissions(Permissions::from_mode(0o400))?;
            if self.is_durable {
                file.as_file().sync_data()?;
            }
            file.persist(&path).map_err(|error| error.error)?;
            if self.is_durable { File::open(directory)?.sync_all() } else { Ok(()) }
        };
        write().map_err(io_error("write to", directory))
    }

    /// Whether an object with this digest exists. Its content is checked when it is read.
    pub fn has(&self, digest: &Digest) -> bool {
        fs::symlink_metadata(self.path(digest)).is_ok_and(|meta| meta.is_file())
    }

    /// Whether this process already found the skill complete.
    pub fn is_whole(&self, tree_digest: &Digest) -> bool {
        self.whole.lock().unwrap_or_else(PoisonError::into_inner).contains(tree_digest)
    }

    /// Remembers that all files of a skill, and then its manifest, are stored.
    pub fn set_whole(&self, tree_digest: Digest) {
        let mut whole = self.whole.lock().unwrap_or_else(PoisonError::into_inner);
        if whole.len() < MOST_REMEMBERED {
            whole.insert(tree_digest);
        }
    }

    /// Reads an object, and checks its digest.
    pub fn read(&self, digest: &Digest) -> Result<Vec<u8>, StoreError> {
        let path = self.path(digest);
        let open = || {
            let mut bytes = Vec::new();
            open_plain(&path)?.take(MOST).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let bytes = match open() {
            Ok(bytes) => bytes,
            Err(error) if io::Error::kind(&error) == io::ErrorKind::NotFound => {
                return Err(StoreError::Missing { store: self.root.clone(), digest: *digest });
            }
            Err(error) => return Err(io_error("read", &path)(error)),
        };
        if Digest::of(&bytes) == *digest {
            Ok(bytes)
        } else {
            Err(StoreError::Changed { path, digest: *digest })
        }
    }

    /// The manifest of the skill with this digest, if the skill was stored.
    pub fn manifest(&self, tree_digest: &Digest) -> Result<Manifest, StoreError> {
        let bytes = self.read(tree_digest)?;
        Manifest::parse(&bytes).ok_or(StoreError::NotASkill { digest: *tree_digest })
    }

    /// The path of a file that installed skills share. Executable and other files are separate, because hard links
    /// share their permissions.
    pub(crate) fn installed_object(&self, digest: &Digest, is_executable: bool) -> PathBuf {
        let path = self.path(digest);
        if is_executable { path.with_extension("x") } else { path }
    }

    /// Whether a shared file is unchanged: same content, same executable bit, not writable. Hard links share
    /// permissions and content, so a change to one affects all.
    pub(crate) fn is_shareable(path: &Path, file: &ManifestFile) -> bool {
        let digest = || {
            let opened = open_plain(path)?;
            let (meta, mut bytes) = (opened.metadata()?, Vec::new());
            let mode = meta.permissions().mode();
            if !meta.is_file() || (mode & 0o111 != 0) != file.executable || mode & 0o222 != 0 {
                return Ok(None);
            }
            opened.take(MOST).read_to_end(&mut bytes)?;
            io::Result::Ok(Some(Digest::of(&bytes)))
        };
        digest().is_ok_and(|found| found == Some(file.digest))
    }

    /// The path of an object.
    pub fn path(&self, digest: &Digest) -> PathBuf {
        let hex = digest.hex();
        let (first, rest) = hex.split_at(2);
        self.root.join("objects").join(first).join(rest)
    }
}

/// Whether a file has exactly these bytes.
fn has_bytes(path: &Path, bytes: &[u8]) -> bool {
    let read = || {
        let mut found = Vec::with_capacity(bytes.len());
        open_plain(path)?.take(bytes.len() as u64 + 1).read_to_end(&mut found)?;
        io::Result::Ok(found)
    };
    read().is_ok_and(|found| found == bytes)
}

/// Opens a file of the store. Links are not followed, and FIFOs do not block.
pub(crate) fn open_plain(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    fs::OpenOptions::new().read(true).custom_flags(flags).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_what_is_read() {
        let place = tempfile::tempdir().unwrap();
        let store = Store::new(place.path().join("deep/store"));
        let digest = store.keep(b"one").unwrap();
        assert_eq!(store.keep(b"one").unwrap(), digest, "twice is once");
        assert_eq!(store.read(&digest).unwrap(), b"one");
        let missing = store.read(&Digest::of(b"two")).unwrap_err();
        assert_eq!(missing.code(), "store-missing");
        assert!(store.has(&digest) && !store.has(&Digest::of(b"two")));
    }

    #[test]
    fn what_is_kept_again_is_young_again() {
        let place = tempfile::tempdir().unwrap();
        let store = Store::new(place.path()).batched();
        let path = store.path(&store.keep(b"one").unwrap());
        let changed = || fs::metadata(&path).map(|meta| (meta.ctime(), meta.ctime_nsec())).unwrap();
        let before = changed();
        // Also with a clock of low resolution.
        while changed() == before {
            store.keep(b"one").unwrap();
        }
    }

    #[test]
    fn a_changed_byte_is_an_error_and_a_torn_file_is_written_again() {
        let place = tempfile::tempdir().unwrap();
        let store = Store::new(place.path()).batched();
        let digest = store.keep(b"one").unwrap();
        let path = store.path(&digest);
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, b"onE").unwrap();
        assert_eq!(store.read(&digest).unwrap_err().code(), "store-changed");
        // After a power failure, a file can have the right length but contain zeros.
        for torn in [&b""[..], b"\0\0\0"] {
            fs::write(&path, torn).unwrap();
            store.keep(b"one").unwrap();
            assert_eq!(store.read(&digest).unwrap(), b"one", "{torn:?}");
            fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        }
        fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", &path).unwrap();
        assert_eq!(store.read(&digest).unwrap_err().code(), "store-io");
    }

    #[test]
    fn a_skill_is_kept_by_its_manifest() {
        let place = tempfile::tempdir().unwrap();
        let store = Store::new(place.path()).batched();
        let manifest = Manifest::new(vec![ManifestFile::new("SKILL.md", false, Digest::of(b"text"))]);
        store.keep(&manifest.to_bytes()).unwrap();
        assert_eq!(store.manifest(&manifest.digest()).unwrap(), manifest);
        let other = store.keep(b"text").unwrap();
        assert_eq!(store.manifest(&other).unwrap_err().code(), "store-not-a-skill");
    }
}
