//! Messages over a pair of streams, one JSON text per line, as in MCP over standard input and output.
//!
//! The transport of `rmcp` ignores input that is not JSON, and answers only one of two requests with the same id. This
//! one answers both, and reports whether any input was MCP.

use std::collections::{HashSet, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage,
};
use rmcp::service::RoleServer;
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::Mutex;

use crate::renamed::renamed;

/// The maximum length of a line.
const LONGEST: usize = 16 << 20;

/// How much of a line that is not MCP is kept for display.
const SHOWN: usize = 60;

/// Input that was not MCP.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// Whether there was any protocol message.
    is_mcp: AtomicBool,
    /// The start of the first line that was not a message.
    other: std::sync::Mutex<Option<String>>,
}

impl Heard {
    /// The first line, if no input was MCP.
    pub(crate) fn nothing_but(&self) -> Option<String> {
        if self.is_mcp.load(Ordering::Relaxed) {
            return None;
        }
        self.other.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    fn take(&self, line: &[u8]) {
        if !self.is_mcp.load(Ordering::Relaxed) {
            let mut other = self.other.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            other.get_or_insert_with(|| {
                let text = String::from_utf8_lossy(line);
                let plain = |c: char| if c.is_control() { '\u{fffd}' } else { c };
                text.trim().chars().take(SHOWN).map(plain).collect()
            });
        }
    }
}

/// The maximum number of cancelled request ids that are remembered.
const CANCELLED: usize = 1_000;

/// The ids of requests that have no answer yet.
#[derive(Debug, Default)]
struct UnderWay(std::sync::Mutex<Ids>);

#[derive(Debug, Default)]
struct Ids {
    open: HashSet<RequestId>,
    /// Cancelled requests that may never be answered, the oldest first. Their work may continue for a while, and its
    /// answer must not be mistaken for the answer to another request.
    cancelled: VecDeque<RequestId>,
}

impl UnderWay {
    fn ids(&self) -> std::sync::MutexGuard<'_, Ids> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The id of a message, if it is a request and its id is already in use.
    fn repeated(&self, message: &ClientJsonRpcMessage) -> Option<RequestId> {
        let mut ids = self.ids();
        match message {
            ClientJsonRpcMessage::Request(request) => {
                (!ids.open.insert(request.id.clone())).then(|| request.id.clone())
            }
            ClientJsonRpcMessage::Notification(told) => {
                if let ClientNotification::CancelledNotification(cancelled) = &told.notification
                    && let Some(id) = cancelled.params.request_id.clone().filter(|id| ids.open.contains(id))
                {
                    ids.cancelled.push_back(id);
                    if ids.cancelled.len() > CANCELLED
                        && let Some(oldest) = ids.cancelled.pop_front()
                    {
                        ids.open.remove(&oldest);
                    }
                }
                None
            }
            _ => None,
        }
    }

    fn answered(&self, message: &ServerJsonRpcMessage) {
        let id = match message {
            ServerJsonRpcMessage::Response(response) => Some(&response.id),
            ServerJsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        if let Some(id) = id {
            self.ids().open.remove(id);
        }
    }
}

/// The transport.
pub(crate) struct Lines<R, W> {
    input: BufReader<R>,
    /// The line read so far. An interrupted read continues here.
    line: Vec<u8>,
    /// Whether requests that servers may answer are renamed.
    has_gateway: bool,
    /// Whether the rest of a line that is too long is skipped.
    is_skipping: bool,
    output: Arc<Mutex<Option<W>>>,
    heard: Arc<Heard>,
    under_way: UnderWay,
}

impl<R: AsyncRead + Unpin, W> Lines<R, W> {
    pub(crate) fn new(input: R, output: W, has_gateway: bool) -> Self {
        let output = Arc::new(Mutex::new(Some(output)));
        Self {
            input: BufReader::new(input),
            line: Vec::new(),
            has_gateway,
            is_skipping: false,
            output,
            heard: Arc::default(),
            under_way: UnderWay::default(),
        }
    }

