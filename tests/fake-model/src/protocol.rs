//! Selects the API by path, and contains what all APIs share.

mod chat;
mod gemini;
mod messages;
mod responses;

use serde_json::{Map, Value, json};

use crate::http::{Answer, Event, Head};
use crate::step::{Said, Step};

/// One answer that has to be given.
pub(crate) struct Turn<'a> {
    /// The model that was asked for.
    pub(crate) model: &'a str,
    pub(crate) said: &'a Said,
    /// How many results there were.
    pub(crate) number: usize,
    /// Whether the answer is wanted piece by piece.
    pub(crate) streams: bool,
}

/// The interfaces of models.
#[derive(Clone, Copy)]
enum Protocol {
    Messages,
    Responses,
    Chat,
    Gemini { streams: bool },
}

impl Protocol {
    fn of_path(path: &str) -> Option<Self> {
        let method = path.rsplit_once("/models/").and_then(|(_, rest)| rest.rsplit_once(':'));
        match method.map(|(_, method)| method) {
            Some("generateContent") => return Some(Self::Gemini { streams: false }),
            Some("streamGenerateContent") => return Some(Self::Gemini { streams: true }),
            _ => {}
        }
        let all = [
            ("/messages", Self::Messages),
            ("/responses", Self::Responses),
            ("/chat/completions", Self::Chat),
        ];
        all.into_iter().find(|(end, _)| path.ends_with(end)).map(|(_, protocol)| protocol)
    }

    /// How many results of tools a request has.
    fn results(self, request: &Map<String, Value>) -> usize {
        let has_type = |part: &Map<String, Value>, wanted: &[&str]| {
            part.get("type").and_then(Value::as_str).is_some_and(|kind| wanted.contains(&kind))
        };
        let of = |name: &str, is_one: &dyn Fn(&Map<String, Value>) -> bool| {
            request.get(name).map_or(0, |value| count(value, is_one))
        };
        match self {
            Self::Messages => of("messages", &|part| has_type(part, &["tool_result"])),
            Self::Responses => {
                of("input", &|part| has_type(part, &["function_call_output", "custom_tool_call_output"]))
            }
            Self::Chat => of("messages", &|part| part.get("role").is_some_and(|role| role == "tool")),
            Self::Gemini { .. } => of("contents", &|part| part.contains_key("functionResponse")),
        }
    }
}

/// The answer to a request, and how many results it had where it went to a model with tools.
pub(crate) fn answer(head: &Head, body: &[u8], steps: &[Step], has_asides: bool) -> (Option<usize>, Answer) {
    let path = head.path.split('?').next().unwrap_or_default();
    let none = |answer: Answer| (None, answer);
    if path.ends_with("/models") && matches!(head.method.as_str(), "GET" | "HEAD") {
        return none(Answer::Json(200, models()));
    }
    let counted = match path {
        path if path.ends_with("/messages/count_tokens") => Some(json!({ "input_tokens": 1000 })),
        path if path.ends_with(":countTokens") => Some(json!({ "totalTokens": 1000 })),
        _ => None,
    };
    let protocol = Protocol::of_path(path);
    if counted.is_none() && protocol.is_none() {
        return none(Answer::error(404, "nothing is here"));
    }
    if head.method != "POST" {
        return none(Answer::error(405, "send this with POST"));
    }
    let Ok(Value::Object(request)) = serde_json::from_slice(body) else {
        return none(Answer::error(400, "the body is not a JSON object"));
    };
    match (counted, protocol) {
        (Some(counted), _) => none(Answer::Json(200, counted)),
        (None, Some(protocol)) => ask(protocol, path, &request, (steps, has_asides)),
        (None, None) => none(Answer::error(404, "nothing is here")),
    }
}

/// What the model says.
fn ask(
    protocol: Protocol,
    path: &str,
    request: &Map<String, Value>,
    (steps, has_asides): (&[Step], bool),
) -> (Option<usize>, Answer) {
    let number = protocol.results(request);
    let has_tools = request.get("tools").and_then(Value::as_array).is_some_and(|tools| !tools.is_empty());
    let said = if has_tools || !has_asides { Said::after(steps, number, request) } else { Said::aside() };
    let asked_to = request.get("stream").and_then(Value::as_bool).unwrap_or_default();
    let in_path = path.rsplit_once("/models/").and_then(|(_, rest)| rest.split(':').next());
    let model = request.get("model").and_then(Value::as_str).or(in_path).unwrap_or("fake-model");
    let turn = |streams| Turn { model, said: &said, number, streams };
    let answer = match protocol {
        Protocol::Messages => messages::answer(&turn(asked_to)),
        Protocol::Responses => responses::answer(&turn(asked_to)),
        Protocol::Chat => chat::answer(&turn(asked_to)),
        Protocol::Gemini { streams } => gemini::answer(&turn(streams)),
    };
    (has_tools.then_some(number), answer)
}

/// The list of models, in a form that all agents accept.
fn models() -> Value {
    json!({
        "object": "list",
        "data": [{
            "id": "fake-model",
            "object": "model",
            "type": "model",
            "display_name": "Fake model",
            "created": 1,
            "created_at": "2026-01-01T00:00:00Z",
            "owned_by": "nobody",
        }],
        "models": [],
        "has_more": false,
    })
}

/// How many objects there are in a value, however deep, that are what is looked for.
fn count(value: &Value, is_one: &dyn Fn(&Map<String, Value>) -> bool) -> usize {
    match value {
        Value::Object(object) => {
            usize::from(is_one(object)) + object.values().map(|value| count(value, is_one)).sum::<usize>()
        }
        Value::Array(values) => values.iter().map(|value| count(value, is_one)).sum(),
        _ => 0,
    }
}

/// Events that are named for their type.
fn named(events: Vec<Value>) -> Answer {
    let event = |value: Value| Event {
        name: value.get("type").and_then(Value::as_str).map(str::to_owned),
        data: value.to_string(),
    };
    Answer::Events(events.into_iter().map(event).collect())
}

/// Events that are only data.
fn unnamed(events: &[Value]) -> Vec<Event> {
    events.iter().map(|value| Event { name: None, data: value.to_string() }).collect()
}
