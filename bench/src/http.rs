//! A minimal MCP client over HTTP that keeps its connection and waits for each answer.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

/// A client that keeps its connection.
#[derive(Debug)]
pub struct Caller {
    stream: BufReader<TcpStream>,
    address: String,
    session: Option<String>,
}

impl Caller {
    /// Connects, and shakes hands.
    pub fn new(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let mut caller = Self { stream: BufReader::new(stream), address: address.to_owned(), session: None };
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "b", "version": "0" } });
        caller.post(&json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }))?;
        caller.post(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(caller)
    }

    /// Sends a message; returns the body of the response.
    pub fn post(&mut self, body: &Value) -> io::Result<String> {
        let body = body.to_string();
        let session = self.session.as_ref().map(|id| format!("Mcp-Session-Id: {id}\r\n")).unwrap_or_default();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\n{session}Content-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        self.stream.get_mut().write_all(head.as_bytes())?;
        let (mut length, mut is_chunked) = (0, false);
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(": ").unwrap_or((line, ""));
            match name.to_ascii_lowercase().as_str() {
                "mcp-session-id" => self.session = Some(value.to_owned()),
                "content-length" => length = value.parse().map_err(io::Error::other)?,
                "transfer-encoding" => is_chunked = true,
                _ => {}
            }
        }
        let mut text = Vec::new();
        if !is_chunked {
            text.resize(length, 0);
            self.stream.read_exact(&mut text)?;
            return String::from_utf8(text).map_err(io::Error::other);
        }
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line)?;
            let size = usize::from_str_radix(line.trim_end(), 16).map_err(io::Error::other)?;
            let mut chunk = vec![0; size + 2];
            self.stream.read_exact(&mut chunk)?;
            if size == 0 {
                return String::from_utf8(text).map_err(io::Error::other);
            }
            text.extend_from_slice(&chunk[..size]);
        }
    }
}
