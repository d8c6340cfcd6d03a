//! `--fix` and `--diff`: applies the fixes of findings to a file, or shows them.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, fchown};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use metier_skill::{Location, Reading, Rules, apply_fixes};
use similar::TextDiff;

use crate::output::clean_line;

/// How often fixes are applied to one file: fixing one finding can show another.
const ROUNDS: usize = 10;

/// What is done with a fixed text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// It replaces the old one.
    Write,
    /// The difference is shown, and nothing is changed.
    Diff,
}

/// A file that was fixed, or would be.
#[derive(Debug)]
pub(super) struct Fixed {
    pub(super) path: PathBuf,
    /// How many findings.
    pub(super) count: usize,
    /// The difference, in [`Mode::Diff`].
    pub(super) diff: String,
}

/// Fixes the file of a skill; `None` where there is nothing to fix.
pub(super) fn fix(location: &Location, rules: &Rules, mode: Mode) -> anyhow::Result<Option<Fixed>> {
    let Ok(reading) = location.load(rules) else { return Ok(None) };
    let Some(first) = reading.diagnostics.iter().find(|found| found.fix.is_some()) else { return Ok(None) };
    // A single file's name need not be text.
    let path = if location.is_single_file() {
        location.path().to_owned()
    } else {
        location.path().join(&first.file)
    };
    let old = Arc::clone(&reading.text);
    let (new, count) = fixed_text(location, rules, reading);
    if count == 0 {
        return Ok(None);
    }
    let path = crate::render::shown(&path);
    let diff = match mode {
        Mode::Diff => diff(&path, &old, &new),
        Mode::Write => {
            replace(&path, &old, &new).with_context(|| format!("cannot fix {}", path.display()))?;
            String::new()
        }
    };
    Ok(Some(Fixed { path, count, diff }))
}

/// What fixing would change in a text that is not on disk.
pub(super) fn fix_text(location: &Location, rules: &Rules, reading: Reading) -> Option<Fixed> {
    let old = Arc::clone(&reading.text);
    let (new, count) = fixed_text(location, rules, reading);
    let path = location.path().to_owned();
    (count > 0).then(|| Fixed { diff: diff(&path, &old, &new), path, count })
}

/// The text with every fix applied until none is left, and how many there were.
fn fixed_text(location: &Location, rules: &Rules, mut reading: Reading) -> (Arc<String>, usize) {
    let mut fixed = 0;
    for _ in 0..ROUNDS {
        let (text, count) = apply_fixes(&reading.text, &reading.diagnostics);
        if count == 0 {
            break;
        }
        fixed += count;
        reading = location.load_text(text, rules, |_, _| {});
    }
    (reading.text, fixed)
}

/// A unified diff, which `patch -p0` and `git apply -p0` read.
fn diff(path: &Path, old: &str, new: &str) -> String {
    let name = clean_line(&path.display().to_string());
    TextDiff::from_lines(old, new).unified_diff().header(&name, &name).to_string()
}

/// Puts a new text in the place of the old one, whole or not at all, with its owner and permissions.
fn replace(path: &Path, old: &str, new: &str) -> anyhow::Result<()> {
    let meta = fs::symlink_metadata(path)?;
    anyhow::ensure!(!meta.is_symlink(), "it is a symbolic link; fix its target instead");
    anyhow::ensure!(meta.nlink() == 1, "it has hard links that would keep the old text; fix it by hand");
    let directory = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    // The name of the temporary file would only confuse.
    let mut file =
        tempfile::NamedTempFile::new_in(directory).map_err(|error| std::io::Error::from(error.kind()))?;
    file.write_all(new.as_bytes())?;
    let made = file.as_file().metadata()?;
    if (made.uid(), made.gid()) != (meta.uid(), meta.gid()) {
        fchown(file.as_file(), Some(meta.uid()), Some(meta.gid())).context("its owner cannot be kept")?;
    }
    file.as_file().set_permissions(meta.permissions())?;
    file.as_file().sync_all()?;
    anyhow::ensure!(fs::read(path)? == old.as_bytes(), "it has changed meanwhile; run the command again");
    file.persist(path).map_err(|error| std::io::Error::from(error.error.kind()))?;
    Ok(())
}
