//! Staging of skills before they are installed: files are written, digested, and deleted unless they are needed.
//!
//! A staging directory belongs to the process that holds the lock on its mark file. The mark of a killed process is
//! unlocked, so the next process removes its directory.

use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::ops::Bound;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use metier_skill::disk::remove_all;
use metier_skill::{Digest, Manifest, ManifestFile};

use crate::StoreError;
use crate::archive::collisions::Names;
use crate::archive::{ArchiveError, ArchiveFile, ArchiveLayout};
use crate::error::io_error;
use crate::signature::read_signature;
use crate::store::{Store, open_plain};

/// The prefix of directories and marks of dry runs.
const DRY_RUN: &str = "metier-dry-run-";

/// A private directory in a store.
#[derive(Debug)]
pub(crate) struct Staging<'s> {
    store: &'s Store,
    directory: PathBuf,
    /// The mark file; the directory is in use while it is locked.
    mark: PathBuf,
    _locked: File,
    /// The store's file system, opened before the first write, so that a later sync on it reports every write error.
    disk: File,
    /// How many unique names were used.
    links: AtomicU64,
}

/// The files of one source.
#[derive(Debug)]
pub struct Basket<'s> {
    staging: &'s Staging<'s>,
    directory: PathBuf,
    files: Mutex<Files>,
}

/// The content of a basket.
#[derive(Debug, Default)]
struct Files {
    by_path: BTreeMap<Arc<str>, Content>,
    /// One file among equal ones.
    first: HashMap<Content, Arc<str>>,
}

/// Whether a file is executable, and its size.
type Content = (bool, Digest);

/// A staged skill: its folder has the skill's name, and every file is in the manifest.
#[derive(Debug)]
pub(crate) struct Staged {
    pub(crate) directory: PathBuf,
    pub(crate) manifest: Manifest,
}

impl<'s> Staging<'s> {
    pub(crate) fn new(store: &'s Store) -> Result<Self, StoreError> {
        let above = store.root().join("staging");
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&above);
        made.map_err(io_error("write to", &above))?;
        Self::marked(store, &above, ".tmp")
    }

    /// Staging for a dry run. It is in the temporary directory, so that a dry run neither creates nor changes a
    /// store, and also works with a read-only one.
    pub(crate) fn elsewhere(store: &'s Store) -> Result<Self, StoreError> {
        sweep_dry_runs();
        Self::marked(store, &temporary(), DRY_RUN)
    }

    fn marked(store: &'s Store, above: &Path, prefix: &str) -> Result<Self, StoreError> {
        let make = || {
            let (mine, mark) = mark(above, prefix)?;
            let directory = mark.with_extension("");
            DirBuilder::new().mode(0o700).create(&directory)?;
            let disk = File::open(above)?;
            Ok(Self { store, directory, mark, _locked: mine, disk, links: AtomicU64::new(0) })
        };
        make().map_err(io_error("write to", above))
    }

    /// Removes the directories of processes that have ended.
    pub(crate) fn sweep(store: &Store) {
        sweep_dry_runs();
        let above = store.root().join("staging");
        let mut left: Vec<(PathBuf, Option<File>)> =
            left(&above, |_| true).into_iter().map(|(directory, mark)| (directory, Some(mark))).collect();
        let entries: Vec<PathBuf> =
            fs::read_dir(above).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        let is_orphan = |path: &&PathBuf| path.extension().is_none() && !path.with_extension("mark").exists();
        left.extend(entries.iter().filter(is_orphan).map(|orphan| (orphan.clone(), None)));
        sweep_trees(store, &left);
        for (directory, mark) in left {
            remove(&directory);
            if mark.is_some() {
                let _ = fs::remove_file(directory.with_extension("mark"));
            }
        }
    }

    /// A basket for the files of another source.
    pub(crate) fn basket(&'s self) -> Result<Basket<'s>, StoreError> {
        let made = private("from-").tempdir_in(&self.directory);
        let directory = made.map_err(io_error("write to", &self.directory))?.keep();
        Ok(Basket { staging: self, directory, files: Mutex::default() })
    }

    /// Syncs all written files to disk, with one call for the whole file system.
    pub(crate) fn sync(&self) -> Result<(), StoreError> {
        #[cfg(target_os = "linux")]
        let synced = rustix::fs::syncfs(&self.disk).map_err(io::Error::from);
        #[cfg(not(target_os = "linux"))]
        let synced = self.disk.sync_all().map(|()| rustix::fs::sync());
        synced.map_err(io_error("write to", self.store.root()))
    }

    /// An unused path with this name.
    pub(crate) fn scratch_path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// The owner of the directory.
    pub(crate) const fn store(&self) -> &Store {
        self.store
    }

    /// A new unused path for each call.
    pub(crate) fn unused(&self) -> PathBuf {
        self.directory.join(format!("link-{}", self.links.fetch_add(1, Ordering::Relaxed)))
    }

    /// The name of a tree while it is being made, next to its final place. It identifies the owner for later cleanup,
    /// and is not a valid name of a skill.
    pub(crate) fn name_beside(&self, name: &str) -> OsString {
        [self.directory.file_name().unwrap_or_default(), OsStr::new(name)].join(OsStr::new("-"))
    }

    /// A new directory for other temporary files.
    pub(crate) fn scratch(&self) -> Result<PathBuf, StoreError> {
        let made = private("work-").tempdir_in(&self.directory);
        Ok(made.map_err(io_error("write to", &self.directory))?.keep())
    }
}

