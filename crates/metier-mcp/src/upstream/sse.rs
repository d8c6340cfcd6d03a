//! Server-sent events: bytes become events. No I/O.

use super::UpstreamError;

/// One event of a stream.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SseEvent {
    pub(super) id: Option<String>,
    pub(super) data: String,
    /// When to reconnect after the end of the stream, in milliseconds.
    pub(super) retry: Option<u64>,
}

/// Splits a stream into events.
#[derive(Debug)]
pub(super) struct SseReader {
    most: usize,
    /// The line that is not complete yet.
    line: Vec<u8>,
    event: SseEvent,
    has_data: bool,
    /// The byte before was a carriage return, which may be half of a line end.
    is_after_return: bool,
}

impl SseReader {
    pub(super) fn new(most: usize) -> Self {
        Self { most, line: Vec::new(), event: SseEvent::default(), has_data: false, is_after_return: false }
    }

    /// Takes some bytes, and returns the events that they complete.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<Vec<SseEvent>, UpstreamError> {
        let mut events = Vec::new();
        for byte in bytes {
            let is_second_half = self.is_after_return && *byte == b'\n';
            self.is_after_return = *byte == b'\r';
            match byte {
                b'\n' if is_second_half => {}
                b'\n' | b'\r' => events.extend(self.end_line()),
                byte => {
                    if self.line.len() + self.event.data.len() >= self.most {
                        return Err(UpstreamError::TooLong { most: self.most });
                    }
                    self.line.push(*byte);
                }
            }
        }
        Ok(events)
    }

    fn end_line(&mut self) -> Option<SseEvent> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            let is_there = std::mem::take(&mut self.has_data) || event.id.is_some() || event.retry.is_some();
            return is_there.then_some(event);
        }
        let text = String::from_utf8_lossy(&line);
        let (name, value) = text.split_once(':').unwrap_or((&text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "data" => {
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.has_data = true;
                self.event.data.push_str(value);
            }
            "id" if !value.contains('\0') => self.event.id = Some(value.to_owned()),
            "retry" => self.event.retry = value.parse().ok(),
            // Comments, and fields without a meaning here.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(text: &str) -> SseEvent {
        SseEvent { data: text.to_owned(), ..SseEvent::default() }
    }

    #[test]
    fn events_are_the_same_however_the_bytes_are_cut() {
        let text = b": hi\r\ndata: a\r\ndata:b\r\n\r\nid: 7\nretry: 20\ndata\n\ndata:  c\r\rid: 8\n\n";
        let whole = SseReader::new(100).take(text).unwrap();
        let second = SseEvent { id: Some("7".to_owned()), retry: Some(20), data: String::new() };
        let last = SseEvent { id: Some("8".to_owned()), ..SseEvent::default() };
        assert_eq!(whole, [data("a\nb"), second, data(" c"), last]);
        let mut reader = SseReader::new(100);
        let single: Vec<SseEvent> = text.chunks(1).flat_map(|bytes| reader.take(bytes).unwrap()).collect();
        assert_eq!(single, whole);
    }

    #[test]
    fn an_event_that_never_ends_is_an_error() {
        let mut reader = SseReader::new(1_000);
        let error = (0..1_000).find_map(|_| reader.take(b"data: abcdef\n").err());
        assert!(matches!(error, Some(UpstreamError::TooLong { most: 1_000 })), "{error:?}");
    }
}
