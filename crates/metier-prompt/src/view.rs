//! What prompts see of a session, and what tools may change of it.

use std::collections::BTreeMap;

use metier_skill::Digest;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::path::SectionPath;

/// How much of a section is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// All of it.
    Full,
    /// Its summary, and how to open it.
    Summary,
}

/// The part of a session that prompts depend on and that tools may change. A tool that fails leaves it as it was.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SessionState {
    visibility: BTreeMap<SectionPath, Visibility>,
    /// What tools and hosts remember, for predicates to look at.
    pub values: BTreeMap<String, Value>,
}

impl SessionState {
    /// What the session says about a section, if anything.
    pub fn visibility(&self, path: &SectionPath) -> Option<Visibility> {
        self.visibility.get(path).copied()
    }

    /// From now on the section is shown like this.
    pub fn set_visibility(&mut self, path: SectionPath, visibility: Visibility) {
        self.visibility.insert(path, visibility);
    }

    /// From now on the section is shown as it says itself.
    pub fn clear_visibility(&mut self, path: &SectionPath) {
        self.visibility.remove(path);
    }

    /// From now on every section is shown as it says itself.
    pub fn clear_all_visibility(&mut self) {
        self.visibility.clear();
    }
}

/// What predicates and tools see of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionView {
    /// Its id.
    pub id: String,
    /// The task that is worked on.
    pub task: Option<String>,
    /// The active skills' ids with the digests of their trees.
    pub skills: BTreeMap<String, Digest>,
    /// What can change.
    pub state: SessionState,
}
