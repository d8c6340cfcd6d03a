//! A conversation with a model server: requests, repeated where the server asks for it, and the results of tools between them.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use metier_skill::tokens;
use serde_json::Value;

use super::decoder::without_key;
use super::http::{Arrived, Client, Head};
use super::reply::{ModelReply, ReplyProblem, message};
use super::request::RequestBody;
use super::{OpenAiDecoder, OpenAiSettings, TITLE};
use crate::error::HarnessError;
use crate::evaluation::StopReason;
use crate::event::{AgentEvent, AgentEventKind};
use crate::harness::{Answered, Conversation, Opening};
use crate::lane::{Lane, Popped};
use crate::message::{AgentMessage, PromptToolCall, ToolAnswered, TurnEnd};
use crate::stopwatch::Stopwatch;
use crate::usage::{Cost, TokenUsage, UsageSoFar};

/// How much of the answer to a refused request is read.
const ERROR_MAX: usize = 64 << 10;

/// How many bytes a token has at most in ordinary text. While an answer arrives, its tokens are not known yet; with this they are
/// rather too few than too many.
const TOKEN_BYTES: u64 = 8;

/// How many bytes of an answer arrive before its estimate is told again.
const STEP: u64 = 512;

/// A conversation with a model server.
#[derive(Debug)]
pub(super) struct OpenAiConversation {
    settings: OpenAiSettings,
    client: Client,
    body: RequestBody,
    phase: Phase,
    messages: VecDeque<AgentMessage>,
    /// What requests that have ended used.
    used: UsageSoFar,
    /// The requests of this prompt.
    requests: u64,
    /// The text of the model's last reply.
    text: String,
    is_estimate_told: bool,
    model: Option<String>,
}

#[derive(Debug)]
enum Phase {
    /// Nothing is expected.
    Idle,
    /// A request is under way.
    Asking(Box<Asking>),
    /// The server is asked again after a while.
    Waiting { since: Stopwatch, wait: Duration, attempts: u32 },
    /// Tools are called; those without a result yet are here.
    Calling { open: Vec<(String, String)> },
}

/// A request that is under way.
#[derive(Debug)]
struct Asking {
    lane: Arc<Lane<Arrived>>,
    decoder: OpenAiDecoder,
    head: Option<Head>,
    /// The body of an answer that is not a stream.
    body: Vec<u8>,
    /// How often this request was sent.
    attempts: u32,
    /// The size of the request.
    sent: usize,
    /// How many bytes the model had written when that was last told. Once there are any, the request is not repeated.
    told: u64,
}

impl OpenAiConversation {
    pub(super) fn new(settings: OpenAiSettings, opening: &Opening<'_>) -> Result<Self, HarnessError> {
        let wrong = |reason| HarnessError::Settings { agent: TITLE.to_owned(), reason };
        let model = opening.model.or(settings.model.as_deref());
        let model = model.ok_or_else(|| wrong("no model is named".to_owned()))?;
        let client = Client::new(&settings).map_err(wrong)?;
        let body = RequestBody::new(settings.api, model, &settings.parameters, opening);
        Ok(Self {
            settings,
            client,
            body,
            phase: Phase::Idle,
            messages: VecDeque::new(),
            used: UsageSoFar::default(),
            requests: 0,
            text: String::new(),
            is_estimate_told: false,
            model: None,
        })
    }

    /// Sends the conversation so far.
    fn ask(&mut self, attempts: u32) -> Result<(), HarnessError> {
        let bytes = self.body.to_bytes();
        let sent = bytes.len();
        let failed = |source| HarnessError::Io { agent: TITLE.to_owned(), action: "write to", source };
        let lane = self.client.send(bytes).map_err(failed)?;
        let decoder = OpenAiDecoder::new(self.settings.api).hiding(self.settings.key.clone());
        let body = Vec::new();
        self.phase =
            Phase::Asking(Box::new(Asking { lane, decoder, head: None, body, attempts, sent, told: 0 }));
        Ok(())
    }

    fn event(&mut self, mut event: AgentEvent) {
        // Every answer names the model again.
        if let AgentEventKind::Started { model, .. } = &event.kind {
            if self.model == *model {
                event.kind = AgentEventKind::Other;
            } else {
                self.model.clone_from(model);
            }
        }
        self.messages.push_back(AgentMessage::Event(event));
    }

