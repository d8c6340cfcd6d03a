//! Frames: what all protocols of JSON lines have in common.

use std::collections::VecDeque;

use serde_json::Value;

use crate::event::AgentEvent;
use crate::lines::AgentLine;
use crate::message::AgentMessage;

/// How many streamed messages are remembered.
const STREAMED: usize = 64;

/// A text member of a frame.
pub(crate) fn text<'a>(frame: &'a Value, name: &str) -> Option<&'a str> {
    frame.get(name).and_then(Value::as_str)
}

/// The same, as a text of its own; empty where there is none.
pub(crate) fn owned(frame: &Value, name: &str) -> String {
    text(frame, name).unwrap_or_default().to_owned()
}

/// The text of a tool's result: a string, or the text parts of a list.
pub(crate) fn result_text(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let texts: Vec<&str> = parts.iter().filter_map(|part| text(part, "text")).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

/// What a line means: a frame what `frame` says, and other lines a notice. Programs that an agent starts can write to the
/// same output.
pub(crate) fn messages_of(
    line: &AgentLine,
    frame: impl FnOnce(Value) -> Vec<AgentMessage>,
) -> Vec<AgentMessage> {
    let notice = match line {
        AgentLine::Whole(text) => match serde_json::from_str(text) {
            Ok(object @ Value::Object(_)) => return frame(object),
            _ => text.clone(),
        },
        AgentLine::Cut { head, bytes } => {
            let head: String = head.chars().take(200).collect();
            format!("a line of {bytes} bytes was skipped; it began with {head}")
        }
    };
    vec![AgentMessage::Event(AgentEvent::notice(notice))]
}

/// The latest messages whose text came in pieces, and comes again as a whole: it must not be shown twice.
#[derive(Debug, Default)]
pub(crate) struct Streamed(VecDeque<String>);

impl Streamed {
    /// Remembers a message.
    pub(crate) fn add(&mut self, id: &str) {
        if !self.has(id) {
            self.0.push_back(id.to_owned());
            if self.0.len() > STREAMED {
                self.0.pop_front();
            }
        }
    }

    /// Whether a message is remembered.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.0.iter().any(|known| known == id)
    }
}
