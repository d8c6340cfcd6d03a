//! A conversation with a program: its process, its streams, and the queue between them and the evaluation.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::fmt;
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use metier_sandbox::{ProgramEnd, ProgramPipes, Signals, SupervisedProgram};
use serde_json::Value;

use crate::error::HarnessError;
use crate::harness::{AgentStopper, Answered, Conversation};
use crate::lane::{Lane, Popped};
use crate::lines::{AgentLine, LineSplitter};
use crate::message::{AgentMessage, PromptToolCall, ToolAnswered};
use crate::protocol::{Outbox, ProgramEnding, Protocol};
use crate::setup::AgentPlace;
use crate::stopwatch::Stopwatch;
use crate::tool_server::ToolServer;

/// How many bytes of output can wait to be looked at. After that the program waits.
const OUTPUT: usize = 32 << 20;
/// How many bytes can wait for the program to read them. After that it is not considered to read any.
const INPUT: usize = 64 << 20;
/// How much of standard error is kept.
const ERRORS: usize = 8 << 10;
/// How many lines other than frames a program may print before its first frame.
const NOISE: u64 = 10_000;
/// How long a program may take to end by itself, and to be killed with everything it started.
const GRACE: Duration = Duration::from_secs(2);
const KILLED: Duration = Duration::from_secs(15);
const SIGTERM: u8 = 15;
const SIGKILL: u8 = 9;

/// What arrives from the threads that watch a program.
enum Arrived {
    Line(AgentLine),
    OutputEnded,
    ErrorsEnded,
    Ended(io::Result<ProgramEnd>),
    ToolCall(PromptToolCall, Sender<ToolAnswered>),
}

/// Brings tool calls into a conversation that do not come through the program's protocol, for example from an MCP
/// server on loopback. Make it before the program is started, and clone it for each thread.
#[derive(Clone)]
pub struct ToolBridge {
    lane: Arc<Lane<Arrived>>,
    count: Arc<AtomicU64>,
}

impl Default for ToolBridge {
    fn default() -> Self {
        Self { lane: Arc::new(Lane::new(OUTPUT)), count: Arc::default() }
    }
}

impl ToolBridge {
    /// Calls a tool of the prompt, and waits for the result. After the end of the conversation, it fails.
    pub fn call(&self, tool: &str, arguments: Value, call: Option<String>) -> ToolAnswered {
        let id = format!("bridge-{}", self.count.fetch_add(1, Ordering::Relaxed));
        let (answer, answered) = channel();
        let request = PromptToolCall { id, tool: tool.to_owned(), arguments, call };
        self.lane.push(Arrived::ToolCall(request, answer), 0);
        answered.recv().unwrap_or_else(|_| ToolAnswered {
            text: "The conversation has ended; the tool was not called.".to_owned(),
            is_error: true,
        })
    }
}

impl fmt::Debug for ToolBridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ToolBridge")
    }
}

/// A conversation with a program that speaks a [`Protocol`] on its standard streams.
pub struct ProgramConversation<P: Protocol> {
    title: &'static str,
    protocol: P,
    lane: Arc<Lane<Arrived>>,
    input: Arc<Lane<Vec<u8>>>,
    errors: Arc<Mutex<VecDeque<u8>>>,
    signals: Arc<Signals>,
    messages: VecDeque<AgentMessage>,
    /// Prompts for a program that is not ready yet.
    prompts: VecDeque<String>,
    /// Lines that are sent later: when the wait began, how long it is, and the line.
    later: Vec<(Stopwatch, Duration, Vec<u8>)>,
    bridged: HashMap<String, Sender<ToolAnswered>>,
    begun: Stopwatch,
    noise: Option<String>,
    noise_count: u64,
    output_ended: Option<Stopwatch>,
    have_errors_ended: bool,
    /// How it ended, if that is known, and since when.
    ended: Option<(Option<ProgramEnd>, Stopwatch)>,
    /// What serves the prompt's tools, for as long as the conversation lasts.
    server: Option<ToolServer>,
}

