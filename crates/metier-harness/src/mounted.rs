//! The skills of one conversation: what is mounted, what the agent is loading, and what it has loaded.

use std::collections::HashMap;
use std::path::{Component, PathBuf};

use metier_session::AgentSkill;
use serde_json::Value;

use crate::offered::Offered;
use crate::permission::PermissionRequest;

/// The skills of one conversation.
#[derive(Default)]
pub(crate) struct Mounted {
    pub(crate) skills: Vec<AgentSkill>,
    /// Calls that load a skill, until their result is there.
    pub(crate) loading: HashMap<String, String>,
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

    /// Whether a call only reads files of mounted skills, which are there to be read.
    pub(crate) fn is_read_by(&self, request: &PermissionRequest) -> bool {
        let is_mounted = |file: &PathBuf| {
            let is_plain = !file.components().any(|part| part == Component::ParentDir);
            is_plain && self.skills.iter().any(|skill| file.starts_with(&skill.directory))
        };
        !request.reads.is_empty() && request.reads.iter().all(is_mounted)
    }
}
