//! Where skills are put together before anybody sees them: written, digested, and thrown away unless they are wanted.
//!
//! A staging directory belongs to the process that holds its mark locked. What a killed process left has a mark that anybody can lock,
//! and is removed by whoever comes next.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use metier_skill::{Digest, Manifest, ManifestFile};

use crate::StoreError;
use crate::archive::collisions::Names;
use crate::archive::{ArchiveError, ArchiveFile, Layout};
use crate::error::io_error;
use crate::signature::read_signature;
use crate::store::Store;

/// A private directory in a store.
#[derive(Debug)]
pub(crate) struct Staging<'s> {
    store: &'s Store,
    directory: PathBuf,
    /// What says in the store that the directory is somebody's; nothing where it is none of the store's.
    mark: Option<(PathBuf, File)>,
}

/// The files of one source.
#[derive(Debug)]
pub struct Basket<'s> {
    staging: &'s Staging<'s>,
    directory: PathBuf,
    files: Mutex<BTreeMap<String, (bool, Digest)>>,
}

/// A skill that is staged: its folder has its name, and every file is in the manifest.
#[derive(Debug)]
pub(crate) struct Staged {
    pub(crate) directory: PathBuf,
    pub(crate) manifest: Manifest,
}

impl<'s> Staging<'s> {
    pub(crate) fn new(store: &'s Store) -> Result<Self, StoreError> {
        let above = store.root().join("staging");
        let make = || {
            DirBuilder::new().recursive(true).mode(0o700).create(&above)?;
            let (mine, mark) = mark(&above)?;
            let directory = mark.with_extension("");
            DirBuilder::new().mode(0o700).create(&directory)?;
            Ok(Self { store, directory, mark: Some((mark, mine)) })
        };
        make().map_err(io_error("write to", &above))
    }

    /// The same outside of the store, of which nothing is changed: for those who only want to know what would be.
    pub(crate) fn elsewhere(store: &'s Store) -> Result<Self, StoreError> {
        let made = private("metier-").tempdir();
        let directory = made.map_err(io_error("write to", Path::new("the directory for temporary files")))?;
        Ok(Self { store, directory: directory.keep(), mark: None })
    }

    /// Removes what processes left that are no more.
    pub(crate) fn sweep(store: &Store) {
        let entries = fs::read_dir(store.root().join("staging")).into_iter().flatten().flatten();
        let entries: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        for mark in entries.iter().filter(|path| path.extension().is_some_and(|ending| ending == "mark")) {
            let Ok(opened) = File::open(mark) else { continue };
            if opened.try_lock().is_ok() {
                remove(&mark.with_extension(""));
                let _ = fs::remove_file(mark);
            }
        }
        for orphan in entries.iter().filter(|path| path.extension().is_none()) {
            if !orphan.with_extension("mark").exists() {
                remove(orphan);
            }
        }
    }

    /// Room for the files of one more source.
    pub(crate) fn basket(&'s self) -> Result<Basket<'s>, StoreError> {
        let made = private("from-").tempdir_in(&self.directory);
        let directory = made.map_err(io_error("write to", &self.directory))?.keep();
        Ok(Basket { staging: self, directory, files: Mutex::default() })
    }

    /// A path that nothing has yet.
    pub(crate) fn scratch_path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// A directory for whatever else is needed.
    pub(crate) fn scratch(&self) -> Result<PathBuf, StoreError> {
        let made = private("work-").tempdir_in(&self.directory);
        Ok(made.map_err(io_error("write to", &self.directory))?.keep())
    }
}

impl Drop for Staging<'_> {
    fn drop(&mut self) {
        remove(&self.directory);
        if let Some((mark, _)) = &self.mark {
            let _ = fs::remove_file(mark);
        }
    }
}

/// Directories that are nobody else's, whatever the umask.
fn private(prefix: &str) -> tempfile::Builder<'_, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix).permissions(Permissions::from_mode(0o700));
    builder
}

/// A mark that is locked. It comes before what it is for: a directory whose mark is not locked is nobody's.
fn mark(above: &Path) -> io::Result<(File, PathBuf)> {
    loop {
        let mark = tempfile::Builder::new().suffix(".mark").tempfile_in(above)?;
        mark.as_file().lock()?;
        // Whoever sweeps may have met it in the moment before it was locked, and removed it.
        if mark.as_file().metadata()?.nlink() > 0 {
            return mark.keep().map_err(|error| error.error);
        }
    }
}

