//! Stream-json and the control protocol: lines of Claude Code in, messages out.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::frames::ending;
use super::usage::ClaudeUsage;
use crate::event::{AgentEvent, AgentEventKind};
use crate::frame::{Streamed, messages_of, owned, result_text, text};
use crate::harness::Answered;
use crate::lines::AgentLine;
use crate::mcp::{self, McpReply, SERVER};
use crate::message::{AgentMessage, PromptToolCall, TurnEnd};
use crate::permission::{PermissionAnswer, PermissionRequest};
use crate::protocol::{Outbox, ProgramEnding, Protocol};

/// The maximum number of requests that wait for an answer. More than that are not real.
const WAITING: usize = 10_000;

/// The state of a conversation with Claude Code.
#[derive(Debug, Default)]
pub struct ClaudeProtocol {
    /// The prompt's tools, as MCP declares them.
    tools: Vec<Value>,
    is_ready: bool,
    is_recognised: bool,
    /// How many requests were sent.
    requests: u64,
    /// Permission requests that wait for an answer, with the arguments, which every permission repeats.
    permissions: BTreeMap<String, Value>,
    /// Calls of the prompt's tools that wait for an answer, with the id of the MCP message.
    calls: BTreeMap<String, Value>,
    streamed: Streamed,
    usage: ClaudeUsage,
}

impl ClaudeProtocol {
    /// A new conversation with these tools, as MCP declares them.
    pub fn new(tools: Vec<Value>) -> Self {
        Self { tools, ..Self::default() }
    }

    fn request(&mut self, request: &Value, out: &mut Outbox) {
        self.requests += 1;
        let id = format!("metier-{}", self.requests);
        out.json(&json!({ "type": "control_request", "request_id": id, "request": request }));
    }

    fn frame(&mut self, frame: Value, out: &mut Outbox) -> Vec<AgentMessage> {
        let raw = Arc::new(frame);
        let kind = text(&raw, "type").unwrap_or_default();
        self.is_recognised |= KINDS.contains(&kind);
        match kind {
            "control_response" => self.control_response(&raw),
            "control_request" => self.control_request(&raw, out),
            "control_cancel_request" => {
                let id = owned(&raw, "request_id");
                self.permissions.remove(&id);
                self.calls.remove(&id);
                vec![other(&raw)]
            }
            "system" => system(&raw),
            "stream_event" => self.stream_event(&raw),
            "assistant" => self.assistant(&raw),
            "user" => tool_results(&raw),
            "result" => self.result(&raw),
            _ => vec![other(&raw)],
        }
    }

    /// The answer to a request of ours; the first one says that it is ready.
    fn control_response(&mut self, raw: &Arc<Value>) -> Vec<AgentMessage> {
        let response = raw.get("response").unwrap_or(&Value::Null);
        let is_first = text(response, "request_id") == Some("metier-1");
        if is_first && text(response, "subtype") == Some("success") {
            self.is_ready = true;
        }
        vec![other(raw)]
    }

    fn control_request(&mut self, raw: &Arc<Value>, out: &mut Outbox) -> Vec<AgentMessage> {
        let id = owned(raw, "request_id");
        let request = raw.get("request").unwrap_or(&Value::Null);
        let is_full = self.permissions.len() + self.calls.len() >= WAITING;
        match text(request, "subtype").unwrap_or_default() {
            "can_use_tool" if !is_full => {
                let input = request.get("input").cloned().unwrap_or(json!({}));
                let mut asked = PermissionRequest::new(&id, owned(request, "tool_name"), input.clone());
                asked.call = text(request, "tool_use_id").map(str::to_owned);
                asked.description = text(request, "description").map(str::to_owned);
                asked.subagent = text(request, "agent_id").map(str::to_owned);
                self.permissions.insert(id, input);
                vec![AgentMessage::Permission(asked)]
            }
            "mcp_message" if text(request, "server_name") == Some(SERVER) && !is_full => {
                self.mcp_message(id, request.get("message").unwrap_or(&Value::Null), out)
            }
            subtype => {
                // Without an answer it would wait for ever.
                let error = format!("metier does not support the control request `{subtype}`");
                out.json(&json!({
                    "type": "control_response",
                    "response": { "subtype": "error", "request_id": id, "error": error },
                }));
                vec![other(raw)]
            }
        }
    }

