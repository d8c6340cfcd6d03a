//! Skills below a directory that a command is given.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use metier_skill::VCS_DIRECTORIES;
use rayon::prelude::*;

/// Directories are not searched deeper than this.
const DEPTH: usize = 32;

/// Asks `probe` about a directory and, where that is not a skill, about all below it; in the order of their
/// paths. What is below a skill belongs to it and is not asked about.
///
/// The probe does the work, rather than only finding out whether there is any: looking twice costs a third of
/// validating. Links are not followed; version control and `node_modules` are left out.
pub(crate) fn skills<T: Send>(
    directory: &Path,
    probe: &(impl Fn(&Path) -> Option<T> + Sync),
) -> io::Result<Vec<T>> {
    let mut found = search(directory.to_owned(), 0, probe)?;
    // As bytes: comparing paths part by part costs more than reading them.
    found.sort_by(|(a, _), (b, _)| a.as_os_str().cmp(b.as_os_str()));
    Ok(found.into_iter().map(|(_, skill)| skill).collect())
}

fn search<T: Send>(
    directory: PathBuf,
    depth: usize,
    probe: &(impl Fn(&Path) -> Option<T> + Sync),
) -> io::Result<Vec<(PathBuf, T)>> {
    if let Some(skill) = probe(&directory) {
        return Ok(vec![(directory, skill)]);
    }
    if depth == DEPTH {
        return Ok(Vec::new());
    }
    let mut below = Vec::new();
    for entry in fs::read_dir(&directory)? {
        let entry = entry?;
        let is_skipped =
            VCS_DIRECTORIES.iter().chain(&["node_modules"]).any(|name| entry.file_name() == *name);
        if entry.file_type()?.is_dir() && !is_skipped {
            below.push(entry.path());
        }
    }
    // A directory below that cannot be read has no skill that could be.
    let search = |path: PathBuf| search(path, depth + 1, probe).unwrap_or_default();
    let searched: Vec<Vec<(PathBuf, T)>> = below.into_par_iter().map(search).collect();
    Ok(searched.into_iter().flatten().collect())
}
