//! The list of files in a ZIP archive (its central directory).

use super::end::End;
use super::{EXTRA_NAME, IN_EXTRA, extras, zip64_of};
use crate::archive::ArchiveLimits;
use crate::archive::bytes::Fields;
use crate::archive::entry::ChangeKind;
use crate::archive::error::{ArchiveError, EntryProblem};

/// An entry in the list, after the checks that need no other data.
#[derive(Debug)]
pub(super) struct Listed<'a> {
    /// The name as stored, including a directory's trailing `/`.
    pub(super) name: &'a [u8],
    pub(super) kind: ChangeKind,
    pub(super) is_executable: bool,
    pub(super) is_deflated: bool,
    pub(super) flags: u16,
    pub(super) method: u16,
    pub(super) checksum: u32,
    /// The compressed size in bytes.
    pub(super) packed: u64,
    /// The uncompressed size in bytes.
    pub(super) size: u64,
    /// The offset of its local header.
    pub(super) offset: u64,
}

impl Listed<'_> {
    pub(super) fn error(&self, problem: EntryProblem) -> ArchiveError {
        ArchiveError::entry(self.name, problem)
    }
}

const HEADER: &[u8] = b"PK\x01\x02";
/// The size of an entry in the list without its variable parts.
const HEADER_SIZE: u64 = 46;

/// Bit 0: encrypted. Bit 6: strong encryption. Bit 13: the list is encrypted, too.
pub(super) const ENCRYPTED: u16 = 1 | 1 << 6 | 1 << 13;
const METHOD_STORED: u16 = 0;
const METHOD_DEFLATED: u16 = 8;
/// The compression method of entries that are encrypted with AES.
const METHOD_AES: u16 = 99;

/// Reads the whole list.
pub(super) fn read<'a>(
    archive: &'a [u8],
    end: &End,
    limits: &ArchiveLimits,
) -> Result<Vec<Listed<'a>>, ArchiveError> {
    // Check the limit before allocating.
    if end.entries > limits.entries as u64 {
        return Err(ArchiveError::TooManyEntries { limit: limits.entries });
    }
    let (said, most) = (end.entries, end.list_size / HEADER_SIZE);
    if said > most {
        return Err(ArchiveError::EntryCount { said, listed: most });
    }
    let range = usize::try_from(end.list_offset).ok().zip(usize::try_from(end.list_size).ok());
    let bytes = range.and_then(|(offset, size)| archive.get(offset..)?.get(..size));
    let mut fields = Fields(bytes.unwrap_or_default());
    let mut listed = Vec::new();
    for count in 0..said {
        if fields.0.is_empty() {
            return Err(ArchiveError::EntryCount { said, listed: count });
        }
        let at = end.list_offset + end.list_size - fields.0.len() as u64;
        let what = "the list of files has an invalid entry";
        let raw = Raw::read(&mut fields).ok_or(ArchiveError::Malformed { what, at })?;
        listed.push(raw.check()?);
    }
    if fields.0.is_empty() { Ok(listed) } else { Err(ArchiveError::EntryCount { said, listed: said + 1 }) }
}

/// The raw fields of an entry.
struct Raw<'a> {
    system: u8,
    flags: u16,
    method: u16,
    checksum: u32,
    packed: u32,
    size: u32,
    disk: u16,
    attributes: u32,
    offset: u32,
    name: &'a [u8],
    extra: &'a [u8],
}

impl<'a> Raw<'a> {
    fn read(fields: &mut Fields<'a>) -> Option<Self> {
        if fields.take(HEADER.len())? != HEADER {
            return None;
        }
        let [_, system] = fields.u16()?.to_le_bytes();
        fields.take(2)?;
        let (flags, method) = (fields.u16()?, fields.u16()?);
        // The time.
        fields.take(4)?;
        let (checksum, packed, size) = (fields.u32()?, fields.u32()?, fields.u32()?);
        let (name, extra, comment) = (fields.u16()?, fields.u16()?, fields.u16()?);
        let disk = fields.u16()?;
        fields.take(2)?;
        let (attributes, offset) = (fields.u32()?, fields.u32()?);
        let (name, extra) = (fields.take(name.into())?, fields.take(extra.into())?);
        fields.take(comment.into())?;
        Some(Self { system, flags, method, checksum, packed, size, disk, attributes, offset, name, extra })
    }

