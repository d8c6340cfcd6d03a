//! `read_skill_resource`: a file of a skill, or a part of it.

use std::fmt::Write as _;

use metier_session::{ResourcePart, Session};
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Schema, arguments};
use crate::answer::{Answer, Refusal};
use crate::output::{self, Client, Outputs, SHOWN};

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
            "resource_name": { "type": "string", "description": "Path of the file in the skill, such as `references/guide.md`; or the address of a script's output" },
            "range": range,
        },
        "required": ["skill_name", "resource_name"],
        "additionalProperties": false,
    });
    let description =
        "Reads a file that belongs to a skill, by the path that the skill's instructions give.".to_owned();
    Schema { title: "Read a skill's file", description, takes }
}

/// The address of a script's output that is to be read, if it is one.
pub(crate) fn output_address(given: Option<&JsonObject>) -> Option<&str> {
    let name = given?.get("resource_name").or_else(|| given?.get("path"))?.as_str()?;
    output::is_address(name).then_some(name)
}

/// Reads a part of what a script printed.
pub(crate) fn read_output(
    tool: &'static str,
    given: Option<JsonObject>,
    outputs: &Outputs,
    client: Client,
) -> Result<Answer, Refusal> {
    let given: Arguments = arguments(tool, given)?;
    let wrong = |reason: &str| Refusal::Arguments { tool, reason: reason.to_owned() };
    let (offset, length) = match given.range.as_ref().map(Range::part).transpose().map_err(wrong)? {
        None => (0, SHOWN as u64),
        Some(ResourcePart::Bytes { offset, length }) => {
            (offset, length.unwrap_or(SHOWN as u64).min(SHOWN as u64))
        }
        Some(_) => return Err(wrong("output is read by bytes; use `offset` and `length` in `range`")),
    };
    let piece = outputs.read(client, &given.resource_name, offset, length);
    let piece = piece.map_err(|error| Refusal::Broken(format!("the output cannot be read: {error}")))?;
    let piece = piece.ok_or_else(|| wrong("this output is no longer kept; run the script again"))?;
    let bytes = output::beginning(&piece.bytes, SHOWN);
    let next = piece.offset + bytes.len() as u64;
    let mut text = String::from_utf8_lossy(bytes).into_owned();
    more(&mut text, next, piece.total);
    Ok(Answer { text, facts: json!({ "offset": piece.offset, "total_bytes": piece.total }) })
}

/// Says how to read on.
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

pub(crate) fn read(
    tool: &'static str,
    given: Option<JsonObject>,
    session: &mut Session,
) -> Result<Answer, Refusal> {
    let given: Arguments = arguments(tool, given)?;
    let part = given.range.as_ref().map(Range::part).transpose();
    let part = part.map_err(|reason| Refusal::Arguments { tool, reason: reason.to_owned() })?;
    let resource = session.read_part(&given.skill_name, &given.resource_name, part)?;
    let mut text = resource.encoded();
    if let Some(next) = resource.next_offset() {
        more(&mut text, next, resource.total_bytes);
    }
    let facts = json!({
        "skill_id": resource.skill_id,
        "mime_type": resource.mime_type,
        "encoding": if resource.is_text { "text" } else { "base64" },
        "digest": resource.digest,
        "offset": resource.range.offset,
        "total_bytes": resource.total_bytes,
        "next_offset": resource.next_offset(),
    });
    Ok(Answer { text, facts })
}
