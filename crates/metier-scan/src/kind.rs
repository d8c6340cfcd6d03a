//! Detects the kind of a file by its name and its first bytes.

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Instructions for an agent.
    Instructions,
    /// Code.
    Code,
    /// Data and settings as text.
    Data,
    /// A signature: contains encoded data that is not suspicious, but can still be executed.
    Signature,
    /// Binary content by its name: images, fonts, documents.
    Media,
}

/// The format that the first bytes indicate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Magic {
    /// A native program.
    Native,
    /// Bytecode for an interpreter.
    Bytecode,
    /// A ZIP archive.
    Zip,
    /// A tar archive.
    Tar,
    /// An archive or compressed file whose content is not scanned.
    Packed,
    /// A script that starts with `#!`.
    Script,
    /// An image, a sound, a font or a document.
    Media,
    /// None of these.
    Other,
}

/// The part of a path after its last `/`.
pub(super) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The file extension in lower case; empty if there is none.
pub(super) fn ending(path: &str) -> String {
    file_name(path).rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).unwrap_or_default()
}

/// Extensions of code files.
const CODE: &[&str] = &[
    "py",
    "pyw",
    "sh",
    "bash",
    "zsh",
    "fish",
    "js",
    "mjs",
    "cjs",
    "ts",
    "tsx",
    "jsx",
    "rb",
    "pl",
    "php",
    "lua",
    "go",
    "rs",
    "c",
    "cc",
    "cpp",
    "h",
    "java",
    "kt",
    "swift",
    "cs",
    "ps1",
    "psm1",
    "bat",
    "cmd",
    "vbs",
    "wsf",
    "hta",
    "applescript",
    "scpt",
    "r",
    "jl",
    "ipynb",
    "sql",
    "gradle",
    "mk",
    "command",
    "awk",
    "tcl",
    "groovy",
    "ex",
    "exs",
    "scala",
    "dart",
];
const MEDIA: &[&str] = &[
    "png", "jpg", "jpeg", "gif", "webp", "bmp", "ico", "tif", "tiff", "mp3", "mp4", "wav", "ogg", "webm",
    "mov", "avi", "ttf", "otf", "woff", "woff2", "pdf", "docx", "xlsx", "pptx", "odt", "ods", "odp", "epub",
    "dotx", "xltx", "potx", "stl", "parquet", "npy", "h5",
];
/// Document formats that are ZIP archives.
pub(super) const PACKED_DOCUMENTS: &[&str] = &[
    "docx", "xlsx", "pptx", "odt", "ods", "odp", "epub", "dotx", "xltx", "potx", "docm", "xlsm", "pptm",
    "npz", "kmz",
];

/// The kind of a file.
pub(super) fn of(path: &str, bytes: &[u8]) -> Kind {
    let ending = ending(path);
    let ending = ending.as_str();
    match ending {
        "md" | "markdown" | "mdx" | "mdc" | "txt" | "rst" | "adoc" | "prompt" | "cursorrules"
        | "windsurfrules" | "clinerules" => Kind::Instructions,
        "sig" | "asc" | "minisig" | "sigstore" | "p7s" => Kind::Signature,
        _ if CODE.contains(&ending) => Kind::Code,
        _ if MEDIA.contains(&ending) => Kind::Media,
        _ if bytes.starts_with(b"#!") => Kind::Code,
        "" => Kind::Code,
        _ => Kind::Data,
    }
}

/// The format that the first bytes indicate.
pub(super) fn magic(bytes: &[u8]) -> Magic {
    match bytes {
        [0x50, 0x4b, 0x03, 0x04, ..] | [0x50, 0x4b, 0x05, 0x06, ..] => Magic::Zip,
        [0x1f, 0x8b, ..]
        | [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, ..]
        | [0xfd, b'7', b'z', b'X', b'Z', 0, ..]
        | [b'7', b'z', 0xbc, 0xaf, 0x27, 0x1c, ..]
        | [b'R', b'a', b'r', b'!', 0x1a, 7, ..]
        | [0x28, 0xb5, 0x2f, 0xfd, ..]
        | [0x4c, 0x5a, 0x49, 0x50, ..]
        | [b'M', b'S', b'C', b'F', 0, 0, 0, 0, ..]
        | [b'!', b'<', b'a', b'r', b'c', b'h', b'>', b'\n', ..]
        | [0xed, 0xab, 0xee, 0xdb, ..]
        | [b'x', b'a', b'r', b'!', 0, ..] => Magic::Packed,
        _ if bytes.get(257..262) == Some(b"ustar") => Magic::Tar,
        _ if bytes.get(0x8001..0x8006) == Some(b"CD001") => Magic::Packed,
        // macOS disk images have their signature at the end.
        _ if bytes.last_chunk::<512>().is_some_and(|end| end.starts_with(b"koly")) => Magic::Packed,
        _ if is_bytecode(bytes) => Magic::Bytecode,
        _ if is_program(bytes) => Magic::Native,
        [b'#', b'!', ..] => Magic::Script,
        _ if is_media(bytes) => Magic::Media,
        _ => Magic::Other,
    }
}

