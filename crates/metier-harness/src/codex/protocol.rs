//! The JSON messages of `codex app-server`: lines of Codex in, messages out.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::approvals::Approvals;
use super::items;
use super::options::CodexOptions;
use super::patch;
use super::requests::{Answer, Asked, Requests};
use super::usage::CodexUsage;
use crate::evaluation::StopReason;
use crate::event::{AgentEvent, AgentEventKind};
use crate::frame::{Streamed, messages_of, owned, text};
use crate::harness::Answered;
use crate::lines::AgentLine;
use crate::message::{AgentMessage, TurnEnd};
use crate::protocol::{Outbox, Protocol};

/// The maximum number of changes of files and of subagents that are remembered.
const KNOWN: usize = 10_000;

/// The state of a conversation with Codex.
#[derive(Debug)]
pub struct CodexProtocol {
    options: CodexOptions,
    requests: Requests,
    approvals: Approvals,
    usage: CodexUsage,
    is_recognised: bool,
    version: Option<String>,
    /// The conversation, once it is open.
    thread: Option<String>,
    /// The turn that runs, and whether it is to be interrupted as soon as its id is known.
    turn: Option<String>,
    is_interrupted: bool,
    /// Changes of files that are being made: requests for permission do not repeat them.
    changes: BTreeMap<String, Value>,
    /// Threads of subagents, with the calls that started them.
    subagents: BTreeMap<String, String>,
    streamed: Streamed,
    /// The last message of the turn.
    said: String,
}

impl CodexProtocol {
    /// A new conversation.
    pub fn new(options: CodexOptions) -> Self {
        Self {
            options,
            requests: Requests::default(),
            approvals: Approvals::default(),
            usage: CodexUsage::default(),
            is_recognised: false,
            version: None,
            thread: None,
            turn: None,
            is_interrupted: false,
            changes: BTreeMap::new(),
            subagents: BTreeMap::new(),
            streamed: Streamed::default(),
            said: String::new(),
        }
    }

    fn frame(&mut self, frame: Value, out: &mut Outbox) -> Vec<AgentMessage> {
        let raw = Arc::new(frame);
        let has_id = raw.get("id").is_some();
        match text(&raw, "method") {
            Some(_) if has_id => {
                self.is_recognised = true;
                self.asked(&raw, out)
            }
            Some(method) => {
                self.is_recognised = true;
                self.notified(method, &raw, out)
            }
            None if has_id => self.answered(&raw, out),
            None => vec![self.other(&raw)],
        }
    }

    /// The answer to a request of ours.
    fn answered(&mut self, raw: &Arc<Value>, out: &mut Outbox) -> Vec<AgentMessage> {
        let answer = self.requests.answered(raw, out);
        self.is_recognised |= answer != Answer::Unknown;
        match answer {
            Answer::Of(Asked::Interrupt, _) | Answer::Unknown => vec![self.other(raw)],
            Answer::Again(wait) => {
                let notice = format!("Codex is overloaded; trying again in {} s", wait.as_secs_f64());
                vec![self.other(raw), AgentMessage::Event(AgentEvent::notice(notice))]
            }
            Answer::Of(what, Ok(result)) => self.succeeded(what, &result, raw, out),
            Answer::Of(_, Err(message)) => vec![self.other(raw), self.failed(message)],
        }
    }

    fn succeeded(
        &mut self,
        what: Asked,
        result: &Value,
        raw: &Arc<Value>,
        out: &mut Outbox,
    ) -> Vec<AgentMessage> {
        match what {
            Asked::Initialize => {
                // The name that we gave, a slash, and the version.
                let agent = text(result, "userAgent").and_then(|agent| agent.split_once('/'));
                self.version = agent.and_then(|(_, rest)| rest.split(' ').next()).map(str::to_owned);
                out.json(&json!({ "method": "initialized" }));
                match &self.options.api_key {
                    Some(key) => {
                        let params = json!({ "type": "apiKey", "apiKey": key.expose() });
                        self.requests.send(Asked::Login, "account/login/start", params, out);
                    }
                    None => self.open(out),
                }
            }
            Asked::Login => self.open(out),
            Asked::Thread => {
                let id = result.pointer("/thread/id").and_then(Value::as_str);
                self.thread = id.map(str::to_owned);
                let Some(conversation) = self.thread.clone() else {
                    return vec![self.other(raw), self.failed("its conversation has no id".to_owned())];
                };
                let (version, model) = (self.version.clone(), text(result, "model").map(str::to_owned));
                let kind = AgentEventKind::Started { version, model, conversation: Some(conversation) };
                return vec![self.event(raw, kind)];
            }
            Asked::Turn => self.begun(result.pointer("/turn/id"), out),
            Asked::Interrupt => {}
        }
        vec![self.other(raw)]
    }

