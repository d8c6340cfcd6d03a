//! Writes ZIP archives in which every field can lie.

use miniz_oxide::deflate::compress_to_vec;

/// An entry. What is `None` is what it should be.
#[derive(Clone, Default)]
pub(crate) struct ZipEntry {
    pub(crate) name: Vec<u8>,
    pub(crate) content: Vec<u8>,
    pub(crate) is_stored: bool,
    /// Bytes in the archive instead of the compressed content.
    pub(crate) packed: Option<Vec<u8>>,
    pub(crate) mode: u32,
    pub(crate) system: Option<u8>,
    pub(crate) flags: u16,
    pub(crate) method: Option<u16>,
    pub(crate) checksum: Option<u32>,
    pub(crate) packed_size: Option<u32>,
    pub(crate) size: Option<u32>,
    pub(crate) offset: Option<u32>,
    pub(crate) disk: u16,
    pub(crate) extra: Vec<u8>,
    pub(crate) comment: Vec<u8>,
    pub(crate) local_name: Option<Vec<u8>>,
    pub(crate) local_flags: Option<u16>,
    pub(crate) local_method: Option<u16>,
    pub(crate) local_checksum: Option<u32>,
    pub(crate) local_packed_size: Option<u32>,
    pub(crate) local_size: Option<u32>,
    pub(crate) local_extra: Vec<u8>,
    /// What stands between this entry and the next.
    pub(crate) after: Vec<u8>,
    /// Not in the archive, only in its list.
    pub(crate) is_only_listed: bool,
}

/// A plain file.
pub(crate) fn file(name: impl AsRef<[u8]>, content: impl AsRef<[u8]>) -> ZipEntry {
    ZipEntry {
        name: name.as_ref().to_vec(),
        content: content.as_ref().to_vec(),
        mode: 0o100_644,
        ..ZipEntry::default()
    }
}

/// An archive. What is `None` is what it should be.
#[derive(Clone, Default)]
pub(crate) struct Zip {
    pub(crate) entries: Vec<ZipEntry>,
    pub(crate) before: Vec<u8>,
    /// Between the last entry and the list.
    pub(crate) before_list: Vec<u8>,
    /// Between the list and the end.
    pub(crate) after_list: Vec<u8>,
    pub(crate) disk: u16,
    pub(crate) count: Option<u16>,
    pub(crate) list_size: Option<u32>,
    pub(crate) list_offset: Option<u32>,
    pub(crate) comment: Vec<u8>,
    pub(crate) after: Vec<u8>,
    /// A 64-bit end as well, changed by this.
    pub(crate) zip64: Option<fn(&mut Zip64)>,
}

/// What a 64-bit end says.
pub(crate) struct Zip64 {
    pub(crate) size: u64,
    pub(crate) disks: u32,
    pub(crate) count: u64,
    pub(crate) list_size: u64,
    pub(crate) list_offset: u64,
    pub(crate) offset: u64,
}

pub(crate) fn zip(entries: impl IntoIterator<Item = ZipEntry>) -> Zip {
    Zip { entries: entries.into_iter().collect(), ..Zip::default() }
}

fn put16(bytes: &mut Vec<u8>, numbers: &[u16]) {
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}

fn put32(bytes: &mut Vec<u8>, numbers: &[u32]) {
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}

fn put64(bytes: &mut Vec<u8>, numbers: &[u64]) {
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}

fn short(number: usize) -> u32 {
    u32::try_from(number).unwrap()
}

fn shorter(number: usize) -> u16 {
    u16::try_from(number).unwrap()
}

impl ZipEntry {
    fn packed(&self) -> Vec<u8> {
        match &self.packed {
            Some(packed) => packed.clone(),
            None if self.is_stored => self.content.clone(),
            None => compress_to_vec(&self.content, 6),
        }
    }

    fn method(&self) -> u16 {
        self.method.unwrap_or(if self.is_stored { 0 } else { 8 })
    }

    fn checksum(&self) -> u32 {
        self.checksum.unwrap_or_else(|| crc32fast::hash(&self.content))
    }

