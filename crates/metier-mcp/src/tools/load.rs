//! `load_skill`: a skill's instructions.

use std::fmt::Write as _;

use metier_journal::Trigger;
use metier_session::Session;
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments;
use crate::answer::{Answer, Refusal};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    #[serde(alias = "name", alias = "skill_id")]
    skill_name: String,
    #[serde(default)]
    force: bool,
}

pub(super) fn schema(skill: &Value) -> (&'static str, &'static str, Value, Value) {
    let takes = json!({
        "type": "object",
        "properties": {
            "skill_name": skill,
            "force": { "type": "boolean", "description": "Give the instructions again, although you have them" },
        },
        "required": ["skill_name"],
        "additionalProperties": false,
    });
    let texts = json!({ "type": "array", "items": { "type": "string" } });
    let gives = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string" }, "skill_id": { "type": "string" }, "tier": { "type": "string" },
            "content": { "type": "string" }, "tree_digest": { "type": "string" },
            "already_active": { "type": "boolean" }, "needs": texts, "notes": texts,
        },
        "required": ["name", "skill_id", "tier", "content", "tree_digest", "already_active", "needs", "notes"],
    });
    let description = "Loads the instructions of a skill. Call it before you begin with a task that a skill's description fits, and follow what it says.";
    ("Load a skill", description, takes, gives)
}

pub(crate) fn load(
    tool: &'static str,
    given: Option<JsonObject>,
    session: &mut Session,
) -> Result<Answer, Refusal> {
    let given: Arguments = arguments(tool, given)?;
    let active = if given.force {
        session.reload(&given.skill_name, Trigger::Model)?
    } else {
        session.activate(&given.skill_name, Trigger::Model)?
    };
    let mut text = active.content.clone();
    for note in &active.notes {
        let _ = writeln!(text, "Note: {note}");
    }
    let data = json!({
        "name": active.name,
        "skill_id": active.skill_id,
        "tier": active.tier.to_string(),
        "content": active.content,
        "tree_digest": active.tree_digest,
        "already_active": active.already_active,
        "needs": active.needs,
        "notes": active.notes,
    });
    Ok(Answer { text, data })
}