    fn mcp_message(&mut self, id: String, message: &Value, out: &mut Outbox) -> Vec<AgentMessage> {
        match mcp::handle(message, &self.tools) {
            McpReply::Now(reply) => {
                respond(&id, &json!({ "mcp_response": reply }), out);
                Vec::new()
            }
            McpReply::Call { tool, arguments, call, id: message } => {
                self.calls.insert(id.clone(), message);
                vec![AgentMessage::ToolCall(PromptToolCall { id, tool, arguments, call })]
            }
        }
    }

    fn stream_event(&mut self, raw: &Arc<Value>) -> Vec<AgentMessage> {
        let event = raw.get("event").unwrap_or(&Value::Null);
        let message = text(raw, "api_message_id");
        let delta = event.get("delta").unwrap_or(&Value::Null);
        let piece = match text(delta, "type") {
            Some("text_delta") => AgentEventKind::Text { text: owned(delta, "text") },
            Some("thinking_delta") => AgentEventKind::Thought { text: owned(delta, "thinking") },
            _ => {
                let mut messages = vec![other(raw)];
                let usage = event.get("usage").or_else(|| event.pointer("/message/usage"));
                if let (Some(id), Some(usage)) = (message, usage)
                    && self.usage.message(id, usage)
                {
                    messages.push(AgentMessage::Used(self.usage.so_far()));
                }
                return messages;
            }
        };
        if let Some(id) = message {
            self.streamed.add(id);
        }
        vec![event_of(raw, piece)]
    }

    fn assistant(&mut self, raw: &Arc<Value>) -> Vec<AgentMessage> {
        let message = raw.get("message").unwrap_or(&Value::Null);
        let id = text(message, "id").unwrap_or_default();
        let is_streamed = self.streamed.has(id);
        let blocks = message.get("content").and_then(Value::as_array).into_iter().flatten();
        let mut messages: Vec<AgentMessage> = blocks
            .map(|block| match text(block, "type") {
                Some("text") if !is_streamed => {
                    event_of(raw, AgentEventKind::Text { text: owned(block, "text") })
                }
                Some("thinking") if !is_streamed => {
                    event_of(raw, AgentEventKind::Thought { text: owned(block, "thinking") })
                }
                Some("tool_use") => event_of(raw, tool_call(block)),
                _ => other(raw),
            })
            .collect();
        if let Some(usage) = message.get("usage")
            && self.usage.message(id, usage)
        {
            messages.push(AgentMessage::Used(self.usage.so_far()));
        }
        if messages.is_empty() { vec![other(raw)] } else { messages }
    }

    fn result(&mut self, raw: &Arc<Value>) -> Vec<AgentMessage> {
        self.usage.result(raw);
        // Nobody waits for these any more.
        self.permissions.clear();
        self.calls.clear();
        let (stop, error) = ending(raw);
        let (text, used) = (owned(raw, "result"), self.usage.so_far());
        vec![other(raw), AgentMessage::TurnEnded(TurnEnd { text, stop, used, error })]
    }
}

/// The frames that only Claude Code sends.
const KINDS: &[&str] =
    &["control_response", "control_request", "system", "stream_event", "assistant", "user", "result"];

impl Protocol for ClaudeProtocol {
    fn begin(&mut self, out: &mut Outbox) {
        let servers: &[&str] = if self.tools.is_empty() { &[] } else { &[SERVER] };
        self.request(&json!({ "subtype": "initialize", "sdkMcpServers": servers }), out);
    }

    fn is_ready(&self) -> bool {
        self.is_ready
    }

