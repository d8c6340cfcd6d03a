//! JSON schemas for structured output, which accepts only a part of JSON schema.

use serde_json::{Map, Value};

/// Members that say how a value must look and that structured output does not accept. The answer is checked against the
/// whole schema later.
const LEFT_OUT: &[&str] = &["$schema", "title", "format", "default", "examples", "minimum", "maximum"];
/// Members that structured output accepts.
const ACCEPTED: &[&str] = &[
    "type",
    "description",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "anyOf",
    "$ref",
    "$defs",
];
/// How deep schemas can be nested.
const DEPTH: usize = 10;

/// The schema for structured output; nothing if structured output does not accept it. Its objects have all their members
/// and no others.
pub(super) fn strict(schema: &Value) -> Option<Value> {
    let is_object = schema.get("type").and_then(Value::as_str) == Some("object");
    if is_object { checked(schema, DEPTH) } else { None }
}

fn checked(schema: &Value, depth: usize) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    let members = schema.as_object()?;
    let mut strict = Map::new();
    for (name, member) in members.iter().filter(|(name, _)| !LEFT_OUT.contains(&name.as_str())) {
        if !ACCEPTED.contains(&name.as_str()) {
            return None;
        }
        let member = match name.as_str() {
            "properties" | "$defs" => {
                let each = member.as_object()?.iter();
                Value::Object(
                    each.map(|(name, each)| Some((name.clone(), checked(each, depth)?)))
                        .collect::<Option<_>>()?,
                )
            }
            "anyOf" => Value::Array(
                member.as_array()?.iter().map(|each| checked(each, depth)).collect::<Option<_>>()?,
            ),
            "items" => checked(member, depth)?,
            _ => member.clone(),
        };
        strict.insert(name.clone(), member);
    }
    let is_object = strict.get("type").is_some_and(|kind| names(kind).any(|name| name == "object"));
    (!is_object || is_closed(&strict)).then_some(Value::Object(strict))
}

/// Whether an object must have each of its members, and no others.
fn is_closed(schema: &Map<String, Value>) -> bool {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return false };
    let required: Vec<&str> = schema.get("required").map(|all| names(all).collect()).unwrap_or_default();
    schema.get("additionalProperties") == Some(&Value::Bool(false))
        && properties.keys().all(|name| required.contains(&name.as_str()))
}

/// One text, or the texts of a list.
fn names(value: &Value) -> impl Iterator<Item = &str> {
    value.as_str().into_iter().chain(value.as_array().into_iter().flatten().filter_map(Value::as_str))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_closed_objects_are_structured_output() {
        let closed = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "verdict": { "type": "string", "description": "In a word." },
                "issues": { "type": "integer", "format": "uint32", "minimum": 0 },
                "places": { "type": "array", "items": { "$ref": "#/$defs/Place" } },
            },
            "required": ["verdict", "issues", "places"],
            "additionalProperties": false,
            "$defs": { "Place": {
                "type": "object", "properties": { "line": { "type": ["integer", "null"] } }, "required": ["line"],
                "additionalProperties": false,
            } },
        });
        let strict_one = strict(&closed).unwrap();
        assert_eq!(strict_one["properties"]["issues"], json!({ "type": "integer" }));
        assert_eq!(strict_one["properties"]["verdict"], closed["properties"]["verdict"]);
        assert_eq!(strict_one.get("$schema"), None);
        for change in [
            ("/required", json!(["verdict"])),
            ("/additionalProperties", json!(true)),
            ("/$defs/Place/required", json!([])),
            ("/$defs/Place/additionalProperties", json!({})),
            ("/properties/verdict", json!({ "type": "string", "pattern": "^a" })),
            ("/properties/verdict", json!({ "oneOf": [{ "type": "string" }] })),
            ("/properties/verdict", json!(true)),
            ("/type", json!("array")),
        ] {
            let mut open = closed.clone();
            *open.pointer_mut(change.0).unwrap() = change.1.clone();
            assert_eq!(strict(&open), None, "{change:?}");
        }
        let deep =
            (0..20).fold(json!({ "type": "string" }), |inner, _| json!({ "type": "array", "items": inner }));
        let deep = json!({ "type": "object", "properties": { "a": deep }, "required": ["a"], "additionalProperties": false });
        assert_eq!(strict(&deep), None);
    }
}
