//! gzip: exactly one stream, with nothing after it.

use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZError, MZFlush, MZStatus};

use super::ArchiveLimits;
use super::bytes::Fields;
use super::error::ArchiveError;

/// A gzip file, decompressed in pieces within the limits.
pub(super) struct Gunzip<'a> {
    /// The data that is not decompressed yet.
    input: &'a [u8],
    /// The size of the compressed data.
    length: u64,
    state: Box<InflateState>,
    checksum: crc32fast::Hasher,
    unpacked: u64,
    is_done: bool,
    limits: ArchiveLimits,
}

impl<'a> Gunzip<'a> {
    pub(super) fn new(file: &'a [u8], limits: &ArchiveLimits) -> Result<Self, ArchiveError> {
        let mut fields = Fields(file);
        header(&mut fields)?;
        Ok(Self {
            input: fields.0,
            length: file.len() as u64,
            state: InflateState::new_boxed(DataFormat::Raw),
            checksum: crc32fast::Hasher::new(),
            unpacked: 0,
            is_done: false,
            limits: *limits,
        })
    }

    /// Fills the buffer as far as possible, and returns how much was written.
    pub(super) fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, ArchiveError> {
        let mut filled = 0;
        while !self.is_done
            && let Some(room) = buffer.get_mut(filled..).filter(|room| !room.is_empty())
        {
            let step = inflate(&mut self.state, self.input, room, MZFlush::None);
            self.checksum.update(room.get(..step.bytes_written).unwrap_or_default());
            self.input = self.input.get(step.bytes_consumed..).unwrap_or_default();
            filled += step.bytes_written;
            self.unpacked += step.bytes_written as u64;
            if self.limits.is_bomb(self.unpacked, self.length - self.input.len() as u64) {
                return Err(ArchiveError::Ratio { limit: self.limits.ratio });
            }
            match step.status {
                Ok(MZStatus::StreamEnd) => self.finish()?,
                Ok(_) if step.bytes_written > 0 || step.bytes_consumed > 0 => {}
                Ok(_) | Err(MZError::Buf) => {
                    return Err(ArchiveError::Truncated { what: "the gzip stream does not end" });
                }
                Err(_) => {
                    let what = "the gzip stream cannot be decompressed";
                    return Err(ArchiveError::Malformed { what, at: self.unpacked });
                }
            }
        }
        Ok(filled)
    }

    /// Checks what follows the stream: checksum, length and the end of the file.
    fn finish(&mut self) -> Result<(), ArchiveError> {
        self.is_done = true;
        let mut fields = Fields(self.input);
        let trailer = fields.u32().zip(fields.u32());
        let (checksum, length) =
            trailer.ok_or(ArchiveError::Truncated { what: "the gzip checksum is missing" })?;
        // Only the lower 32 bits of the length are stored.
        if checksum != self.checksum.clone().finalize() || u64::from(length) != self.unpacked & 0xffff_ffff {
            return Err(ArchiveError::GzipChecksum);
        }
        match fields.0 {
            [] => Ok(()),
            [0x1f, 0x8b, ..] => Err(ArchiveError::GzipMembers),
            rest => Err(ArchiveError::TrailingData { at: self.length - rest.len() as u64 }),
        }
    }
}

impl std::fmt::Debug for Gunzip<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gunzip").field("unpacked", &self.unpacked).finish_non_exhaustive()
    }
}

const HAS_CHECKSUM: u8 = 1 << 1;
const HAS_EXTRA: u8 = 1 << 2;
const HAS_NAME: u8 = 1 << 3;
const HAS_COMMENT: u8 = 1 << 4;
const RESERVED: u8 = 0b1110_0000;

/// Skips the header; its fields are not used.
fn header(fields: &mut Fields<'_>) -> Result<(), ArchiveError> {
    let short = || ArchiveError::Truncated { what: "the gzip header is incomplete" };
    let start = fields.take(10).ok_or_else(short)?;
    let (method, flags) = match start {
        [_, _, method, flags, ..] => (*method, *flags),
        _ => return Err(short()),
    };
    if method != 8 || flags & RESERVED != 0 {
        let what = "the gzip header has an unknown method or flag";
        return Err(ArchiveError::Malformed { what, at: 2 });
    }
    if flags & HAS_EXTRA != 0 {
        let length = fields.u16().ok_or_else(short)?;
        fields.take(length.into()).ok_or_else(short)?;
    }
    for _ in [HAS_NAME, HAS_COMMENT].iter().filter(|flag| flags & **flag != 0) {
        let end = memchr::memchr(0, fields.0).ok_or_else(short)?;
        fields.take(end + 1).ok_or_else(short)?;
    }
    if flags & HAS_CHECKSUM != 0 {
        fields.u16().ok_or_else(short)?;
    }
    Ok(())
}