    fn arrived(&mut self, mut asking: Box<Asking>, arrived: Arrived) -> Result<(), HarnessError> {
        match arrived {
            Arrived::Head(head) => {
                asking.head = Some(head);
                self.phase = Phase::Asking(asking);
            }
            Arrived::Bytes(bytes) => {
                self.bytes(&mut asking, &bytes);
                if asking.decoder.is_over() {
                    // What follows is of no interest, however much it is.
                    asking.lane.close();
                    return self.ended(*asking);
                }
                self.phase = Phase::Asking(asking);
            }
            Arrived::End(Ok(())) => return self.ended(*asking),
            Arrived::End(Err(reason)) => return self.broken(*asking, reason),
        }
        Ok(())
    }

    fn bytes(&mut self, asking: &mut Asking, bytes: &[u8]) {
        let is_stream = asking.head.as_ref().is_some_and(|head| head.is_stream && head.status < 300);
        if !is_stream {
            let is_error = asking.head.as_ref().is_some_and(|head| head.status >= 300);
            let limit = if is_error { ERROR_MAX } else { crate::lines::LINE_MAX };
            let room = limit.saturating_sub(asking.body.len());
            asking.body.extend_from_slice(&bytes[..bytes.len().min(room)]);
            return;
        }
        for event in asking.decoder.feed(bytes) {
            self.event(event);
        }
        let written = asking.decoder.written();
        // Not for every word.
        if written / STEP > asking.told / STEP {
            let usage = TokenUsage { output: written / TOKEN_BYTES, ..TokenUsage::default() };
            let used = self.used + UsageSoFar { usage, ..UsageSoFar::default() };
            self.messages.push_back(AgentMessage::Used(used));
        }
        asking.told = written;
    }

    /// The connection failed.
    fn broken(&mut self, asking: Asking, reason: String) -> Result<(), HarnessError> {
        let agent = TITLE.to_owned();
        if asking.head.is_none() {
            let address = self.client.address.clone();
            return Err(HarnessError::Unreachable { agent, address, reason, spent: Box::new(self.used) });
        }
        let (events, reply) = asking.decoder.finish();
        for event in events {
            self.event(event);
        }
        match reply {
            // It had said everything before.
            Ok(reply) => self.replied(reply, None, asking.sent),
            Err(_) => Err(HarnessError::Broken { agent, reason, spent: Box::new(self.used) }),
        }
    }

    fn ended(&mut self, mut asking: Asking) -> Result<(), HarnessError> {
        let Some(head) = asking.head.take() else {
            return self.broken(asking, "it closed the connection".to_owned());
        };
        if head.status >= 300 {
            return self.refused(&head, &asking);
        }
        if !head.is_stream {
            for event in asking.decoder.feed_whole(&asking.body) {
                self.event(event);
            }
        }
        let (attempts, has_written, sent) = (asking.attempts, asking.told > 0, asking.sent);
        let (events, reply) = asking.decoder.finish();
        for event in events {
            self.event(event);
        }
        match reply {
            Ok(reply) => self.replied(reply, head.cost, sent),
            Err(ReplyProblem::Failed { message, is_temporary: true }) if !has_written => {
                self.again(attempts, head.retry_after, &message)
            }
            Err(problem) => Err(self.problem(problem)),
        }
    }

    fn problem(&self, problem: ReplyProblem) -> HarnessError {
        let (agent, spent) = (TITLE.to_owned(), Box::new(self.used));
        match problem {
            ReplyProblem::Garbage { head } => HarnessError::Garbage { agent, line: head },
            ReplyProblem::Failed { message, .. } => {
                HarnessError::Agent { agent, message: self.without_key(&message), spent }
            }
            problem => HarnessError::Broken { agent, reason: problem.to_string(), spent },
        }
    }

