//! Detects the format of an archive by its content; file names are ignored.

use super::error::ArchiveError;
use super::{tar, zip};

/// The format of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ArchiveFormat {
    /// ZIP, also used by `.skill` files.
    Zip,
    /// tar, uncompressed.
    Tar,
    /// tar, compressed with gzip.
    TarGz,
}

/// The format of an archive, or an error that says what the file looks like.
pub(super) fn detect(bytes: &[u8]) -> Result<ArchiveFormat, ArchiveError> {
    match bytes {
        [b'P', b'K', 7, 8, ..] => Err(ArchiveError::MultiDisk),
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Ok(ArchiveFormat::Zip),
        [0x1f, 0x8b, ..] => Ok(ArchiveFormat::TarGz),
        _ if tar::is_tar(bytes) => Ok(ArchiveFormat::Tar),
        _ if zip::has_end(bytes) => Err(ArchiveError::LeadingData),
        _ => Err(ArchiveError::UnknownFormat { looks_like: looks_like(bytes) }),
    }
}

/// Known first bytes, and the format they belong to.
const BEGINNINGS: &[(&[u8], &str)] = &[
    (b"BZh", "a bzip2 file"),
    (b"\xfd7zXZ\0", "an xz file"),
    (b"\x28\xb5\x2f\xfd", "a zstd file"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!", "a RAR archive"),
    (b"\x7fELF", "a program"),
    (b"MZ", "a Windows program"),
    (b"\xcf\xfa\xed\xfe", "a macOS program"),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "an image"),
    (b"GIF8", "an image"),
    (b"\xff\xd8\xff", "an image"),
    (b"#!", "a script"),
    (b"---\n", "a single SKILL.md"),
    (b"---\r\n", "a single SKILL.md"),
    (b"{", "JSON"),
];

pub(super) fn looks_like(bytes: &[u8]) -> &'static str {
    if bytes.is_empty() {
        return "an empty file";
    }
    if let Some((_, what)) = BEGINNINGS.iter().find(|(begin, _)| bytes.starts_with(begin)) {
        return what;
    }
    let start = String::from_utf8_lossy(bytes.get(..256).unwrap_or(bytes)).to_lowercase();
    // Servers may return an HTML page instead of the file, such as a login or error page.
    if start.trim_start().starts_with("<!doctype html") || start.trim_start().starts_with("<html") {
        return "a web page";
    }
    let is_text = start.chars().all(|c| !c.is_control() || c.is_whitespace());
    if is_text && !start.contains('\u{fffd}') { "text" } else { "an unknown format" }
}
