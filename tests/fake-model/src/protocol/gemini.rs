//! Gemini: `generateContent` and `streamGenerateContent`.

use serde_json::json;

use super::{Turn, unnamed};
use crate::http::Answer;
use crate::step::Said;

pub(super) fn answer(turn: &Turn<'_>) -> Answer {
    let part = match turn.said {
        Said::Call { tool, arguments } => json!({ "functionCall": { "name": tool, "args": arguments } }),
        Said::Text(text) => json!({ "text": text }),
    };
    let content = json!({ "role": "model", "parts": [part] });
    let answer = json!({
        "candidates": [{ "content": content, "finishReason": "STOP", "index": 0 }],
        "usageMetadata": { "promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15 },
        "modelVersion": turn.model,
        "responseId": format!("response-{:04}", turn.number),
    });
    if turn.streams { Answer::Events(unnamed(&[answer])) } else { Answer::Json(200, answer) }
}