    fn open(&mut self, out: &mut Outbox) {
        let (method, params) = self.options.opening();
        self.requests.send(Asked::Thread, method, params, out);
    }

    /// A turn has begun.
    fn begun(&mut self, id: Option<&Value>, out: &mut Outbox) {
        self.turn = id.and_then(Value::as_str).map(str::to_owned);
        if self.turn.is_some() && std::mem::take(&mut self.is_interrupted) {
            self.interrupt(out);
        }
    }

    /// A failure that ends the turn, or that no turn can begin after.
    fn failed(&mut self, message: String) -> AgentMessage {
        self.end(StopReason::Other("error".to_owned()), Some(message))
    }

    fn end(&mut self, stop: StopReason, error: Option<String>) -> AgentMessage {
        // No request waits for an answer any more.
        self.approvals.clear();
        self.changes.clear();
        (self.turn, self.is_interrupted) = (None, false);
        let (text, used) = (std::mem::take(&mut self.said), self.usage.so_far());
        AgentMessage::TurnEnded(TurnEnd { text, stop, used, error })
    }

    fn asked(&mut self, raw: &Arc<Value>, out: &mut Outbox) -> Vec<AgentMessage> {
        let item = raw.pointer("/params/itemId").and_then(Value::as_str).unwrap_or_default();
        let change = self.changes.get(item);
        match self.approvals.asked(raw, change, &self.options.home, out) {
            Some(AgentMessage::Permission(mut asked)) => {
                asked.subagent = self.subagent(raw);
                vec![AgentMessage::Permission(asked)]
            }
            Some(message) => vec![message],
            None => vec![self.other(raw)],
        }
    }

    fn notified(&mut self, method: &str, raw: &Arc<Value>, out: &mut Outbox) -> Vec<AgentMessage> {
        let params = raw.get("params").unwrap_or(&Value::Null);
        let is_own = text(params, "threadId") == self.thread.as_deref();
        match method {
            "turn/started" if is_own => self.begun(params.pointer("/turn/id"), out),
            "turn/completed" if is_own => return self.completed(raw),
            "item/started" => return vec![self.item_started(raw)],
            "item/completed" => return vec![self.item_completed(raw, is_own)],
            "item/agentMessage/delta" => {
                self.streamed.add(text(params, "itemId").unwrap_or_default());
                return vec![self.event(raw, AgentEventKind::Text { text: owned(params, "delta") })];
            }
            "item/reasoning/textDelta" | "item/reasoning/summaryTextDelta" => {
                return vec![self.event(raw, AgentEventKind::Thought { text: owned(params, "delta") })];
            }
            "thread/tokenUsage/updated" => {
                let is_of_turn = self.turn.is_some() && text(params, "turnId") == self.turn.as_deref();
                let is_before = self.options.resumed.is_some() && is_own && !is_of_turn;
                let mut messages = vec![self.other(raw)];
                if self.usage.report(params, is_before) {
                    messages.push(AgentMessage::Used(self.usage.so_far()));
                }
                return messages;
            }
            "serverRequest/resolved" => self.approvals.resolved(params),
            "error" => {
                return vec![self.event(raw, notice(params.get("error").unwrap_or(&Value::Null), "message"))];
            }
            "warning" | "guardianWarning" => return vec![self.event(raw, notice(params, "message"))],
            "configWarning" => return vec![self.event(raw, notice(params, "summary"))],
            _ => {}
        }
        vec![self.other(raw)]
    }

    fn completed(&mut self, raw: &Arc<Value>) -> Vec<AgentMessage> {
        let turn = raw.pointer("/params/turn").unwrap_or(&Value::Null);
        // The end of an earlier turn says nothing about this one.
        if self.turn.is_some() && text(turn, "id") != self.turn.as_deref() {
            return vec![self.other(raw)];
        }
        let (stop, error) = match text(turn, "status") {
            Some("completed") => (StopReason::EndTurn, None),
            Some("interrupted") => (StopReason::Interrupted, None),
            status => {
                let said = turn.pointer("/error/message").and_then(Value::as_str);
                let message = said.or(status).unwrap_or("the turn ended without a status");
                (StopReason::Other(status.unwrap_or("error").to_owned()), Some(message.to_owned()))
            }
        };
        vec![self.other(raw), self.end(stop, error)]
    }