impl<P: Protocol> ProgramConversation<P> {
    /// Starts an agent, with the tool calls of this bridge.
    pub fn start(
        place: &AgentPlace,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
        protocol: P,
        bridge: &ToolBridge,
    ) -> Result<Self, HarnessError> {
        let title = place.agent().title();
        let begun = Stopwatch::start();
        let (running, pipes) = place.start(arguments)?;
        let failed = |source| HarnessError::Io { agent: title.to_owned(), action: "start", source };
        let signals = Arc::new(running.signals().map_err(failed)?);
        let (lane, input) = (Arc::clone(&bridge.lane), Arc::new(Lane::new(INPUT)));
        let errors = Arc::default();
        let mut conversation = Self {
            title,
            protocol,
            lane,
            input,
            errors,
            signals,
            messages: VecDeque::new(),
            prompts: VecDeque::new(),
            later: Vec::new(),
            bridged: HashMap::new(),
            begun,
            noise: None,
            noise_count: 0,
            output_ended: None,
            have_errors_ended: false,
            ended: None,
            server: None,
        };
        conversation.watch(running, pipes).map_err(failed)?;
        let mut out = Outbox::default();
        conversation.protocol.begin(&mut out);
        conversation.send(&mut out)?;
        Ok(conversation)
    }

    /// With a server whose calls arrive through the bridge of this conversation. It is closed with the conversation.
    pub(crate) fn serving(mut self, server: Option<ToolServer>) -> Self {
        self.server = server;
        self
    }

    /// Starts the threads. They end with the program.
    fn watch(&self, mut running: SupervisedProgram, pipes: ProgramPipes) -> io::Result<()> {
        let ProgramPipes { input, output, errors, .. } = pipes;
        let spawn = |name: &str, run: Box<dyn FnOnce() + Send>| {
            thread::Builder::new().name(format!("agent-{name}")).spawn(run).map(drop)
        };
        let lane = Arc::clone(&self.lane);
        // First, so that the process has an owner that waits for it whatever fails next.
        spawn(
            "wait",
            Box::new(move || {
                let ended = running.wait();
                lane.push(Arrived::Ended(ended), 0);
            }),
        )?;
        let lane = Arc::clone(&self.lane);
        spawn("output", Box::new(move || read_lines(output, &lane)))?;
        let (tail, lane) = (Arc::clone(&self.errors), Arc::clone(&self.lane));
        let keep = move || {
            keep_tail(errors, &tail);
            lane.push(Arrived::ErrorsEnded, 0);
        };
        spawn("errors", Box::new(keep))?;
        let lines = Arc::clone(&self.input);
        spawn("input", Box::new(move || write_lines(input, &lines)))
    }

    fn send(&mut self, out: &mut Outbox) -> Result<(), HarnessError> {
        let later = out.take_later().into_iter();
        self.later.extend(later.map(|(wait, line)| (Stopwatch::start(), wait, line)));
        out.take().into_iter().try_for_each(|line| self.send_line(line))
    }

    fn send_line(&self, line: Vec<u8>) -> Result<(), HarnessError> {
        let size = line.len();
        // A program that is ending does not read any more, and that it ended is noticed elsewhere.
        if !self.input.try_push(line, size) && !self.input.is_closed() {
            let source = io::Error::other("it does not read its input");
            return Err(HarnessError::Io { agent: self.title.to_owned(), action: "write to", source });
        }
        Ok(())
    }

    /// Sends the lines whose time has come. Returns how long the next one waits, at most this long.
    fn send_due(&mut self, limit: Duration) -> Result<Duration, HarnessError> {
        let is_due = |(begun, wait, _): &mut (Stopwatch, Duration, Vec<u8>)| begun.left_of(*wait).is_zero();
        for (_, _, line) in self.later.extract_if(.., is_due).collect::<Vec<_>>() {
            self.send_line(line)?;
        }
        let next = self.later.iter().map(|(begun, wait, _)| begun.left_of(*wait)).min();
        Ok(next.map_or(limit, |next| next.min(limit)))
    }

    fn prompt_if_ready(&mut self, out: &mut Outbox) {
        while self.protocol.is_ready()
            && let Some(text) = self.prompts.pop_front()
        {
            self.protocol.prompt(&text, out);
        }
    }

