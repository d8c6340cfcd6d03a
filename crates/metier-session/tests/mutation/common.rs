//! What the suites share: a directory of documents with a gateway, and short ways to ask for changes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use metier_session::{DocumentChange, DocumentVersion, FileGateway, MutationEnvelope, MutationOutcome};

/// Documents and a gateway's state, in a directory that is removed afterwards.
pub(crate) struct Place {
    pub(crate) directory: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new(documents: &[(&str, &str)]) -> Self {
        let place = Self { directory: tempfile::tempdir().unwrap() };
        fs::create_dir_all(place.documents()).unwrap();
        for (name, content) in documents {
            place.write(name, content);
        }
        place
    }

    /// All that a gateway has to do with; a test may have other files beside it.
    pub(crate) fn below(&self) -> PathBuf {
        self.directory.path().join("below")
    }

    pub(crate) fn documents(&self) -> PathBuf {
        self.below().join("documents")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.below().join("state")
    }

    pub(crate) fn gateway(&self) -> FileGateway {
        FileGateway::open(self.documents(), self.state()).unwrap()
    }

    pub(crate) fn write(&self, name: &str, content: &str) {
        let path = self.documents().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Every document with its content.
    pub(crate) fn all(&self) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        collect(&self.documents(), "", &mut all);
        all
    }

    /// What a gateway left half done, or forgot to remove.
    pub(crate) fn leftovers(&self) -> Vec<String> {
        let mut left = BTreeMap::new();
        collect(&self.state(), "", &mut left);
        left.into_keys().filter(|name| name != "lock" && !name.starts_with("outcomes/")).collect()
    }
}

fn collect(directory: &Path, before: &str, all: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(directory).into_iter().flatten() {
        let entry = entry.unwrap();
        let name = format!("{before}{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            collect(&entry.path(), &format!("{name}/"), all);
        } else {
            all.insert(name, fs::read_to_string(entry.path()).unwrap_or_default());
        }
    }
}

pub(crate) fn documents(all: &[(&str, &str)]) -> BTreeMap<String, String> {
    all.iter().map(|(name, content)| ((*name).to_owned(), (*content).to_owned())).collect()
}

/// A change from one content to another, or from or to nothing.
pub(crate) fn change(target: &str, from: Option<&str>, to: Option<&str>) -> DocumentChange {
    DocumentChange {
        target: target.to_owned(),
        base_version: Some(DocumentVersion::of(from.map(str::as_bytes))),
        payload: to.map(|to| to.as_bytes().to_vec()),
    }
}

pub(crate) fn envelope(request_id: &str, changes: Vec<DocumentChange>) -> MutationEnvelope {
    MutationEnvelope {
        request_id: request_id.to_owned(),
        actor: "agent-1".to_owned(),
        intent: "for a test".to_owned(),
        changes,
        ..MutationEnvelope::default()
    }
}

/// Whether it was applied, and not before.
pub(crate) fn is_applied_now(outcome: &MutationOutcome) -> bool {
    matches!(outcome, MutationOutcome::Applied { repeated: false, dry_run: false, .. })
}

/// What a test that starts itself again asks for.
#[expect(clippy::disallowed_methods, reason = "a test asks itself by a variable")]
pub(crate) fn asked(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
