//! gzip as archives use it: one member, read and written as a stream.

use std::io::{self, BufRead, Read, Write};

use miniz_oxide::deflate::core::{CompressorOxide, create_comp_flags_from_zip_params};
use miniz_oxide::deflate::stream::deflate;
use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZError, MZFlush, MZStatus};

/// What every gzip file begins with.
pub(crate) const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The header that is written: deflate, no flags, no time, an unknown system.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];

/// A good balance: higher levels take much longer for a few percent.
const LEVEL: i32 = 6;

/// Compresses what is written to it.
pub(crate) struct Compress<W> {
    out: W,
    compressor: Box<CompressorOxide>,
    buffer: Vec<u8>,
    checksum: crc32fast::Hasher,
    length: u32,
}

impl<W: Write> Compress<W> {
    pub(crate) fn new(mut out: W) -> io::Result<Self> {
        out.write_all(&HEADER)?;
        // A window of 0 bits means: without the header and the checksum of zlib.
        let flags = create_comp_flags_from_zip_params(LEVEL, 0, 0);
        Ok(Self {
            out,
            compressor: Box::new(CompressorOxide::new(flags)),
            buffer: vec![0; 64 << 10],
            checksum: crc32fast::Hasher::new(),
            length: 0,
        })
    }

    /// Compresses some of the input: how much, and whether that was the end.
    fn step(&mut self, input: &[u8], flush: MZFlush) -> io::Result<(usize, bool)> {
        let done = deflate(&mut self.compressor, input, &mut self.buffer, flush);
        self.out.write_all(self.buffer.get(..done.bytes_written).unwrap_or_default())?;
        let status =
            done.status.map_err(|error| io::Error::other(format!("compression failed: {error:?}")))?;
        Ok((done.bytes_consumed, status == MZStatus::StreamEnd))
    }

    /// Writes the rest and the checksum, and returns the writer.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        while !self.step(&[], MZFlush::Finish)?.1 {}
        self.out.write_all(&self.checksum.finalize().to_le_bytes())?;
        self.out.write_all(&self.length.to_le_bytes())?;
        Ok(self.out)
    }
}

impl<W: Write> Write for Compress<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut taken = 0;
        // A step may only write what it had compressed before.
        while taken == 0 && !bytes.is_empty() {
            taken = self.step(bytes, MZFlush::None)?.0;
        }
        self.checksum.update(bytes.get(..taken).unwrap_or_default());
        // Only the lower 32 bits of the length are kept.
        self.length = self.length.wrapping_add(u32::try_from(taken).unwrap_or_default());
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Decompresses what it reads. A file that is cut off, changed or followed by other bytes is an error of the kind
/// `InvalidData`.
pub(crate) struct Decompress<R> {
    input: R,
    state: Box<InflateState>,
    checksum: crc32fast::Hasher,
    length: u32,
    is_done: bool,
}

impl<R: BufRead> Decompress<R> {
    pub(crate) fn new(mut input: R) -> io::Result<Self> {
        let mut header = [0; 10];
        input.read_exact(&mut header).map_err(cut_off)?;
        if header[..3] != HEADER[..3] || header[3] & 0b1110_0000 != 0 {
            return Err(damaged("it is not a gzip file"));
        }
        skip_fields(&mut input, header[3])?;
        Ok(Self {
            input,
            state: InflateState::new_boxed(DataFormat::Raw),
            checksum: crc32fast::Hasher::new(),
            length: 0,
            is_done: false,
        })
    }