    fn local(&self, bytes: &mut Vec<u8>) {
        let (packed, name) = (self.packed(), self.local_name.as_ref().unwrap_or(&self.name));
        bytes.extend(b"PK\x03\x04");
        let flags = self.local_flags.unwrap_or(self.flags);
        put16(bytes, &[20, flags, self.local_method.unwrap_or_else(|| self.method()), 0, 33]);
        let packed_size = self.packed_size.unwrap_or_else(|| short(packed.len()));
        let size = self.size.unwrap_or_else(|| short(self.content.len()));
        put32(
            bytes,
            &[
                self.local_checksum.unwrap_or_else(|| self.checksum()),
                self.local_packed_size.unwrap_or(packed_size),
                self.local_size.unwrap_or(size),
            ],
        );
        put16(bytes, &[shorter(name.len()), shorter(self.local_extra.len())]);
        bytes.extend(name);
        bytes.extend(&self.local_extra);
        bytes.extend(packed);
        bytes.extend(&self.after);
    }

    fn listed(&self, bytes: &mut Vec<u8>, offset: usize) {
        bytes.extend(b"PK\x01\x02");
        put16(
            bytes,
            &[u16::from_le_bytes([20, self.system.unwrap_or(3)]), 20, self.flags, self.method(), 0, 33],
        );
        put32(
            bytes,
            &[
                self.checksum(),
                self.packed_size.unwrap_or_else(|| short(self.packed().len())),
                self.size.unwrap_or_else(|| short(self.content.len())),
            ],
        );
        put16(bytes, &[shorter(self.name.len()), shorter(self.extra.len()), shorter(self.comment.len())]);
        put16(bytes, &[self.disk, 0]);
        put32(bytes, &[self.mode << 16, self.offset.unwrap_or_else(|| short(offset))]);
        bytes.extend(&self.name);
        bytes.extend(&self.extra);
        bytes.extend(&self.comment);
    }
}

impl Zip {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.before.clone();
        let mut list = Vec::new();
        for entry in &self.entries {
            entry.listed(&mut list, bytes.len());
            if !entry.is_only_listed {
                entry.local(&mut bytes);
            }
        }
        bytes.extend(&self.before_list);
        let offset = bytes.len();
        bytes.extend(&list);
        bytes.extend(&self.after_list);
        if let Some(change) = self.zip64 {
            self.end_64(&mut bytes, offset, list.len(), change);
        }
        bytes.extend(b"PK\x05\x06");
        let count = self.count.unwrap_or_else(|| shorter(self.entries.len()));
        put16(&mut bytes, &[self.disk, self.disk, count, count]);
        let list_size = self.list_size.unwrap_or_else(|| short(list.len()));
        put32(&mut bytes, &[list_size, self.list_offset.unwrap_or_else(|| short(offset))]);
        put16(&mut bytes, &[shorter(self.comment.len())]);
        bytes.extend(&self.comment);
        bytes.extend(&self.after);
        bytes
    }

    fn end_64(&self, bytes: &mut Vec<u8>, offset: usize, size: usize, change: fn(&mut Zip64)) {
        let mut end = Zip64 {
            size: 44,
            disks: 1,
            count: self.entries.len() as u64,
            list_size: size as u64,
            list_offset: offset as u64,
            offset: bytes.len() as u64,
        };
        change(&mut end);
        bytes.extend(b"PK\x06\x06");
        put64(bytes, &[end.size]);
        put16(bytes, &[45, 45]);
        put32(bytes, &[0, 0]);
        put64(bytes, &[end.count, end.count, end.list_size, end.list_offset]);
        bytes.extend(b"PK\x06\x07\0\0\0\0");
        put64(bytes, &[end.offset]);
        put32(bytes, &[end.disks]);
    }
}

/// A part of an extra field.
pub(crate) fn extra(id: u16, content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    put16(&mut bytes, &[id, shorter(content.len())]);
    bytes.extend(content);
    bytes
}

/// An extra field with 64-bit numbers.
pub(crate) fn extra_64(numbers: &[u64]) -> Vec<u8> {
    let mut content = Vec::new();
    put64(&mut content, numbers);
    extra(1, &content)
}

/// An extra field with another name.
pub(crate) fn extra_name(name: &[u8]) -> Vec<u8> {
    extra(0x7075, &[&[1, 0, 0, 0, 0], name].concat())
}

/// Checksum and sizes after a file, with a mark.
pub(crate) fn descriptor(checksum: u32, packed: usize, size: usize) -> Vec<u8> {
    let mut bytes = b"PK\x07\x08".to_vec();
    put32(&mut bytes, &[checksum, short(packed), short(size)]);
    bytes
}
