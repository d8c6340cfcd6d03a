//! Exported lines, compressed or not: what archives and exports consist of. Read as a store, they are never written to.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use metier_skill::Digest;

use crate::error::JournalError;
use crate::gzip::{Decompress, MAGIC};
use crate::record::{Line, RecordRef};
use crate::start::{MAX_START, Start};
use crate::store::{Found, Inspection, NewRow, Store, Tail};

/// The longest line: the longest event with room for the rest.
const MAX_LINE: u64 = 1 << 20;

/// What the line that says where a part begins starts with. No record starts so.
const START: &[u8] = b"{\"format\":";

/// A record and the hash that its line names for the record before, or the reason why the line cannot be read.
pub(crate) type FoundLine<'a> = Result<(RecordRef<'a>, Digest), String>;

/// Reads lines, compressed or not: passes on where they begin, then each record until told to stop. A line that cannot be
/// read is a reason, and the last one.
pub(crate) fn read(
    lines: &mut dyn BufRead,
    begin: &mut dyn FnMut(Option<&Start>),
    each: &mut dyn FnMut(FoundLine<'_>) -> ControlFlow<()>,
) -> io::Result<()> {
    let result = if lines.fill_buf()?.starts_with(&MAGIC) {
        Decompress::new(lines).and_then(|lines| read_plain(&mut BufReader::new(lines), begin, each))
    } else {
        read_plain(lines, begin, each)
    };
    match result {
        // What was compressed is damaged; that is a finding, not a failure to read.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            let _ = each(Err(error.to_string()));
            Ok(())
        }
        other => other,
    }
}

fn read_plain(
    lines: &mut dyn BufRead,
    begin: &mut dyn FnMut(Option<&Start>),
    each: &mut dyn FnMut(FoundLine<'_>) -> ControlFlow<()>,
) -> io::Result<()> {
    let (mut line, mut again, mut has_begun) = (Vec::new(), Vec::new(), false);
    loop {
        line.clear();
        if io::Read::take(&mut *lines, MAX_LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let text = line.strip_suffix(b"\n").ok_or_else(|| "its line is cut off or too long".to_owned());
        if !std::mem::replace(&mut has_begun, true) {
            if line.starts_with(START) {
                match text.and_then(start) {
                    Ok(start) => begin(Some(&start)),
                    Err(reason) => {
                        let _ = each(Err(format!(
                            "the first line, where the records begin, is damaged: {reason}"
                        )));
                        return Ok(());
                    }
                }
                continue;
            }
            begin(None);
        }
        let parsed = text.and_then(|line| Line::parse(line, &mut again));
        let is_last = parsed.is_err();
        let found = parsed.as_ref().map(|line| (line.as_row(), line.previous)).map_err(Clone::clone);
        if each(found).is_break() || is_last {
            return Ok(());
        }
    }
}

fn start(line: &[u8]) -> Result<Start, String> {
    if line.len() > MAX_START {
        return Err("it is too long".to_owned());
    }
    Start::parse(std::str::from_utf8(line).map_err(|error| error.to_string())?)
}

/// Whether a file has lines and not a database, by its first bytes.
pub(crate) fn is_lines(path: &Path) -> bool {
    let mut first = [0; 2];
    let is_file = path.metadata().is_ok_and(|found| found.is_file());
    let mut read = || File::open(path)?.read_exact(&mut first);
    is_file && read().is_ok() && (first == MAGIC || first == *b"{\"")
}

/// An archive or an export as a store that is only read.
pub(crate) struct Lines {
    path: PathBuf,
    tail: Tail,
}

impl Lines {
    pub(crate) fn open(path: &Path) -> Self {
        Self { path: path.to_owned(), tail: Tail::default() }
    }

    fn read_only(&self) -> JournalError {
        let reason = "it is an archive or an export".to_owned();
        JournalError::ReadOnly { path: self.path.clone(), reason }
    }
}

impl Store for Lines {
    fn append(&mut self, _: &mut dyn FnMut(&mut Tail) -> Vec<NewRow>) -> Result<Vec<NewRow>, JournalError> {
        Err(self.read_only())
    }

    fn read(
        &mut self,
        from: u64,
        begin: &mut dyn FnMut(Option<&Start>),
        each: &mut dyn FnMut(Found<'_>) -> ControlFlow<()>,
    ) -> Result<(), JournalError> {
        let failed = |error: io::Error| JournalError::of_file(&self.path, "read", &error);
        let mut input = BufReader::with_capacity(64 << 10, File::open(&self.path).map_err(failed)?);
        let mut take = |found: FoundLine<'_>| match found {
            Ok((row, _)) if row.sequence < from => ControlFlow::Continue(()),
            other => each(other.map(|(row, _)| row)),
        };
        read(&mut input, begin, &mut take).map_err(failed)
    }

    fn size(&mut self) -> Result<u64, JournalError> {
        let first = self.start()?.map_or(0, |start| start.size());
        let mut size = first;
        self.read(0, &mut |_| {}, &mut |found| match found {
            Ok(row) => {
                size = row.sequence + 1;
                ControlFlow::Continue(())
            }
            Err(_) => ControlFlow::Break(()),
        })?;
        Ok(size)
    }

    fn ready(&mut self) -> Result<(), JournalError> {
        Err(self.read_only())
    }

    fn cut(
        &mut self,
        _: u64,
        _: &Start,
        _: &mut dyn FnMut(&mut Tail) -> Vec<NewRow>,
    ) -> Result<Vec<NewRow>, JournalError> {
        Err(self.read_only())
    }

    fn is_live(&self) -> bool {
        false
    }

    fn tail(&self) -> &Tail {
        &self.tail
    }

    fn inspect(&mut self) -> Result<Inspection, JournalError> {
        Ok(Inspection::default())
    }
}
