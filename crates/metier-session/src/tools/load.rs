//! `load_skill`: a skill's instructions.

use std::fmt::Write as _;

use metier_journal::Trigger;
use metier_prompt::ToolNames;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Schema, SkillToolAnswer, SkillToolError, SkillToolOptions, arguments, facts};
use crate::session::Session;

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
        "Loads the instructions of a skill. Call it before you start a task that matches a skill's description, and follow the instructions. Run the skill's scripts with `{}`.",
        names.run()
    );
    Schema { title: "Load a skill", description, takes }
}

pub(super) fn load(
    session: &mut Session,
    given: Value,
    options: &SkillToolOptions,
) -> Result<SkillToolAnswer, SkillToolError> {
    let given: Arguments = arguments(options.names.load(), given)?;
    let mut active = if given.force {
        session.reload_as(&given.skill_name, Trigger::Model)?
    } else {
        session.activate_as(&given.skill_name, Trigger::Model)?
    };
    let mut text = std::mem::take(&mut active.content);
    if text.contains("<file>scripts/") {
        let (tool, place) = (options.names.run(), options.place());
        let _ = writeln!(
            text,
            "Run this skill's scripts with the tool `{tool}`, not with a shell: they then run in a sandbox, in {place}."
        );
    }
    for note in &active.notes {
        let _ = writeln!(text, "Note: {note}");
    }
    Ok(SkillToolAnswer { text, facts: facts(&active, &["content", "notes"]) })
}
