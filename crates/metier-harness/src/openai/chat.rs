//! Frames of Chat Completions.

use std::sync::Arc;

use serde_json::{Value, json};

use super::reply::{ModelCall, ModelReply, Progress, ReplyProblem, events};
use crate::evaluation::StopReason;
use crate::event::{AgentEvent, AgentEventKind};
use crate::frame::text;

/// How many tools a model may call at once.
const CALLS_MAX: usize = 1_000;

/// A reply of Chat Completions while it arrives.
#[derive(Debug, Default)]
pub(super) struct ChatReading {
    pub(super) progress: Progress,
    calls: Vec<PartialCall>,
}

/// A call whose arguments arrive in pieces.
#[derive(Debug, Default)]
struct PartialCall {
    /// Its number in the reply, where the server says so.
    index: Option<u64>,
    id: String,
    tool: String,
    arguments: String,
}

impl ChatReading {
    pub(super) fn frame(&mut self, raw: &Arc<Value>) -> Vec<AgentEvent> {
        let mut kinds: Vec<AgentEventKind> = Vec::new();
        if let Some(error) = raw.get("error").filter(|error| !error.is_null()) {
            self.progress.is_recognised = true;
            self.progress.fail(error);
        }
        self.progress.use_up(raw);
        if let Some(choices) = raw.get("choices").and_then(Value::as_array) {
            self.progress.is_recognised = true;
            kinds.extend(self.progress.started(raw));
            // Only one answer is asked for.
            let is_first = |choice: &&Value| choice.get("index").is_none_or(|index| *index == 0);
            if let Some(choice) = choices.iter().find(is_first) {
                self.choice(choice, &mut kinds);
            }
        }
        events(raw, kinds)
    }

    fn choice(&mut self, choice: &Value, kinds: &mut Vec<AgentEventKind>) {
        let progress = &mut self.progress;
        // `message` where the server does not stream.
        let delta = choice.get("delta").or_else(|| choice.get("message")).unwrap_or(&Value::Null);
        let thought = text(delta, "reasoning_content").or_else(|| text(delta, "reasoning"));
        kinds.extend(thought.filter(|text| !text.is_empty()).map(|text| progress.think(text)));
        match delta.get("content") {
            Some(Value::String(text)) if !text.is_empty() => kinds.push(progress.say(text)),
            Some(Value::Array(parts)) => {
                let parts = parts.iter().filter_map(|part| text(part, "text"));
                kinds.extend(parts.map(|text| progress.say(text)));
            }
            _ => {}
        }
        if let Some(refusal) = text(delta, "refusal").filter(|text| !text.is_empty()) {
            kinds.push(progress.say(refusal));
            progress.stop = Some(StopReason::Refusal);
        }
        for call in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            self.call(call);
        }
        if let Some(reason) = text(choice, "finish_reason") {
            self.progress.is_complete = true;
            let is_refused = self.progress.stop == Some(StopReason::Refusal);
            self.progress.stop = Some(if is_refused { StopReason::Refusal } else { stop(reason) });
        }
    }

    fn call(&mut self, piece: &Value) {
        let index = piece.get("index").and_then(Value::as_u64);
        let id = text(piece, "id").unwrap_or_default();
        let is_it = |call: &PartialCall| match index {
            Some(_) => call.index == index,
            // Without a number, a piece with a new id begins a call.
            None => id.is_empty() || call.id == id,
        };
        let place = self.calls.iter().rposition(is_it).unwrap_or_else(|| {
            self.calls.push(PartialCall { index, ..PartialCall::default() });
            self.calls.len() - 1
        });
        if self.calls.len() > CALLS_MAX {
            self.calls.truncate(CALLS_MAX);
            self.progress.problem.get_or_insert(ReplyProblem::TooLarge);
            return;
        }
        let call = &mut self.calls[place];
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        let function = piece.get("function").unwrap_or(&Value::Null);
        if call.tool.is_empty() {
            text(function, "name").unwrap_or_default().clone_into(&mut call.tool);
        }
        let arguments = match function.get("arguments") {
            Some(Value::String(text)) => text.clone(),
            // Some servers send the arguments as they are.
            Some(whole @ Value::Object(_)) => whole.to_string(),
            _ => String::new(),
        };
        call.arguments.push_str(&arguments);
        self.progress.written += arguments.len() as u64;
        self.progress.hold(arguments.len() + id.len() + call.tool.len());
    }

    pub(super) fn reply(self) -> ModelReply {
        let Self { progress, calls } = self;
        let numbered = calls.iter().enumerate();
        let done: Vec<ModelCall> = numbered
            .map(|(number, call)| ModelCall::new(&call.id, number, &call.tool, &call.arguments))
            .collect();
        let as_said = done.iter().zip(&calls).map(|(call, said)| {
            // A server that checks it must be able to read it.
            let arguments = if call.arguments.is_ok() { said.arguments.trim() } else { "{}" };
            let arguments = if arguments.is_empty() { "{}" } else { arguments };
            let function = json!({ "name": call.tool, "arguments": arguments });
            json!({ "id": call.id, "type": "function", "function": function })
        });
        let mut message = json!({ "role": "assistant", "content": progress.text });
        if !done.is_empty() {
            message["tool_calls"] = as_said.collect();
            if progress.text.is_empty() {
                message["content"] = Value::Null;
            }
        }
        ModelReply {
            text: progress.text,
            calls: done,
            items: vec![message],
            usage: progress.usage,
            cost: progress.cost,
            stop: progress.stop.unwrap_or(StopReason::EndTurn),
        }
    }
}

fn stop(reason: &str) -> StopReason {
    match reason {
        "stop" | "tool_calls" | "function_call" => StopReason::EndTurn,
        "length" => StopReason::MaxTokens,
        "content_filter" => StopReason::Refusal,
        other => StopReason::Other(other.to_owned()),
    }
}
