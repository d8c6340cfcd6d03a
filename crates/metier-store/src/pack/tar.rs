//! Writes tar in the POSIX format, and gzip.

use std::io::Write as _;

use miniz_oxide::deflate::compress_to_vec;

use super::PackedFile;

const BLOCK: usize = 512;
/// The sizes of the name field and the prefix field.
const NAME: usize = 100;
const PREFIX: usize = 155;

/// The archive; `None` if a file is too large for the format.
pub(super) fn write(files: &[PackedFile]) -> Option<Vec<u8>> {
    let mut archive = Vec::new();
    for file in files {
        let (prefix, name) = match split(&file.path) {
            Some(parts) => parts,
            None => {
                let record = record(&file.path);
                entry(&mut archive, b'x', ("", "pax"), 0o644, &record)?;
                ("", "long")
            }
        };
        let mode = if file.is_executable { 0o755 } else { 0o644 };
        entry(&mut archive, b'0', (prefix, name), mode, &file.bytes)?;
    }
    archive.resize(archive.len() + 2 * BLOCK, 0);
    Some(archive)
}

/// The path split into the two fields of a header.
fn split(path: &str) -> Option<(&str, &str)> {
    if path.len() <= NAME {
        return Some(("", path));
    }
    let mut slashes = path.match_indices('/');
    slashes.find_map(|(at, _)| {
        let (prefix, name) = (path.get(..at)?, path.get(at + 1..)?);
        (prefix.len() <= PREFIX && name.len() <= NAME).then_some((prefix, name))
    })
}

/// A pax record for a path that is too long for a header. The record starts with its own length, including the digits
/// of that length.
fn record(path: &str) -> Vec<u8> {
    let rest = " path=\n".len() + path.len();
    let mut length = rest;
    while length != rest + length.to_string().len() {
        length = rest + length.to_string().len();
    }
    format!("{length} path={path}\n").into_bytes()
}

fn entry(archive: &mut Vec<u8>, kind: u8, name: (&str, &str), mode: u32, bytes: &[u8]) -> Option<()> {
    let mut header = Vec::with_capacity(BLOCK);
    let field = |header: &mut Vec<u8>, text: &[u8], length: usize| {
        let end = header.len() + length;
        header.extend_from_slice(text);
        header.resize(end, 0);
    };
    let size = format!("{:011o}", bytes.len());
    if size.len() > 11 {
        return None;
    }
    field(&mut header, name.1.as_bytes(), NAME);
    field(&mut header, format!("{mode:07o}").as_bytes(), 8);
    field(&mut header, b"0000000", 8);
    field(&mut header, b"0000000", 8);
    field(&mut header, size.as_bytes(), 12);
    field(&mut header, b"00000000000", 12);
    // The checksum is computed with spaces in its place.
    let sum_at = header.len();
    field(&mut header, b"        ", 8);
    field(&mut header, &[kind], 1);
    field(&mut header, b"", 100);
    field(&mut header, b"ustar\x0000", 8);
    field(&mut header, b"", 64);
    field(&mut header, b"0000000", 8);
    field(&mut header, b"0000000", 8);
    field(&mut header, name.0.as_bytes(), PREFIX);
    header.resize(BLOCK, 0);
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    write!(header.get_mut(sum_at..sum_at + 8)?, "{sum:06o}\0 ").ok()?;
    archive.extend_from_slice(&header);
    archive.extend_from_slice(bytes);
    archive.resize(archive.len().next_multiple_of(BLOCK), 0);
    Some(())
}

/// Compresses an archive with gzip: without name, time and system.
pub(super) fn compress(archive: &[u8], level: u8) -> Vec<u8> {
    let mut gzip = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    gzip.extend_from_slice(&compress_to_vec(archive, level));
    gzip.extend_from_slice(&crc32fast::hash(archive).to_le_bytes());
    // The format stores the lower 32 bits of the length.
    let [a, b, c, d, ..] = (archive.len() as u64).to_le_bytes();
    gzip.extend_from_slice(&[a, b, c, d]);
    gzip
}
