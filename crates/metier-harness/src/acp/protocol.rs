//! The Agent Client Protocol: lines of an agent in, messages out.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::agents::{ModelBy, NamedBy, Row, row};
use super::calls::{CallKey, Calls, UNKNOWN, is_result, result_of};
use super::options::AcpOptions;
use super::permissions::Waiting;
use super::usage::AcpUsage;
use crate::evaluation::StopReason;
use crate::event::{AgentEvent, AgentEventKind};
use crate::frame::{messages_of, owned, text};
use crate::harness::Answered;
use crate::lines::AgentLine;
use crate::message::{AgentMessage, PromptToolCall, TurnEnd};
use crate::permission::PermissionRequest;
use crate::protocol::{Outbox, Protocol};

/// The version of the protocol that is spoken.
const VERSION: u64 = 1;

/// What was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Initialize,
    Open,
    Mode,
    Model,
    Prompt,
}

/// The state of a conversation.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about the conversation")]
pub struct AcpProtocol {
    row: &'static Row,
    options: AcpOptions,
    /// How many requests were sent, and those that wait for an answer.
    count: u64,
    asked: BTreeMap<u64, Asked>,
    is_recognised: bool,
    is_ready: bool,
    version: Option<String>,
    model: Option<String>,
    /// The conversation, once it is open.
    session: Option<String>,
    calls: Calls,
    waiting: Waiting,
    usage: AcpUsage,
    /// The text of the turn since the last call of a tool, and whether it goes on.
    said: String,
    is_saying: bool,
    is_cancelled: bool,
    /// Whether a call was denied, and nothing came after it.
    is_denied: bool,
    /// Whether a permission request was answered, and no text came after it.
    is_decided: bool,
}

impl AcpProtocol {
    /// A new conversation; `None` if the agent does not speak the protocol.
    pub fn new(options: AcpOptions) -> Option<Self> {
        row(options.agent).map(|row| Self::of_row(row, options))
    }

    pub(super) fn of_row(row: &'static Row, options: AcpOptions) -> Self {
        Self {
            row,
            options,
            count: 0,
            asked: BTreeMap::new(),
            is_recognised: false,
            is_ready: false,
            version: None,
            model: None,
            session: None,
            calls: Calls::default(),
            waiting: Waiting::default(),
            usage: AcpUsage::new(row.reports),
            said: String::new(),
            is_saying: false,
            is_cancelled: false,
            is_denied: false,
            is_decided: false,
        }
    }

    fn ask(&mut self, what: Asked, method: &str, params: &Value, out: &mut Outbox) {
        self.count += 1;
        out.json(&json!({ "jsonrpc": "2.0", "id": self.count, "method": method, "params": params }));
        self.asked.insert(self.count, what);
    }

