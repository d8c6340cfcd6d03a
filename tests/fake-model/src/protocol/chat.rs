//! `OpenAI` Chat Completions.

use serde_json::{Value, json};

use super::{Turn, unnamed};
use crate::http::{Answer, Event};
use crate::step::Said;

pub(super) fn answer(turn: &Turn<'_>) -> Answer {
    let number = turn.number;
    let (message, reason) = match turn.said {
        Said::Call { tool, arguments } => {
            let call = json!({
                "index": 0,
                "id": format!("call_{number:04}"),
                "type": "function",
                "function": { "name": tool, "arguments": arguments.to_string() },
            });
            (json!({ "role": "assistant", "content": null, "tool_calls": [call] }), "tool_calls")
        }
        Said::Text(text) => (json!({ "role": "assistant", "content": text }), "stop"),
    };
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 });
    let completion = |object: &str, choices: Value| {
        json!({
            "id": format!("chatcmpl-{number:04}"),
            "object": object,
            "created": 1_700_000_000,
            "model": turn.model,
            "choices": choices,
        })
    };
    if !turn.streams {
        let choice = json!([{ "index": 0, "message": message, "finish_reason": reason }]);
        let mut all = completion("chat.completion", choice);
        all["usage"] = usage;
        return Answer::Json(200, all);
    }
    let chunk = |choices: Value| completion("chat.completion.chunk", choices);
    let mut last = chunk(json!([]));
    last["usage"] = usage;
    let mut events = unnamed(&[
        chunk(json!([{ "index": 0, "delta": message, "finish_reason": null }])),
        chunk(json!([{ "index": 0, "delta": {}, "finish_reason": reason }])),
        last,
    ]);
    events.push(Event { name: None, data: "[DONE]".to_owned() });
    Answer::Events(events)
}