    fn take(&mut self, arrived: Arrived) -> Result<(), HarnessError> {
        match arrived {
            Arrived::Line(line) => {
                let mut out = Outbox::default();
                self.messages.extend(self.protocol.receive(&line, &mut out));
                self.prompt_if_ready(&mut out);
                self.send(&mut out)?;
                self.note_noise(&line)?;
            }
            Arrived::ToolCall(mut call, answer) => {
                self.protocol.served(&mut call);
                self.bridged.insert(call.id.clone(), answer);
                self.messages.push_back(AgentMessage::ToolCall(call));
            }
            Arrived::OutputEnded => self.output_ended = Some(Stopwatch::start()),
            Arrived::ErrorsEnded => self.have_errors_ended = true,
            Arrived::Ended(ended) => self.ended = Some((ended.ok(), Stopwatch::start())),
        }
        Ok(())
    }

    /// Remembers the first line that is not a frame, and fails if no frame comes after many of them.
    fn note_noise(&mut self, line: &AgentLine) -> Result<(), HarnessError> {
        if self.protocol.is_recognised() {
            return Ok(());
        }
        let (AgentLine::Whole(text) | AgentLine::Cut { head: text, .. }) = line;
        let first = self.noise.get_or_insert_with(|| text.chars().take(200).collect());
        self.noise_count += 1;
        if self.noise_count <= NOISE {
            return Ok(());
        }
        Err(HarnessError::Garbage { agent: self.title.to_owned(), line: first.clone() })
    }

    /// Whether the program is gone, with everything it said. A program that closed its output is stopped.
    fn is_gone(&self) -> bool {
        match (&self.ended, &self.output_ended) {
            // A process that could not be ended may still hold the pipes.
            (Some((_, since)), output) => {
                output.is_some() && self.have_errors_ended || since.elapsed() > GRACE
            }
            (None, Some(since)) => {
                if since.elapsed() > GRACE {
                    let _ = self.signals.send(SIGKILL);
                }
                false
            }
            (None, None) => false,
        }
    }

    /// Why there is nothing more to come.
    fn gone(&self) -> HarnessError {
        let agent = self.title.to_owned();
        let reason = said(self.ended.and_then(|(ended, _)| ended));
        let errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        let errors: Vec<u8> = errors.iter().copied().collect();
        let errors = String::from_utf8_lossy(&errors).into_owned();
        if self.protocol.is_ready() {
            return HarnessError::Crashed { agent, reason, errors, spent: Box::default() };
        }
        match &self.noise {
            Some(line) if !self.protocol.is_recognised() && errors.trim().is_empty() => {
                HarnessError::Garbage { agent, line: line.clone() }
            }
            _ => HarnessError::NotStarted { agent, reason, errors },
        }
    }

    fn check_patience(&self) -> Result<(), HarnessError> {
        let patience = self.protocol.patience();
        if self.protocol.is_ready() || self.begun.elapsed() <= patience {
            return Ok(());
        }
        let (agent, reason) =
            (self.title.to_owned(), format!("it was not ready within {} s", patience.as_secs_f64()));
        Err(HarnessError::NotStarted { agent, reason, errors: String::new() })
    }

    /// Waits until the program has ended, at most this long.
    fn wait_for_end(&mut self, limit: Duration) -> bool {
        let watch = Stopwatch::start();
        while self.ended.is_none() && !watch.left_of(limit).is_zero() {
            match self.lane.pop(watch.left_of(limit)) {
                Popped::Item(Arrived::Ended(ended)) => {
                    self.ended = Some((ended.ok(), Stopwatch::start()));
                }
                Popped::Closed => break,
                _ => {}
            }
        }
        self.ended.is_some()
    }

    fn stop(&mut self) -> Result<(), HarnessError> {
        if self.ended.is_none() {
            let _ = self.signals.send(SIGKILL);
            if !self.wait_for_end(KILLED) {
                let source = io::ErrorKind::TimedOut.into();
                return Err(HarnessError::Io { agent: self.title.to_owned(), action: "stop", source });
            }
        }
        Ok(())
    }

    /// Lets nothing more in or out; callers that wait for an answer get none.
    fn close(&mut self) {
        self.input.close();
        self.lane.close();
        self.server = None;
        while let Popped::Item(_) = self.lane.pop(Duration::ZERO) {}
        self.bridged.clear();
    }
}

impl<P: Protocol> Conversation for ProgramConversation<P> {
    fn prompt(&mut self, text: &str) -> Result<(), HarnessError> {
        self.prompts.push_back(text.to_owned());
        let mut out = Outbox::default();
        self.prompt_if_ready(&mut out);
        self.send(&mut out)
    }

