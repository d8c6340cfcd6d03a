//! Targets of protected paths: links in them, and programs that git's configuration names, can lead to files of the
//! work directory that scripts could change. These are protected as well.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, FileType};

use super::beneath;
use super::git::At;
use crate::links::{Unreachable, resolve_telling};

/// The maximum number of examined entries of protected directories, those near the top first.
const ENTRIES: usize = 20_000;
/// Directories that git fills and no program loads.
const FILLED: [&str; 4] = ["objects", "refs", "logs", "lfs"];

/// The targets in the work directory of links in protected paths, and links on the way, each with the protected link.
pub(super) fn led(at: At<'_>, protected: &BTreeSet<PathBuf>) -> BTreeMap<PathBuf, PathBuf> {
    let mut found = BTreeMap::new();
    let mut looked = 0;
    let mut left: VecDeque<PathBuf> = protected.iter().cloned().collect();
    while let Some(path) = left.pop_front() {
        let Ok(Some(directory)) = beneath::directory(at.work, &path) else { continue };
        for entry in Dir::new(directory).into_iter().flatten().flatten() {
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            looked += 1;
            if looked > ENTRIES {
                return found;
            }
            let is_filled = || path.starts_with(".git") && FILLED.iter().any(|one| name == *one);
            let inside = path.join(name);
            match entry.file_type() {
                _ if name == "." || name == ".." || is_filled() => {}
                FileType::Symlink => found.extend(
                    leads(at.base, &inside)
                        .into_iter()
                        .filter(|target| is_apart(at, target, &inside, protected))
                        .map(|target| (target, inside.clone())),
                ),
                FileType::Directory | FileType::Unknown => left.push_back(inside),
                _ => {}
            }
        }
    }
    found
}

/// The target of a path in the work directory, and the links on the way, as far as they are inside it.
pub(super) fn leads(base: &Path, path: &Path) -> BTreeSet<PathBuf> {
    let mut all = Vec::new();
    let real = resolve_telling(&base.join(path), Unreachable::Kept, |link| all.push(link));
    all.extend(real);
    all.iter().filter_map(|one| one.strip_prefix(base).ok().map(Path::to_owned)).collect()
}

/// Whether the target of a link is not already protected, and is not the work directory itself.
fn is_apart(at: At<'_>, target: &Path, link: &Path, protected: &BTreeSet<PathBuf>) -> bool {
    let holds_repository = || beneath::open(at.work, &target.join(".git"), rustix::fs::OFlags::PATH).is_ok();
    !target.as_os_str().is_empty()
        && !link.starts_with(target)
        && !target.ancestors().any(|above| protected.contains(above))
        && !holds_repository()
}
