//! The skills of one conversation: what is mounted, what the agent is loading, and what it has loaded.

use std::collections::HashMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use metier_session::AgentSkill;
use serde_json::Value;

use crate::guard::GuardWatch;
use crate::offered::Offered;
use crate::permission::PermissionRequest;

/// The skills of one conversation.
#[derive(Default)]
pub(crate) struct Mounted {
    pub(crate) skills: Vec<AgentSkill>,
    /// Where the agent works.
    pub(crate) working: Option<PathBuf>,
    /// Calls that load a skill, until their result is there.
    pub(crate) loading: HashMap<String, String>,
    /// Compares what the agent's tools do with what its hooks saw.
    pub(crate) guard: Option<GuardWatch>,
    /// What this conversation activated in the session.
    pub(crate) activated: Vec<String>,
    /// The same for an agent without a home.
    pub(crate) offered: Option<Offered>,
}

impl Mounted {
    /// The mounted skill whose `SKILL.md` is named in the arguments of a call.
    pub(crate) fn named_in(&self, arguments: &Value) -> Option<&AgentSkill> {
        match arguments {
            Value::String(text) => self.skills.iter().find(|skill| {
                let place =
                    skill.directory.parent().and_then(|parent| parent.file_name()).unwrap_or_default();
                text.contains(&format!("{}/{}/SKILL.md", place.to_string_lossy(), skill.name))
            }),
            Value::Array(items) => items.iter().find_map(|item| self.named_in(item)),
            Value::Object(members) => members.values().find_map(|member| self.named_in(member)),
            _ => None,
        }
    }

    /// Whether a call only loads a mounted skill, or only reads files of mounted skills and of the working directory. They
    /// are there to be read.
    pub(crate) fn is_free(&self, request: &PermissionRequest) -> bool {
        let is_mounted = |name: &String| self.skills.iter().any(|skill| skill.name == *name);
        let is_readable = |file: &PathBuf| {
            let is_plain = !file.components().any(|part| part == Component::ParentDir);
            let mut places = self.skills.iter().map(|skill| &skill.directory).chain(&self.working);
            is_plain && places.any(|place| leads_into(file, place))
        };
        request.loads.as_ref().is_some_and(is_mounted)
            || !request.reads.is_empty() && request.reads.iter().all(is_readable)
    }
}

/// Whether a path leads into a directory, through all links. What does not exist is where it would be made.
fn leads_into(path: &Path, directory: &Path) -> bool {
    let Ok(directory) = fs::canonicalize(directory) else { return false };
    let mut real = path.ancestors().filter_map(|ancestor| fs::canonicalize(ancestor).ok());
    path.is_absolute() && real.next().is_some_and(|real| real.starts_with(&directory))
}
