//! The skills below a directory that a command is given, without a catalog: nothing is ranked, and nothing is remembered.

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
    /// What the probe made of a skill.
    Skill(T),
    /// A directory that was not searched, and why: it is nested too deep, or cannot be read.
    NotSearched(PathBuf, SkillError),
}

/// Asks `probe` about a directory and, where that is not a skill, about all below it; in the order of their paths. What is
/// below a skill belongs to it and is not asked about. Use this to do something with each skill in a directory; use
/// [`Scanner`](crate::Scanner) to learn which skills an agent has.
///
/// The probe does the work, rather than only finding out whether there is any: looking twice costs a third of validating.
/// Links are not followed, and the directories that a catalog does not enter are not entered here either. A directory that
/// cannot be listed, or is nested too deep, is in the result as such.
pub fn walk_skills<T: Send>(
    directory: &Path,
    probe: &(impl Fn(&Path) -> Option<T> + Sync),
) -> Vec<WalkItem<T>> {
    let mut items = walk(directory.to_owned(), 0, probe);
    // As bytes: comparing paths part by part costs more than reading them.
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
            let what = format!("directories nested more than {DEPTH} deep, which were not searched");
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

/// The directories in a directory that are searched.
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
