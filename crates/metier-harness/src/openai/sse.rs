//! Server-sent events: bytes in, events out, without I/O. An event may be larger than any buffer: of such an event only the beginning
//! is kept.

use crate::lines::LINE_MAX;

/// How much of a larger event is kept.
const HEAD: usize = 4 << 10;

/// How many bytes of a line say what it is.
const NAME: usize = 6;

/// An event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerEvent {
    /// The data of a whole event. Bytes that are not UTF-8 are replaced. Its name is not kept: model servers repeat it in the data.
    Data(String),
    /// The beginning of an event that is too large, and how many bytes its data had.
    Cut {
        /// The first bytes, as text.
        head: String,
        /// The size of the whole event.
        bytes: u64,
    },
    /// A line that belongs to no event, shortened. Only the first one of a stream is reported.
    Noise(String),
}

/// Splits bytes into server-sent events, without I/O. It never holds more than one event of the maximum size.
///
/// ```
/// use metier_harness::{ServerEvent, SseSplitter};
///
/// let mut events = SseSplitter::new();
/// assert_eq!(events.feed(b"event: a\ndata: {\"a\":"), []);
/// assert_eq!(events.feed(b"1}\n\n: ping\n\n"), [ServerEvent::Data("{\"a\":1}".to_owned())]);
/// ```
#[derive(Debug)]
pub struct SseSplitter {
    limit: usize,
    /// The beginning of the current line, and the length of the whole line.
    line: Vec<u8>,
    line_length: u64,
    /// The data of the current event: its lines, each with its line end.
    data: Vec<u8>,
    /// How many bytes of the current event were dropped, once it is too large.
    dropped: u64,
    /// Whether the last byte was a carriage return, so that a line feed after it ends nothing.
    is_after_return: bool,
    is_noise_reported: bool,
    has_begun: bool,
}

impl Default for SseSplitter {
    fn default() -> Self {
        Self::new()
    }
}

impl SseSplitter {
    /// Events of at most [`LINE_MAX`](crate::LINE_MAX) bytes.
    pub const fn new() -> Self {
        Self::with_limit(LINE_MAX)
    }

