//! Bytes of an agent become lines. A line may be longer than any buffer: of such a line only the beginning is kept.

/// The longest line that is kept as a whole, unless said otherwise: 16 MiB.
pub const LINE_MAX: usize = 16 << 20;

/// How much of a longer line is kept.
const HEAD: usize = 4 << 10;

/// A line of an agent's output, without its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentLine {
    /// A whole line. Bytes that are not UTF-8 are replaced.
    Whole(String),
    /// The beginning of a line that is too long, and how many bytes the line had.
    Cut {
        /// The first bytes, as text.
        head: String,
        /// The length of the whole line.
        bytes: u64,
    },
}

impl AgentLine {
    /// How much memory it takes.
    pub(crate) const fn size(&self) -> usize {
        match self {
            Self::Whole(text) | Self::Cut { head: text, .. } => text.len(),
        }
    }
}

/// Splits bytes into lines, without I/O. It never holds more than one line of the maximum length.
///
/// ```
/// use metier_harness::{AgentLine, LineSplitter};
///
/// let mut lines = LineSplitter::new();
/// assert_eq!(lines.feed(b"{\"a\":"), []);
/// assert_eq!(lines.feed(b"1}\n{"), [AgentLine::Whole("{\"a\":1}".to_owned())]);
/// ```
#[derive(Debug)]
pub struct LineSplitter {
    limit: usize,
    buffer: Vec<u8>,
    /// The bytes of the current line that were dropped, once it is too long.
    dropped: Option<u64>,
}

impl Default for LineSplitter {
    fn default() -> Self {
        Self::new()
    }
}

impl LineSplitter {
    /// Lines of at most [`LINE_MAX`] bytes.
    pub const fn new() -> Self {
        Self::with_limit(LINE_MAX)
    }

    /// Lines of at most this many bytes.
    pub const fn with_limit(limit: usize) -> Self {
        Self { limit, buffer: Vec::new(), dropped: None }
    }

    /// The lines that these bytes complete.
    pub fn feed(&mut self, mut bytes: &[u8]) -> Vec<AgentLine> {
        let mut lines = Vec::new();
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.take(&bytes[..end]);
            lines.extend(self.end_line());
            bytes = &bytes[end + 1..];
        }
        self.take(bytes);
        lines
    }

    /// The last line, if the output ended without a line end.
    pub fn finish(&mut self) -> Option<AgentLine> {
        self.end_line()
    }

    fn take(&mut self, bytes: &[u8]) {
        if let Some(dropped) = &mut self.dropped {
            *dropped += bytes.len() as u64;
        } else if self.buffer.len() + bytes.len() > self.limit {
            let room = HEAD.min(self.limit);
            let (all, kept) = (self.buffer.len() + bytes.len(), room.saturating_sub(self.buffer.len()));
            self.buffer.extend_from_slice(&bytes[..kept.min(bytes.len())]);
            self.buffer.truncate(room);
            self.buffer.shrink_to_fit();
            self.dropped = Some((all - self.buffer.len()) as u64);
        } else {
            self.buffer.extend_from_slice(bytes);
        }
    }

    fn end_line(&mut self) -> Option<AgentLine> {
        let buffer = std::mem::take(&mut self.buffer);
        let kept = buffer.len() as u64;
        let mut text = String::from_utf8(buffer)
            .unwrap_or_else(|bytes| String::from_utf8_lossy(bytes.as_bytes()).into());
        if let Some(dropped) = self.dropped.take() {
            return Some(AgentLine::Cut { head: text, bytes: kept + dropped });
        }
        if text.ends_with('\r') {
            text.pop();
        }
        (!text.is_empty()).then_some(AgentLine::Whole(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> AgentLine {
        AgentLine::Whole(text.to_owned())
    }

    #[test]
    fn lines_are_the_same_however_the_bytes_arrive() {
        let bytes = b"{\"a\":1}\r\n\n\xff noise\nlast";
        let mut once = LineSplitter::new();
        let mut all = once.feed(bytes);
        all.extend(once.finish());
        assert_eq!(all, [whole("{\"a\":1}"), whole("\u{fffd} noise"), whole("last")]);
        let mut by_byte = LineSplitter::new();
        let mut same: Vec<AgentLine> = bytes.chunks(1).flat_map(|byte| by_byte.feed(byte)).collect();
        same.extend(by_byte.finish());
        assert_eq!(same, all);
    }

    #[test]
    fn a_long_line_is_cut_and_the_next_one_is_whole() {
        for chunk in [1, 7, 10_000, 50_000] {
            let mut lines = LineSplitter::with_limit(10_000);
            let mut bytes = vec![b'x'; 30_000];
            bytes.extend_from_slice(b"\nnext\n");
            let found: Vec<AgentLine> = bytes.chunks(chunk).flat_map(|part| lines.feed(part)).collect();
            let head = "x".repeat(HEAD);
            assert_eq!(found, [AgentLine::Cut { head, bytes: 30_000 }, whole("next")], "{chunk}");
            assert!(lines.buffer.capacity() <= 10_000);
        }
    }

    #[test]
    fn a_line_of_exactly_the_limit_is_whole() {
        let mut lines = LineSplitter::with_limit(5);
        assert_eq!(
            lines.feed(b"12345\n123456\n"),
            [whole("12345"), AgentLine::Cut { head: "12345".into(), bytes: 6 }]
        );
    }
}