impl Drop for Staging<'_> {
    fn drop(&mut self) {
        remove(&self.directory);
        let _ = fs::remove_file(&self.mark);
    }
}

fn temporary() -> PathBuf {
    tempfile::env::temp_dir()
}

/// Unlocked directories and their marks. The marks stay locked until this value is dropped.
fn left(above: &Path, is_meant: impl Fn(&Path) -> bool) -> Vec<(PathBuf, File)> {
    let entries = fs::read_dir(above).into_iter().flatten().flatten().map(|entry| entry.path());
    let marks =
        entries.filter(|path| path.extension().is_some_and(|ending| ending == "mark") && is_meant(path));
    let locked = |mark: PathBuf| {
        let opened = open_plain(&mark).ok().filter(|opened| opened.try_lock().is_ok())?;
        Some((mark.with_extension(""), opened))
    };
    marks.filter_map(locked).collect()
}

/// Removes leftovers of dry runs. The temporary directory is shared, so files of other users are ignored.
fn sweep_dry_runs() {
    let is_ours = |path: &Path| {
        let own = rustix::process::geteuid().as_raw();
        let is_own = fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file() && meta.uid() == own);
        is_own && path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(DRY_RUN.as_bytes()))
    };
    for (directory, _locked) in left(&temporary(), is_ours) {
        remove(&directory);
        let _ = fs::remove_file(directory.with_extension("mark"));
    }
}

/// Removes unfinished trees.
fn sweep_trees(store: &Store, left: &[(PathBuf, Option<File>)]) {
    let names: Vec<&[u8]> =
        left.iter().filter_map(|(path, _)| Some(path.file_name()?.as_encoded_bytes())).collect();
    if names.is_empty() {
        return;
    }
    let entries =
        |path: PathBuf| fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    for tree in entries(store.trees()).flat_map(entries) {
        let name = tree.file_name().unwrap_or_default().as_encoded_bytes();
        if names.iter().any(|known| name.strip_prefix(*known).is_some_and(|rest| rest.starts_with(b"-"))) {
            remove(&tree);
        }
    }
}

/// Creates a directory that only its owner can access, whatever the umask.
fn private(prefix: &str) -> tempfile::Builder<'_, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix).permissions(Permissions::from_mode(0o700));
    builder
}

/// Creates a locked mark. It is created before its directory, because a directory without a locked mark counts as
/// abandoned.
fn mark(above: &Path, prefix: &str) -> io::Result<(File, PathBuf)> {
    loop {
        let mark = tempfile::Builder::new().prefix(prefix).suffix(".mark").tempfile_in(above)?;
        mark.as_file().lock()?;
        // Another process may have removed it before it was locked.
        if mark.as_file().metadata()?.nlink() > 0 {
            return mark.keep().map_err(|error| error.error);
        }
    }
}

