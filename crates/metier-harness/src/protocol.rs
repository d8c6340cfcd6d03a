//! A protocol of an agent program: lines in, messages and lines out, without I/O.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::harness::Answered;
use crate::lines::AgentLine;
use crate::message::{AgentMessage, PromptToolCall};

/// The state of a conversation with a program that talks in lines. It does no I/O, so that it can be tested with
/// recorded frames and fuzzed.
///
/// Nothing that a program sends is an error here: a line that makes no sense is an [`AgentMessage::Event`] of kind
/// [`Other`](crate::AgentEventKind::Other) or [`Notice`](crate::AgentEventKind::Notice).
pub trait Protocol: fmt::Debug + Send {
    /// The first lines for the program.
    fn begin(&mut self, out: &mut Outbox);

    /// Whether the program can be prompted. Prompts are held back until then.
    fn is_ready(&self) -> bool;

    /// Sends a prompt. It is only called when the program is ready.
    fn prompt(&mut self, text: &str, out: &mut Outbox);

    /// What a line of the program means.
    fn receive(&mut self, line: &AgentLine, out: &mut Outbox) -> Vec<AgentMessage>;

    /// Whether any line so far was a frame of this protocol.
    fn is_recognised(&self) -> bool;

    /// Sends an answer to a request of the program.
    fn answer(&mut self, answer: &Answered<'_>, out: &mut Outbox);

    /// A call of a prompt's tool has arrived through a [`ToolBridge`](crate::ToolBridge). A protocol that knows the
    /// program's id of that call sets it.
    fn served(&mut self, _call: &mut PromptToolCall) {}

    /// Asks the program to end its turn.
    fn interrupt(&mut self, out: &mut Outbox);

    /// How the program is ended after the last turn.
    fn ending(&self) -> ProgramEnding {
        ProgramEnding::CloseInput
    }

    /// How long the program may take until it is ready.
    fn patience(&self) -> Duration {
        Duration::from_mins(1)
    }
}

/// How a program is ended when it is not needed any more. What does not end in a moment is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProgramEnding {
    /// By closing its standard input.
    CloseInput,
    /// By a signal, while its standard input stays open: for programs that continue with fewer checks when it is closed.
    Terminate,
}

/// Lines for a program.
#[derive(Debug, Default)]
pub struct Outbox {
    lines: Vec<Vec<u8>>,
    later: Vec<(Duration, Vec<u8>)>,
}

impl Outbox {
    /// Adds a frame as one line of JSON.
    pub fn json(&mut self, frame: &impl Serialize) {
        self.lines.push(line_of(frame));
    }

    /// Adds a frame that is sent after this time, for requests that are repeated.
    pub fn json_after(&mut self, wait: Duration, frame: &impl Serialize) {
        self.later.push((wait, line_of(frame)));
    }

    /// Takes the lines out that are sent now.
    pub fn take(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.lines)
    }

    /// Takes the lines out that are sent later, each with the time to wait.
    pub fn take_later(&mut self) -> Vec<(Duration, Vec<u8>)> {
        std::mem::take(&mut self.later)
    }
}

/// A frame as one line of JSON.
fn line_of(frame: &impl Serialize) -> Vec<u8> {
    // Frames are made of plain data, which is always JSON.
    let mut line = serde_json::to_vec(frame).unwrap_or_default();
    line.push(b'\n');
    line
}
