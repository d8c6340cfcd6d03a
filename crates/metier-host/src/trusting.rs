//! Trusting folders: by the path that their links lead to, and never without a record.

use std::path::{Path, PathBuf};

use metier_journal::{Event, RecordContext};
use metier_skill::lossy_path;
use serde::Serialize;

use crate::environment::Environment;
use crate::error::HostError;
use crate::host::Metier;

/// What [`trust_folder`] and [`distrust_folder`] did. Serialises as `metier trust --json` prints it.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct TrustChange {
    /// The folder, without links in its path.
    #[serde(serialize_with = "lossy_path")]
    pub folder: PathBuf,
    /// Whether it is trusted now.
    pub trusted: bool,
    /// Whether that is different from before.
    pub changed: bool,
    /// What a person should know about the record.
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// Marks a folder as trusted: its skills count as the person's own, and all of its `metier.toml` is used.
pub fn trust_folder(environment: &Environment, folder: &Path) -> Result<TrustChange, HostError> {
    let folder = environment.absolute(folder);
    if folder == Path::new("/") {
        return Err(HostError::TrustsAll);
    }
    let real = folder.canonicalize().map_err(|_| HostError::NoFolder { path: folder.clone() })?;
    if !real.is_dir() {
        return Err(HostError::NotAFolder { path: folder });
    }
    let trust = environment.trust();
    let mut change = TrustChange { folder: real, trusted: true, changed: false, notes: Vec::new() };
    if !trust.is_marked(&change.folder) {
        // First the record: trust that nobody could look up later does not count.
        change.notes = record(&change.folder, true, environment)?;
        trust.mark(&change.folder)?;
        change.changed = true;
    }
    Ok(change)
}

/// Removes the mark of a folder, which may no longer exist.
pub fn distrust_folder(environment: &Environment, folder: &Path) -> Result<TrustChange, HostError> {
    let folder = environment.absolute(folder);
    let real = folder.canonicalize().unwrap_or(folder);
    // First the mark: while it is there, settings of that folder count and may stop everything else.
    let changed = environment.trust().unmark(&real)?;
    let notes = if changed { record(&real, false, environment)? } else { Vec::new() };
    Ok(TrustChange { folder: real, trusted: false, changed, notes })
}

fn record(folder: &Path, trusted: bool, environment: &Environment) -> Result<Vec<String>, HostError> {
    let recorder = Metier::builder().environment(environment.clone()).build()?.recorder()?;
    let folder = folder.to_string_lossy().into_owned();
    recorder.record(&RecordContext::default(), &Event::TrustChanged { folder, trusted })?;
    Ok(recorder.close())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn nothing_is_trusted_that_could_not_be_recorded() {
        let home = tempfile::tempdir().unwrap();
        let project = home.path().join("project");
        fs::create_dir(&project).unwrap();
        let environment = Environment::new(home.path(), &project);
        let broken = environment.clone().with_variable("METIER_JOURNAL", "nosuch/journal.db");
        assert!(trust_folder(&broken, &project).is_err());
        assert!(environment.trust().marked().unwrap().is_empty());
        let change = trust_folder(&environment, Path::new(".")).unwrap();
        assert!(change.trusted && change.changed);
        assert!(!trust_folder(&environment, &project).unwrap().changed);
        fs::remove_dir(&project).unwrap();
        assert!(distrust_folder(&environment, &change.folder).unwrap().changed, "a folder that is gone");
        assert!(environment.trust().marked().unwrap().is_empty());
    }

    #[test]
    fn only_folders_are_trusted() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("file"), "").unwrap();
        let environment = Environment::new(home.path(), home.path());
        let refused = |path: &str| trust_folder(&environment, Path::new(path)).unwrap_err();
        assert!(matches!(refused("/"), HostError::TrustsAll));
        assert!(matches!(refused("file"), HostError::NotAFolder { .. }));
        assert!(matches!(refused("gone"), HostError::NoFolder { .. }));
    }
}