    fn frame(&mut self, frame: Value, out: &mut Outbox) -> Vec<AgentMessage> {
        let raw = Arc::new(frame);
        let id = raw.get("id").filter(|id| !id.is_null());
        let is_known = text(&raw, "jsonrpc") == Some("2.0");
        match (text(&raw, "method"), id) {
            (Some("session/update"), None) => {
                self.is_recognised |= is_known;
                self.updated(&raw)
            }
            (Some("session/request_permission"), Some(id)) => {
                self.is_recognised |= is_known;
                self.permission(id, &raw, out)
            }
            (Some(method), Some(id)) => {
                self.is_recognised |= is_known;
                // Without an answer it would wait for ever.
                let message = format!("metier does not support `{method}`");
                let error = json!({ "code": -32601, "message": message });
                out.json(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
                vec![self.other(&raw)]
            }
            (None, Some(id)) => match id.as_u64().and_then(|id| self.asked.remove(&id)) {
                Some(what) => {
                    self.is_recognised = true;
                    self.answered(what, &raw, out)
                }
                None => vec![self.other(&raw)],
            },
            _ => vec![self.other(&raw)],
        }
    }

    /// The answer to a request of ours.
    fn answered(&mut self, what: Asked, raw: &Arc<Value>, out: &mut Outbox) -> Vec<AgentMessage> {
        let result = raw.get("result").unwrap_or(&Value::Null);
        if let Some(error) = raw.get("error").filter(|error| !error.is_null()) {
            // An agent that is interrupted can end its turn like this.
            let is_interrupted = what == Asked::Prompt && self.is_cancelled;
            if is_interrupted {
                return self.ended(result, "cancelled", raw);
            }
            return vec![self.other(raw), self.failed(message_of(error))];
        }
        match what {
            Asked::Initialize => {
                let version = result.get("protocolVersion").and_then(Value::as_u64);
                if version != Some(VERSION) {
                    let version = version.map_or("none".to_owned(), |version| version.to_string());
                    let message =
                        format!("it speaks version {version} of its protocol; metier speaks {VERSION}");
                    return vec![self.other(raw), self.failed(message)];
                }
                let version = result.pointer("/agentInfo/version").and_then(Value::as_str);
                self.version = version.map(str::to_owned);
                let loads = result.pointer("/agentCapabilities/loadSession") == Some(&Value::Bool(true));
                if self.options.resumed.is_some() && !loads {
                    let message = "it cannot resume conversations".to_owned();
                    return vec![self.other(raw), self.failed(message)];
                }
                let (method, params) = self.options.opening();
                self.ask(Asked::Open, method, &params, out);
            }
            Asked::Open => return self.opened(result, raw, out),
            Asked::Mode => return self.choose_model(raw, out),
            Asked::Model => {
                self.model = model_of(result).or_else(|| self.options.model.clone());
                return vec![self.ready(raw)];
            }
            Asked::Prompt => {
                let stop = owned(result, "stopReason");
                return self.ended(result, &stop, raw);
            }
        }
        vec![self.other(raw)]
    }

    /// The conversation is there. Before it is used, it must ask for permission.
    fn opened(&mut self, result: &Value, raw: &Arc<Value>, out: &mut Outbox) -> Vec<AgentMessage> {
        let id = text(result, "sessionId").map(str::to_owned).or_else(|| self.options.resumed.clone());
        let Some(session) = id else {
            return vec![self.other(raw), self.failed("its conversation has no id".to_owned())];
        };
        self.usage.loaded();
        self.session = Some(session.clone());
        self.model = model_of(result).or_else(|| self.options.model.clone());
        let mode = result.pointer("/modes/currentModeId").and_then(Value::as_str);
        match self.row.mode {
            Some(wanted) if mode != Some(wanted) => {
                let params = json!({ "sessionId": session, "modeId": wanted });
                self.ask(Asked::Mode, "session/set_mode", &params, out);
                vec![self.other(raw)]
            }
            _ => self.choose_model(raw, out),
        }
    }

    fn choose_model(&mut self, raw: &Arc<Value>, out: &mut Outbox) -> Vec<AgentMessage> {
        match &self.options.model {
            Some(model) if self.row.model_by == ModelBy::Option => {
                let params = json!({ "sessionId": self.session, "configId": "model", "value": model });
                self.ask(Asked::Model, "session/set_config_option", &params, out);
                vec![self.other(raw)]
            }
            _ => vec![self.ready(raw)],
        }
    }

    fn ready(&mut self, raw: &Arc<Value>) -> AgentMessage {
        self.is_ready = true;
        let (version, model) = (self.version.clone(), self.model.clone());
        self.event(raw, AgentEventKind::Started { version, model, conversation: self.session.clone() })
    }

    /// A failure that ends the turn, or that no turn can begin after.
    fn failed(&mut self, message: String) -> AgentMessage {
        let end = self.end(&Value::Null, "error");
        AgentMessage::TurnEnded(TurnEnd { error: Some(message), ..end })
    }

    fn ended(&mut self, result: &Value, stop: &str, raw: &Arc<Value>) -> Vec<AgentMessage> {
        vec![self.other(raw), AgentMessage::TurnEnded(self.end(result, stop))]
    }

    fn end(&mut self, result: &Value, stop: &str) -> TurnEnd {
        self.usage.end(result);
        // No request waits for an answer any more.
        self.waiting.clear();
        self.calls.clear();
        let stop = match stop {
            "end_turn" if self.is_denied => StopReason::Denied,
            "end_turn" => StopReason::EndTurn,
            "max_tokens" => StopReason::MaxTokens,
            "max_turn_requests" => StopReason::MaxTurns,
            "refusal" => StopReason::Refusal,
            "cancelled" => StopReason::Interrupted,
            other => StopReason::Other(other.to_owned()),
        };
        (self.is_saying, self.is_denied, self.is_decided) = (false, false, false);
        let (text, used) = (std::mem::take(&mut self.said), self.usage.so_far());
        TurnEnd { text, stop, used, error: None }
    }

    fn updated(&mut self, raw: &Arc<Value>) -> Vec<AgentMessage> {
        let params = raw.get("params").unwrap_or(&Value::Null);
        let update = params.get("update").unwrap_or(&Value::Null);
        // What is shown while a conversation is loaded happened before.
        let is_now = self.session.is_some();
        let is_own = text(params, "sessionId") == self.session.as_deref();
        match text(update, "sessionUpdate") {
            Some("usage_update") if is_own || !is_now => {
                let is_news = self.usage.report(update);
                let mut messages = vec![self.other(raw)];
                if is_news && is_now {
                    messages.push(AgentMessage::Used(self.usage.so_far()));
                }
                messages
            }
            _ if !is_now => vec![self.other(raw)],
            Some("agent_message_chunk") => self.chunk(update, is_own, raw),
            Some("agent_thought_chunk") => match piece_of(update) {
                Some(text) => self.wrote(text.len(), vec![self.event(raw, AgentEventKind::Thought { text })]),
                None => vec![self.other(raw)],
            },
            Some("tool_call" | "tool_call_update") => self.called(update, raw),
            Some("plan") => vec![self.event(raw, AgentEventKind::Notice { text: plan_of(update) })],
            _ => vec![self.other(raw)],
        }
    }

    fn chunk(&mut self, update: &Value, is_own: bool, raw: &Arc<Value>) -> Vec<AgentMessage> {
        let Some(text) = piece_of(update) else { return vec![self.other(raw)] };
        let is_decided = std::mem::take(&mut self.is_decided);
        if self.row.says_notes && is_decided && text.starts_with("Info: ") {
            return vec![self.event(raw, AgentEventKind::Notice { text })];
        }
        if is_own {
            self.is_denied = false;
            if !std::mem::replace(&mut self.is_saying, true) {
                self.said.clear();
            }
            self.said.push_str(&text);
        }
        self.wrote(text.len(), vec![self.event(raw, AgentEventKind::Text { text })])
    }

    /// The model wrote something. A new request of it counts at once, so that budgets apply while the agent works.
    fn wrote(&mut self, length: usize, mut messages: Vec<AgentMessage>) -> Vec<AgentMessage> {
        if self.usage.wrote(length) {
            messages.push(AgentMessage::Used(self.usage.so_far()));
        }
        messages
    }

    fn called(&mut self, update: &Value, raw: &Arc<Value>) -> Vec<AgentMessage> {
        let key = key_of(raw, update);
        let row = self.row;
        let is_new = text(update, "sessionUpdate") == Some("tool_call");
        if is_new {
            self.calls.begin(&key);
            (self.is_saying, self.is_denied) = (false, false);
        }
        let Some(call) = self.calls.take(&key, update) else { return vec![self.other(raw)] };
        // The arguments of `OpenCode` come after the first frame.
        let is_whole = row.named_by != NamedBy::FirstTitle || text(update, "status") != Some("pending");
        let (is_announced, is_result) = (call.is_announced, is_result(update));
        let mut messages = Vec::new();
        if !is_announced && is_whole {
            messages.extend(self.announce(&key, raw));
        }
        if is_result {
            let text = result_of(update);
            self.usage.read(&text);
            let is_error = self::text(update, "status") == Some("failed");
            let (_, id) = key;
            messages.push(self.event(raw, AgentEventKind::ToolResult { id, text, is_error }));
        }
        if messages.is_empty() { vec![self.other(raw)] } else { messages }
    }

    /// The event of a call, once its tool and its arguments are known.
    fn announce(&mut self, key: &CallKey, raw: &Arc<Value>) -> Vec<AgentMessage> {
        let row = self.row;
        let Some(call) = self.calls.get_mut(key) else { return Vec::new() };
        call.is_announced = true;
        let (tool, arguments) = (call.tool(row, &self.options.tools), call.arguments(row));
        let (skill, length) = (call.skill(row), arguments.to_string().len());
        let kind = AgentEventKind::ToolCall { id: key.1.clone(), tool, arguments, skill };
        self.wrote(length, vec![self.event(raw, kind)])
    }

    fn permission(&mut self, id: &Value, raw: &Arc<Value>, out: &mut Outbox) -> Vec<AgentMessage> {
        let params = raw.get("params").unwrap_or(&Value::Null);
        let asked = params.get("toolCall").unwrap_or(&Value::Null);
        let call_key = key_of(raw, asked);
        if self.row.named_by == NamedBy::CallId {
            // Gemini CLI says nothing of a call before it asks.
            self.calls.begin(&call_key);
        }
        let known = self.calls.take(&call_key, asked);
        let Some((call, key)) = known.and_then(|call| Some((call, self.waiting.add(id, params)?))) else {
            let outcome = json!({ "outcome": { "outcome": "cancelled" } });
            out.json(&json!({ "jsonrpc": "2.0", "id": id, "result": outcome }));
            return vec![self.other(raw)];
        };
        let (row, session) = (self.row, self.session.as_deref());
        let mut tool = call.tool(row, &self.options.tools);
        if !call.is_plain(row) {
            UNKNOWN.clone_into(&mut tool);
        }
        let mut arguments = call.arguments(row);
        if tool == UNKNOWN {
            arguments = json!({ "title": call.title(), "input": arguments });
        }
        let reads = if tool == UNKNOWN { Vec::new() } else { call.reads(row, &self.options.working) };
        let mut request = PermissionRequest::new(&key, tool, arguments);
        request.reads = reads;
        request.loads = call.skill(row).filter(|_| request.tool != UNKNOWN);
        request.description = Some(call.title().to_owned()).filter(|title| !title.is_empty());
        request.subagent = text(params, "sessionId").filter(|id| Some(*id) != session).map(str::to_owned);
        request.call = Some(call_key.1.clone());
        let is_announced = call.is_announced || row.named_by == NamedBy::FirstTitle;
        let mut messages = if is_announced { Vec::new() } else { self.announce(&call_key, raw) };
        match row.refused.filter(|(tool, _)| request.tool == *tool) {
            _ if self.is_cancelled => {
                self.waiting.cancel(out);
                messages.push(self.other(raw));
            }
            Some((tool, reason)) => {
                self.decide(&key, false, out);
                let notice = format!("`{tool}` was denied: {reason}");
                messages.extend([self.other(raw), AgentMessage::Event(AgentEvent::notice(notice))]);
            }
            None => messages.push(AgentMessage::Permission(request)),
        }
        messages
    }

    fn decide(&mut self, key: &str, is_allowed: bool, out: &mut Outbox) {
        if self.waiting.answer(key, is_allowed, out) {
            (self.is_decided, self.is_denied) = (true, !is_allowed);
            if !is_allowed {
                // The model is told, and not every agent says so.
                self.usage.read("");
            }
        }
    }

    /// An event, by the conversation that it is from: subagents can have their own.
    fn event(&self, raw: &Arc<Value>, kind: AgentEventKind) -> AgentMessage {
        let session = raw.pointer("/params/sessionId").and_then(Value::as_str);
        let other = session.filter(|id| self.session.as_deref().is_some_and(|own| own != *id));
        let event = AgentEvent::new(kind, Some(Arc::clone(raw)));
        AgentMessage::Event(event.of_subagent(other.map(str::to_owned)))
    }

    fn other(&self, raw: &Arc<Value>) -> AgentMessage {
        self.event(raw, AgentEventKind::Other)
    }
}

/// The call that a frame is about.
fn key_of(raw: &Value, call: &Value) -> CallKey {
    let session = raw.pointer("/params/sessionId").and_then(Value::as_str).unwrap_or_default();
    (session.to_owned(), owned(call, "toolCallId"))
}

/// The text of a piece of a message.
fn piece_of(update: &Value) -> Option<String> {
    let content = update.get("content").filter(|content| text(content, "type") == Some("text"))?;
    text(content, "text").map(str::to_owned)
}

/// The plan of an agent in words: each entry with its status.
fn plan_of(update: &Value) -> String {
    let entries = update.get("entries").and_then(Value::as_array).into_iter().flatten();
    let entry = |entry: &Value| {
        let status = text(entry, "status").unwrap_or("pending").replace('_', " ");
        format!("{} ({status})", text(entry, "content").unwrap_or_default())
    };
    format!("plan: {}", entries.map(entry).collect::<Vec<_>>().join("; "))
}

/// The model of a conversation, where it is reported.
fn model_of(result: &Value) -> Option<String> {
    let options = result.get("configOptions").and_then(Value::as_array).into_iter().flatten();
    let option = options.filter(|option| text(option, "id") == Some("model"));
    let mut chosen = option.filter_map(|option| text(option, "currentValue"));
    let of_models = || result.pointer("/models/currentModelId").and_then(Value::as_str);
    chosen.next().or_else(of_models).map(str::to_owned)
}

/// What an error says. The reason is often beside the message.
fn message_of(error: &Value) -> String {
    let message = text(error, "message").unwrap_or("it reported an error without a message");
    let data = error.get("data").unwrap_or(&Value::Null);
    let details = text(data, "details").or_else(|| text(data, "message")).or_else(|| data.as_str());
    match details.filter(|details| !message.contains(details)) {
        Some(details) => format!("{message}: {details}"),
        None => message.to_owned(),
    }
}

impl Protocol for AcpProtocol {
    fn begin(&mut self, out: &mut Outbox) {
        // Nothing is offered: the agent reads and writes files and runs commands by itself.
        let params = json!({
            "protocolVersion": VERSION,
            "clientCapabilities": {},
            "clientInfo": { "name": "metier", "title": "metier", "version": env!("CARGO_PKG_VERSION") },
        });
        self.ask(Asked::Initialize, "initialize", &params, out);
    }

