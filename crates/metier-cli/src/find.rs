//! Skills below the paths that a command is given.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use metier_skill::{Location, SkillError, VCS_DIRECTORIES, is_skill_directory};
use rayon::prelude::*;

/// Directories are not searched deeper than this.
const DEPTH: usize = 32;

/// A path that is a skill, or that was given as one.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    pub(crate) location: Result<Location, SkillError>,
}

/// The skills at and below the paths, in the order of the paths and by name below each.
///
/// A path that is a skill stands for itself, any other directory for all skills below it. A directory
/// without any is returned as it is: validating it says what is missing.
pub(crate) fn find_skills(paths: &[PathBuf]) -> Vec<Found> {
    paths.iter().flat_map(|path| find_at(path)).collect()
}

fn find_at(path: &Path) -> Vec<Found> {
    let one = |location| vec![Found { path: path.to_owned(), location }];
    if !path.is_dir() || is_skill_directory(path) {
        return one(Location::find(path));
    }
    match search(path, 0) {
        Err(source) => one(Err(SkillError::Io { path: path.to_owned(), source })),
        Ok(below) if below.is_empty() => one(Location::find(path)),
        Ok(mut below) => {
            below.sort();
            below.into_iter().map(|path| Found { location: Location::directory(&path), path }).collect()
        }
    }
}

/// The directories below one that are skills.
fn search(directory: &Path, depth: usize) -> io::Result<Vec<PathBuf>> {
    let mut directories = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let skipped = VCS_DIRECTORIES.iter().chain(&["node_modules"]).any(|name| entry.file_name() == *name);
        if entry.file_type()?.is_dir() && !skipped {
            directories.push(entry.path());
        }
    }
    let search_one = |path: PathBuf| {
        if is_skill_directory(&path) {
            vec![path]
        } else if depth < DEPTH {
            // A directory that cannot be read has no skill that could be.
            search(&path, depth + 1).unwrap_or_default()
        } else {
            Vec::new()
        }
    };
    let searched: Vec<Vec<PathBuf>> = directories.into_par_iter().map(search_one).collect();
    Ok(searched.into_iter().flatten().collect())
}
