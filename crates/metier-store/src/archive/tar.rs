//! tar, read as a stream: one header after the other, each followed by its file.
//!
//! From extended headers (pax, GNU) only a long name is used. A size in an extended header must equal the header's
//! own: no allowed file is so large that it needs another one, and programs disagree on which size counts.
//!
//! A leading `./`, which `tar -C folder .` writes before every name, is removed; `.` elsewhere in a path is refused.

mod header;
mod pax;

use rayon::prelude::*;

use super::entry::{ChangeKind, Intake};
use super::error::{ArchiveError, EntryProblem};
use super::gzip::Gunzip;
use super::{ArchiveFile, ArchiveFormat, ArchiveLimits, FileWriter, UnpackedArchive, format};
use crate::StoreError;

use header::{BLOCK, Header, Type};

pub(super) use header::is_tar;

/// The data of a tar archive, read in order.
#[derive(Debug)]
pub(super) struct Stream<'a> {
    source: SkillSource<'a>,
    /// The number of bytes read so far.
    at: u64,
}

#[derive(Debug)]
enum SkillSource<'a> {
    Plain(&'a [u8]),
    Gzip(Box<Gunzip<'a>>),
}

impl<'a> Stream<'a> {
    pub(super) const fn plain(archive: &'a [u8]) -> Self {
        Self { source: SkillSource::Plain(archive), at: 0 }
    }

    pub(super) fn gzip(archive: &'a [u8], limits: &ArchiveLimits) -> Result<Self, ArchiveError> {
        Ok(Self { source: SkillSource::Gzip(Box::new(Gunzip::new(archive, limits)?)), at: 0 })
    }

    const fn format(&self) -> ArchiveFormat {
        match self.source {
            SkillSource::Plain(_) => ArchiveFormat::Tar,
            SkillSource::Gzip(_) => ArchiveFormat::TarGz,
        }
    }

    /// Fills the buffer as far as possible, and returns how much was written.
    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, ArchiveError> {
        let count = match &mut self.source {
            SkillSource::Gzip(gunzip) => gunzip.fill(buffer)?,
            SkillSource::Plain(rest) => {
                let count = buffer.len().min(rest.len());
                let (taken, left) = rest.split_at(count);
                buffer.iter_mut().zip(taken).for_each(|(to, from)| *to = *from);
                *rest = left;
                count
            }
        };
        self.at += count as u64;
        Ok(count)
    }

    /// The next block; `None` at the end of the file.
    fn block(&mut self) -> Result<Option<[u8; BLOCK]>, ArchiveError> {
        let mut block = [0; BLOCK];
        match self.fill(&mut block)? {
            0 => Ok(None),
            BLOCK => Ok(Some(block)),
            _ => Err(ArchiveError::Truncated { what: "the last header is incomplete" }),
        }
    }

    /// The content of an entry, without the padding of its last block.
    fn content(&mut self, size: u64) -> Result<Vec<u8>, ArchiveError> {
        let short = ArchiveError::Truncated { what: "the last file is incomplete" };
        let size = usize::try_from(size).map_err(|_| short.clone())?;
        let mut bytes = vec![0; size.next_multiple_of(BLOCK)];
        if self.fill(&mut bytes)? < bytes.len() {
            return Err(short);
        }
        bytes.truncate(size);
        Ok(bytes)
    }
}

/// The most zero bytes that may follow the end: the largest common block size.
const PADDING_MAX: u64 = 1 << 20;
/// The most bytes of an extended header.
const EXTENSION_MAX: u64 = 64 << 10;

pub(super) fn unpack(
    stream: &mut Stream<'_>,
    limits: &ArchiveLimits,
    write: &FileWriter<'_>,
) -> Result<UnpackedArchive, StoreError> {
    let mut intake = Intake::new(limits, stream.format());
    let mut batch = Batch::new(write);
    let mut extended = pax::Extended::default();
    let mut extensions = 0;
    while let Some(block) = stream.block()? {
        if block == [0; BLOCK] {
            end(stream, &extended)?;
            batch.hand_out()?;
            return Ok(intake.finish());
        }
        let header = read_header(stream, &block)?;
        if let Type::Extension(kind) = header.kind {
            // These are not entries, so the entry limit does not stop them.
            extensions += 1;
            if extensions > limits.entries {
                return Err(ArchiveError::TooManyEntries { limit: limits.entries }.into());
            }
            if header.size > EXTENSION_MAX {
                let what = "is too long";
                return Err(header.error(EntryProblem::Extension { what }).into());
            }
            let bytes = stream.content(header.size)?;
            extended.read(kind, &bytes).map_err(|problem| header.error(problem))?;
            continue;
        }
        let extended = std::mem::take(&mut extended);
        entry(stream, &mut intake, &mut batch, &header, &extended)?;
    }
    Err(ArchiveError::Truncated { what: "the end of the tar archive is missing" }.into())
}

/// Parses the header in a block. An invalid header at the start means another file format.
fn read_header<'b>(stream: &Stream<'_>, block: &'b [u8; BLOCK]) -> Result<Header<'b>, ArchiveError> {
    let is_first = stream.at == BLOCK as u64;
    if is_first && !is_tar(block) {
        let looks_like = match format::looks_like(block) {
            "text" => "gzip-compressed text",
            _ => "a gzip-compressed file other than tar",
        };
        return Err(ArchiveError::UnknownFormat { looks_like });
    }
    Header::read(block)
}

/// Adds one file or directory.
fn entry(
    stream: &mut Stream<'_>,
    intake: &mut Intake<'_>,
    batch: &mut Batch<'_>,
    header: &Header<'_>,
    extended: &pax::Extended,
) -> Result<(), StoreError> {
    let raw = extended.name().unwrap_or(&header.name);
    let problem = |problem| ArchiveError::entry(raw, problem);
    let kind = header.entry_kind(raw).map_err(problem)?;
    if extended.size().is_some_and(|size| size != header.size) {
        return Err(problem(EntryProblem::SizeDiffers).into());
    }
    let name = raw.strip_prefix(b"./").unwrap_or(raw);
    if kind == ChangeKind::Folder && matches!(name, b"" | b".") {
        return Ok(());
    }
    let name = if kind == ChangeKind::Folder { name.strip_suffix(b"/").unwrap_or(name) } else { name };
    let (path, is_wanted) = intake.admit(name, kind, header.size)?;
    let bytes = stream.content(header.size)?;
    if is_wanted {
        batch.add(path, header.is_executable, bytes)?;
    }
    Ok(())
}

/// Checks what follows the first block of zeros: another one, and then only a few more.
fn end(stream: &mut Stream<'_>, extended: &pax::Extended) -> Result<(), ArchiveError> {
    if !extended.is_empty() {
        return Err(ArchiveError::Truncated { what: "nothing follows an extended header" });
    }
    let at = stream.at;
    match stream.block()? {
        None => return Err(ArchiveError::Truncated { what: "the end of the tar archive is incomplete" }),
        Some(block) if block != [0; BLOCK] => return Err(ArchiveError::TrailingData { at }),
        Some(_) => {}
    }
    let mut buffer = [0; 16 << 10];
    let most = stream.at + PADDING_MAX;
    loop {
        let at = stream.at;
        let count = stream.fill(&mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        let is_zero = buffer.iter().take(count).all(|byte| *byte == 0);
        if !is_zero || stream.at > most {
            return Err(ArchiveError::TrailingData { at });
        }
    }
}

/// A batch of files that are passed to the writer together, so that it can work in parallel.
struct Batch<'a> {
    write: &'a FileWriter<'a>,
    files: Vec<(String, bool, Vec<u8>)>,
    bytes: usize,
}

impl<'a> Batch<'a> {
    /// The size at which a batch is passed on.
    const BYTES: usize = 8 << 20;
    const FILES: usize = 1_024;

    fn new(write: &'a FileWriter<'a>) -> Self {
        Self { write, files: Vec::new(), bytes: 0 }
    }

    fn add(&mut self, path: &str, is_executable: bool, bytes: Vec<u8>) -> Result<(), StoreError> {
        self.bytes += bytes.len();
        self.files.push((path.to_owned(), is_executable, bytes));
        if self.bytes >= Self::BYTES || self.files.len() >= Self::FILES { self.hand_out() } else { Ok(()) }
    }

    fn hand_out(&mut self) -> Result<(), StoreError> {
        let write = self.write;
        self.files.par_iter().try_for_each(|(path, is_executable, bytes)| {
            write(ArchiveFile { path, is_executable: *is_executable, bytes })
        })?;
        self.files.clear();
        self.bytes = 0;
        Ok(())
    }
}
