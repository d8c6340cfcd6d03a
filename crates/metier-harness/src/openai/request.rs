//! Requests to a model server: the conversation so far, the tools, and the format of the answer.

use std::collections::BTreeSet;

use metier_session::SkillTool;
use serde_json::{Map, Value, json};

use super::decoder::OpenAiApi;
use crate::harness::Opening;

/// A member of a request that not every server knows. Without it, the answer is the same most of the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Optional {
    /// The schema of the answer.
    Format,
    /// That the usage is reported in the stream.
    Usage,
    /// That the server does not keep the answer.
    Store,
}

impl Optional {
    const ALL: [Self; 3] = [Self::Format, Self::Usage, Self::Store];

    /// What an error says that is about it.
    const fn words(self) -> &'static [&'static str] {
        match self {
            Self::Format => &["response_format", "json_schema", "text.format"],
            Self::Usage => &["stream_options", "include_usage"],
            Self::Store => &["`store`", "'store'", "\"store\"", "store:"],
        }
    }

    /// What it is, for a person.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Format => "answers with a JSON schema; the schema is only in the prompt",
            Self::Usage => "usage in streams",
            Self::Store => "the member `store`",
        }
    }
}

/// What every request of a conversation repeats, and the conversation so far.
#[derive(Debug)]
pub(super) struct RequestBody {
    api: OpenAiApi,
    fixed: Map<String, Value>,
    format: Option<Value>,
    conversation: Vec<Value>,
    left_out: BTreeSet<Optional>,
}

impl RequestBody {
    /// A conversation without prompts. `parameters` are further members; those that are set here win.
    pub(super) fn new(
        api: OpenAiApi,
        model: &str,
        parameters: &Map<String, Value>,
        opening: &Opening<'_>,
    ) -> Self {
        let mut fixed = parameters.clone();
        fixed.insert("model".to_owned(), model.into());
        fixed.insert("stream".to_owned(), true.into());
        let own = opening.prompt.tools.iter().map(|tool| {
            let tool = &tool.tool;
            function(api, tool.name(), tool.description(), tool.parameters())
        });
        let tools: Vec<Value> =
            own.chain(opening.skill_tools.iter().map(|tool| skill_tool(api, tool))).collect();
        if !tools.is_empty() {
            fixed.insert("tools".to_owned(), tools.into());
        }
        let mut conversation = Vec::new();
        if let Some(instructions) = opening.instructions {
            match api {
                OpenAiApi::Responses => drop(fixed.insert("instructions".to_owned(), instructions.into())),
                OpenAiApi::Chat => conversation.push(json!({ "role": "system", "content": instructions })),
            }
        }
        let format = opening.schema.and_then(|schema| format(api, schema));
        Self { api, fixed, format, conversation, left_out: BTreeSet::new() }
    }

    /// Adds a prompt.
    pub(super) fn prompt(&mut self, text: &str) {
        self.conversation.push(json!({ "role": "user", "content": text }));
    }

    /// Adds what the model said.
    pub(super) fn reply(&mut self, items: Vec<Value>) {
        self.conversation.extend(items);
    }

    /// Adds the result of a tool.
    pub(super) fn tool_result(&mut self, call: &str, text: &str) {
        self.conversation.push(match self.api {
            OpenAiApi::Responses => {
                json!({ "type": "function_call_output", "call_id": call, "output": text })
            }
            OpenAiApi::Chat => json!({ "role": "tool", "tool_call_id": call, "content": text }),
        });
    }

    /// Leaves out the member that an error is about. `None` if it is about something else, or was left out before.
    pub(super) fn leave_out(&mut self, error: &str) -> Option<Optional> {
        let is_meant = |member: &Optional| member.words().iter().any(|word| error.contains(word));
        let member = Optional::ALL.into_iter().filter(|member| self.has(*member)).find(is_meant)?;
        self.left_out.insert(member);
        Some(member)
    }

    fn has(&self, member: Optional) -> bool {
        let is_possible = match member {
            Optional::Format => self.format.is_some(),
            Optional::Usage => self.api == OpenAiApi::Chat,
            Optional::Store => self.api == OpenAiApi::Responses,
        };
        is_possible && !self.left_out.contains(&member)
    }