    /// The server refused the request.
    fn refused(&mut self, head: &Head, asking: &Asking) -> Result<(), HarnessError> {
        let body = String::from_utf8_lossy(&asking.body);
        let parsed: Option<Value> = serde_json::from_str(&body).ok();
        let error =
            parsed.as_ref().map(|body| body.get("error").or_else(|| body.get("detail")).unwrap_or(body));
        let said = error.map_or_else(|| body.trim().chars().take(500).collect(), message);
        let place = if head.status == 404 { format!(" (at {})", self.client.address) } else { String::new() };
        let reason = self.without_key(&format!("HTTP {}: {said}{place}", head.status));
        let agent = TITLE.to_owned();
        let is_spent =
            error.and_then(|error| error.get("code")).is_some_and(|code| code == "insufficient_quota");
        match head.status {
            401 | 403 => Err(HarnessError::Key { agent, reason }),
            400 | 422 => match self.body.leave_out(&body) {
                Some(member) => {
                    self.event(AgentEvent::notice(format!("the server does not support {}", member.title())));
                    self.ask(asking.attempts)
                }
                None => Err(self.problem(ReplyProblem::Failed { message: reason, is_temporary: false })),
            },
            408 | 409 | 429 | 500..=599 if !is_spent => {
                self.again(asking.attempts, head.retry_after, &reason)
            }
            _ => Err(self.problem(ReplyProblem::Failed { message: reason, is_temporary: false })),
        }
    }

    /// Servers repeat a wrong key, or parts of it.
    fn without_key(&self, text: &str) -> String {
        without_key(text.to_owned(), self.settings.key.as_ref())
    }

    /// Asks once more after a while, if that is worth it.
    fn again(&mut self, attempts: u32, asked: Option<Duration>, reason: &str) -> Result<(), HarnessError> {
        let Some(wait) = self.settings.retries.wait(attempts, asked) else {
            let message = match asked.filter(|asked| *asked > self.settings.retries.longest) {
                Some(asked) => format!("{reason}; it asks to wait {} s", asked.as_secs()),
                None => format!("{reason} ({attempts} attempts)"),
            };
            return Err(self.problem(ReplyProblem::Failed { message, is_temporary: true }));
        };
        let seconds = wait.as_secs_f64();
        self.event(AgentEvent::notice(format!("{reason}; the server is asked again in {seconds:.1} s")));
        self.phase = Phase::Waiting { since: Stopwatch::start(), wait, attempts };
        Ok(())
    }

    fn replied(
        &mut self,
        reply: ModelReply,
        header_cost: Option<f64>,
        sent: usize,
    ) -> Result<(), HarnessError> {
        let usage = reply.usage.unwrap_or_else(|| self.estimate(&reply, sent));
        let said = reply.cost.or_else(|| header_cost.and_then(Cost::from_dollars));
        let cost = said.or_else(|| self.settings.prices.and_then(|prices| prices.of(usage)));
        self.used = self.used + UsageSoFar { usage, cost, turns: 1 };
        self.requests += 1;
        self.messages.push_back(AgentMessage::Used(self.used));
        self.text.clone_from(&reply.text);
        self.body.reply(reply.items);
        // The arguments of the last call may be cut off.
        let calls = if reply.stop == StopReason::MaxTokens { Vec::new() } else { reply.calls };
        if calls.is_empty() {
            self.end_turn(reply.stop);
            return Ok(());
        }
        let mut open = Vec::new();
        for (number, call) in calls.into_iter().enumerate() {
            let id = format!("{}-{number}", self.requests);
            let shown = call.arguments.clone().unwrap_or_default();
            let (known, tool) = (call.id.clone(), call.tool.clone());
            let kind = AgentEventKind::ToolCall { id: known, tool, arguments: shown, skill: None };
            self.event(AgentEvent::new(kind, None));
            match call.arguments {
                Ok(arguments) => {
                    open.push((id.clone(), call.id.clone()));
                    let (tool, call) = (call.tool, Some(call.id));
                    self.messages.push_back(AgentMessage::ToolCall(PromptToolCall {
                        id,
                        tool,
                        arguments,
                        call,
                    }));
                }
                Err(reason) => {
                    let text =
                        format!("The arguments are not valid JSON: {reason}. Call it again with valid ones.");
                    self.result(&call.id, &ToolAnswered { text, is_error: true });
                }
            }
        }
        self.phase = Phase::Calling { open };
        self.go_on()
    }

