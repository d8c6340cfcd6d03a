//! `run_skill_script`: a script of a skill, in the sandbox.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use metier_sandbox::{Captured, Ending, Outcome};
use metier_session::{ScriptCall, ScriptReport};
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::arguments;
use crate::answer::{Answer, Refusal};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    #[serde(alias = "name", alias = "skill_id")]
    skill_name: String,
    #[serde(alias = "script")]
    script_name: String,
    args: Option<Value>,
    stdin: Option<String>,
    timeout_ms: Option<u64>,
}

/// A script that is to be run.
pub(crate) struct Run {
    pub(crate) call: ScriptCall,
    /// The directory that it may change, where it has one for itself: gone with this.
    pub(crate) temporary: Option<tempfile::TempDir>,
}

pub(super) fn schema(skill: &Value) -> (&'static str, &'static str, Value, Value) {
    let takes = json!({
        "type": "object",
        "properties": {
            "skill_name": skill,
            "script_name": { "type": "string", "description": "The script's path in the skill, as `scripts/fill.py`" },
            "args": {
                "description": "Its arguments: a list, or an object whose members become `--name value`",
                "anyOf": [
                    { "type": "array", "items": { "type": ["string", "number", "boolean"] } },
                    { "type": "object" },
                ],
            },
            "stdin": { "type": "string", "description": "What it reads" },
            "timeout_ms": { "type": "integer", "minimum": 1, "description": "How long it may take at most" },
        },
        "required": ["skill_name", "script_name"],
        "additionalProperties": false,
    });
    let printed = json!({
        "type": "object",
        "properties": { "text": { "type": "string" }, "truncated": { "type": "boolean" } },
        "required": ["text", "truncated"],
    });
    let gives = json!({
        "type": "object",
        "properties": {
            "skill_id": { "type": "string" }, "script": { "type": "string" }, "script_digest": { "type": "string" },
            "exit_code": { "type": ["integer", "null"] }, "ended_by": { "type": "string" }, "limit": { "type": ["string", "null"] },
            "stdout": printed, "stderr": printed, "duration_ms": { "type": "integer" }, "protections": { "type": "array", "items": { "type": "object" } },
        },
        "required": ["skill_id", "script", "script_digest", "exit_code", "ended_by", "limit", "stdout", "stderr", "duration_ms", "protections"],
    });
    let description = "Runs a script that belongs to a skill, as its instructions say, contained and with no network. A person may be asked first.";
    ("Run a skill's script", description, takes, gives)
}

/// What is to be run, in the directory that scripts may change.
pub(crate) fn prepare(
    tool: &'static str,
    given: Option<JsonObject>,
    work: Option<&Path>,
) -> Result<Run, Refusal> {
    let given: Arguments = arguments(tool, given)?;
    let temporary = match work {
        Some(_) => None,
        None => {
            let made = tempfile::Builder::new().prefix("metier-work-").tempdir();
            Some(made.map_err(|error| {
                Refusal::Broken(format!("no directory to work in could be made: {error}"))
            })?)
        }
    };
    let work = work.or_else(|| temporary.as_ref().map(tempfile::TempDir::path)).unwrap_or(Path::new("/"));
    let mut call = ScriptCall::new(given.skill_name, given.script_name, work);
    let list = given.args.map(|args| words(tool, args)).transpose()?;
    call.arguments = list.unwrap_or_default();
    call.input = given.stdin.unwrap_or_default().into_bytes();
    call.timeout = given.timeout_ms.map(Duration::from_millis);
    Ok(Run { call, temporary })
}

/// Arguments as a program gets them.
fn words(tool: &'static str, args: Value) -> Result<Vec<String>, Refusal> {
    let wrong = |reason: &str| Refusal::Arguments { tool, reason: reason.to_owned() };
    let word = |value: &Value| match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(_) | Value::Bool(_) => Ok(value.to_string()),
        _ => Err(wrong("each of `args` must be a text, a number, true or false")),
    };
    match args {
        Value::Array(list) => list.iter().map(word).collect(),
        Value::Object(members) => options(&members, word),
        Value::Null => Ok(Vec::new()),
        // Some models put the list into a text.
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(args @ (Value::Array(_) | Value::Object(_))) => words(tool, args),
            _ => Err(wrong("`args` must be a list or an object")),
        },
        _ => Err(wrong("`args` must be a list or an object")),
    }
}