    fn prompt(&mut self, text: &str, out: &mut Outbox) {
        out.json(&json!({
            "type": "user",
            "message": { "role": "user", "content": [{ "type": "text", "text": text }] },
            "parent_tool_use_id": null,
        }));
    }

    fn receive(&mut self, line: &AgentLine, out: &mut Outbox) -> Vec<AgentMessage> {
        messages_of(line, |frame| self.frame(frame, out))
    }

    fn is_recognised(&self) -> bool {
        self.is_recognised
    }

    fn answer(&mut self, answer: &Answered<'_>, out: &mut Outbox) {
        match answer {
            Answered::Permission { id, answer } => {
                let Some(input) = self.permissions.remove(*id) else { return };
                let response = match answer {
                    PermissionAnswer::Allow => json!({ "behavior": "allow", "updatedInput": input }),
                    PermissionAnswer::Deny { reason } => json!({ "behavior": "deny", "message": reason }),
                };
                respond(id, &response, out);
            }
            Answered::Tool { id, result } => {
                let Some(message) = self.calls.remove(*id) else { return };
                respond(id, &json!({ "mcp_response": mcp::answer(&message, result) }), out);
            }
        }
    }

    fn interrupt(&mut self, out: &mut Outbox) {
        self.request(&json!({ "subtype": "interrupt" }), out);
    }

    /// With its input closed, it continues its work in the background and no longer asks for permission.
    fn ending(&self) -> ProgramEnding {
        ProgramEnding::Terminate
    }
}

fn respond(id: &str, response: &Value, out: &mut Outbox) {
    out.json(&json!({
        "type": "control_response",
        "response": { "subtype": "success", "request_id": id, "response": response },
    }));
}

/// An event of a frame, by the subagent that it is from.
fn event_of(raw: &Arc<Value>, kind: AgentEventKind) -> AgentMessage {
    let subagent = text(raw, "parent_tool_use_id").map(str::to_owned);
    AgentMessage::Event(AgentEvent::new(kind, Some(Arc::clone(raw))).of_subagent(subagent))
}

fn other(raw: &Arc<Value>) -> AgentMessage {
    event_of(raw, AgentEventKind::Other)
}

fn tool_call(block: &Value) -> AgentEventKind {
    let (tool, arguments) = (owned(block, "name"), block.get("input").cloned().unwrap_or_default());
    let skill = (tool == "Skill").then(|| text(&arguments, "skill").map(str::to_owned)).flatten();
    AgentEventKind::ToolCall { id: owned(block, "id"), tool, arguments, skill }
}

fn system(raw: &Arc<Value>) -> Vec<AgentMessage> {
    let member = |name: &str| text(raw, name).map(str::to_owned);
    match text(raw, "subtype") {
        Some("init") => vec![event_of(
            raw,
            AgentEventKind::Started {
                version: member("claude_code_version"),
                model: member("model"),
                conversation: member("session_id"),
            },
        )],
        Some("permission_denied") => {
            vec![event_of(raw, AgentEventKind::Notice { text: owned(raw, "message") })]
        }
        _ => vec![other(raw)],
    }
}

/// Results of tools; each call once.
fn tool_results(raw: &Arc<Value>) -> Vec<AgentMessage> {
    let blocks = raw.pointer("/message/content").and_then(Value::as_array).into_iter().flatten();
    let mut seen = HashSet::new();
    let results: Vec<AgentMessage> = blocks
        .filter(|block| text(block, "type") == Some("tool_result"))
        .filter(|block| seen.insert(text(block, "tool_use_id").unwrap_or_default()))
        .map(|block| {
            let kind = AgentEventKind::ToolResult {
                id: owned(block, "tool_use_id"),
                text: result_text(block.get("content")),
                is_error: block.get("is_error") == Some(&Value::Bool(true)),
            };
            event_of(raw, kind)
        })
        .collect();
    if results.is_empty() { vec![other(raw)] } else { results }
}
