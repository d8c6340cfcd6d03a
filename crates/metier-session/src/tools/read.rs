//! `read_skill_resource`: a file of a skill, or a part of it.

use std::fmt::Write as _;

use metier_prompt::ToolNames;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Schema, SkillToolAnswer, SkillToolError, arguments, excerpt, facts};
use crate::resource::ResourcePart;
use crate::session::Session;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    #[serde(alias = "name", alias = "skill_id")]
    skill_name: String,
    #[serde(alias = "path")]
    resource_name: String,
    range: Option<Range>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Range {
    first_line: Option<u64>,
    last_line: Option<u64>,
    offset: Option<u64>,
    length: Option<u64>,
}

pub(super) fn schema(skill: &Value) -> Schema {
    let number = |least: u64, what: &str| json!({ "type": "integer", "minimum": least, "description": what });
    let range = json!({
        "type": "object",
        "description": "A part of the file: lines or bytes",
        "properties": {
            "first_line": number(1, "First line, counted from 1"),
            "last_line": number(1, "Last line"),
            "offset": number(0, "First byte, counted from 0"),
            "length": number(1, "Number of bytes"),
        },
        "additionalProperties": false,
    });
    let takes = json!({
        "type": "object",
        "properties": {
            "skill_name": skill,
            "resource_name": { "type": "string", "description": "Path of the file in the skill, for example `references/guide.md`; or the address of a script's output" },
            "range": range,
        },
        "required": ["skill_name", "resource_name"],
        "additionalProperties": false,
    });
    let description = "Reads a file of a skill, by the path in the skill's instructions.".to_owned();
    Schema { title: "Read a skill file", description, takes }
}

/// What a model wants to read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResourceCall {
    /// The skill's name or id.
    pub skill: String,
    /// The path in the skill, or the address of stored script output.
    pub path: String,
    /// Which part of it; `None` for all of it.
    pub part: Option<ResourcePart>,
}

/// Parses the arguments of a model.
pub fn resource_call(given: Value, names: ToolNames) -> Result<ResourceCall, SkillToolError> {
    let tool = names.read();
    let given: Arguments = arguments(tool, given)?;
    let part = given.range.as_ref().map(Range::part).transpose();
    let part = part.map_err(|reason| SkillToolError::Arguments { tool, reason: reason.to_owned() })?;
    Ok(ResourceCall { skill: given.skill_name, path: given.resource_name, part })
}

/// A part of a script's output, starting at an offset: as much as a model may see, and how to continue.
pub fn output_answer(bytes: &[u8], offset: u64, total: u64) -> SkillToolAnswer {
    let shown = excerpt::beginning(bytes);
    let mut text = String::from_utf8_lossy(shown).into_owned();
    more(&mut text, offset + shown.len() as u64, total);
    SkillToolAnswer { text, facts: json!({ "offset": offset, "total_bytes": total }) }
}

/// Tells the model how to continue.
fn more(text: &mut String, next: u64, total: u64) {
    if next < total {
        let _ = write!(text, "\n[{next} of {total} bytes; continue with range {{\"offset\": {next}}}]\n");
    }
}

impl Range {
    fn part(&self) -> Result<ResourcePart, &'static str> {
        let Self { first_line, last_line, offset, length } = *self;
        match (first_line.or(last_line), offset.or(length)) {
            (Some(_), Some(_)) => Err("`range` takes lines or bytes, not both"),
            (Some(_), None) => Ok(ResourcePart::Lines { first: first_line.unwrap_or(1), last: last_line }),
            (None, _) => Ok(ResourcePart::Bytes { offset: offset.unwrap_or(0), length }),
        }
    }
}

pub(super) fn read(
    session: &mut Session,
    given: Value,
    names: ToolNames,
) -> Result<SkillToolAnswer, SkillToolError> {
    let call = resource_call(given, names)?;
    let mut resource = session.read_part(&call.skill, &call.path, call.part)?;
    let mut text = resource.encoded();
    if let Some(next) = resource.next_offset() {
        more(&mut text, next, resource.total_bytes);
    }
    resource.bytes = Vec::new();
    Ok(SkillToolAnswer { text, facts: facts(&resource, &["content"]) })
}