    fn check(self) -> Result<Listed<'a>, ArchiveError> {
        let problem = |problem| ArchiveError::entry(self.name, problem);
        if self.flags & ENCRYPTED != 0 || self.method == METHOD_AES {
            return Err(problem(EntryProblem::Encrypted));
        }
        if !matches!(self.method, METHOD_STORED | METHOD_DEFLATED) {
            return Err(problem(EntryProblem::Method { method: self.method }));
        }
        let (size, packed, offset) = self.sizes().map_err(problem)?;
        if self.disk != 0 {
            return Err(ArchiveError::MultiDisk);
        }
        let is_deflated = self.method == METHOD_DEFLATED;
        if !is_deflated && size != packed {
            return Err(problem(EntryProblem::SizeDiffers));
        }
        name_in_extra(self.name, self.extra).map_err(problem)?;
        let kind = self.kind().map_err(problem)?;
        // Only these two systems store Unix permissions here.
        let is_unix = matches!(self.system, 3 | 19);
        Ok(Listed {
            name: self.name,
            kind,
            is_executable: is_unix && self.mode() & 0o100 != 0,
            is_deflated,
            flags: self.flags,
            method: self.method,
            checksum: self.checksum,
            packed,
            size,
            offset,
        })
    }

    /// The sizes and the offset. They are in the ZIP64 extra field if the short fields say so, and nowhere else.
    fn sizes(&self) -> Result<(u64, u64, u64), EntryProblem> {
        let mut extra = zip64_of(self.extra)?;
        let mut long = |short: u32| match (short, extra.as_mut()) {
            (IN_EXTRA, Some(extra)) => extra.u64().ok_or(EntryProblem::Zip64),
            (IN_EXTRA, None) => Err(EntryProblem::Zip64),
            (short, _) => Ok(short.into()),
        };
        let sizes = (long(self.size)?, long(self.packed)?, long(self.offset)?);
        match extra {
            Some(extra) if !extra.0.is_empty() => Err(EntryProblem::Zip64),
            _ => Ok(sizes),
        }
    }

    /// Permissions and file type, if the archive was made on Unix.
    fn mode(&self) -> u16 {
        u16::try_from(self.attributes >> 16).unwrap_or_default()
    }

    /// The kind of the entry by its type and its name, which must agree. The type counts whatever the system field
    /// says, because some programs ignore that field.
    fn kind(&self) -> Result<ChangeKind, EntryProblem> {
        let by_name = if self.name.ends_with(b"/") { ChangeKind::Folder } else { ChangeKind::File };
        match (self.mode() & 0o170_000, by_name) {
            (0, kind) | (0o100_000, kind @ ChangeKind::File) | (0o040_000, kind @ ChangeKind::Folder) => {
                Ok(kind)
            }
            (0o100_000 | 0o040_000, _) => Err(EntryProblem::TypeDiffers),
            (0o120_000, _) => Err(EntryProblem::SymbolicLink),
            (0o010_000, _) => Err(EntryProblem::Special { kind: "FIFO" }),
            (0o140_000, _) => Err(EntryProblem::Special { kind: "socket" }),
            (0o020_000 | 0o060_000, _) => Err(EntryProblem::Special { kind: "device" }),
            (other, _) => {
                Err(EntryProblem::UnknownType { kind: u8::try_from(other >> 12).unwrap_or_default() })
            }
        }
    }
}

/// Checks that the name in the extra field equals the name.
pub(super) fn name_in_extra(name: &[u8], extra: &[u8]) -> Result<(), EntryProblem> {
    for (id, bytes) in extras(extra).flatten() {
        // A version and a checksum precede it.
        if id == EXTRA_NAME && bytes.get(5..) != Some(name) {
            return Err(EntryProblem::NameDiffers);
        }
    }
    Ok(())
}
