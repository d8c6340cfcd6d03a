//! The end record of a ZIP archive, which locates the list of files.

use memchr::memmem;

use crate::archive::bytes::Fields;
use crate::archive::error::ArchiveError;

/// Where the list of files is, and its expected length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct End {
    pub(super) entries: u64,
    pub(super) list_offset: u64,
    pub(super) list_size: u64,
}

const END: &[u8] = b"PK\x05\x06";
const END_SIZE: usize = 22;
const COMMENT_MAX: usize = 0xffff;
const LOCATOR: &[u8] = b"PK\x06\x07";
const LOCATOR_SIZE: usize = 20;
const END_64: &[u8] = b"PK\x06\x06";
const END_64_SIZE: usize = 56;

/// Every possible end record, and whether it ends exactly at the end of the file.
fn candidates(archive: &[u8]) -> impl Iterator<Item = (usize, u64)> {
    let start = archive.len().saturating_sub(END_SIZE + COMMENT_MAX);
    let tail = archive.get(start..).unwrap_or_default();
    memmem::find_iter(tail, END).filter_map(move |at| {
        let comment = Fields(tail.get(at + END_SIZE - 2..)?).u16()?;
        Some((start + at, (start + at + END_SIZE) as u64 + u64::from(comment)))
    })
}

/// Whether a file that starts as another format ends as a ZIP archive.
pub(in crate::archive) fn has_end(archive: &[u8]) -> bool {
    candidates(archive).any(|(_, end)| end == archive.len() as u64)
}

/// Finds the only end record.
pub(super) fn find(archive: &[u8]) -> Result<End, ArchiveError> {
    let length = archive.len() as u64;
    let mut found = None;
    let mut last = None;
    for (at, end) in candidates(archive) {
        // An end record in the comment of another one, or two that both end the file. One inside of a file's data is
        // neither.
        if found.is_some() {
            return Err(ArchiveError::TwoEnds);
        }
        if end == length {
            found = Some(at);
        }
        last = Some(end);
    }
    match (found, last) {
        (Some(at), _) => read(archive, at),
        (None, Some(end)) if end < length => Err(ArchiveError::TrailingData { at: end }),
        _ => Err(ArchiveError::Truncated { what: "the list of its files is missing" }),
    }
}

/// The fields of both kinds of end record, as 64-bit numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Record {
    disk: u64,
    list_disk: u64,
    entries_here: u64,
    entries: u64,
    list_size: u64,
    list_offset: u64,
}

fn read(archive: &[u8], at: usize) -> Result<End, ArchiveError> {
    let short = ArchiveError::Truncated { what: "its end record is missing" };
    let record = record_32(archive.get(at..).unwrap_or_default()).ok_or(short)?;
    let before = archive.get(..at).unwrap_or_default();
    // Some programs use the ZIP64 end record whenever it exists, others only if necessary, so both must agree.
    let locator = at.checked_sub(LOCATOR_SIZE).and_then(|at| archive.get(at..));
    let has_locator = locator.is_some_and(|bytes| bytes.starts_with(LOCATOR));
    let (record, list_end) = if has_locator {
        let (large, at) = record_64(before)?;
        agree(record, large)?;
        (large, at)
    } else if record.is_in_64() {
        return Err(ArchiveError::Zip64 { what: "is missing" });
    } else {
        (record, at as u64)
    };
    if record.disk != 0 || record.list_disk != 0 || record.entries_here != record.entries {
        return Err(ArchiveError::MultiDisk);
    }
    match record.list_offset.checked_add(record.list_size) {
        Some(end) if end == list_end => {}
        // The list ends too early: data before the archive moved it.
        Some(end) if end < list_end => return Err(ArchiveError::LeadingData),
        _ => {
            return Err(ArchiveError::Truncated {
                what: "the list of its files is not at the expected offset",
            });
        }
    }
    Ok(End { entries: record.entries, list_offset: record.list_offset, list_size: record.list_size })
}

fn record_32(bytes: &[u8]) -> Option<Record> {
    let mut fields = Fields(bytes.strip_prefix(END)?);
    Some(Record {
        disk: fields.u16()?.into(),
        list_disk: fields.u16()?.into(),
        entries_here: fields.u16()?.into(),
        entries: fields.u16()?.into(),
        list_size: fields.u32()?.into(),
        list_offset: fields.u32()?.into(),
    })
}

const IN_64_SHORT: u64 = 0xffff;
const IN_64_LONG: u64 = 0xffff_ffff;

impl Record {
    const fn is_in_64(&self) -> bool {
        self.entries == IN_64_SHORT || self.list_size == IN_64_LONG || self.list_offset == IN_64_LONG
    }
}

/// The ZIP64 end record, which must directly precede its locator, and its offset.
fn record_64(before: &[u8]) -> Result<(Record, u64), ArchiveError> {
    let wrong = |what| ArchiveError::Zip64 { what };
    let locator_at = before.len().saturating_sub(LOCATOR_SIZE);
    let at = locator_at.checked_sub(END_64_SIZE).ok_or(wrong("is missing"))?;
    let located = || {
        let mut locator = Fields(before.get(locator_at..)?.strip_prefix(LOCATOR)?);
        Some((locator.u32()?, locator.u64()?, locator.u32()?))
    };
    let (disk, offset, disks) = located().ok_or(wrong("is missing"))?;
    if disk != 0 || disks > 1 {
        return Err(ArchiveError::MultiDisk);
    }
    if offset != at as u64 {
        return Err(wrong("is not at the expected offset"));
    }
    let read = || {
        let mut fields = Fields(before.get(at..)?.strip_prefix(END_64)?);
        let size = fields.u64()?;
        fields.take(4)?;
        let record = Record {
            disk: fields.u32()?.into(),
            list_disk: fields.u32()?.into(),
            entries_here: fields.u64()?,
            entries: fields.u64()?,
            list_size: fields.u64()?,
            list_offset: fields.u64()?,
        };
        // The size field does not count the bytes up to and including itself.
        (size == END_64_SIZE as u64 - 12).then_some(record)
    };
    read().map(|record| (record, at as u64)).ok_or(wrong("is damaged or has unexpected data"))
}

/// Checks that the short end record agrees with the ZIP64 one, as far as its fields can.
fn agree(short: Record, long: Record) -> Result<(), ArchiveError> {
    let is_same = |short: u64, long: u64, in_64: u64| short == long || short == in_64;
    let same = is_same(short.disk, long.disk, IN_64_SHORT)
        && is_same(short.list_disk, long.list_disk, IN_64_SHORT)
        && is_same(short.entries_here, long.entries_here, IN_64_SHORT)
        && is_same(short.entries, long.entries, IN_64_SHORT)
        && is_same(short.list_size, long.list_size, IN_64_LONG)
        && is_same(short.list_offset, long.list_offset, IN_64_LONG);
    if same { Ok(()) } else { Err(ArchiveError::Zip64 { what: "contradicts the other end record" }) }
}
