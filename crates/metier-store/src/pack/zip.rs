//! Writes ZIP: each file stored or deflated, whichever is shorter, with complete headers.

use miniz_oxide::deflate::compress_to_vec;

use super::PackedFile;

/// Version 2.0, the first one with deflate; made on Unix, so that the executable bit counts.
const VERSION: u16 = 20;
const MADE_BY: u16 = 3 << 8 | VERSION;
/// Bit 11: the name is UTF-8.
const UTF8: u16 = 1 << 11;
/// 1 January 1980, the earliest date in ZIP.
const DATE: u16 = 1 << 5 | 1;

/// The archive; `None` if it is too large for the format.
pub(super) fn write(files: &[PackedFile], level: u8) -> Option<Vec<u8>> {
    let mut archive = Vec::new();
    let mut list = Vec::new();
    for file in files {
        let offset = u32::try_from(archive.len()).ok()?;
        let deflated = compress_to_vec(&file.bytes, level);
        let (method, packed) =
            if deflated.len() < file.bytes.len() { (8_u16, &deflated) } else { (0, &file.bytes) };
        let header = header(file, method, packed.len())?;
        archive.extend_from_slice(b"PK\x03\x04");
        archive.extend_from_slice(&header);
        archive.extend_from_slice(file.path.as_bytes());
        archive.extend_from_slice(packed);

        list.extend_from_slice(b"PK\x01\x02");
        list.extend_from_slice(&MADE_BY.to_le_bytes());
        list.extend_from_slice(&header);
        // No comment, disk number and internal attributes.
        list.extend_from_slice(&[0; 6]);
        let mode: u32 = if file.is_executable { 0o100_755 } else { 0o100_644 };
        list.extend_from_slice(&(mode << 16).to_le_bytes());
        list.extend_from_slice(&offset.to_le_bytes());
        list.extend_from_slice(file.path.as_bytes());
    }
    let offset = u32::try_from(archive.len()).ok()?;
    let count = u16::try_from(files.len()).ok().filter(|count| *count < u16::MAX)?;
    archive.extend_from_slice(&list);
    archive.extend_from_slice(b"PK\x05\x06\0\0\0\0");
    archive.extend_from_slice(&count.to_le_bytes());
    archive.extend_from_slice(&count.to_le_bytes());
    archive.extend_from_slice(&u32::try_from(list.len()).ok()?.to_le_bytes());
    archive.extend_from_slice(&offset.to_le_bytes());
    archive.extend_from_slice(&[0; 2]);
    Some(archive)
}

/// The fields that both headers of a file share: from the version to the lengths of name and extra field.
fn header(file: &PackedFile, method: u16, packed: usize) -> Option<Vec<u8>> {
    let flags = if file.path.is_ascii() { 0 } else { UTF8 };
    let mut header = Vec::with_capacity(26);
    for number in [VERSION, flags, method, 0, DATE] {
        header.extend_from_slice(&number.to_le_bytes());
    }
    let (packed, size) = (u32::try_from(packed).ok()?, u32::try_from(file.bytes.len()).ok()?);
    for number in [crc32fast::hash(&file.bytes), packed, size] {
        header.extend_from_slice(&number.to_le_bytes());
    }
    header.extend_from_slice(&u16::try_from(file.path.len()).ok()?.to_le_bytes());
    header.extend_from_slice(&[0; 2]);
    Some(header)
}
