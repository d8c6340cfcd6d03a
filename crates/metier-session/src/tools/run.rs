//! `run_skill_script`: runs a script of a skill in the sandbox.

use std::time::Duration;

use metier_prompt::ToolNames;
use metier_sandbox::WorkDirectory;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    LeftOutput, Schema, SkillToolAnswer, SkillToolError, SkillToolOptions, arguments, script_answer,
};
use crate::script::ScriptCall;
use crate::session::Session;

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
    #[serde(default)]
    destructive: bool,
}

pub(super) fn schema(skill: &Value, place: &str) -> Schema {
    let takes = json!({
        "type": "object",
        "properties": {
            "skill_name": skill,
            "script_name": { "type": "string", "description": "Path of the script in the skill, for example `scripts/fill.py`" },
            "args": {
                "description": "Arguments: a list, or an object whose members become `--name value`",
                "anyOf": [
                    { "type": "array", "items": { "type": ["string", "number", "boolean"] } },
                    { "type": "object" },
                ],
            },
            "stdin": { "type": "string", "description": "Standard input of the script" },
            "timeout_ms": { "type": "integer", "minimum": 1, "description": "Time limit in milliseconds" },
            "destructive": { "type": "boolean", "description": "Set to true if what this call does cannot be undone, for example deleting; the user is then asked" },
        },
        "required": ["skill_name", "script_name"],
        "additionalProperties": false,
    });
    let description = format!(
        "Runs a script of a skill in a sandbox without network access, as described in the skill's instructions. It works in {place}. The user may be asked for approval first."
    );
    Schema { title: "Run a skill script", description, takes }
}

/// The script that a model wants to run, from its arguments, in a work directory chosen by the host.
pub fn script_call(
    given: Value,
    names: ToolNames,
    work: Option<WorkDirectory>,
) -> Result<ScriptCall, SkillToolError> {
    let tool = names.run();
    let given: Arguments = arguments(tool, given)?;
    let mut call = ScriptCall::new(given.skill_name, given.script_name, work);
    let list = given.args.map(|args| words(tool, args)).transpose()?;
    call.arguments = list.unwrap_or_default();
    call.input = given.stdin.unwrap_or_default().into_bytes();
    call.timeout = given.timeout_ms.map(Duration::from_millis);
    call.is_destructive = given.destructive;
    Ok(call)
}

pub(super) fn run(
    session: &mut Session,
    given: Value,
    options: &SkillToolOptions,
) -> Result<SkillToolAnswer, SkillToolError> {
    let call = script_call(given, options.names, options.work.clone())?;
    let report = session.run_script(call, &mut ())?;
    let ran_in = options.work.as_ref().map_or_else(
        || "an empty temporary directory, now removed".to_owned(),
        |work| work.path().display().to_string(),
    );
    Ok(script_answer(report, &ran_in, |_, _| LeftOutput::default()))
}

/// Arguments as a program gets them.
fn words(tool: &'static str, args: Value) -> Result<Vec<String>, SkillToolError> {
    let wrong = |reason: &str| SkillToolError::Arguments { tool, reason: reason.to_owned() };
    let word = |value: &Value| match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(_) | Value::Bool(_) => Ok(value.to_string()),
        _ => Err(wrong("each item of `args` must be a string, a number, true or false")),
    };
    match args {
        Value::Array(list) => list.iter().map(word).collect(),
        Value::Object(members) => options(&members, word),
        Value::Null => Ok(Vec::new()),
        // Some models send the list as a text.
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(args @ (Value::Array(_) | Value::Object(_))) => words(tool, args),
            _ => Err(wrong("`args` must be a list or an object")),
        },
        _ => Err(wrong("`args` must be a list or an object")),
    }
}

/// `--name value` for each member; `true` adds only the name, `false` and `null` add nothing, a list repeats the name
/// for each item.
fn options(
    members: &Map<String, Value>,
    word: impl Fn(&Value) -> Result<String, SkillToolError>,
) -> Result<Vec<String>, SkillToolError> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_come_as_a_list_or_as_an_object() {
        let list = |args: Value| words("run", args).map_err(|error| error.to_string());
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
