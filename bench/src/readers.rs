//! Baselines for metier: programs that find, read or stat every `SKILL.md` and do nothing else. They use
//! rayon's number of threads.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

/// Finds and reads every `SKILL.md` at any depth.
pub(crate) fn read(directory: &Path) -> io::Result<u64> {
    let entries: Vec<_> = fs::read_dir(directory)?.collect::<Result<_, _>>()?;
    let one = |entry: fs::DirEntry| {
        let kind = entry.file_type()?;
        if kind.is_dir() {
            read(&entry.path())
        } else if entry.file_name() == "SKILL.md" {
            Ok(fs::read(entry.path())?.len() as u64)
        } else {
            Ok(0)
        }
    };
    entries.into_par_iter().map(one).sum()
}

/// Reads every `SKILL.md` whose path is known.
pub(crate) fn read_known(known: &Path) -> io::Result<u64> {
    paths(known)?.into_par_iter().map(|path| Ok(fs::read(path)?.len() as u64)).sum()
}

/// Stats every `SKILL.md` whose path is known, without opening it.
pub(crate) fn stat_known(known: &Path) -> io::Result<u64> {
    paths(known)?.into_par_iter().map(|path| Ok(fs::metadata(path)?.len())).sum()
}

/// The paths in a list, without listing directories; or the entries of one directory.
fn paths(known: &Path) -> io::Result<Vec<PathBuf>> {
    if known.is_dir() {
        return fs::read_dir(known)?.map(|entry| Ok(entry?.path().join("SKILL.md"))).collect();
    }
    Ok(fs::read_to_string(known)?.lines().map(PathBuf::from).collect())
}
