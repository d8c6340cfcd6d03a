//! Moves the files of a staged skill to their final place: a read-only tree that shares files with other trees, in
//! one step.

use std::collections::HashSet;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use metier_skill::{Manifest, ManifestFile};

use crate::StoreError;
use crate::check::tree_differences;
use crate::error::io_error;
use crate::staging::{Staged, Staging, in_folder, remove};
use crate::store::Store;

impl Staging<'_> {
    /// Turns a staged skill into a tree. The caller must hold the store's lock, and sync to disk afterwards.
    pub(crate) fn plant(&self, name: &str, skill: &Staged) -> Result<(), StoreError> {
        let (store, digest) = (self.store(), skill.manifest.digest());
        // Skills that differ only in the name of their folder share a tree directory.
        let place = store.trees().join(digest.hex());
        let tree = place.join(name);
        store.clone().batched().keep_as(&digest, &skill.manifest.to_bytes())?;
        if tree_differences(&tree, &skill.manifest).is_empty() {
            return Ok(());
        }
        for file in skill.manifest.files() {
            self.share(&skill.directory.join(&file.path), file);
        }
        let made = place.join(self.name_beside(name));
        let step = || {
            DirBuilder::new().recursive(true).mode(0o700).create(&place)?;
            fs::rename(&skill.directory, &made)?;
            // A read-only directory cannot be moved into another directory, but it can be renamed in place.
            folders(&skill.manifest).iter().try_for_each(|folder| close(&made.join(folder)))?;
            exchange(&made, &tree)
        };
        let planted = step().map_err(io_error("write", &tree));
        // The previous tree, if there was one.
        remove(&made);
        planted
    }

    /// Links a staged file and the object with its digest, so that versions share equal files. If linking is not
    /// possible, the file is stored twice.
    fn share(&self, path: &Path, file: &ManifestFile) {
        let object = self.store().installed_object(&file.digest, file.executable);
        let Err(error) = in_folder(&object, || fs::hard_link(path, &object)) else { return };
        let is_one = || Some(inode(path)? == inode(&object)?);
        if error.kind() != io::ErrorKind::AlreadyExists || is_one() == Some(true) {
            return;
        }
        // Both are replaced in one step each, because another process may do the same at the same time.
        let link = self.unused();
        let _ = if Store::is_shareable(&object, file) {
            fs::hard_link(&object, &link).and_then(|()| fs::rename(&link, path))
        } else {
            // Another process changed it. Whoever still uses it will notice; nothing else refers to it.
            fs::hard_link(path, &link).and_then(|()| fs::rename(&link, &object))
        };
    }
}

fn inode(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|meta| (meta.dev(), meta.ino()))
}

/// Makes a directory read-only.
pub(crate) fn close(directory: &Path) -> io::Result<()> {
    fs::set_permissions(directory, Permissions::from_mode(0o555))
}

/// The directories of a skill, including its own.
pub(crate) fn folders(manifest: &Manifest) -> HashSet<&Path> {
    let above = manifest.files().iter().flat_map(|file| file.path.ancestors().skip(1));
    above.chain([Path::new("")]).collect()
}

/// Puts a tree in place and moves the previous one aside, in one step, so that an installed skill never disappears
/// while it is repaired.
fn exchange(made: &Path, tree: &Path) -> io::Result<()> {
    if fs::symlink_metadata(tree).is_err() {
        return fs::rename(made, tree);
    }
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        if renameat_with(CWD, made, CWD, tree, RenameFlags::EXCHANGE).is_ok() {
            return Ok(());
        }
    }
    // Not every file system supports this.
    exchange_in_steps(made, tree)
}