    pub(crate) fn heard(&self) -> Arc<Heard> {
        Arc::clone(&self.heard)
    }

    /// Reads until a line is complete; `false` at the end of the stream. It can be interrupted and called again at any
    /// time.
    async fn read_line(&mut self) -> io::Result<bool> {
        loop {
            let available = self.input.fill_buf().await?;
            if available.is_empty() {
                return Ok(false);
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(available.len(), |end| end + 1);
            let is_too_long = self.line.len() + taken > LONGEST;
            if !self.is_skipping && !is_too_long {
                self.line.extend_from_slice(&available[..taken]);
            }
            self.input.consume(taken);
            match (end.is_some(), self.is_skipping || is_too_long) {
                (true, false) => return Ok(true),
                (is_end, true) => {
                    self.line.clear();
                    self.is_skipping = !is_end;
                }
                (false, false) => {}
            }
        }
    }
}

/// The kinds of lines.
enum Line {
    Message(Box<ClientJsonRpcMessage>),
    /// A line that needs no answer.
    Ignored,
    /// Not a message.
    Wrong(ErrorData, Option<RequestId>),
}

fn parse(line: &[u8]) -> Line {
    // A byte order mark may come before JSON.
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Line::Ignored;
    }
    if let Ok(message) = serde_json::from_slice(line) {
        return Line::Message(Box::new(message));
    }
    match serde_json::from_slice::<Value>(line) {
        Err(error) => {
            let words = format!("parse error: not valid JSON: {error}");
            Line::Wrong(ErrorData::new(ErrorCode::PARSE_ERROR, words, None), None)
        }
        Ok(value) if value.get("id").is_none() && value["method"].is_string() => Line::Ignored,
        Ok(value) => {
            let id = value.get("id").and_then(|id| serde_json::from_value(id.clone()).ok());
            let words = "invalid request: not a JSON-RPC message";
            Line::Wrong(ErrorData::new(ErrorCode::INVALID_REQUEST, words, None), id)
        }
    }
}

async fn write<W: AsyncWrite + Unpin>(
    output: &Mutex<Option<W>>,
    message: &ServerJsonRpcMessage,
) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(message)?;
    bytes.push(b'\n');
    let mut output = output.lock().await;
    let output = output.as_mut().ok_or(io::ErrorKind::NotConnected)?;
    output.write_all(&bytes).await?;
    output.flush().await
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let output = Arc::clone(&self.output);
        // Before the client can see the answer, and reuse the id.
        self.under_way.answered(&message);
        async move { write(&output, &message).await }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            match self.read_line().await {
                Ok(true) => {}
                // A last line without a line break is kept at least for the error message.
                Ok(false) => {
                    if !self.line.is_empty() && matches!(parse(&self.line), Line::Wrong(..)) {
                        self.heard.take(&self.line);
                    }
                    return None;
                }
                Err(_) => return None,
            }
            let line = std::mem::take(&mut self.line);
            let renamed = if self.has_gateway { renamed(&line) } else { None };
            let (error, id) = match parse(renamed.as_deref().unwrap_or(&line)) {
                Line::Message(message) => {
                    self.heard.is_mcp.store(true, Ordering::Relaxed);
                    let Some(id) = self.under_way.repeated(&message) else { return Some(*message) };
                    let words = format!("invalid request: a request with the id {id} is already in progress");
                    (ErrorData::invalid_request(words, None), Some(id))
                }
                Line::Ignored => continue,
                Line::Wrong(error, id) => {
                    self.heard.take(&line);
                    (error, id)
                }
            };
            let answer = ServerJsonRpcMessage::error(error, id);
            let output = Arc::clone(&self.output);
            // In a task of its own, because the caller may be interrupted, and half an answer is worse than none.
            tokio::spawn(async move { write(&output, &answer).await }).await.ok()?.ok()?;
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        drop(self.output.lock().await.take());
        Ok(())
    }
}
