//! The part of HTTP/1.1 that agents use: a request with a body, an answer, then the connection is closed.

use std::io::{self, BufRead, Read, Write};

use serde_json::{Value, json};

/// The most bytes of a line, and the most headers.
const LINE: u64 = 64 << 10;
const HEADERS: usize = 200;
/// The most bytes of a body. Agents send their whole conversation each time.
const BODY: u64 = 64 << 20;

/// The first part of a request.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
}

impl Head {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(other, _)| other.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }
}

/// Why a request cannot be read.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The client is gone or silent.
    Gone,
    /// The client gets this status and reason.
    Status(u16, &'static str),
}

impl From<io::Error> for Refusal {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

/// Reads the first part of a request.
pub(crate) fn read_head(stream: &mut impl BufRead) -> Result<Head, Refusal> {
    let bad = Refusal::Status(400, "this is not HTTP/1.1");
    let first = read_line(stream)?;
    let mut words = first.split(' ');
    let (Some(method), Some(path), Some("HTTP/1.1" | "HTTP/1.0"), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(bad);
    };
    if method.is_empty() || !path.starts_with('/') {
        return Err(bad);
    }
    let mut head = Head { method: method.to_owned(), path: path.to_owned(), headers: Vec::new() };
    loop {
        let line = read_line(stream)?;
        if line.is_empty() {
            return Ok(head);
        }
        let Some((name, value)) = line.split_once(':') else { return Err(bad) };
        if head.headers.len() == HEADERS {
            return Err(Refusal::Status(431, "too many headers"));
        }
        head.headers.push((name.trim().to_owned(), value.trim().to_owned()));
    }
}

/// Reads the body. A client that sends `Expect: 100-continue` gets its answer.
pub(crate) fn read_body(
    head: &Head,
    stream: &mut impl BufRead,
    answers: &mut impl Write,
) -> Result<Vec<u8>, Refusal> {
    if head.header("content-encoding").is_some_and(|encoding| encoding != "identity") {
        return Err(Refusal::Status(415, "send the body as it is, without compressing it"));
    }
    let is_chunked = match head.header("transfer-encoding") {
        None => false,
        Some(encoding) if encoding.eq_ignore_ascii_case("chunked") => true,
        Some(_) => return Err(Refusal::Status(501, "this transfer encoding is not known")),
    };
    let length = match head.header("content-length").map(str::parse::<u64>) {
        None => 0,
        Some(Ok(length)) => length,
        Some(Err(_)) => return Err(Refusal::Status(400, "the length is no number")),
    };
    if length > BODY {
        return Err(too_large());
    }
    if head.header("expect").is_some_and(|expect| expect.eq_ignore_ascii_case("100-continue")) {
        answers.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    let mut body = Vec::new();
    if is_chunked {
        while read_chunk(stream, &mut body)? {}
    } else {
        read_exactly(stream, length, &mut body)?;
    }
    Ok(body)
}

/// One chunk; whether there are more.
fn read_chunk(stream: &mut impl BufRead, body: &mut Vec<u8>) -> Result<bool, Refusal> {
    let bad = Refusal::Status(400, "this is no chunk");
    let line = read_line(stream)?;
    let size = line.split(';').next().unwrap_or_default().trim();
    let Ok(size) = u64::from_str_radix(size, 16) else { return Err(bad) };
    if size > BODY || body.len() as u64 + size > BODY {
        return Err(too_large());
    }
    if size == 0 {
        // What may come after the last one is of no interest.
        while !read_line(stream)?.is_empty() {}
        return Ok(false);
    }
    read_exactly(stream, size, body)?;
    if read_line(stream)?.is_empty() { Ok(true) } else { Err(bad) }
}

const fn too_large() -> Refusal {
    Refusal::Status(413, "the body is too large")
}

fn read_exactly(stream: &mut impl BufRead, length: u64, body: &mut Vec<u8>) -> Result<(), Refusal> {
    let read = stream.take(length).read_to_end(body)?;
    if read as u64 == length { Ok(()) } else { Err(Refusal::Gone) }
}

fn read_line(stream: &mut impl BufRead) -> Result<String, Refusal> {
    let mut line = Vec::new();
    stream.take(LINE).read_until(b'\n', &mut line)?;
    if line.pop() != Some(b'\n') {
        let is_long = line.len() as u64 + 1 >= LINE;
        return Err(if is_long { Refusal::Status(431, "a line is too long") } else { Refusal::Gone });
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    String::from_utf8(line).map_err(|_| Refusal::Status(400, "this is not HTTP/1.1"))
}

/// What is sent back.
#[derive(Debug)]
pub(crate) enum Answer {
    /// All at once.
    Json(u16, Value),
    /// One after the other, as server-sent events.
    Events(Vec<Event>),
}

/// One event of a stream.
#[derive(Debug)]
pub(crate) struct Event {
    /// Some protocols name them, some do not.
    pub(crate) name: Option<String>,
    pub(crate) data: String,
}

impl Answer {
    /// That something went wrong, in the shape that all of the protocols understand.
    pub(crate) fn error(status: u16, message: &str) -> Self {
        Self::Json(status, json!({ "error": { "message": message, "type": "invalid_request_error" } }))
    }

    pub(crate) const fn status(&self) -> u16 {
        match self {
            Self::Json(status, _) => *status,
            Self::Events(_) => 200,
        }
    }

    /// Writes it, without what follows the headers for those who asked only for them.
    pub(crate) fn write(&self, stream: &mut impl Write, with_body: bool) -> io::Result<()> {
        match self {
            Self::Json(status, value) => {
                let body = value.to_string();
                let reason = if *status < 400 { "OK" } else { "Refused" };
                write!(
                    stream,
                    "HTTP/1.1 {status} {reason}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
                     Connection: close\r\n\r\n",
                    body.len()
                )?;
                if with_body {
                    stream.write_all(body.as_bytes())?;
                }
            }
            Self::Events(events) => {
                stream.write_all(
                    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n\
                      Connection: close\r\n\r\n",
                )?;
                for event in events {
                    let name = event.name.as_ref().map(|name| format!("event: {name}\n"));
                    write!(stream, "{}data: {}\n\n", name.unwrap_or_default(), event.data)?;
                    stream.flush()?;
                }
            }
        }
        stream.flush()
    }
}