    fn item_started(&mut self, raw: &Arc<Value>) -> AgentMessage {
        let item = raw.pointer("/params/item").unwrap_or(&Value::Null);
        match text(item, "type") {
            Some("fileChange") if self.changes.len() < KNOWN => {
                self.changes.insert(owned(item, "id"), patch::arguments(item));
            }
            Some("collabAgentToolCall") => self.remember_subagents(item),
            _ => {}
        }
        self.event(raw, items::call(item).unwrap_or(AgentEventKind::Other))
    }

    fn item_completed(&mut self, raw: &Arc<Value>, is_own: bool) -> AgentMessage {
        let item = raw.pointer("/params/item").unwrap_or(&Value::Null);
        let id = text(item, "id").unwrap_or_default();
        match text(item, "type") {
            Some("fileChange") => drop(self.changes.remove(id)),
            Some("collabAgentToolCall") => self.remember_subagents(item),
            Some("agentMessage") => {
                let said = owned(item, "text");
                let is_comment = text(item, "phase") == Some("commentary");
                if is_own && (!is_comment || self.said.is_empty()) {
                    self.said.clone_from(&said);
                }
                let is_streamed = self.streamed.has(id);
                if !is_streamed && !said.is_empty() {
                    return self.event(raw, AgentEventKind::Text { text: said });
                }
            }
            _ => {}
        }
        self.event(raw, items::result(item).unwrap_or(AgentEventKind::Other))
    }

    fn remember_subagents(&mut self, item: &Value) {
        let threads = item.get("receiverThreadIds").and_then(Value::as_array).into_iter().flatten();
        for thread in threads.filter_map(Value::as_str) {
            if self.subagents.len() < KNOWN && !self.subagents.contains_key(thread) {
                self.subagents.insert(thread.to_owned(), owned(item, "id"));
            }
        }
    }

    /// The subagent that a frame is from: any other thread than ours.
    fn subagent(&self, raw: &Value) -> Option<String> {
        let thread = raw.pointer("/params/threadId").and_then(Value::as_str)?;
        let is_own = self.thread.as_deref().is_none_or(|own| own == thread);
        (!is_own).then(|| self.subagents.get(thread).map_or(thread, String::as_str).to_owned())
    }

    fn event(&self, raw: &Arc<Value>, kind: AgentEventKind) -> AgentMessage {
        AgentMessage::Event(AgentEvent::new(kind, Some(Arc::clone(raw))).of_subagent(self.subagent(raw)))
    }

    fn other(&self, raw: &Arc<Value>) -> AgentMessage {
        self.event(raw, AgentEventKind::Other)
    }
}

fn notice(said: &Value, name: &str) -> AgentEventKind {
    AgentEventKind::Notice { text: owned(said, name) }
}

impl Protocol for CodexProtocol {
    fn begin(&mut self, out: &mut Outbox) {
        let params = json!({
            "clientInfo": { "name": "metier", "title": "metier", "version": env!("CARGO_PKG_VERSION") },
            // Dynamic tools are experimental.
            "capabilities": { "experimentalApi": true },
        });
        self.requests.send(Asked::Initialize, "initialize", params, out);
    }

    fn is_ready(&self) -> bool {
        self.thread.is_some()
    }

    fn prompt(&mut self, text: &str, out: &mut Outbox) {
        let Some(thread) = &self.thread else { return };
        self.said.clear();
        let params = self.options.turn(thread, text);
        self.requests.send(Asked::Turn, "turn/start", params, out);
    }

    fn receive(&mut self, line: &AgentLine, out: &mut Outbox) -> Vec<AgentMessage> {
        messages_of(line, |frame| self.frame(frame, out))
    }

    fn is_recognised(&self) -> bool {
        self.is_recognised
    }

    fn answer(&mut self, answer: &Answered<'_>, out: &mut Outbox) {
        match answer {
            Answered::Permission { id, answer } => self.approvals.decide(id, answer, out),
            Answered::Tool { id, result } => self.approvals.result(id, result, out),
        }
    }

    fn interrupt(&mut self, out: &mut Outbox) {
        match (&self.thread, &self.turn) {
            (Some(thread), Some(turn)) => {
                let params = json!({ "threadId": thread, "turnId": turn });
                self.requests.send(Asked::Interrupt, "turn/interrupt", params, out);
            }
            // As soon as the turn has an id.
            _ => self.is_interrupted = self.requests.is_waiting(Asked::Turn),
        }
    }
}
