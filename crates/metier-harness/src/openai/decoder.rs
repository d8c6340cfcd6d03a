//! Streams of `OpenAI`'s two APIs: bytes of one reply in, events out, without I/O.

use std::sync::Arc;

use metier_home::Secret;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::chat::ChatReading;
use super::reply::{ModelReply, Progress, ReplyProblem};
use super::responses::ResponsesReading;
use super::sse::{ServerEvent, SseSplitter};
use crate::event::{AgentEvent, AgentEventKind};

/// Which of `OpenAI`'s APIs a server is asked with. Most other servers have Chat Completions, some have both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum OpenAiApi {
    /// `POST /responses`.
    #[default]
    Responses,
    /// `POST /chat/completions`.
    Chat,
}

impl OpenAiApi {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Responses, Self::Chat];

    /// Its name: `responses` or `chat`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Responses => "responses",
            Self::Chat => "chat",
        }
    }

    /// Its path below the base URL.
    pub const fn path(self) -> &'static str {
        match self {
            Self::Responses => "/responses",
            Self::Chat => "/chat/completions",
        }
    }
}

/// Decodes one streamed reply, without I/O. Nothing that a server sends is an error before the end: what makes no sense is kept as
/// an event of kind [`Other`](AgentEventKind::Other) or [`Notice`](AgentEventKind::Notice).
///
/// ```
/// use metier_harness::{OpenAiApi, OpenAiDecoder};
///
/// let mut decoder = OpenAiDecoder::new(OpenAiApi::Chat);
/// decoder.feed(b"data: {\"choices\":[{\"delta\":{\"content\":\"Hi.\"},\"finish_reason\":\"stop\"}]}\n\n");
/// let (_, reply) = decoder.finish();
/// assert_eq!(reply.unwrap().text, "Hi.");
/// ```
#[derive(Debug)]
pub struct OpenAiDecoder {
    splitter: SseSplitter,
    reading: Reading,
    noise: Option<String>,
    /// What the server was given, and is in nothing that is shown.
    key: Option<Secret>,
}

#[derive(Debug)]
enum Reading {
    Responses(ResponsesReading),
    Chat(ChatReading),
}

impl Reading {
    const fn progress(&mut self) -> &mut Progress {
        match self {
            Self::Responses(reading) => &mut reading.progress,
            Self::Chat(reading) => &mut reading.progress,
        }
    }

    fn frame(&mut self, raw: &Arc<Value>) -> Vec<AgentEvent> {
        match self {
            Self::Responses(reading) => reading.frame(raw),
            Self::Chat(reading) => reading.frame(raw),
        }
    }
}

impl OpenAiDecoder {
    /// A reply of this API.
    pub fn new(api: OpenAiApi) -> Self {
        let reading = match api {
            OpenAiApi::Responses => Reading::Responses(ResponsesReading::default()),
            OpenAiApi::Chat => Reading::Chat(ChatReading::default()),
        };
        Self { splitter: SseSplitter::new(), reading, noise: None, key: None }
    }

    /// With the key that the server was given: it is in nothing that comes of the reply, whatever the server says.
    pub(super) fn hiding(mut self, key: Option<Secret>) -> Self {
        self.key = key;
        self
    }

    /// What the next bytes of a stream mean.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<AgentEvent> {
        let events = self.splitter.feed(bytes);
        events.into_iter().flat_map(|event| self.event(event)).collect()
    }

    /// What a whole answer means, of a server that does not stream.
    pub fn feed_whole(&mut self, body: &[u8]) -> Vec<AgentEvent> {
        self.event(ServerEvent::Data(String::from_utf8_lossy(body).into_owned()))
    }

    /// Whether nothing more is needed, or nothing more would help.
    pub fn is_over(&mut self) -> bool {
        self.reading.progress().problem.is_some()
    }

    /// How many bytes of text, reasoning and arguments the model has written so far.
    pub fn written(&mut self) -> u64 {
        self.reading.progress().written
    }

    /// The end of the stream: its last events, and the reply.
    pub fn finish(mut self) -> (Vec<AgentEvent>, Result<ModelReply, ReplyProblem>) {
        let rest = self.splitter.finish();
        let events = rest.into_iter().flat_map(|event| self.event(event)).collect();
        let progress = self.reading.progress();
        let problem = match progress.problem.take() {
            None if progress.is_complete => None,
            None if !progress.is_recognised => {
                Some(self.noise.map_or(ReplyProblem::Incomplete, |head| ReplyProblem::Garbage { head }))
            }
            None => Some(ReplyProblem::Incomplete),
            problem => problem,
        };
        let reply = match (problem, self.reading) {
            (Some(problem), _) => Err(problem),
            (None, Reading::Responses(reading)) => Ok(reading.reply()),
            (None, Reading::Chat(reading)) => Ok(reading.reply()),
        };
        (events, reply)
    }

    fn event(&mut self, event: ServerEvent) -> Vec<AgentEvent> {
        if self.is_over() {
            return Vec::new();
        }
        match self.without_key(event) {
            ServerEvent::Data(data) if data == "[DONE]" => {
                let progress = self.reading.progress();
                progress.is_complete |= progress.is_recognised;
                vec![AgentEvent::new(AgentEventKind::Other, Some(Arc::new(data.into())))]
            }
            ServerEvent::Data(data) => match serde_json::from_str::<Value>(&data) {
                Ok(frame @ Value::Object(_)) => {
                    let events = self.reading.frame(&Arc::new(frame));
                    if !self.reading.progress().is_recognised {
                        self.noise.get_or_insert_with(|| head(&data));
                    }
                    events
                }
                _ => self.note(&data),
            },
            ServerEvent::Cut { head, bytes } => {
                let begun = self::head(&head);
                vec![AgentEvent::notice(format!(
                    "an event of {bytes} bytes was skipped; it began with {begun}"
                ))]
            }
            ServerEvent::Noise(line) => self.note(&line),
        }
    }

    fn without_key(&self, event: ServerEvent) -> ServerEvent {
        let hide = |text| without_key(text, self.key.as_ref());
        match event {
            ServerEvent::Data(data) => ServerEvent::Data(hide(data)),
            ServerEvent::Noise(line) => ServerEvent::Noise(hide(line)),
            ServerEvent::Cut { head, bytes } => ServerEvent::Cut { head: hide(head), bytes },
        }
    }

    fn note(&mut self, line: &str) -> Vec<AgentEvent> {
        let head = head(line);
        self.noise.get_or_insert_with(|| head.clone());
        vec![AgentEvent::notice(head)]
    }
}

/// A text of a server that may repeat its key.
pub(super) fn without_key(text: String, key: Option<&Secret>) -> String {
    match key.map(Secret::expose) {
        Some(key) if !key.is_empty() && text.contains(key) => text.replace(key, "(the key)"),
        _ => text,
    }
}

/// The beginning of something that is not understood.
fn head(text: &str) -> String {
    text.chars().take(200).collect()
}
