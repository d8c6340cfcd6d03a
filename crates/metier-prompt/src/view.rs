//! What prompts see of a session, and what tools may change in it.

use std::collections::BTreeMap;

use metier_skill::Digest;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::path::SectionPath;

/// How much of a section is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// The whole section.
    Full,
    /// Only its summary, and how to open it.
    Summary,
}

/// The part of a session that prompts depend on and tools may change. A failed tool call does not change it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SessionState {
    visibility: BTreeMap<SectionPath, Visibility>,
    /// Values stored by tools and hosts, for use by predicates.
    pub values: BTreeMap<String, Value>,
}

impl SessionState {
    /// The session's override for a section, if any.
    pub fn visibility(&self, path: &SectionPath) -> Option<Visibility> {
        self.visibility.get(path).copied()
    }

    /// Overrides how a section is shown.
    pub fn set_visibility(&mut self, path: SectionPath, visibility: Visibility) {
        self.visibility.insert(path, visibility);
    }

    /// Removes the override of a section.
    pub fn clear_visibility(&mut self, path: &SectionPath) {
        self.visibility.remove(path);
    }

    /// Removes all overrides.
    pub fn clear_all_visibility(&mut self) {
        self.visibility.clear();
    }
}

/// What predicates and tools see of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionView {
    /// The session's id.
    pub id: String,
    /// The current task.
    pub task: Option<String>,
    /// The ids of active skills with their tree digests.
    pub skills: BTreeMap<String, Digest>,
    /// The part that can change.
    pub state: SessionState,
}
