//! ZIP: the list of files, the local headers and the data between them must all agree.
//!
//! An archive is accepted only if every byte has a purpose: first the entries without gaps, then the list of files,
//! then the end record. This leaves no room for a second archive, for entries that share bytes, or for content that
//! other programs would read differently.

mod end;
mod list;
mod local;

use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};
use rayon::prelude::*;

use super::bytes::Fields;
use super::entry::{ChangeKind, Intake};
use super::error::{ArchiveError, EntryProblem};
use super::{ArchiveFile, ArchiveFormat, ArchiveLimits, FileWriter, UnpackedArchive};
use crate::StoreError;

use list::Listed;

pub(super) use end::has_end;

/// An entry whose headers agree, with its data.
#[derive(Debug)]
struct Entry<'a> {
    listed: Listed<'a>,
    path: &'a str,
    /// Whether it is passed to the writer; directories are only checked.
    is_wanted: bool,
    packed: &'a [u8],
}

pub(super) fn unpack(
    archive: &[u8],
    limits: &ArchiveLimits,
    write: &FileWriter<'_>,
) -> Result<UnpackedArchive, StoreError> {
    let mut intake = Intake::new(limits, ArchiveFormat::Zip);
    let entries = entries(archive, limits, &mut intake)?;
    let hand_out = |room: &mut Room, entry: &Entry<'_>| {
        let bytes = room.content(entry)?;
        if entry.is_wanted {
            write(ArchiveFile { path: entry.path, is_executable: entry.listed.is_executable, bytes })?;
        }
        Ok::<_, StoreError>(())
    };
    entries.par_iter().try_for_each_init(Room::default, hand_out)?;
    Ok(intake.finish())
}

/// All entries whose data has to be checked, after all checks of the headers.
fn entries<'a>(
    archive: &'a [u8],
    limits: &ArchiveLimits,
    intake: &mut Intake<'_>,
) -> Result<Vec<Entry<'a>>, ArchiveError> {
    let end = end::find(archive)?;
    let listed = list::read(archive, &end, limits)?;
    let mut admitted = Vec::with_capacity(listed.len());
    for listed in listed {
        let name = listed.name.strip_suffix(b"/").unwrap_or(listed.name);
        let (path, is_wanted) = intake.admit(name, listed.kind, listed.size)?;
        if limits.is_bomb(listed.size, listed.packed) {
            return Err(listed.error(EntryProblem::Ratio { limit: limits.ratio }));
        }
        admitted.push((listed, path, is_wanted));
    }
    if limits.is_bomb(intake.total(), archive.len() as u64) {
        return Err(ArchiveError::Ratio { limit: limits.ratio });
    }
    // In the order of their offsets, each entry ends where the next one starts.
    admitted.sort_by_key(|(listed, ..)| listed.offset);
    if admitted.first().is_some_and(|(first, ..)| first.offset != 0) {
        return Err(ArchiveError::LeadingData);
    }
    if let Some((last, ..)) = admitted.last().filter(|(last, ..)| last.offset >= end.list_offset) {
        return Err(local::missing(last));
    }
    let ends: Vec<u64> =
        admitted.iter().skip(1).map(|(next, ..)| next.offset).chain([end.list_offset]).collect();
    let located = admitted.into_iter().zip(ends).map(|((listed, path, is_wanted), end)| {
        let packed = local::check(archive, &listed, end)?;
        Ok(Entry { listed, path, is_wanted, packed })
    });
    let mut entries = located.collect::<Result<Vec<_>, ArchiveError>>()?;
    // Skipped files are not decompressed.
    entries.retain(|entry| entry.is_wanted || entry.listed.kind == ChangeKind::Folder);
    Ok(entries)
}

/// The buffers of one thread for decompression, reused for the next entry.
#[derive(Default)]
struct Room {
    state: DecompressorOxide,
    buffer: Vec<u8>,
}

impl Room {
    /// The content of an entry, checked against the size and the checksum in its headers.
    fn content<'b>(&'b mut self, entry: &Entry<'b>) -> Result<&'b [u8], ArchiveError> {
        let listed = &entry.listed;
        let content = if listed.is_deflated { self.inflate(entry)? } else { entry.packed };
        if crc32fast::hash(content) == listed.checksum {
            Ok(content)
        } else {
            Err(listed.error(EntryProblem::Checksum))
        }
    }

    fn inflate(&mut self, entry: &Entry<'_>) -> Result<&[u8], ArchiveError> {
        let error = |problem| Err(entry.listed.error(problem));
        // One extra byte, to notice data beyond the expected size.
        let size = usize::try_from(entry.listed.size).unwrap_or(usize::MAX - 1);
        if self.buffer.len() <= size {
            self.buffer.resize(size + 1, 0);
        }
        let Some(buffer) = self.buffer.get_mut(..=size) else { return error(EntryProblem::SizeDiffers) };
        self.state.init();
        let flags = TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
        let (status, read, written) = decompress(&mut self.state, entry.packed, buffer, 0, flags);
        match status {
            TINFLStatus::Done if written == size && read == entry.packed.len() => {
                Ok(buffer.get(..size).unwrap_or_default())
            }
            TINFLStatus::Done | TINFLStatus::HasMoreOutput => error(EntryProblem::SizeDiffers),
            _ => error(EntryProblem::Corrupt),
        }
    }
}

/// The parts of an extra field: an id and its data. Remaining bytes that are too few for a part are padding, which
/// some programs write.
fn extras(bytes: &[u8]) -> impl Iterator<Item = Option<(u16, &[u8])>> {
    let mut fields = Fields(bytes);
    std::iter::from_fn(move || {
        if fields.0.len() < 4 {
            return None;
        }
        let part = fields.u16().zip(fields.u16()).and_then(|(id, len)| Some((id, fields.take(len.into())?)));
        if part.is_none() {
            fields.0 = &[];
        }
        Some(part)
    })
}

/// The extra field with ZIP64 sizes.
const EXTRA_ZIP64: u16 = 0x0001;
/// The extra field with the name in UTF-8, which some programs use instead of the name.
const EXTRA_NAME: u16 = 0x7075;
/// The value of a 32-bit field whose real value is in the ZIP64 extra field.
const IN_EXTRA: u32 = u32::MAX;

/// The only extra field with ZIP64 sizes; `None` if there is none. An invalid or second one is an error.
fn zip64_of(extra: &[u8]) -> Result<Option<Fields<'_>>, EntryProblem> {
    let mut found = None;
    for part in extras(extra) {
        let (id, bytes) = part.ok_or(EntryProblem::HeaderDiffers { what: "its own length" })?;
        if id == EXTRA_ZIP64 && found.replace(Fields(bytes)).is_some() {
            return Err(EntryProblem::Zip64);
        }
    }
    Ok(found)
}
