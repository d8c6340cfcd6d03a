//! A model server with answers that were written before: one for each request, in order. For what no good server does.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use metier_harness::{OpenAi, OpenAiApi, OpenAiSettings, Retries, SkillTools};
use metier_home::Secret;
use serde_json::{Value, json};

use crate::ground::Ground;

/// The key that is sent. It must appear nowhere.
pub(crate) const KEY: &str = "sk-secret-0123456789";

/// How an answer ends.
#[derive(Debug)]
pub(crate) enum Reply {
    /// The connection is closed.
    Whole(String),
    /// The server waits until the client closes the connection.
    Stalled(String),
}

#[derive(Debug)]
pub(crate) struct Canned {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Value>>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Canned {
    pub(crate) fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let (requests, is_over) = (Arc::<Mutex<Vec<Value>>>::default(), Arc::<AtomicBool>::default());
        let (seen, over) = (Arc::clone(&requests), Arc::clone(&is_over));
        let mut replies: VecDeque<Reply> = replies.into_iter().collect();
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                let stream = stream.unwrap();
                let Some(request) = request(&stream) else { continue };
                seen.lock().unwrap().push(request);
                let reply = replies.pop_front();
                let reply = reply.unwrap_or_else(|| {
                    Reply::Whole(refused(400, "", &json!({ "error": "no answer is left" })))
                });
                serve(stream, &reply);
            }
        });
        Self { address, requests, is_over, thread: Some(thread) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The bodies of the requests so far.
    pub(crate) fn requests(&self) -> Vec<Value> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Canned {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

/// The body of a request that has the key.
fn request(stream: &TcpStream) -> Option<Value> {
    let mut reader = BufReader::new(stream);
    let (mut length, mut has_key) = (0, false);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        has_key |= line == format!("authorization: bearer {KEY}");
        length = line.strip_prefix("content-length: ").map_or(length, |length| length.parse().unwrap());
    }
    assert!(has_key, "the request has no key");
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(serde_json::from_slice(&body).unwrap())
}

fn serve(mut stream: TcpStream, reply: &Reply) {
    let (Reply::Whole(text) | Reply::Stalled(text)) = reply;
    if stream.write_all(text.as_bytes()).is_err() {
        return;
    }
    if matches!(reply, Reply::Stalled(_)) {
        let _ = stream.read(&mut [0; 16]);
    }
}

/// The answer to a request that is refused, with further headers.
pub(crate) fn refused(status: u16, headers: &str, body: &Value) -> String {
    let body = body.to_string();
    let length = body.len();
    format!(
        "HTTP/1.1 {status} No\r\nContent-Type: application/json\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

/// Frames as server-sent events.
pub(crate) fn stream(frames: &[Value]) -> String {
    let events: Vec<String> = frames.iter().map(|frame| format!("data: {frame}\n\n")).collect();
    let events = events.concat();
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n{events}")
}

/// A piece of text.
pub(crate) fn says(api: OpenAiApi, text: &str) -> Value {
    match api {
        OpenAiApi::Chat => {
            json!({ "model": "m-1", "choices": [{ "index": 0, "delta": { "content": text }, "finish_reason": null }] })
        }
        _ => json!({ "type": "response.output_text.delta", "delta": text }),
    }
}

/// The end of an answer, with a call of a tool or without one.
pub(crate) fn ends(api: OpenAiApi, call: Option<(&str, Value)>) -> Vec<Value> {
    match api {
        OpenAiApi::Chat => {
            let calls = call.map(|(tool, arguments)| {
                let function = json!({ "name": tool, "arguments": arguments.to_string() });
                json!([{ "index": 0, "id": "call-1", "type": "function", "function": function }])
            });
            let reason = if calls.is_some() { "tool_calls" } else { "stop" };
            let delta = calls.map_or(json!({}), |calls| json!({ "tool_calls": calls }));
            vec![
                json!({ "model": "m-1", "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] }),
                json!({ "choices": [], "usage": { "prompt_tokens": 30, "completion_tokens": 7, "prompt_tokens_details": { "cached_tokens": 20 } } }),
            ]
        }
        _ => {
            let items = call.map(|(tool, arguments)| {
                json!({ "type": "function_call", "id": "fc-1", "call_id": "call-1", "name": tool, "arguments": arguments.to_string() })
            });
            let usage = json!({ "input_tokens": 30, "output_tokens": 7, "input_tokens_details": { "cached_tokens": 20 } });
            let output: Vec<Value> = items.into_iter().collect();
            let response = json!({ "model": "m-1", "status": "completed", "output": output, "usage": usage });
            vec![json!({ "type": "response.completed", "response": response })]
        }
    }
}

/// A whole answer with this text.
pub(crate) fn answers(api: OpenAiApi, text: &str) -> Reply {
    let frames: Vec<Value> = [says(api, text)].into_iter().chain(ends(api, None)).collect();
    Reply::Whole(stream(&frames))
}

/// A whole answer with a call of a tool.
pub(crate) fn calls(api: OpenAiApi, tool: &str, arguments: Value) -> Reply {
    Reply::Whole(stream(&ends(api, Some((tool, arguments)))))
}

/// A harness for a server. Waits before repetitions are too short to be noticed.
pub(crate) fn harness(ground: &Ground, url: impl Into<String>, api: OpenAiApi) -> OpenAi {
    OpenAi::new(settings(ground, url, api))
}

pub(crate) fn settings(ground: &Ground, url: impl Into<String>, api: OpenAiApi) -> OpenAiSettings {
    let mut settings = OpenAiSettings::new(SkillTools::new(ground.path("homes")));
    settings.base_url = url.into();
    settings.api = api;
    settings.key = Some(Secret::new(KEY));
    settings.model = Some("m-1".to_owned());
    settings.retries = Retries { base: std::time::Duration::from_millis(1), ..Retries::default() };
    settings
}