    fn receive(&mut self, wait: Duration) -> Result<Option<AgentMessage>, HarnessError> {
        if let Some(message) = self.messages.pop_front() {
            return Ok(Some(message));
        }
        let wait = self.send_due(wait)?;
        match self.lane.pop(wait) {
            Popped::Item(arrived) => self.take(arrived)?,
            Popped::Nothing => {}
            Popped::Closed => return Err(self.gone()),
        }
        self.check_patience()?;
        match self.messages.pop_front() {
            None if self.is_gone() => Err(self.gone()),
            message => Ok(message),
        }
    }

    fn answer(&mut self, answer: &Answered<'_>) -> Result<(), HarnessError> {
        if let Answered::Tool { id, result } = answer
            && let Some(waiting) = self.bridged.remove(*id)
        {
            // Who does not wait any more needs no answer.
            let _ = waiting.send((*result).clone());
            return Ok(());
        }
        let mut out = Outbox::default();
        self.protocol.answer(answer, &mut out);
        self.send(&mut out)
    }

    fn interrupt(&mut self) -> Result<(), HarnessError> {
        let mut out = Outbox::default();
        self.protocol.interrupt(&mut out);
        self.send(&mut out)
    }

    fn finish(&mut self) -> Result<(), HarnessError> {
        if self.ended.is_none() {
            match self.protocol.ending() {
                ProgramEnding::CloseInput => self.input.close(),
                ProgramEnding::Terminate => {
                    let _ = self.signals.send(SIGTERM);
                }
            }
            self.wait_for_end(GRACE);
        }
        let stopped = self.stop();
        self.close();
        stopped
    }

    fn stopper(&self) -> Option<AgentStopper> {
        let signals = Arc::clone(&self.signals);
        // That it ended is noticed by the thread that waits for it.
        Some(Box::new(move || drop(signals.send(SIGKILL))))
    }
}

impl<P: Protocol> Drop for ProgramConversation<P> {
    fn drop(&mut self) {
        // What cannot be stopped is kept by the supervisor; no caller is left to tell.
        let _ = self.stop();
        self.close();
    }
}

impl<P: Protocol> fmt::Debug for ProgramConversation<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgramConversation")
            .field("agent", &self.title)
            .field("ended", &self.ended.is_some())
            .finish_non_exhaustive()
    }
}

/// How a program ended, for people.
fn said(ended: Option<ProgramEnd>) -> String {
    match ended.map(|ended| (ended.code, ended.signal)) {
        Some((Some(code), _)) => format!("exit code {code}"),
        Some((None, Some(signal))) => format!("killed by signal {signal}"),
        _ => "it ended".to_owned(),
    }
}

fn read_lines(mut output: PipeReader, lane: &Lane<Arrived>) {
    let mut splitter = LineSplitter::new();
    let mut buffer = vec![0; 64 << 10];
    let push = |line: AgentLine| {
        let size = line.size() + size_of::<AgentLine>();
        lane.push(Arrived::Line(line), size)
    };
    loop {
        let count = match output.read(&mut buffer) {
            Ok(count) if count > 0 => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            _ => break,
        };
        // Once the receiver is gone, the rest is read and dropped, so that the program can end.
        for line in splitter.feed(&buffer[..count]) {
            push(line);
        }
    }
    splitter.finish().map(push);
    lane.push(Arrived::OutputEnded, 0);
}

fn keep_tail(mut errors: PipeReader, tail: &Mutex<VecDeque<u8>>) {
    let mut buffer = [0; 4 << 10];
    loop {
        let count = match errors.read(&mut buffer) {
            Ok(count) if count > 0 => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            _ => return,
        };
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend(&buffer[..count]);
        let over = tail.len().saturating_sub(ERRORS);
        tail.drain(..over);
    }
}

/// Writes until there is nothing more to come, or the program stops reading. Then standard input is closed.
fn write_lines(mut input: PipeWriter, lines: &Lane<Vec<u8>>) {
    loop {
        match lines.pop(Duration::from_hours(1)) {
            Popped::Item(line) => {
                if input.write_all(&line).and_then(|()| input.flush()).is_err() {
                    lines.close();
                    return;
                }
            }
            Popped::Nothing => {}
            Popped::Closed => return,
        }
    }
}