    /// Checks what follows the compressed bytes: their checksum and length, and the end of the file.
    fn finish(&mut self) -> io::Result<()> {
        let mut trailer = [0; 8];
        self.input.read_exact(&mut trailer).map_err(cut_off)?;
        let numbers = trailer.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes));
        let is_right = numbers.eq([self.checksum.clone().finalize(), self.length]);
        if !is_right {
            return Err(damaged("the checksum of the gzip file does not match its content"));
        }
        if !self.input.fill_buf()?.is_empty() {
            return Err(damaged("there are other bytes after the end of the gzip file"));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Decompress<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while !self.is_done && !out.is_empty() {
            let input = self.input.fill_buf()?;
            let is_over = input.is_empty();
            let step = inflate(&mut self.state, input, out, MZFlush::None);
            self.input.consume(step.bytes_consumed);
            self.checksum.update(out.get(..step.bytes_written).unwrap_or_default());
            self.length = self.length.wrapping_add(u32::try_from(step.bytes_written).unwrap_or_default());
            match step.status {
                Ok(MZStatus::StreamEnd) => {
                    self.is_done = true;
                    self.finish()?;
                }
                Ok(_) | Err(MZError::Buf) if !is_over || step.bytes_written > 0 => {}
                Ok(_) | Err(MZError::Buf) => {
                    return Err(damaged("the gzip file is cut off"));
                }
                Err(_) => return Err(damaged("the gzip file cannot be decompressed")),
            }
            if step.bytes_written > 0 {
                return Ok(step.bytes_written);
            }
        }
        Ok(0)
    }
}

/// Passes over what other programs write into the header: an extra field, a name, a comment, a checksum.
fn skip_fields(input: &mut impl BufRead, flags: u8) -> io::Result<()> {
    let mut two = [0; 2];
    if flags & 1 << 2 != 0 {
        input.read_exact(&mut two).map_err(cut_off)?;
        io::copy(&mut input.take(u16::from_le_bytes(two).into()), &mut io::sink())?;
    }
    for _ in 0..(flags >> 3 & 1) + (flags >> 4 & 1) {
        input.take(64 << 10).skip_until(0)?;
    }
    if flags & 1 << 1 != 0 {
        input.read_exact(&mut two).map_err(cut_off)?;
    }
    Ok(())
}

fn damaged(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn cut_off(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::UnexpectedEof { damaged("the gzip file is cut off") } else { error }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<u8> {
        (0..40_000_u32)
            .flat_map(|number| format!("{{\"number\":{}}}\n", number * number).into_bytes())
            .collect()
    }

    fn compressed(bytes: &[u8]) -> Vec<u8> {
        let mut writer = Compress::new(Vec::new()).unwrap();
        writer.write_all(bytes).unwrap();
        writer.finish().unwrap()
    }

    fn decompressed(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        Decompress::new(bytes)?.read_to_end(&mut out)?;
        Ok(out)
    }

    #[test]
    fn what_was_written_is_read() {
        for bytes in [Vec::new(), b"x".to_vec(), sample()] {
            let small = compressed(&bytes);
            assert_eq!(decompressed(&small).unwrap(), bytes);
            // In small pieces as well, as a file gives them.
            let mut out = Vec::new();
            let slow = io::BufReader::with_capacity(7, &small[..]);
            Decompress::new(slow).unwrap().read_to_end(&mut out).unwrap();
            assert_eq!(out, bytes);
        }
        assert!(compressed(&sample()).len() < sample().len() / 3);
    }

    #[test]
    fn what_is_cut_off_changed_or_continued_is_an_error() {
        let small = compressed(&sample());
        for end in (0..small.len()).step_by(997).chain(small.len() - 9..small.len()) {
            assert!(decompressed(&small[..end]).is_err(), "cut off after {end} bytes");
        }
        for at in (10..small.len()).step_by(499).chain(small.len() - 8..small.len()) {
            let mut changed = small.clone();
            changed[at] ^= 4;
            assert!(decompressed(&changed).map_or(true, |bytes| bytes == sample()), "byte {at}");
        }
        assert!(decompressed(&[&small[..], b"more"].concat()).is_err());
        assert!(decompressed(&[&small[..], &small[..]].concat()).is_err());
    }

    #[test]
    fn headers_of_other_programs_are_read() {
        let small = compressed(b"hello");
        let mut named = vec![0x1f, 0x8b, 8, 0b0000_1100, 0, 0, 0, 0, 2, 3, 3, 0, b'a', b'b', b'c'];
        named.extend(b"export.jsonl\0");
        named.extend(&small[10..]);
        assert_eq!(decompressed(&named).unwrap(), b"hello");
    }
}
