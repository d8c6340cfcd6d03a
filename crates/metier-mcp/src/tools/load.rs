//! `load_skill`: a skill's instructions.

use std::fmt::Write as _;

use metier_journal::Trigger;
use metier_prompt::ToolNames;
use metier_session::Session;
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Schema, arguments};
use crate::answer::{Answer, Refusal};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    #[serde(alias = "name", alias = "skill_id")]
    skill_name: String,
    #[serde(default)]
    force: bool,
}

pub(super) fn schema(skill: &Value, names: ToolNames) -> Schema {
    let takes = json!({
        "type": "object",
        "properties": {
            "skill_name": skill,
            "force": { "type": "boolean", "description": "Return the instructions again although they are already in your context" },
        },
        "required": ["skill_name"],
        "additionalProperties": false,
    });
    let description = format!(
        "Loads the instructions of a skill. Call it before you begin a task that matches a skill's description, and follow what it says. \
         Run the skill's scripts with `{}`.",
        names.run()
    );
    Schema { title: "Load a skill", description, takes }
}

/// How a model is to run what the skill brings along.
pub(crate) struct Scripts<'a> {
    /// The tool.
    pub(crate) tool: &'static str,
    /// Where they work.
    pub(crate) place: &'a str,
}

pub(crate) fn load(
    tool: &'static str,
    given: Option<JsonObject>,
    session: &mut Session,
    scripts: &Scripts<'_>,
) -> Result<Answer, Refusal> {
    let given: Arguments = arguments(tool, given)?;
    let active = if given.force {
        session.reload(&given.skill_name, Trigger::Model)?
    } else {
        session.activate(&given.skill_name, Trigger::Model)?
    };
    let mut text = active.content;
    if text.contains("<file>scripts/") {
        let Scripts { tool, place } = scripts;
        let _ = writeln!(
            text,
            "Run this skill's scripts with the tool `{tool}`, not with a shell: they then run in a sandbox, in {place}."
        );
    }
    for note in &active.notes {
        let _ = writeln!(text, "Note: {note}");
    }
    let facts = json!({
        "skill_id": active.skill_id,
        "tier": active.tier.to_string(),
        "tree_digest": active.tree_digest,
        "already_active": active.already_active,
    });
    Ok(Answer { text, facts })
}
