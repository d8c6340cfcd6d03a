//! The four tools: their names, their parameters and what each does.

mod list;
mod load;
mod read;
mod report;
mod run;

use std::sync::Arc;

use metier_catalog::Entry;
use metier_prompt::{SkillTool, ToolNames};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub(crate) use list::list;
pub(crate) use load::{Scripts, load};
pub(crate) use read::{output_address, read, read_output};
pub(crate) use report::{Around, report};
pub(crate) use run::prepare;

use crate::answer::Refusal;

/// Up to so many skills are listed in the schema, so that a model cannot name another.
pub(crate) const NAMED: usize = 50;

/// What a tool is shown as.
struct Schema {
    title: &'static str,
    description: String,
    /// The schema of its parameters.
    takes: Value,
}

/// The tools as clients see them, in an order that does not change; none where there are no skills. `place` says where scripts work.
pub(crate) fn all(skills: &[Entry], names: ToolNames, skill_list: Option<&str>, place: &str) -> Vec<Tool> {
    if skills.is_empty() {
        return Vec::new();
    }
    let skill = skill_schema(skills);
    let tool = |kind: SkillTool| {
        let Schema { title, mut description, takes } = match kind {
            SkillTool::List => list::schema(),
            SkillTool::Load => load::schema(&skill, names),
            SkillTool::Read => read::schema(&skill),
            SkillTool::Run => run::schema(&skill, place),
        };
        if let (SkillTool::Load, Some(list)) = (kind, skill_list) {
            description.extend(["\n\n", list]);
        }
        let runs = kind == SkillTool::Run;
        let hints =
            ToolAnnotations::new().read_only(!runs).destructive(runs).idempotent(!runs).open_world(false);
        Tool::new(names.name(kind), description, object(takes)).with_title(title).with_annotations(hints)
    };
    SkillTool::ALL.into_iter().map(tool).collect()
}

fn skill_schema(skills: &[Entry]) -> Value {
    if skills.len() > NAMED {
        return json!({ "type": "string", "description": "Name or id of the skill" });
    }
    let names: Vec<&str> = skills.iter().map(Entry::name).collect();
    json!({ "type": "string", "description": "Name of the skill", "enum": names })
}

fn object(value: Value) -> Arc<JsonObject> {
    match value {
        Value::Object(object) => Arc::new(object),
        _ => Arc::default(),
    }
}

/// What a tool was called with, as its type.
pub(crate) fn arguments<T: DeserializeOwned>(
    tool: &'static str,
    arguments: Option<JsonObject>,
) -> Result<T, Refusal> {
    let value = Value::Object(arguments.unwrap_or_default());
    T::deserialize(value).map_err(|error| Refusal::Arguments { tool, reason: error.to_string() })
}
