//! Finds the skills below a directory without building a catalog: no ranking, no cache.

use std::ffi::OsStr;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use metier_skill::disk::{list, open_directory};
use metier_skill::{SkillError, is_searched};
use rayon::prelude::*;
use rustix::fs::{CWD, FileType};

/// Directories are not searched deeper than this.
const DEPTH: usize = 32;

/// One result of [`walk_skills`].
#[derive(Debug)]
pub enum WalkItem<T> {
    /// The result of the probe for a skill.
    Skill(T),
    /// A directory that was not searched, and why: it is nested too deeply or cannot be read.
    NotSearched(PathBuf, SkillError),
}

/// Calls `probe` for a directory and, if it is not a skill, for all directories below it. Results are sorted by
/// path. Directories inside a skill belong to it and are not probed. Use this to process each skill in a
/// directory; use [`Scanner`](crate::Scanner) to find the skills of an agent.
///
/// The probe does the work instead of only detecting skills, because looking twice would make validation a
/// third slower. Links are not followed, and the directories that a catalog skips are skipped here too. A
/// directory that cannot be listed or is nested too deeply is part of the result.
pub fn walk_skills<T: Send>(
    directory: &Path,
    probe: &(impl Fn(&Path) -> Option<T> + Sync),
) -> Vec<WalkItem<T>> {
    let mut items = walk(directory.to_owned(), 0, probe);
    // Sorted as bytes: comparing paths by component takes longer than reading the directories.
    items.sort_by(|(a, _), (b, _)| a.as_os_str().cmp(b.as_os_str()));
    items.into_iter().map(|(_, item)| item).collect()
}

fn walk<T: Send>(
    directory: PathBuf,
    depth: usize,
    probe: &(impl Fn(&Path) -> Option<T> + Sync),
) -> Vec<(PathBuf, WalkItem<T>)> {
    if let Some(skill) = probe(&directory) {
        return vec![(directory, WalkItem::Skill(skill))];
    }
    let not_searched =
        |directory: PathBuf, error| vec![(directory.clone(), WalkItem::NotSearched(directory, error))];
    match directories(&directory) {
        Ok(below) if depth == DEPTH && !below.is_empty() => {
            let what = format!("directories nested more than {DEPTH} levels deep (not searched)");
            let error = SkillError::Limit { path: directory.clone(), what };
            not_searched(directory, error)
        }
        Ok(below) => below.into_par_iter().flat_map_iter(|path| walk(path, depth + 1, probe)).collect(),
        Err(source) => {
            let error = SkillError::Io { path: directory.clone(), source };
            not_searched(directory, error)
        }
    }
}

/// The subdirectories to search.
fn directories(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut below = Vec::new();
    list(open_directory(CWD, directory)?, |_, name, kind| {
        let name = OsStr::from_bytes(name.to_bytes());
        if kind == FileType::Directory && is_searched(name) {
            below.push(directory.join(name));
        }
        ControlFlow::Continue(())
    })?;
    Ok(below)
}