/// Whether the bytes are a native program: ELF, Mach-O, Windows or `WebAssembly`.
pub(super) fn is_program(bytes: &[u8]) -> bool {
    let is_windows = || {
        let at = bytes.get(0x3c..0x40).and_then(|at| at.try_into().ok()).map(u32::from_le_bytes);
        let header =
            at.and_then(|at| bytes.get(at as usize..)).is_some_and(|rest| rest.starts_with(b"PE\0\0"));
        bytes.starts_with(b"MZ") && (header || bytes.get(2..64).is_some_and(|rest| rest.contains(&0)))
    };
    matches!(bytes, [0x7f, b'E', b'L', b'F', ..] | [0, b'a', b's', b'm', ..])
        || matches!(bytes, [0xfe, 0xed, 0xfa, 0xce | 0xcf, ..] | [0xce | 0xcf, 0xfa, 0xed, 0xfe, ..])
        || is_windows()
}

fn is_bytecode(bytes: &[u8]) -> bool {
    // Java class files and fat Mach-O files have the same first bytes; both are programs.
    let is_python = bytes.len() > 16 && matches!(bytes, [_, _, b'\r', b'\n', ..]) && bytes[..16].contains(&0);
    is_python
        || bytes.starts_with(&[0xca, 0xfe, 0xba, 0xbe])
        || bytes.starts_with(b"\x1bLua")
        || bytes.starts_with(b"dex\n03")
        || bytes.starts_with(b"FasdUAS")
}

fn is_media(bytes: &[u8]) -> bool {
    const STARTS: &[&[u8]] = &[
        b"\x89PNG\r\n\x1a\n",
        b"\xff\xd8\xff",
        b"GIF87a",
        b"GIF89a",
        b"BM",
        b"II*\0",
        b"MM\0*",
        b"%PDF-",
        b"OggS",
        b"ID3",
        b"\0\x01\0\0",
        b"OTTO",
        b"wOFF",
        b"wOF2",
        b"\0\0\x01\0",
        b"true",
        b"ttcf",
        b"\xd0\xcf\x11\xe0",
        b"\x1aE\xdf\xa3",
        b"\x93NUMPY",
        b"\x89HDF",
        b"PAR1",
        b"solid",
        b"\xff\xfb",
        b"\xff\xf3",
    ];
    STARTS.iter().any(|start| bytes.starts_with(start))
        || (bytes.starts_with(b"RIFF") && bytes.len() > 12)
        || bytes.get(4..8) == Some(b"ftyp")
}

/// Whether the bytes are text: no zero bytes and hardly any control characters.
pub(super) fn is_text(bytes: &[u8]) -> bool {
    if matches!(bytes, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) {
        return true;
    }
    let head = &bytes[..bytes.len().min(8_192)];
    let odd = head.iter().filter(|byte| matches!(byte, 0..=8 | 14..=26 | 28..=31)).count();
    !head.contains(&0) && odd * 50 <= head.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_apart() {
        assert_eq!(magic(b"\x7fELF\x02"), Magic::Native);
        assert_eq!(magic(b"ab\r\nmore text follows here"), Magic::Other);
        assert_eq!(magic(b"\xcb\x0d\r\n\0\0\0\0\0\0\0\0\0\0\0\0\0"), Magic::Bytecode);
        assert_eq!(magic(b"PK\x03\x04"), Magic::Zip);
        assert_eq!(
            magic(b"MZ is how this text begins, and nothing more than text follows it here."),
            Magic::Other
        );
        assert_eq!(magic(b"\x89PNG\r\n\x1a\n"), Magic::Media);
        assert_eq!(of("a/SKILL.md", b""), Kind::Instructions);
        assert_eq!(of("run", b"#!/bin/sh"), Kind::Code);
        assert_eq!(of("x.tmpl", b"#!/bin/sh"), Kind::Code);
        assert_eq!(of("x.yaml", b"a: b"), Kind::Data);
        assert!(is_text(b"abc\n") && !is_text(b"a\0b"));
    }
}
