//! Anthropic Messages.

use serde_json::{Value, json};

use super::{Turn, named};
use crate::http::Answer;
use crate::step::Said;

pub(super) fn answer(turn: &Turn<'_>) -> Answer {
    let number = turn.number;
    let usage = json!({
        "input_tokens": 10,
        "output_tokens": 5,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
    });
    // A block as it is at last, as it begins, and what makes the one into the other.
    let (block, begin, delta, stop) = match turn.said {
        Said::Call { tool, arguments } => {
            let block = |input: &Value| json!({ "type": "tool_use", "id": format!("toolu_{number:04}"), "name": tool, "input": input });
            let delta = json!({ "type": "input_json_delta", "partial_json": arguments.to_string() });
            (block(arguments), block(&json!({})), delta, "tool_use")
        }
        Said::Text(text) => {
            let block = |text: &str| json!({ "type": "text", "text": text });
            (block(text), block(""), json!({ "type": "text_delta", "text": text }), "end_turn")
        }
    };
    let message = |content: Value, stop: Option<&str>| {
        json!({
            "id": format!("msg_{number:04}"),
            "type": "message",
            "role": "assistant",
            "model": turn.model,
            "content": content,
            "stop_reason": stop,
            "stop_sequence": null,
            "usage": usage,
        })
    };
    if !turn.streams {
        return Answer::Json(200, message(json!([block]), Some(stop)));
    }
    named(vec![
        json!({ "type": "message_start", "message": message(json!([]), None) }),
        json!({ "type": "content_block_start", "index": 0, "content_block": begin }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": stop, "stop_sequence": null }, "usage": usage }),
        json!({ "type": "message_stop" }),
    ])
}
