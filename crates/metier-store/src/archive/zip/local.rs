//! The local header before each file of a ZIP archive, and the data descriptor after it.

use super::list::{ENCRYPTED, Listed, name_in_extra};
use super::{IN_EXTRA, zip64_of};
use crate::archive::bytes::Fields;
use crate::archive::error::{ArchiveError, EntryProblem};

const HEADER: &[u8] = b"PK\x03\x04";
const DESCRIPTOR: &[u8] = b"PK\x07\x08";
/// Bit 3: checksum and sizes follow the file.
const HAS_DESCRIPTOR: u16 = 1 << 3;

/// The data of an entry. It is an error if its header and the list disagree, or if the data does not end where the
/// next entry starts.
pub(super) fn check<'a>(archive: &'a [u8], listed: &Listed<'_>, end: u64) -> Result<&'a [u8], ArchiveError> {
    let local = Fields::at(archive, listed.offset).and_then(|mut fields| Local::read(&mut fields));
    let local = local.ok_or_else(|| missing(listed))?;
    let data = local.compare(listed).map_err(|problem| listed.error(problem))?;
    let data = listed.offset + data;
    let (Some(data_end), packed) = (data.checked_add(listed.packed), usize::try_from(listed.packed)) else {
        return Err(listed.error(EntryProblem::Overlap));
    };
    let Some(gap) = end.checked_sub(data_end) else {
        return Err(listed.error(EntryProblem::Overlap));
    };
    let bytes = Fields::at(archive, data).and_then(|mut fields| {
        let packed = fields.take(packed.ok()?)?;
        Some((packed, fields.take(usize::try_from(gap).ok()?)?))
    });
    let (packed, after) = bytes.ok_or_else(|| listed.error(EntryProblem::Overlap))?;
    after_file(listed, after).map_err(|problem| listed.error(problem))?;
    Ok(packed)
}

/// The error for a missing local header.
pub(super) const fn missing(listed: &Listed<'_>) -> ArchiveError {
    let what = "no local file header at the offset given in the list of files";
    ArchiveError::Malformed { what, at: listed.offset }
}

struct Local<'a> {
    flags: u16,
    method: u16,
    checksum: u32,
    packed: u32,
    size: u32,
    name: &'a [u8],
    extra: &'a [u8],
}

impl<'a> Local<'a> {
    const SIZE: u64 = 30;

    fn read(fields: &mut Fields<'a>) -> Option<Self> {
        if fields.take(HEADER.len())? != HEADER {
            return None;
        }
        fields.take(2)?;
        let (flags, method) = (fields.u16()?, fields.u16()?);
        fields.take(4)?;
        let (checksum, packed, size) = (fields.u32()?, fields.u32()?, fields.u32()?);
        let (name, extra) = (fields.u16()?, fields.u16()?);
        let (name, extra) = (fields.take(name.into())?, fields.take(extra.into())?);
        Some(Self { flags, method, checksum, packed, size, name, extra })
    }

    /// The offset of the file's data from this header; an error if the header and the list disagree.
    fn compare(&self, listed: &Listed<'_>) -> Result<u64, EntryProblem> {
        if self.name != listed.name {
            return Err(EntryProblem::NameDiffers);
        }
        name_in_extra(self.name, self.extra)?;
        if self.flags & ENCRYPTED != 0 {
            return Err(EntryProblem::Encrypted);
        }
        if self.flags & HAS_DESCRIPTOR != listed.flags & HAS_DESCRIPTOR {
            return Err(EntryProblem::HeaderDiffers { what: "the location of its sizes" });
        }
        if self.method != listed.method {
            return Err(EntryProblem::HeaderDiffers { what: "its compression method" });
        }
        // Fields that the data descriptor repeats may be zero in the header.
        let is_open = self.flags & HAS_DESCRIPTOR != 0;
        let is_same = |own: u64, listed: u64| own == listed || is_open && own == 0;
        let mut extra = zip64_of(self.extra)?;
        let mut long = |short: u32| match (short, extra.as_mut()) {
            (IN_EXTRA, Some(extra)) => extra.u64().ok_or(EntryProblem::Zip64),
            (short, _) => Ok(short.into()),
        };
        let (size, packed) = (long(self.size)?, long(self.packed)?);
        if extra.is_some_and(|extra| !extra.0.is_empty()) {
            return Err(EntryProblem::Zip64);
        }
        if !is_same(size, listed.size) || !is_same(packed, listed.packed) {
            return Err(EntryProblem::SizeDiffers);
        }
        if !is_same(self.checksum.into(), listed.checksum.into()) {
            return Err(EntryProblem::HeaderDiffers { what: "its checksum" });
        }
        Ok(Self::SIZE + self.name.len() as u64 + self.extra.len() as u64)
    }
}

/// Checks the bytes between the data and the next entry: a data descriptor if the header announces one, else nothing.
///
/// A data descriptor may have a signature, and sizes of 32 or 64 bits; its length tells which.
fn after_file(listed: &Listed<'_>, after: &[u8]) -> Result<(), EntryProblem> {
    if listed.flags & HAS_DESCRIPTOR == 0 {
        return if after.is_empty() { Ok(()) } else { Err(EntryProblem::Gap) };
    }
    let is_long = matches!(after.len(), 20 | 24);
    let fields = match after.len() {
        12 | 20 => Some(after),
        16 | 24 => after.strip_prefix(DESCRIPTOR),
        _ => None,
    };
    let mut fields = Fields(fields.ok_or(EntryProblem::Gap)?);
    let checksum = fields.u32();
    let mut size = || if is_long { fields.u64() } else { fields.u32().map(u64::from) };
    let (packed, size) = (size(), size());
    if checksum != Some(listed.checksum) {
        return Err(EntryProblem::HeaderDiffers { what: "its checksum" });
    }
    if packed == Some(listed.packed) && size == Some(listed.size) {
        Ok(())
    } else {
        Err(EntryProblem::SizeDiffers)
    }
}