impl Basket<'_> {
    /// Adds a file, whose path must be checked already.
    pub fn add(&self, file: ArchiveFile<'_>) -> Result<(), StoreError> {
        let content = (file.is_executable, Digest::of(file.bytes));
        let path = self.directory.join(file.path);
        let same = self.files().first.get(&content).cloned();
        let is_linked = same.is_some_and(|same| {
            let same = self.directory.join(&*same);
            in_folder(&path, || fs::hard_link(&same, &path)).is_ok()
        });
        // A file with too many hard links is stored again.
        if !is_linked {
            write(&path, file).map_err(io_error("write", &path))?;
        }
        let (mut files, path) = (self.files(), Arc::<str>::from(file.path));
        files.first.entry(content).or_insert_with(|| Arc::clone(&path));
        files.by_path.insert(path, content);
        Ok(())
    }

    fn files(&self) -> MutexGuard<'_, Files> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The skills in the basket. It is an error if two files are the same one on any system.
    pub(crate) fn layout(&self) -> Result<ArchiveLayout, StoreError> {
        let files = self.files();
        let mut names = Names::default();
        for path in files.by_path.keys() {
            names.add(path, false).map_err(|problem| ArchiveError::name(path.as_bytes(), problem))?;
        }
        Ok(ArchiveLayout::of(files.by_path.keys().map(|path| &**path))?)
    }

    /// Starts writing to disk in the background if there is much to write. The final sync reports whether everything
    /// was written.
    pub(crate) fn write_back<T>(&self, work: impl FnOnce() -> T) -> T {
        const MUCH: usize = 256;
        if self.files().by_path.len() < MUCH {
            return work();
        }
        thread::scope(|scope| {
            // Without a thread it is written later.
            let _ = thread::Builder::new().spawn_scoped(scope, || {
                #[cfg(target_os = "linux")]
                let _ = File::open(&self.directory).map(rustix::fs::syncfs);
            });
            work()
        })
    }

    /// A directory for temporary files of a source.
    pub(crate) fn scratch(&self) -> Result<PathBuf, StoreError> {
        self.staging.scratch()
    }

    /// The signature next to a skill's folder.
    pub(crate) fn signature(&self, folder: &str) -> Result<Option<String>, StoreError> {
        let path = format!("{folder}.sig");
        let known = self.files().by_path.contains_key(path.as_str());
        if known { read_signature(&self.directory.join(path)) } else { Ok(None) }
    }

    /// The skill in a folder.
    pub(crate) fn skill(&self, folder: &str) -> Staged {
        let files = self.files();
        let below = format!("{folder}/");
        let own = files
            .by_path
            .range::<str, _>((Bound::Included(below.as_str()), Bound::Unbounded))
            .take_while(|(path, _)| path.starts_with(below.as_str()));
        let own = own.map(|(path, (is_executable, digest))| {
            ManifestFile::new(&path[below.len()..], *is_executable, *digest)
        });
        Staged { directory: self.directory.join(folder), manifest: Manifest::new(own.collect()) }
    }
}

/// Writes a read-only file.
fn write(path: &Path, file: ArchiveFile<'_>) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(if file.is_executable { 0o555 } else { 0o444 });
    in_folder(path, || options.open(path))?.write_all(file.bytes)
}

/// Runs an operation that needs the file's directory, creating the directory if it is missing.
pub(crate) fn in_folder<T>(path: &Path, make: impl Fn() -> io::Result<T>) -> io::Result<T> {
    match make() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            DirBuilder::new().recursive(true).mode(0o700).create(path.parent().unwrap_or(path))?;
            make()
        }
        other => other,
    }
}

/// Removes a directory with its content. Files that cannot be removed now are removed by the next process that cleans
/// up.
pub(crate) fn remove(directory: &Path) {
    let _ = remove_all(directory);
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn whoever_sweeps_leaves_what_is_being_made() {
        let place = tempfile::tempdir().unwrap();
        let store = Store::new(place.path());
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    Staging::sweep(&store);
                }
            });
            let makers: Vec<_> = (0..3)
                .map(|_| {
                    scope.spawn(|| {
                        (0..1_500)
                            .filter(|_| {
                                let staging = Staging::new(&store).unwrap();
                                staging.scratch().is_err() || !staging.mark.exists()
                            })
                            .count()
                    })
                })
                .collect();
            let ended: Vec<_> = makers.into_iter().map(thread::ScopedJoinHandle::join).collect();
            is_over.store(true, Ordering::Relaxed);
            let gone: usize = ended.into_iter().map(Result::unwrap).sum();
            assert_eq!(gone, 0, "so many were removed while somebody had them");
        });
        Staging::sweep(&store);
        assert_eq!(fs::read_dir(place.path().join("staging")).unwrap().count(), 0);
    }

    #[test]
    fn a_tree_that_nobody_makes_any_more_is_removed() {
        let place = tempfile::tempdir().unwrap();
        let store = Store::new(place.path());
        let mine = Staging::new(&store).unwrap();
        let trees = store.trees().join("0123");
        let made = [mine.name_beside("pdf"), "pdf".into(), ".tmpGone-pdf".into(), ".tmpGoner-pdf".into()];
        for name in &made {
            fs::create_dir_all(trees.join(name).join("references")).unwrap();
        }
        fs::create_dir(place.path().join("staging/.tmpGone")).unwrap();
        Staging::sweep(&store);
        let is_there = made.map(|name| trees.join(name).exists());
        assert_eq!(is_there, [true, true, false, true], "only what was that one's");
    }
}
