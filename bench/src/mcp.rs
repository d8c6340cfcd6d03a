//! A minimal MCP client: starts a server and calls one of its tools repeatedly.

#![expect(clippy::disallowed_methods, reason = "a benchmark looks at the clock")]

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A running server. It is stopped when this is dropped.
#[derive(Debug)]
pub struct Client {
    child: Child,
    requests: ChildStdin,
    answers: Receiver<Value>,
    last: u64,
    limit: Duration,
}

impl Client {
    /// Starts a server. No operation waits longer than `limit`.
    pub fn start(mut command: Command, limit: Duration) -> io::Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let gone = || io::Error::other("the server has no standard input or output");
        let requests = child.stdin.take().ok_or_else(gone)?;
        let output = child.stdout.take().ok_or_else(gone)?;
        let (sender, answers) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let message = serde_json::from_str::<Value>(&line).unwrap_or_default();
                if message.get("id").is_some() && sender.send(message).is_err() {
                    break;
                }
            }
        });
        let mut client = Self { child, requests, answers, last: 0, limit };
        let hello = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "metier-bench", "version": "0"},
        });
        client.request("initialize", &hello)?;
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(client)
    }

    /// Calls a tool. Returns its result and the duration.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> io::Result<(Value, Duration)> {
        let start = Instant::now();
        let result = self.request("tools/call", &json!({"name": tool, "arguments": arguments}))?;
        Ok((result, start.elapsed()))
    }

    /// Requests the list of tools.
    pub fn list(&mut self) -> io::Result<Value> {
        self.request("tools/list", &json!({}))
    }

    fn send(&mut self, message: &Value) -> io::Result<()> {
        self.requests.write_all(format!("{message}\n").as_bytes())?;
        self.requests.flush()
    }

    fn request(&mut self, method: &str, params: &Value) -> io::Result<Value> {
        self.last += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}))?;
        loop {
            let wait = self.answers.recv_timeout(self.limit);
            let mut answer =
                wait.map_err(|_| io::Error::other(format!("no answer to {method} within {:?}", self.limit)))?;
            if answer.get("id") != Some(&json!(self.last)) {
                continue;
            }
            return match answer.get_mut("result") {
                Some(result) => Ok(result.take()),
                None => Err(io::Error::other(format!("{method} was refused: {answer}"))),
            };
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
