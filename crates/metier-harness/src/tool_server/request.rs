//! One HTTP request, as far as clients of MCP need it: bounded, and with a body of known length.

use std::io::{self, Read};

/// How long the head and the body of a request can be.
const HEAD: usize = 64 << 10;
const BODY: usize = 32 << 20;

/// A request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) authorization: String,
    pub(super) body: Vec<u8>,
}

/// Why there is no request.
#[derive(Debug)]
pub(super) enum Unread {
    /// It is answered with this status.
    Refused(&'static str),
    /// The connection is gone, or too slow.
    Broken(io::Error),
}

impl From<io::Error> for Unread {
    fn from(error: io::Error) -> Self {
        Self::Broken(error)
    }
}

const BAD: Unread = Unread::Refused("400 Bad Request");

impl Request {
    /// Reads a request. The body of one without the right authorization is not read.
    pub(super) fn read(mut stream: impl Read, is_authorized: impl Fn(&str) -> bool) -> Result<Self, Unread> {
        let mut bytes = Vec::new();
        let mut buffer = [0; 8 << 10];
        let head = loop {
            if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                break end;
            }
            if bytes.len() > HEAD {
                return Err(Unread::Refused("431 Request Header Fields Too Large"));
            }
            read_some(&mut stream, &mut buffer, &mut bytes)?;
        };
        let rest = bytes.split_off(head + 4);
        let (mut request, length) = Self::parse(&bytes[..head])?;
        if !is_authorized(&request.authorization) {
            return Err(Unread::Refused("401 Unauthorized"));
        }
        if length > BODY {
            return Err(Unread::Refused("413 Content Too Large"));
        }
        request.body = rest;
        while request.body.len() < length {
            read_some(&mut stream, &mut buffer, &mut request.body)?;
        }
        request.body.truncate(length);
        Ok(request)
    }

    /// The head of a request, and the length of its body.
    fn parse(head: &[u8]) -> Result<(Self, usize), Unread> {
        let text = str::from_utf8(head).map_err(|_| BAD)?;
        let mut lines = text.split("\r\n");
        let mut first = lines.next().unwrap_or_default().split(' ');
        let (Some(method), Some(path), Some("HTTP/1.1" | "HTTP/1.0"), None) =
            (first.next(), first.next(), first.next(), first.next())
        else {
            return Err(BAD);
        };
        let mut request = Self { method: method.to_owned(), path: path.to_owned(), ..Self::default() };
        let mut length = None;
        for line in lines {
            let (name, value) = line.split_once(':').ok_or(BAD)?;
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "authorization" => value.clone_into(&mut request.authorization),
                "content-length" if length.is_none() => {
                    length = Some(value.parse::<usize>().map_err(|_| BAD)?);
                }
                "content-length" => return Err(BAD),
                // No client of MCP sends its messages in pieces.
                "transfer-encoding" => return Err(Unread::Refused("411 Length Required")),
                _ => {}
            }
        }
        Ok((request, length.unwrap_or_default()))
    }
}

fn read_some(stream: &mut impl Read, buffer: &mut [u8], bytes: &mut Vec<u8>) -> io::Result<()> {
    match stream.read(buffer) {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(count) => {
            bytes.extend_from_slice(&buffer[..count]);
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a few bytes at a time.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.0.len().min(3).min(buffer.len());
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    #[test]
    fn a_request_can_arrive_in_pieces() {
        let text = b"POST /mcp HTTP/1.1\r\nHost: x\r\nAUTHORIZATION:  Bearer a \r\ncontent-length: 3\r\n\r\n{}\nmore";
        let request = Request::read(Slow(text), |_| true).unwrap();
        let expected = Request {
            method: "POST".to_owned(),
            path: "/mcp".to_owned(),
            authorization: "Bearer a".to_owned(),
            body: b"{}\n".to_vec(),
        };
        assert_eq!(request, expected);
    }

    #[test]
    fn what_is_wrong_or_too_long_is_refused() {
        let long = format!("POST /mcp HTTP/1.1\r\nA: {}", "a".repeat(HEAD + 1));
        for (text, status) in [
            ("x\r\n\r\n", "400"),
            ("POST /mcp HTTP/2\r\n\r\n", "400"),
            ("POST /mcp HTTP/1.1\r\nno colon\r\n\r\n", "400"),
            ("POST /mcp HTTP/1.1\r\nContent-Length: -1\r\n\r\n", "400"),
            ("POST /mcp HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "400"),
            ("POST /mcp HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", "413"),
            ("POST /mcp HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "411"),
            (long.as_str(), "431"),
        ] {
            let Err(Unread::Refused(found)) = Request::read(text.as_bytes(), |_| true) else {
                panic!("{text}")
            };
            assert!(found.starts_with(status), "{found}: {text}");
        }
        let short = "POST /mcp HTTP/1.1\r\nContent-Length: 5\r\n\r\n{}";
        assert!(matches!(Request::read(short.as_bytes(), |_| true), Err(Unread::Broken(_))));
    }
}
