//! Skills below a directory that a person names, which need not be a root.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use metier_skill::{NOT_SEARCHED, SkillError};
use rayon::prelude::*;

/// Directories are not searched deeper than this.
const DEPTH: usize = 32;

/// One thing that a search came to.
#[derive(Debug)]
pub enum FoundSkill<T> {
    /// What the probe made of a skill.
    Skill(T),
    /// A directory that was not searched, and why: what is in it is not known.
    NotSearched(PathBuf, SkillError),
}

/// Asks `probe` about a directory and, where that is not a skill, about all below it; in the order of their
/// paths. What is below a skill belongs to it and is not asked about.
///
/// The probe does the work, rather than only finding out whether there is any: looking twice costs a third of
/// validating. Links are not followed, and the directories that a catalog does not enter are not entered here either. A
/// directory that cannot be listed, or lies too deep, is in the result as such.
pub fn skills_below<T: Send>(
    directory: &Path,
    probe: &(impl Fn(&Path) -> Option<T> + Sync),
) -> Vec<FoundSkill<T>> {
    let mut found = search(directory.to_owned(), 0, probe);
    // As bytes: comparing paths part by part costs more than reading them.
    found.sort_by(|(a, _), (b, _)| a.as_os_str().cmp(b.as_os_str()));
    found.into_iter().map(|(_, found)| found).collect()
}

fn search<T: Send>(
    directory: PathBuf,
    depth: usize,
    probe: &(impl Fn(&Path) -> Option<T> + Sync),
) -> Vec<(PathBuf, FoundSkill<T>)> {
    if let Some(skill) = probe(&directory) {
        return vec![(directory, FoundSkill::Skill(skill))];
    }
    let below = match directories(&directory) {
        Ok(below) if below.is_empty() => return Vec::new(),
        Ok(_) if depth == DEPTH => {
            let what = format!("directories nested more than {DEPTH} deep, which were not searched");
            let error = SkillError::Limit { path: directory.clone(), what };
            return vec![(directory.clone(), FoundSkill::NotSearched(directory, error))];
        }
        Ok(below) => below,
        Err(source) => {
            let error = SkillError::Io { path: directory.clone(), source };
            return vec![(directory.clone(), FoundSkill::NotSearched(directory, error))];
        }
    };
    let search = |path: PathBuf| search(path, depth + 1, probe);
    let searched: Vec<Vec<(PathBuf, FoundSkill<T>)>> = below.into_par_iter().map(search).collect();
    searched.into_iter().flatten().collect()
}

/// The directories in a directory that are searched.
fn directories(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut below = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() && !NOT_SEARCHED.iter().any(|name| entry.file_name() == *name) {
            below.push(entry.path());
        }
    }
    Ok(below)
}
