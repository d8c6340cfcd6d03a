//! One header of a tar archive: 512 bytes, in the v7, POSIX and GNU formats.

use crate::archive::entry::ChangeKind;
use crate::archive::error::{ArchiveError, EntryProblem};

/// The size of a header, and the block size that files are padded to.
pub(super) const BLOCK: usize = 512;

/// The kind of entry that a header describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    /// Data that belongs to the next header.
    Extension(Extension),
    /// A file, a directory, or a refused type, by its type byte.
    Entry(u8),
}

/// Extends the next header, or all following ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extension {
    PaxNext,
    PaxAll,
    GnuName,
    GnuLink,
}

#[derive(Debug)]
pub(super) struct Header<'a> {
    /// The name in this header.
    pub(super) name: Box<[u8]>,
    pub(super) kind: Type,
    pub(super) size: u64,
    pub(super) is_executable: bool,
    block: &'a [u8; BLOCK],
}

/// Whether a tar archive starts with this block: a header, or the end of an empty archive.
pub(in crate::archive) fn is_tar(bytes: &[u8]) -> bool {
    let Some(block) = bytes.first_chunk::<BLOCK>() else { return false };
    let is_named = block.get(257..262) == Some(b"ustar");
    is_named || *block == [0; BLOCK] || has_checksum(block)
}

/// Whether the checksum of the header is correct. It is computed with spaces in the place of the checksum.
fn has_checksum(block: &[u8; BLOCK]) -> bool {
    let (before, after) = (block.get(..148), block.get(156..));
    let bytes = before.into_iter().chain(after).flatten();
    let sum = bytes.map(|byte| u64::from(*byte)).sum::<u64>() + 8 * u64::from(b' ');
    number(block.get(148..156).unwrap_or_default()) == Some(sum)
}

/// A number: octal digits surrounded by spaces or zero bytes, or base 256 with a marker bit.
fn number(field: &[u8]) -> Option<u64> {
    if let [0x80, digits @ ..] = field {
        return digits.iter().try_fold(0_u64, |sum, byte| sum.checked_mul(256)?.checked_add((*byte).into()));
    }
    let field = field.trim_ascii_start();
    let end = field.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(field.len());
    let (digits, rest) = field.split_at_checked(end)?;
    if !rest.iter().all(|byte| matches!(byte, 0 | b' ')) {
        return None;
    }
    digits.iter().try_fold(0_u64, |sum, byte| match byte {
        b'0'..=b'7' => sum.checked_mul(8)?.checked_add(u64::from(byte - b'0')),
        _ => None,
    })
}

impl<'a> Header<'a> {
    pub(super) fn read(block: &'a [u8; BLOCK]) -> Result<Self, ArchiveError> {
        let name = name(block);
        let error = |problem| ArchiveError::entry(&name, problem);
        if !has_checksum(block) {
            return Err(error(EntryProblem::HeaderChecksum));
        }
        let field = |from: usize, to: usize| number(block.get(from..to).unwrap_or_default());
        let (Some(mode), Some(size)) = (field(100, 108), field(124, 136)) else {
            return Err(error(EntryProblem::SizeDiffers));
        };
        let kind = match block.get(156) {
            Some(b'x') => Type::Extension(Extension::PaxNext),
            Some(b'g') => Type::Extension(Extension::PaxAll),
            Some(b'L') => Type::Extension(Extension::GnuName),
            Some(b'K') => Type::Extension(Extension::GnuLink),
            letter => Type::Entry(letter.copied().unwrap_or_default()),
        };
        Ok(Self { name: name.into(), kind, size, is_executable: mode & 0o100 != 0, block })
    }

    /// The kind of the entry, by its type and its name.
    pub(super) fn entry_kind(&self, name: &[u8]) -> Result<ChangeKind, EntryProblem> {
        let is_folder_name = name.ends_with(b"/");
        let Type::Entry(letter) = self.kind else {
            return Err(EntryProblem::Extension { what: "does not describe an entry" });
        };
        match letter {
            b'5' => Ok(ChangeKind::Folder),
            // Early formats have no type for directories and use a trailing slash.
            0 if is_folder_name && self.block.get(257..262) != Some(b"ustar") => Ok(ChangeKind::Folder),
            b'0' | 0 if is_folder_name => Err(EntryProblem::TypeDiffers),
            b'0' | 0 => Ok(ChangeKind::File),
            b'1' => Err(EntryProblem::HardLink),
            b'2' => Err(EntryProblem::SymbolicLink),
            b'3' | b'4' => Err(EntryProblem::Special { kind: "device" }),
            b'6' => Err(EntryProblem::Special { kind: "FIFO" }),
            b'S' => Err(EntryProblem::Sparse),
            kind => Err(EntryProblem::UnknownType { kind }),
        }
    }

    pub(super) fn error(&self, problem: EntryProblem) -> ArchiveError {
        ArchiveError::entry(&self.name, problem)
    }
}

/// The name in the header itself; POSIX stores the start of a long name in a separate field.
fn name(block: &[u8; BLOCK]) -> Vec<u8> {
    let field = |from: usize, to: usize| {
        let bytes = block.get(from..to).unwrap_or_default();
        bytes.split(|byte| *byte == 0).next().unwrap_or_default()
    };
    let name = field(0, 100);
    // GNU has a space instead of the zero byte, and uses that field for something else.
    let prefix = if block.get(257..263) == Some(b"ustar\0") { field(345, 500) } else { b"" };
    if prefix.is_empty() { name.to_owned() } else { [prefix, b"/", name].concat() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_are_written() {
        assert_eq!(number(b"0000644\0"), Some(0o644));
        assert_eq!(number(b"   644 \0"), Some(0o644));
        assert_eq!(number(b"12345670123\0"), Some(0o12_345_670_123));
        assert_eq!(number(b"\0\0\0\0"), Some(0));
        assert_eq!(number(b"\x80\0\0\0\0\0\0\0\0\0\x01\x02"), Some(258));
        assert_eq!(number(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), None, "negative");
        assert_eq!(number(b"\x80\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), None, "too large");
        assert_eq!(number(b"0000 644"), None);
        assert_eq!(number(b"0000689\0"), None);
        assert_eq!(number(b"-000001\0"), None);
    }
}
