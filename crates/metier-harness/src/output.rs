//! Typed answers: the schema for the agent, the check of its answer, and the one request to repair it.

use std::any::TypeId;
use std::fmt;

use metier_prompt::Tool;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads a value into a type, or says why that fails.
type Check = Box<dyn Fn(&Value) -> Result<(), String>>;

/// The type that an answer must have.
pub(crate) struct OutputType {
    pub(crate) schema: Value,
    check: Check,
}

impl fmt::Debug for OutputType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutputType").field("schema", &self.schema).finish_non_exhaustive()
    }
}

impl OutputType {
    /// What can be read into a type. Members that the type does not have are not allowed. `None` for text, which is any
    /// answer as it is.
    pub(crate) fn of<T: DeserializeOwned + JsonSchema + 'static>() -> Option<Self> {
        if TypeId::of::<T>() == TypeId::of::<String>() {
            return None;
        }
        // Tools and answers are read from a model in the same way, so they have the same schemas.
        let schema = Tool::declared::<T>("answer", "").parameters().clone();
        let check = |value: &Value| T::deserialize(value).map(drop).map_err(|error| error.to_string());
        Some(Self { schema, check: Box::new(check) })
    }

    /// Any JSON value; the schema is only shown to the agent, and its `type` and `required` are checked.
    pub(crate) fn json(schema: Value) -> Self {
        let shape = schema.clone();
        Self { schema, check: Box::new(move |value| has_shape(&shape, value)) }
    }

    /// The prompt with the request for this type.
    pub(crate) fn ask(&self, prompt: &str) -> String {
        let schema = &self.schema;
        format!(
            "{prompt}\n\n## Answer format\n\nWhen you are done, answer with one JSON value that matches this JSON schema, and with \
             nothing else: no explanation, no Markdown.\n\n{schema}"
        )
    }

    /// The request to repair an answer.
    pub(crate) fn repair(&self, reason: &str) -> String {
        let schema = &self.schema;
        format!(
            "Your answer is not valid: {reason}. Answer again with only the JSON value that matches this JSON schema, without any \
             other text: {schema}"
        )
    }

    /// The value in an answer: the whole text, or the only code block in it.
    pub(crate) fn parse(&self, text: &str) -> Result<Value, String> {
        let value: Value = match serde_json::from_str(text.trim()) {
            Ok(value) => value,
            Err(error) => match code_block(text) {
                Some(block) => {
                    serde_json::from_str(block).map_err(|error| format!("it is not JSON: {error}"))?
                }
                None if text.trim().is_empty() => return Err("it is empty".to_owned()),
                None => return Err(format!("it is not JSON: {error}")),
            },
        };
        (self.check)(&value)?;
        Ok(value)
    }
}

/// The text in the only fenced block of an answer. Several blocks are ambiguous.
fn code_block(text: &str) -> Option<&str> {
    let mut parts = text.split("```");
    let (_, block, rest) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || rest.contains("```") {
        return None;
    }
    Some(block.split_once('\n').map_or(block, |(_, body)| body))
}

/// Whether a value has the type, the required members and, for objects, only known members, as deep as `properties`
/// and `items` go.
fn has_shape(schema: &Value, value: &Value) -> Result<(), String> {
    shape(schema, value, "the answer")
}

fn shape(schema: &Value, value: &Value, place: &str) -> Result<(), String> {
    if let Some(wanted) = schema.get("type") {
        let is_one = |name: &Value| name.as_str().is_some_and(|name| is_of_type(name, value));
        let fits = wanted.as_array().map_or_else(|| is_one(wanted), |all| all.iter().any(is_one));
        if !fits {
            return Err(format!("{place} must be {wanted}"));
        }
    }
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
        && !allowed.contains(value)
    {
        return Err(format!("{place} must be one of {}", Value::from(allowed.clone())));
    }
    match value {
        Value::Object(members) => {
            let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
            if let Some(missing) =
                required.filter_map(Value::as_str).find(|name| !members.contains_key(*name))
            {
                return Err(format!("{place} lacks `{missing}`"));
            }
            let known = schema.get("properties").and_then(Value::as_object);
            let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
            for (name, member) in members {
                match known.and_then(|known| known.get(name)) {
                    Some(schema) => shape(schema, member, &format!("`{name}` of {place}"))?,
                    None if is_closed => return Err(format!("{place} must not have `{name}`")),
                    None => {}
                }
            }
            Ok(())
        }
        Value::Array(items) => match schema.get("items") {
            Some(schema) => items.iter().try_for_each(|item| shape(schema, item, "each item")),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

fn is_of_type(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        "number" => value.is_number(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Debug, serde::Deserialize, JsonSchema)]
    struct Review {
        #[expect(dead_code, reason = "only read")]
        verdict: String,
        #[expect(dead_code, reason = "only read")]
        issues: Vec<u32>,
    }

    #[test]
    fn a_typed_answer_is_the_text_or_its_only_code_block() {
        assert!(OutputType::of::<String>().is_none());
        let review = OutputType::of::<Review>().unwrap();
        let good = r#"{"verdict":"fine","issues":[1]}"#;
        assert!(review.parse(good).is_ok());
        assert!(review.parse(&format!("Here it is:\n```json\n{good}\n```\n")).is_ok());
        let two = format!("```json\n{good}\n```\nor\n```json\n{good}\n```");
        assert!(review.parse(&two).unwrap_err().contains("not JSON"));
        assert_eq!(review.parse("  ").unwrap_err(), "it is empty");
        assert!(review.parse(r#"{"verdict":"fine"}"#).unwrap_err().contains("issues"));
        assert!(review.ask("Do it.").contains("\"verdict\""));
        assert_eq!(review.schema["required"], json!(["verdict", "issues"]));
    }

    #[test]
    fn a_json_answer_is_held_to_its_schema() {
        let schema = json!({
            "type": "object",
            "properties": {"n": {"type": "integer"}, "tags": {"type": "array", "items": {"enum": ["a", "b"]}}},
            "required": ["n"],
            "additionalProperties": false,
        });
        let output = OutputType::json(schema);
        assert!(output.parse(r#"{"n": 1, "tags": ["a"]}"#).is_ok());
        for (text, reason) in [
            ("[]", "the answer must be \"object\""),
            ("{}", "the answer lacks `n`"),
            (r#"{"n": 1.5}"#, "`n` of the answer must be \"integer\""),
            (r#"{"n": 1, "x": 2}"#, "the answer must not have `x`"),
            (r#"{"n": 1, "tags": ["c"]}"#, "each item must be one of [\"a\",\"b\"]"),
        ] {
            assert_eq!(output.parse(text).unwrap_err(), reason);
        }
    }
}