    /// The next request.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut body = self.fixed.clone();
        let (conversation, format) = match self.api {
            OpenAiApi::Responses => ("input", "text"),
            OpenAiApi::Chat => ("messages", "response_format"),
        };
        body.insert(conversation.to_owned(), self.conversation.clone().into());
        if self.has(Optional::Store) {
            body.entry("store").or_insert(false.into());
        }
        if self.has(Optional::Usage) {
            body.insert("stream_options".to_owned(), json!({ "include_usage": true }));
        }
        if let Some(value) = self.format.as_ref().filter(|_| self.has(Optional::Format)) {
            match (self.api, body.get_mut(format).and_then(Value::as_object_mut)) {
                // Parameters can have other members of it, such as how long the answer is.
                (OpenAiApi::Responses, Some(text)) => drop(text.insert("format".to_owned(), value.clone())),
                (OpenAiApi::Responses, None) => {
                    body.insert(format.to_owned(), json!({ "format": value }));
                }
                (OpenAiApi::Chat, _) => drop(body.insert(format.to_owned(), value.clone())),
            }
        }
        // Made of plain data, which is always JSON.
        serde_json::to_vec(&body).unwrap_or_default()
    }
}

fn skill_tool(api: OpenAiApi, tool: &SkillTool) -> Value {
    function(api, &tool.name, &tool.description, &Value::Object(tool.input_schema.clone()))
}

fn function(api: OpenAiApi, name: &str, description: &str, parameters: &Value) -> Value {
    match api {
        OpenAiApi::Responses => json!({
            "type": "function",
            "name": name,
            "description": description,
            "parameters": parameters,
            "strict": false,
        }),
        OpenAiApi::Chat => {
            let function = json!({ "name": name, "description": description, "parameters": parameters });
            json!({ "type": "function", "function": function })
        }
    }
}

/// The format of the answer. The APIs take objects only; other schemas are in the prompt alone.
fn format(api: OpenAiApi, schema: &Value) -> Option<Value> {
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return None;
    }
    let strict = is_strict(schema);
    Some(match api {
        OpenAiApi::Responses => {
            json!({ "type": "json_schema", "name": "answer", "schema": schema, "strict": strict })
        }
        OpenAiApi::Chat => {
            let answer = json!({ "name": "answer", "schema": schema, "strict": strict });
            json!({ "type": "json_schema", "json_schema": answer })
        }
    })
}

/// Whether a schema is one that the servers can hold a model to: in each object, all members are required and no others allowed.
fn is_strict(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => {
            let properties = members.get("properties").and_then(Value::as_object);
            let required =
                members.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            let is_object = properties.is_some() || members.get("type").is_some_and(|kind| *kind == "object");
            let is_closed = members.get("additionalProperties") == Some(&Value::Bool(false));
            let all_are_required =
                properties.into_iter().flatten().all(|(name, _)| required.iter().any(|one| one == name));
            let is_plain = !["allOf", "oneOf", "not", "if", "patternProperties"]
                .iter()
                .any(|name| members.contains_key(*name));
            let below = |(name, value): (&String, &Value)| match name.as_str() {
                // The names of members are not keywords.
                "properties" | "$defs" | "definitions" => {
                    value.as_object().is_some_and(|members| members.values().all(is_strict))
                }
                "items" | "anyOf" => is_strict(value),
                _ => true,
            };
            is_plain && (!is_object || is_closed && all_are_required) && members.iter().all(below)
        }
        Value::Array(all) => all.iter().all(is_strict),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_schemas_with_nothing_left_open_are_strict() {
        let closed = json!({
            "type": "object",
            "properties": { "not": { "type": "string" }, "all": { "type": "array", "items": { "$ref": "#/$defs/One" } } },
            "required": ["not", "all"],
            "additionalProperties": false,
            "$defs": { "One": { "anyOf": [{ "type": "null" }, { "type": "integer" }] } },
        });
        assert!(is_strict(&closed));
        for (place, value) in [
            ("/required", json!(["not"])),
            ("/additionalProperties", json!(true)),
            ("/$defs/One", json!({ "type": "object" })),
            ("/properties/not", json!({ "oneOf": [] })),
        ] {
            let mut open = closed.clone();
            *open.pointer_mut(place).unwrap() = value;
            assert!(!is_strict(&open), "{place}");
        }
        assert!(format(OpenAiApi::Chat, &json!({ "type": "array" })).is_none());
    }
}
