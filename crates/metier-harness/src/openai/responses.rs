//! Frames of the Responses API.

use std::sync::Arc;

use serde_json::{Value, json};

use super::reply::{ModelCall, ModelReply, Progress, events};
use crate::evaluation::StopReason;
use crate::event::{AgentEvent, AgentEventKind};
use crate::frame::text;

/// A reply of the Responses API while it arrives.
#[derive(Debug, Default)]
pub(super) struct ResponsesReading {
    pub(super) progress: Progress,
    /// The items that are done, in the order in which they came.
    items: Vec<Value>,
}

impl ResponsesReading {
    pub(super) fn frame(&mut self, raw: &Arc<Value>) -> Vec<AgentEvent> {
        let kind = text(raw, "type").unwrap_or_default();
        self.progress.is_recognised |= kind.starts_with("response.") || kind == "error";
        let delta = text(raw, "delta").unwrap_or_default();
        let mut kinds: Vec<AgentEventKind> = Vec::new();
        match kind {
            "response.output_text.delta" => kinds.push(self.progress.say(delta)),
            "response.refusal.delta" => {
                self.progress.stop = Some(StopReason::Refusal);
                kinds.push(self.progress.say(delta));
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                kinds.push(self.progress.think(delta));
            }
            "response.function_call_arguments.delta" => self.progress.written += delta.len() as u64,
            "response.output_item.done" => self.item(raw.get("item").unwrap_or(&Value::Null)),
            "error" => self.progress.fail(raw.get("error").unwrap_or(raw)),
            // Without a type: a server that does not stream.
            _ if text(raw, "object") == Some("response") => {
                self.progress.is_recognised = true;
                self.response(raw, &mut kinds);
            }
            _ => match raw.get("response") {
                Some(response) => self.response(response, &mut kinds),
                None => {
                    if let Some(error) = raw.get("error").filter(|error| !error.is_null()) {
                        self.progress.is_recognised = true;
                        self.progress.fail(error);
                    }
                }
            },
        }
        events(raw, kinds)
    }

    fn item(&mut self, item: &Value) {
        // About what it takes; its text came in pieces before.
        self.progress.hold(item.to_string().len());
        self.items.push(item.clone());
    }

    /// The response as far as it is known; the last one has everything.
    fn response(&mut self, response: &Value, kinds: &mut Vec<AgentEventKind>) {
        kinds.extend(self.progress.started(response));
        let status = text(response, "status").unwrap_or_default();
        if !matches!(status, "completed" | "incomplete" | "failed" | "cancelled") {
            return;
        }
        self.progress.use_up(response);
        match status {
            "failed" => self.progress.fail(response.get("error").unwrap_or(&Value::Null)),
            "cancelled" => self.progress.fail(&Value::from("the server cancelled the response")),
            _ => self.progress.is_complete = true,
        }
        if status == "incomplete" {
            let reason = response.pointer("/incomplete_details/reason").and_then(Value::as_str);
            self.progress.stop = Some(match reason.unwrap_or_default() {
                "max_output_tokens" => StopReason::MaxTokens,
                "content_filter" => StopReason::Refusal,
                other => StopReason::Other(other.to_owned()),
            });
        }
        // Some servers send the items only here, others only before.
        if let Some(output) = response.get("output").and_then(Value::as_array)
            && !output.is_empty()
        {
            self.items.clone_from(output);
        }
        let (said, is_refused) = self.said();
        if is_refused {
            self.progress.stop = Some(StopReason::Refusal);
        }
        if self.progress.text.is_empty() && !said.is_empty() {
            kinds.push(self.progress.say(&said));
        }
    }

    /// The text of the items, and whether it is a refusal.
    fn said(&self) -> (String, bool) {
        let mut said = String::new();
        let mut is_refused = false;
        for part in self.items.iter().flat_map(parts) {
            match text(part, "type") {
                Some("output_text") => said.push_str(text(part, "text").unwrap_or_default()),
                Some("refusal") => {
                    said.push_str(text(part, "refusal").unwrap_or_default());
                    is_refused = true;
                }
                _ => {}
            }
        }
        (said, is_refused)
    }

    pub(super) fn reply(self) -> ModelReply {
        let (said, _) = self.said();
        let is_only_streamed = said.is_empty() && !self.progress.text.is_empty();
        let said = if said.is_empty() { self.progress.text } else { said };
        let numbered = || self.items.iter().enumerate();
        let mut items: Vec<Value> = numbered().filter_map(|(number, item)| repeated(number, item)).collect();
        if is_only_streamed {
            items.insert(0, json!({ "role": "assistant", "content": said }));
        }
        ModelReply {
            calls: numbered().filter_map(|(number, item)| call(number, item)).collect(),
            items,
            text: said,
            usage: self.progress.usage,
            cost: self.progress.cost,
            stop: self.progress.stop.unwrap_or(StopReason::EndTurn),
        }
    }
}

/// The call that an item is.
fn call(number: usize, item: &Value) -> Option<ModelCall> {
    let member = |name| text(item, name).unwrap_or_default();
    let id = if member("call_id").is_empty() { member("id") } else { member("call_id") };
    (member("type") == "function_call")
        .then(|| ModelCall::new(id, number, member("name"), member("arguments")))
}

/// The parts of a message.
fn parts(item: &Value) -> impl Iterator<Item = &Value> {
    let is_message = text(item, "type") == Some("message");
    let parts = item.get("content").filter(|_| is_message).and_then(Value::as_array);
    parts.into_iter().flatten()
}

/// An item as the next request repeats it. The server keeps nothing, so ids that it gave mean nothing to it, and reasoning is only of
/// use where it is encrypted.
fn repeated(number: usize, item: &Value) -> Option<Value> {
    match text(item, "type")? {
        "message" => {
            let said: String =
                parts(item).filter_map(|part| text(part, "text").or(text(part, "refusal"))).collect();
            Some(json!({ "role": "assistant", "content": said }))
        }
        "function_call" => {
            let call = call(number, item)?;
            // A server that checks it must be able to read it.
            let arguments = call.arguments.as_ref().map_or_else(|_| "{}".to_owned(), Value::to_string);
            Some(
                json!({ "type": "function_call", "call_id": call.id, "name": call.tool, "arguments": arguments }),
            )
        }
        "reasoning" if text(item, "encrypted_content").is_some() => {
            let mut item = item.as_object()?.clone();
            item.retain(|name, _| !matches!(name.as_str(), "id" | "status"));
            Some(Value::Object(item))
        }
        _ => None,
    }
}
