//! `OpenAI` Responses.

use serde_json::{Value, json};

use super::{Turn, named};
use crate::http::Answer;
use crate::step::Said;

pub(super) fn answer(turn: &Turn<'_>) -> Answer {
    let (item, pieces) = match turn.said {
        Said::Call { tool, arguments } => call(turn.number, tool, &arguments.to_string()),
        Said::Text(text) => message(turn.number, text),
    };
    let begun = json!({
        "id": format!("resp_{:04}", turn.number),
        "object": "response",
        "created_at": 1_700_000_000,
        "model": turn.model,
        "status": "in_progress",
        "output": [],
        "parallel_tool_calls": false,
        "tool_choice": "auto",
        "tools": [],
        "error": null,
        "incomplete_details": null,
        "instructions": null,
        "metadata": {},
        "usage": null,
    });
    let mut done = begun.clone();
    done["status"] = json!("completed");
    done["output"] = json!([item]);
    done["usage"] = json!({
        "input_tokens": 10,
        "input_tokens_details": { "cached_tokens": 0 },
        "output_tokens": 5,
        "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": 15,
    });
    if !turn.streams {
        return Answer::Json(200, done);
    }
    let mut events = vec![json!({ "type": "response.created", "response": begun })];
    events.extend(pieces);
    events.push(json!({ "type": "response.output_item.done", "output_index": 0, "item": item }));
    events.push(json!({ "type": "response.completed", "response": done }));
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = json!(number);
    }
    named(events)
}

/// A call as it is at last, and the events that bring it.
fn call(number: usize, tool: &str, arguments: &str) -> (Value, Vec<Value>) {
    let id = format!("fc_{number:04}");
    let item = |arguments: &str, status: &str| {
        json!({
            "type": "function_call",
            "id": id,
            "call_id": format!("call_{number:04}"),
            "name": tool,
            "arguments": arguments,
            "status": status,
        })
    };
    let piece = |kind: &str, name: &str| {
        let mut event = json!({ "type": kind, "item_id": id, "output_index": 0 });
        event[name] = json!(arguments);
        event
    };
    let events = vec![
        json!({ "type": "response.output_item.added", "output_index": 0, "item": item("", "in_progress") }),
        piece("response.function_call_arguments.delta", "delta"),
        piece("response.function_call_arguments.done", "arguments"),
    ];
    (item(arguments, "completed"), events)
}

/// The same for something that is said.
fn message(number: usize, text: &str) -> (Value, Vec<Value>) {
    let id = format!("msg_{number:04}");
    let part = |text: &str| json!({ "type": "output_text", "text": text, "annotations": [] });
    let item = |content: Value, status: &str| json!({ "type": "message", "id": id, "role": "assistant", "status": status, "content": content });
    let piece = |kind: &str, name: &str, value: Value| {
        let mut event = json!({ "type": kind, "item_id": id, "output_index": 0, "content_index": 0 });
        event[name] = value;
        event
    };
    let begun = item(json!([]), "in_progress");
    let events = vec![
        json!({ "type": "response.output_item.added", "output_index": 0, "item": begun }),
        piece("response.content_part.added", "part", part("")),
        piece("response.output_text.delta", "delta", json!(text)),
        piece("response.output_text.done", "text", json!(text)),
        piece("response.content_part.done", "part", part(text)),
    ];
    (item(json!([part(text)]), "completed"), events)
}