impl Basket<'_> {
    /// Adds a file, whose path has been checked.
    pub fn add(&self, file: ArchiveFile<'_>) -> Result<(), StoreError> {
        let digest = Digest::of(file.bytes);
        let path = self.directory.join(file.path);
        self.write(&path, &digest, file).map_err(io_error("write", &path))?;
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.insert(file.path.to_owned(), (file.is_executable, digest));
        Ok(())
    }

    /// One file is there once, however many skills have it: what the store has already is linked.
    fn write(&self, path: &Path, digest: &Digest, file: ArchiveFile<'_>) -> io::Result<()> {
        let object = self.staging.store.installed_object(digest, file.is_executable);
        let link = |from: &Path, to: &Path| match fs::hard_link(from, to) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                DirBuilder::new().recursive(true).mode(0o700).create(to.parent().unwrap_or(to))?;
                fs::hard_link(from, to)
            }
            other => other,
        };
        let is_shared = self.staging.mark.is_some();
        if is_shared && object.exists() && link(&object, path).is_ok() {
            if is_same(path, file) {
                return Ok(());
            }
            // Somebody changed it; whoever still has it will find out. It is no use to anybody else.
            fs::remove_file(path)?;
            fs::remove_file(&object)?;
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(if file.is_executable { 0o555 } else { 0o444 });
        let mut opened = match options.open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                DirBuilder::new().recursive(true).mode(0o755).create(path.parent().unwrap_or(path))?;
                options.open(path)?
            }
            other => other?,
        };
        opened.write_all(file.bytes)?;
        if is_shared {
            // Where it cannot be shared, there are two of it.
            let _ = link(path, &object);
        }
        Ok(())
    }

    /// The paths of all files.
    fn paths(&self) -> Vec<String> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    /// Which skills are in it. No two of its files may be one on any system.
    pub(crate) fn layout(&self) -> Result<Layout, StoreError> {
        let paths = self.paths();
        let mut names = Names::default();
        for path in &paths {
            names.add(path, false).map_err(|problem| ArchiveError::name(path.as_bytes(), problem))?;
        }
        Ok(Layout::of(paths.iter().map(String::as_str))?)
    }

    /// A directory for whatever a source needs.
    pub(crate) fn scratch(&self) -> Result<PathBuf, StoreError> {
        self.staging.scratch()
    }

    /// The signature beside a skill's folder.
    pub(crate) fn signature(&self, folder: &str) -> Result<Option<String>, StoreError> {
        let path = format!("{folder}.sig");
        let known = self.files.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&path);
        if known { read_signature(&self.directory.join(path)) } else { Ok(None) }
    }

    /// The skill in a folder.
    pub(crate) fn skill(&self, folder: &str) -> Staged {
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let below = format!("{folder}/");
        let own = files.range(below.clone()..).take_while(|(path, _)| path.starts_with(&below));
        let own = own.map(|(path, (is_executable, digest))| {
            ManifestFile::new(&path[below.len()..], *is_executable, *digest)
        });
        Staged { directory: self.directory.join(folder), manifest: Manifest::new(own.collect()) }
    }
}

/// Whether a file has exactly these bytes, may be run or not as it should, and cannot be written to. Two names of one file have its
/// permissions in common, and what somebody did to the one was done to the other.
fn is_same(path: &Path, file: ArchiveFile<'_>) -> bool {
    let is_right = |meta: fs::Metadata| {
        let mode = meta.permissions().mode();
        let runs = mode & 0o111 != 0;
        let is_plain = meta.is_file() && meta.len() == file.bytes.len() as u64;
        is_plain && runs == file.is_executable && mode & 0o222 == 0
    };
    fs::symlink_metadata(path).is_ok_and(is_right) && fs::read(path).is_ok_and(|found| found == file.bytes)
}

/// Keeps anybody from adding to the directories of a tree, its top included.
pub(crate) fn close(directory: &Path, manifest: &Manifest) -> io::Result<()> {
    let mut folders: HashSet<&Path> = HashSet::from([Path::new("")]);
    for file in manifest.files() {
        folders.extend(file.path.ancestors().skip(1));
    }
    folders
        .iter()
        .try_for_each(|folder| fs::set_permissions(directory.join(folder), Permissions::from_mode(0o555)))
}

/// Removes a directory with all that is in it, also what nobody may write to.
pub(crate) fn remove(directory: &Path) {
    if fs::remove_dir_all(directory).is_ok() {
        return;
    }
    open_up(directory);
    // What cannot be removed now is removed by the next who comes.
    let _ = fs::remove_dir_all(directory);
}

fn open_up(directory: &Path) {
    let _ = fs::set_permissions(directory, Permissions::from_mode(0o700));
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

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
                                staging.scratch().is_err() || !staging.mark.as_ref().unwrap().0.exists()
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
}