    /// Events of at most this many bytes.
    pub const fn with_limit(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            line_length: 0,
            data: Vec::new(),
            dropped: 0,
            is_after_return: false,
            is_noise_reported: false,
            has_begun: false,
        }
    }

    /// The events that these bytes complete.
    pub fn feed(&mut self, mut bytes: &[u8]) -> Vec<ServerEvent> {
        let mut events = Vec::new();
        while let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let is_rest = std::mem::take(&mut self.is_after_return) && end == 0 && bytes[0] == b'\n';
            if !is_rest {
                self.take(&bytes[..end]);
                events.extend(self.end_line());
            }
            self.is_after_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
        }
        self.is_after_return &= bytes.is_empty();
        self.take(bytes);
        events
    }

    /// The last event, if the stream ended without the empty line after it. A line that was not ended is complete as well: servers
    /// close the connection after `[DONE]`.
    pub fn finish(&mut self) -> Vec<ServerEvent> {
        let line = self.end_line();
        line.into_iter().chain(self.end_event()).collect()
    }

    fn take(&mut self, bytes: &[u8]) {
        let room =
            if self.dropped > 0 { 0 } else { self.limit.saturating_sub(self.line.len() + self.data.len()) };
        // What a line is must be known also where there is no room for it.
        let kept = bytes.len().min(room.max(NAME.saturating_sub(self.line.len())));
        self.line.extend_from_slice(&bytes[..kept]);
        self.line_length += bytes.len() as u64;
    }

    fn end_line(&mut self) -> Option<ServerEvent> {
        let (line, length) = (std::mem::take(&mut self.line), std::mem::take(&mut self.line_length));
        if length == 0 {
            return self.end_event();
        }
        let cut = length - line.len() as u64;
        let mut line = line.as_slice();
        if !std::mem::replace(&mut self.has_begun, true) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        let name_end = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (name, value) = (&line[..name_end], line.get(name_end + 1..).unwrap_or_default());
        match name {
            b"data" => {
                self.add(value.strip_prefix(b" ").unwrap_or(value), cut);
                None
            }
            // Comments, and fields without a meaning here.
            b"" | b"event" | b"id" | b"retry" => None,
            _ if std::mem::replace(&mut self.is_noise_reported, true) => None,
            _ => Some(ServerEvent::Noise(String::from_utf8_lossy(line).chars().take(200).collect())),
        }
    }

    /// Adds a line of data, of which this many bytes were cut.
    fn add(&mut self, value: &[u8], cut: u64) {
        if self.dropped > 0 {
            self.dropped += value.len() as u64 + cut;
            return;
        }
        self.data.extend_from_slice(value);
        self.dropped = cut;
        if cut == 0 {
            self.data.push(b'\n');
        }
    }

    fn end_event(&mut self) -> Option<ServerEvent> {
        let (mut data, dropped) = (std::mem::take(&mut self.data), std::mem::take(&mut self.dropped));
        if dropped > 0 {
            let bytes = data.len() as u64 + dropped;
            data.truncate(HEAD.min(self.limit));
            return Some(ServerEvent::Cut { head: text(data), bytes });
        }
        // Every line of data ends with a line feed; the last one does not belong to it.
        data.pop().map(|_| ServerEvent::Data(text(data)))
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|bytes| String::from_utf8_lossy(bytes.as_bytes()).into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn data(text: &str) -> ServerEvent {
        ServerEvent::Data(text.to_owned())
    }

    fn all(events: &mut SseSplitter, parts: &[&[u8]]) -> Vec<ServerEvent> {
        let mut found: Vec<ServerEvent> = parts.iter().flat_map(|part| events.feed(part)).collect();
        found.extend(events.finish());
        found
    }

    #[test]
    fn events_end_at_empty_lines_whatever_the_line_ends_are() {
        let bytes = b"\xef\xbb\xbfdata:a\r\ndata: b\r\n\r\n: comment\n\nevent: x\nid: 1\ndata:  c\n\n\n\ndata\n\ndata: d\r\rdata: [DONE]";
        let found = all(&mut SseSplitter::new(), &[bytes]);
        assert_eq!(found, [data("a\nb"), data(" c"), data(""), data("d"), data("[DONE]")]);
    }

    #[test]
    fn what_is_not_an_event_is_reported_once() {
        let found = all(&mut SseSplitter::new(), &[b"<html>\n<body>\ndata: a\n\n</html>"]);
        assert_eq!(found, [ServerEvent::Noise("<html>".to_owned()), data("a")]);
    }

    #[test]
    fn a_large_event_is_cut_and_the_next_one_is_whole() {
        for chunk in [1, 7, 10_000, 50_000] {
            let mut bytes = vec![b':'; 20_000];
            bytes.extend_from_slice(b"\ndata: ");
            bytes.extend(vec![b'x'; 30_000]);
            bytes.extend_from_slice(b"\n\ndata: next\n\n");
            let mut events = SseSplitter::with_limit(10_000);
            let parts: Vec<&[u8]> = bytes.chunks(chunk).collect();
            let found = all(&mut events, &parts);
            let head = "x".repeat(HEAD);
            assert_eq!(found, [ServerEvent::Cut { head, bytes: 30_000 }, data("next")], "{chunk}");
        }
    }

    #[test]
    fn many_lines_are_one_event_and_limited_as_one() {
        let bytes = "data: 12345678\n".repeat(5_000) + "\ndata: next\n\n";
        let mut events = SseSplitter::with_limit(1_000);
        let found = all(&mut events, &[bytes.as_bytes()]);
        assert!(matches!(&found[0], ServerEvent::Cut { bytes, .. } if *bytes > 40_000), "{found:?}");
        assert_eq!(found[1..], [data("next")]);
    }

    proptest! {
        /// The same events, however the bytes arrive.
        #[test]
        fn where_the_bytes_are_split_makes_no_difference(
            lines in prop::collection::vec("(data: ?[a-z]{0,9}|event: x|: c|[a-z]{1,3}|)(\n|\r\n|\r)", 0..40),
            cuts in prop::collection::vec(0_usize..400, 0..20),
        ) {
            let bytes = lines.concat().into_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let parts: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            for limit in [8, 1 << 20] {
                let whole = all(&mut SseSplitter::with_limit(limit), &[&bytes]);
                prop_assert_eq!(all(&mut SseSplitter::with_limit(limit), &parts), whole);
            }
        }
    }
}