    fn is_ready(&self) -> bool {
        self.is_ready
    }

    fn prompt(&mut self, text: &str, out: &mut Outbox) {
        self.said.clear();
        (self.is_saying, self.is_cancelled) = (false, false);
        self.usage.read(text);
        let params = json!({ "sessionId": self.session, "prompt": [{ "type": "text", "text": text }] });
        self.ask(Asked::Prompt, "session/prompt", &params, out);
    }

    fn receive(&mut self, line: &AgentLine, out: &mut Outbox) -> Vec<AgentMessage> {
        messages_of(line, |frame| self.frame(frame, out))
    }

    fn is_recognised(&self) -> bool {
        self.is_recognised
    }

    fn answer(&mut self, answer: &Answered<'_>, out: &mut Outbox) {
        // Calls of the prompt's tools come through the server, which answers them.
        if let Answered::Permission { id, answer } = answer {
            self.decide(id, answer.is_allowed(), out);
        }
    }

    fn served(&mut self, call: &mut PromptToolCall) {
        if call.call.is_none() {
            call.call = self.calls.served(self.row, &self.options.tools, call);
        }
    }

    fn interrupt(&mut self, out: &mut Outbox) {
        let is_working = self.asked.values().any(|what| *what == Asked::Prompt);
        if let (Some(session), true) = (&self.session, is_working) {
            self.is_cancelled = true;
            self.waiting.cancel(out);
            let params = json!({ "sessionId": session });
            out.json(&json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": params }));
        }
    }
}