fn exchange_in_steps(made: &Path, tree: &Path) -> io::Result<()> {
    let mut aside = made.as_os_str().to_owned();
    aside.push("-aside");
    let aside = Path::new(&aside);
    fs::rename(tree, aside)?;
    let placed = fs::rename(made, tree);
    fs::rename(aside, if placed.is_ok() { made } else { tree })?;
    placed
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use metier_skill::Digest;

    use super::*;
    use crate::archive::ArchiveFile;

    const TEXT: &[u8] = b"---\nname: a\n---\n";

    /// A skill in its own basket, so that it shares no files yet.
    fn staged(staging: &Staging<'_>) -> Staged {
        let basket = staging.basket().unwrap();
        basket.add(ArchiveFile { path: "a/SKILL.md", is_executable: false, bytes: TEXT }).unwrap();
        basket.skill("a")
    }

    fn change(path: &Path) {
        fs::set_permissions(path, Permissions::from_mode(0o644)).unwrap();
        fs::write(path, "---\nname: b\n---\n").unwrap();
    }

    #[test]
    fn two_that_meet_a_changed_object_both_come_to_the_end() {
        let place = tempfile::tempdir().unwrap();
        let store = Store::new(place.path());
        let staging = Staging::new(&store).unwrap();
        let object = store.path(&store.keep(TEXT).unwrap());
        for round in 0..500 {
            change(&object);
            let both = ["a", "b"].map(|name| (format!("{name}{round}"), staged(&staging)));
            let together = Barrier::new(2);
            let planted = thread::scope(|scope| {
                let threads = both.each_ref().map(|(name, skill)| {
                    scope.spawn(|| {
                        together.wait();
                        staging.plant(name, skill)
                    })
                });
                threads.map(|thread| thread.join().unwrap())
            });
            assert!(planted.iter().all(Result::is_ok), "{planted:?}");
            assert_eq!(store.read(&Digest::of(TEXT)).unwrap(), TEXT);
            for (name, skill) in both {
                assert_eq!(
                    tree_differences(&store.tree(&skill.manifest.digest(), &name), &skill.manifest),
                    [""; 0]
                );
            }
        }
        open_up(place.path());
    }

    #[test]
    fn what_is_put_right_is_there_all_the_time() {
        let place = tempfile::tempdir().unwrap();
        let store = Store::new(place.path());
        let staging = Staging::new(&store).unwrap();
        let tree = store.tree(&staged(&staging).manifest.digest(), "a");
        staging.plant("a", &staged(&staging)).unwrap();
        let is_over = AtomicBool::new(false);
        let missed = thread::scope(|scope| {
            let watching = scope.spawn(|| {
                let mut missed = 0;
                while !is_over.load(Ordering::Relaxed) {
                    missed += u64::from(fs::metadata(tree.join("SKILL.md")).is_err());
                }
                missed
            });
            for _ in 0..500 {
                change(&tree.join("SKILL.md"));
                staging.plant("a", &staged(&staging)).unwrap();
                assert_eq!(fs::read(tree.join("SKILL.md")).unwrap(), TEXT);
            }
            is_over.store(true, Ordering::Relaxed);
            watching.join().unwrap()
        });
        assert_eq!(missed, 0, "so often it was not there");
        assert_eq!(fs::read_dir(tree.parent().unwrap()).unwrap().count(), 1, "nothing is left beside it");
        open_up(place.path());
    }

    #[test]
    fn where_two_cannot_be_exchanged_they_change_places_all_the_same() {
        let place = tempfile::tempdir().unwrap();
        let (made, tree) = (place.path().join("made"), place.path().join("tree"));
        for (directory, file) in [(&made, "new"), (&tree, "old")] {
            fs::create_dir(directory).unwrap();
            fs::write(directory.join(file), "").unwrap();
            fs::set_permissions(directory, Permissions::from_mode(0o555)).unwrap();
        }
        exchange_in_steps(&made, &tree).unwrap();
        assert!(tree.join("new").exists() && made.join("old").exists());
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 2);
        open_up(place.path());
    }

    /// A read-only directory would outlive the test.
    fn open_up(directory: &Path) {
        let opened = std::process::Command::new("chmod").args(["-R", "u+w"]).arg(directory).status();
        assert!(opened.unwrap().success());
    }
}
