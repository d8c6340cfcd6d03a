//! Where a journal begins once its oldest records are in archives: the state after the last archived record.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use metier_skill::Digest;

use crate::record::{FORMAT, MAX_NUMBER, canonical};
use crate::store::Tail;

/// The longest line of this kind: 53 nodes fit with room to spare.
pub(crate) const MAX_START: usize = 8 << 10;

/// The state of a journal after its first `size` records. The record with this sequence is the first one that follows.
#[derive(Debug, Clone)]
pub(crate) struct Start {
    pub(crate) journal: Uuid,
    pub(crate) tail: Tail,
}

/// The same as a line of JSON, as it is described in `docs/journal.md`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    format: u64,
    hash: Digest,
    journal: Uuid,
    nodes: Vec<Digest>,
    size: u64,
}

impl Start {
    /// The number of records before this point.
    pub(crate) const fn size(&self) -> u64 {
        self.tail.size()
    }

    /// Canonical JSON, without a line feed.
    pub(crate) fn to_line(&self) -> String {
        let tail = &self.tail;
        let line = Line {
            format: FORMAT,
            hash: tail.hash(),
            journal: self.journal,
            nodes: tail.nodes().to_vec(),
            size: tail.size(),
        };
        canonical(&serde_json::to_value(line).unwrap_or_default())
    }

    /// Reads a line, only if it is exactly what would have been written.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let line: Line = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let Line { format, hash, journal, nodes, size } = line;
        if format != FORMAT {
            return Err(format!("it has format {format}; this version of metier reads format {FORMAT}"));
        }
        if size == 0 || size > MAX_NUMBER {
            return Err(format!("it begins after {size} records"));
        }
        // The last full subtree of an odd number of records is the last record itself.
        let is_consistent = size.is_multiple_of(2) || nodes.last() == Some(&hash);
        let tail = Tail::from_parts(size, hash, nodes).filter(|_| is_consistent);
        let start = Self { journal, tail: tail.ok_or("its nodes do not match its size and hash")? };
        if start.to_line() == text { Ok(start) } else { Err("the line is not canonical JSON".to_owned()) }
    }

    /// Whether both are the same state of the same journal.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.journal == other.journal
            && self.size() == other.size()
            && self.tail.hash() == other.tail.hash()
            && self.tail.nodes() == other.tail.nodes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(size: u64) -> Start {
        let mut tail = Tail::default();
        for number in 0..size {
            tail.follow(Digest::of(&number.to_le_bytes()));
        }
        Start { journal: Uuid::from_u128(7), tail }
    }

    #[test]
    fn a_line_is_read_as_it_was_written() {
        for size in [1, 2, 3, 1023, 1024, 1500] {
            let line = start(size).to_line();
            let read = Start::parse(&line).unwrap();
            assert!(read.is_same(&start(size)), "{line}");
            assert!(line.len() < MAX_START);
        }
    }

    #[test]
    fn a_changed_line_is_refused_or_differs() {
        let line = start(11).to_line();
        for at in 0..line.len() {
            let mut bytes = line.clone().into_bytes();
            bytes[at] ^= 1;
            let Ok(text) = String::from_utf8(bytes) else { continue };
            assert!(Start::parse(&text).map_or(true, |read| !read.is_same(&start(11))), "{text}");
        }
        assert!(Start::parse(&line.replace("\"size\":11", "\"size\":12")).is_err());
        assert!(Start::parse(&line.replace(',', ", ")).is_err());
    }
}
