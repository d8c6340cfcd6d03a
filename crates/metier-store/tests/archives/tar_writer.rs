//! Writes tar archives in which every field can lie, and gzip around them.

use miniz_oxide::deflate::compress_to_vec;

/// An entry. What is `None` is what it should be.
#[derive(Clone)]
pub(crate) struct TarEntry {
    pub(crate) name: Vec<u8>,
    pub(crate) content: Vec<u8>,
    pub(crate) kind: u8,
    pub(crate) mode: u32,
    pub(crate) size: Option<Vec<u8>>,
    pub(crate) link: Vec<u8>,
    pub(crate) magic: [u8; 8],
    pub(crate) prefix: Vec<u8>,
    /// Added to the right checksum.
    pub(crate) checksum_off_by: u32,
}

/// A plain file.
pub(crate) fn file(name: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> TarEntry {
    TarEntry {
        name: name.as_ref().to_vec(),
        content: content.as_ref().to_vec(),
        kind: b'0',
        mode: 0o644,
        size: None,
        link: Vec::new(),
        magic: *b"ustar\x0000",
        prefix: Vec::new(),
        checksum_off_by: 0,
    }
}

/// Something else than a file, with nothing in it.
pub(crate) fn other(name: impl AsRef<[u8]>, kind: u8) -> TarEntry {
    TarEntry { kind, ..file(name, "") }
}

/// A header that extends the next one, or all.
pub(crate) fn pax(kind: u8, records: &[(&str, &str)]) -> TarEntry {
    let mut content = Vec::new();
    for (key, value) in records {
        let rest = key.len() + value.len() + 3;
        let digits = (1..9).find(|digits| (rest + digits).to_string().len() == *digits).unwrap();
        content.extend(format!("{} {key}={value}\n", rest + digits).into_bytes());
    }
    TarEntry { kind, ..file("pax", content) }
}

fn field(header: &mut Vec<u8>, bytes: &[u8], length: usize) {
    let end = header.len() + length;
    header.extend(bytes);
    header.resize(end, 0);
}

impl TarEntry {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut header = Vec::new();
        field(&mut header, &self.name, 100);
        field(&mut header, format!("{:07o}", self.mode).as_bytes(), 8);
        field(&mut header, b"0000000", 8);
        field(&mut header, b"0000000", 8);
        let size = format!("{:011o}", self.content.len()).into_bytes();
        field(&mut header, self.size.as_ref().unwrap_or(&size), 12);
        field(&mut header, b"00000000000", 12);
        field(&mut header, b"        ", 8);
        field(&mut header, &[self.kind], 1);
        field(&mut header, &self.link, 100);
        field(&mut header, &self.magic, 8);
        field(&mut header, b"", 80);
        field(&mut header, &self.prefix, 155);
        header.resize(512, 0);
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum::<u32>() + self.checksum_off_by;
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        header.extend(&self.content);
        header.resize(header.len().next_multiple_of(512), 0);
        header
    }
}

/// An archive without its end.
pub(crate) fn open_tar(entries: impl IntoIterator<Item = TarEntry>) -> Vec<u8> {
    entries.into_iter().flat_map(|entry| entry.bytes()).collect()
}

pub(crate) fn tar(entries: impl IntoIterator<Item = TarEntry>) -> Vec<u8> {
    let mut bytes = open_tar(entries);
    bytes.resize(bytes.len() + 1_024, 0);
    bytes
}

pub(crate) fn gzip(content: &[u8]) -> Vec<u8> {
    gzip_around(&compress_to_vec(content, 6), crc32fast::hash(content), content.len())
}

/// gzip with a checksum and a length of one's own.
pub(crate) fn gzip_around(packed: &[u8], checksum: u32, length: usize) -> Vec<u8> {
    let mut bytes = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
    bytes.extend(packed);
    bytes.extend(checksum.to_le_bytes());
    bytes.extend(u32::try_from(length).unwrap().to_le_bytes());
    bytes
}