/// `--name value` for each member; `true` is the name alone, `false` and `null` nothing, a list the name for each of it.
fn options(
    members: &Map<String, Value>,
    word: impl Fn(&Value) -> Result<String, Refusal>,
) -> Result<Vec<String>, Refusal> {
    let mut words = Vec::new();
    for (name, value) in members {
        let name = if name.starts_with('-') { name.clone() } else { format!("--{name}") };
        match value {
            Value::Bool(false) | Value::Null => {}
            Value::Bool(true) => words.push(name),
            Value::Array(list) => {
                for one in list {
                    words.extend([name.clone(), word(one)?]);
                }
            }
            one => words.extend([name, word(one)?]),
        }
    }
    Ok(words)
}

/// What came of it.
pub(crate) fn report(report: &ScriptReport) -> Answer {
    let outcome = &report.outcome;
    let (ended_by, exit_code, limit) = match outcome.ending {
        Ending::Exited(code) => ("exit", Some(code), None),
        Ending::Killed(_) => ("signal", None, None),
        Ending::Limit(limit) => ("limit", None, Some(limit.as_str())),
        Ending::Cancelled => ("cancelled", None, None),
        _ => ("unknown", None, None),
    };
    let data = json!({
        "skill_id": report.skill_id,
        "script": report.script,
        "script_digest": report.script_digest,
        "exit_code": exit_code,
        "ended_by": ended_by,
        "limit": limit,
        "stdout": printed(&outcome.output),
        "stderr": printed(&outcome.errors),
        "duration_ms": u64::try_from(outcome.usage.wall.as_millis()).unwrap_or(u64::MAX),
        "protections": outcome.protections,
    });
    Answer { text: text(outcome), data }
}

fn printed(captured: &Captured) -> Value {
    json!({ "text": String::from_utf8_lossy(&captured.bytes), "truncated": captured.cut })
}

fn text(outcome: &Outcome) -> String {
    let mut text = String::from_utf8_lossy(&outcome.output.bytes).into_owned();
    if outcome.output.cut {
        text.push_str("\n[more was printed, and cut off]\n");
    }
    if !outcome.errors.bytes.is_empty() {
        let _ = write!(text, "\n[stderr]\n{}", String::from_utf8_lossy(&outcome.errors.bytes));
    }
    let how = match outcome.ending {
        Ending::Exited(0) => {
            return if text.is_empty() { "[it printed nothing, and ended with 0]".to_owned() } else { text };
        }
        Ending::Exited(code) => format!("it ended with {code}"),
        Ending::Killed(signal) => format!("signal {signal} ended it"),
        Ending::Limit(limit) if limit.as_str() == "wall" => {
            let seconds = outcome.usage.wall.as_secs_f64();
            format!("it was ended after {seconds:.1} seconds; `timeout_ms` says how long it may take")
        }
        Ending::Limit(limit) => format!("a limit ended it: {}", limit.as_str()),
        _ => "it was cancelled".to_owned(),
    };
    format!("{text}\n[{how}]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_come_as_a_list_or_as_an_object() {
        let list = |args: Value| words("run", args).map_err(|refusal| refusal.message());
        assert_eq!(list(json!(["a b", 2, true])).unwrap(), ["a b", "2", "true"]);
        assert_eq!(
            list(json!({ "in": "x", "-v": true, "quiet": false, "n": null, "tag": ["a", "b"] })).unwrap(),
            ["--in", "x", "-v", "--tag", "a", "--tag", "b"]
        );
        assert_eq!(list(json!("[\"a\"]")).unwrap(), ["a"]);
        assert_eq!(list(Value::Null).unwrap(), [] as [String; 0]);
        for wrong in [json!("a b"), json!(3), json!([["a"]]), json!({ "a": { "b": 1 } })] {
            assert!(list(wrong.clone()).unwrap_err().contains("`args`"), "{wrong}");
        }
    }
}
