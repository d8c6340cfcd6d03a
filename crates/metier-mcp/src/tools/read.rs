//! `read_skill_resource`: a file of a skill, or a part of it.

use std::fmt::Write as _;

use metier_session::{Part, Session};
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

pub(super) fn schema(skill: &Value) -> (&'static str, &'static str, Value, Value) {
    let number = |least: u64, what: &str| json!({ "type": "integer", "minimum": least, "description": what });
    let range = json!({
        "type": "object",
        "description": "A part of it: lines, or bytes",
        "properties": {
            "first_line": number(1, "The first line, from 1"),
            "last_line": number(1, "The last line"),
            "offset": number(0, "The first byte, from 0"),
            "length": number(1, "How many bytes"),
        },
        "additionalProperties": false,
    });
    let takes = json!({
        "type": "object",
        "properties": {
            "skill_name": skill,
            "resource_name": { "type": "string", "description": "The file's path in the skill, as `references/guide.md`" },
            "range": range,
        },
        "required": ["skill_name", "resource_name"],
        "additionalProperties": false,
    });
    let gives = json!({
        "type": "object",
        "properties": {
            "skill_id": { "type": "string" }, "path": { "type": "string" }, "mime_type": { "type": "string" },
            "encoding": { "type": "string", "enum": ["text", "base64"] }, "content": { "type": "string" },
            "digest": { "type": "string" }, "offset": { "type": "integer" }, "total_bytes": { "type": "integer" },
            "next_offset": { "type": "integer" },
        },
        "required": ["skill_id", "path", "mime_type", "encoding", "content", "digest", "offset", "total_bytes"],
    });
    (
        "Read a skill's file",
        "Reads a file that belongs to a skill, as its instructions name it.",
        takes,
        gives,
    )
}

impl Range {
    fn part(&self) -> Result<Part, &'static str> {
        let Self { first_line, last_line, offset, length } = *self;
        match (first_line.or(last_line), offset.or(length)) {
            (Some(_), Some(_)) => Err("`range` is about lines or about bytes, not both"),
            (Some(_), None) => Ok(Part::Lines { first: first_line.unwrap_or(1), last: last_line }),
            (None, _) => Ok(Part::Bytes { offset: offset.unwrap_or(0), length }),
        }
    }
}

pub(crate) fn read(
    tool: &'static str,
    given: Option<JsonObject>,
    session: &mut Session,
) -> Result<Answer, Refusal> {
    let given: Arguments = arguments(tool, given)?;
    let part = given.range.as_ref().map(Range::part).transpose();
    let part = part.map_err(|reason| Refusal::Arguments { tool, reason: reason.to_owned() })?;
    let resource = session.read_resource(&given.skill_name, &given.resource_name, part)?;
    let content = resource.encoded();
    let mut text = content.clone();
    let mut data = json!({
        "skill_id": resource.skill_id,
        "path": resource.path,
        "mime_type": resource.mime_type,
        "encoding": if resource.is_text { "text" } else { "base64" },
        "content": content,
        "digest": resource.digest,
        "offset": resource.range.offset,
        "total_bytes": resource.total_bytes,
    });
    if let Some(next) = resource.next_offset() {
        data["next_offset"] = json!(next);
        let _ = write!(
            text,
            "\n[{next} of {} bytes; go on with range {{\"offset\": {next}}}]\n",
            resource.total_bytes
        );
    }
    Ok(Answer { text, data })
}