    /// A server that does not count is counted for, so that budgets hold.
    fn estimate(&mut self, reply: &ModelReply, sent: usize) -> TokenUsage {
        if !mem::replace(&mut self.is_estimate_told, true) {
            let note = "the server does not report usage; it is estimated from the length of the texts";
            self.event(AgentEvent::notice(note));
        }
        let calls =
            reply.calls.iter().map(|call| call.arguments.as_ref().map_or(0, |value| value.to_string().len()));
        let written = reply.text.len() + calls.sum::<usize>();
        TokenUsage { input: tokens(sent) as u64, output: tokens(written) as u64, ..TokenUsage::default() }
    }

    fn result(&mut self, call: &str, result: &ToolAnswered) {
        let (id, text, is_error) = (call.to_owned(), result.text.clone(), result.is_error);
        self.event(AgentEvent::synthetic(AgentEventKind::ToolResult { id, text, is_error }));
        self.body.tool_result(call, &result.text);
    }

    /// The next request, once every call has a result.
    fn go_on(&mut self) -> Result<(), HarnessError> {
        match &self.phase {
            Phase::Calling { open } if open.is_empty() => {}
            _ => return Ok(()),
        }
        if self.requests >= self.settings.requests_max {
            self.end_turn(StopReason::MaxTurns);
            return Ok(());
        }
        self.ask(1)
    }

    fn end_turn(&mut self, stop: StopReason) {
        self.phase = Phase::Idle;
        let text = mem::take(&mut self.text);
        self.messages.push_back(AgentMessage::TurnEnded(TurnEnd {
            text,
            stop,
            used: self.used,
            error: None,
        }));
    }
}

impl Conversation for OpenAiConversation {
    fn prompt(&mut self, text: &str) -> Result<(), HarnessError> {
        self.body.prompt(text);
        self.requests = 0;
        self.ask(1)
    }

    fn receive(&mut self, wait: Duration) -> Result<Option<AgentMessage>, HarnessError> {
        if let Some(message) = self.messages.pop_front() {
            return Ok(Some(message));
        }
        match mem::replace(&mut self.phase, Phase::Idle) {
            Phase::Asking(asking) => match asking.lane.pop(wait) {
                Popped::Item(arrived) => self.arrived(asking, arrived)?,
                Popped::Nothing => self.phase = Phase::Asking(asking),
                Popped::Closed => self.ended(*asking)?,
            },
            Phase::Waiting { since, wait: whole, attempts } => {
                let left = since.left_of(whole);
                if left.is_zero() {
                    self.ask(attempts + 1)?;
                } else {
                    // Nothing arrives there: this only waits.
                    Lane::<()>::new(0).pop(left.min(wait));
                    self.phase = Phase::Waiting { since, wait: whole, attempts };
                }
            }
            phase => self.phase = phase,
        }
        Ok(self.messages.pop_front())
    }

    fn answer(&mut self, answer: &Answered<'_>) -> Result<(), HarnessError> {
        // No permission is ever asked for.
        let Answered::Tool { id, result } = answer else { return Ok(()) };
        let Phase::Calling { open } = &mut self.phase else { return Ok(()) };
        let Some(place) = open.iter().position(|(request, _)| request == id) else { return Ok(()) };
        let (_, call) = open.remove(place);
        self.result(&call, result);
        self.go_on()
    }

    fn interrupt(&mut self) -> Result<(), HarnessError> {
        self.client.stop();
        self.messages.clear();
        if let Phase::Asking(asking) = &mut self.phase
            && asking.head.as_ref().is_some_and(|head| head.status < 300)
        {
            let output = asking.decoder.written() / TOKEN_BYTES;
            let input = tokens(asking.sent) as u64;
            // The server counts them all the same.
            let usage = TokenUsage { input, output, ..TokenUsage::default() };
            self.used = self.used + UsageSoFar { usage, cost: None, turns: 1 };
            asking.lane.close();
        }
        self.end_turn(StopReason::Interrupted);
        Ok(())
    }

    fn finish(&mut self) -> Result<(), HarnessError> {
        self.client.stop();
        Ok(())
    }
}

impl Drop for OpenAiConversation {
    fn drop(&mut self) {
        // The thread of a request does not wait for room any more.
        if let Phase::Asking(asking) = &self.phase {
            asking.lane.close();
        }
    }
}
