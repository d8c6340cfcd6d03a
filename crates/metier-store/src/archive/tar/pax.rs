//! Extensions of tar headers: pax records and GNU long names.

use super::header::Extension;
use crate::archive::error::EntryProblem;

/// The extensions for the next entry.
#[derive(Debug, Default)]
pub(super) struct Extended {
    name: Option<Box<[u8]>>,
    size: Option<u64>,
    /// Whether there was any extension.
    is_there: bool,
}

const fn wrong(what: &'static str) -> EntryProblem {
    EntryProblem::Extension { what }
}

impl Extended {
    pub(super) fn name(&self) -> Option<&[u8]> {
        self.name.as_deref()
    }

    pub(super) const fn size(&self) -> Option<u64> {
        self.size
    }

    pub(super) const fn is_empty(&self) -> bool {
        !self.is_there
    }

    /// Reads one extension.
    pub(super) fn read(&mut self, kind: Extension, bytes: &[u8]) -> Result<(), EntryProblem> {
        match kind {
            Extension::PaxNext => {
                self.is_there = true;
                records(bytes, |key, value| self.record(key, value))
            }
            // `git archive` stores the commit id here. Global records are ignored.
            Extension::PaxAll => records(bytes, |key, _| match key {
                b"path" | b"linkpath" | b"size" | b"hdrcharset" => {
                    Err(wrong("sets one name or size for all entries"))
                }
                _ if key.starts_with(b"GNU.sparse.") => Err(EntryProblem::Sparse),
                _ => Ok(()),
            }),
            Extension::GnuName => {
                self.is_there = true;
                self.set_name(bytes.strip_suffix(b"\0").unwrap_or(bytes))
            }
            // Only links have one.
            Extension::GnuLink => Err(EntryProblem::SymbolicLink),
        }
    }

    fn record(&mut self, key: &[u8], value: &[u8]) -> Result<(), EntryProblem> {
        match key {
            b"path" => self.set_name(value),
            b"size" => {
                let size = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
                if size.is_none() || self.size.is_some() {
                    return Err(wrong("has an invalid or duplicate size"));
                }
                self.size = size;
                Ok(())
            }
            b"hdrcharset" if value != b"ISO-IR 10646 2000 UTF-8" => {
                Err(wrong("says that names are not UTF-8"))
            }
            _ if key.starts_with(b"GNU.sparse.") => Err(EntryProblem::Sparse),
            // Times, owners, attributes and link targets are ignored; links are refused anyway.
            _ => Ok(()),
        }
    }

    fn set_name(&mut self, name: &[u8]) -> Result<(), EntryProblem> {
        match self.name.replace(name.into()) {
            None => Ok(()),
            Some(_) => Err(wrong("sets two names for one entry")),
        }
    }
}

/// All records: the length in decimal digits, a space, a key, `=`, a value, a line feed.
fn records(
    mut bytes: &[u8],
    mut take: impl FnMut(&[u8], &[u8]) -> Result<(), EntryProblem>,
) -> Result<(), EntryProblem> {
    while !bytes.is_empty() {
        let (key, value, rest) = record(bytes).ok_or(wrong("cannot be read"))?;
        take(key, value)?;
        bytes = rest;
    }
    Ok(())
}

fn record(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let blank = memchr::memchr(b' ', bytes.get(..bytes.len().min(8))?)?;
    let digits = bytes.get(..blank)?;
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let length: usize = std::str::from_utf8(digits).ok().filter(|_| is_number)?.parse().ok()?;
    let (record, rest) = bytes.split_at_checked(length)?;
    let line = record.get(blank + 1..)?.strip_suffix(b"\n")?;
    let equals = memchr::memchr(b'=', line).filter(|at| *at > 0)?;
    Some((line.get(..equals)?, line.get(equals + 1..)?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_as_long_as_they_say() {
        assert_eq!(record(b"9 path=a\nrest"), Some((&b"path"[..], &b"a"[..], &b"rest"[..])));
        assert_eq!(record(b"12 path=a=\n\n"), Some((&b"path"[..], &b"a=\n"[..], &b""[..])));
        for wrong in
            [&b"8 path=a\n"[..], b"11 path=a\n", b"9 path a\n", b"path=a\n", b"+9 path=a\n", b"0 ", b"3 =\n"]
        {
            assert_eq!(record(wrong), None, "{:?}", String::from_utf8_lossy(wrong));
        }
    }
}
