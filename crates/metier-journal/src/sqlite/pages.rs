//! The file itself: is every byte of it as SQLite writes it for a table that only ever grew? Nothing is believed. What is
//! in SQLite's log is first written back into the file, as SQLite itself does sooner or later.
//!
//! SQLite has no checksums. What is damaged inside a record its hash shows; what is damaged between records, in the tree that leads to them or in
//! bytes that nothing uses, nobody would see. A table to which rows are only added has one shape: rows one after the other from the end of each
//! page, zeros before them, and nothing else. So anything else is damage. Only in the inner pages of a tree with more than one level of them,
//! thousands of records on, does SQLite leave behind what it moved: there the bytes that nothing uses are not looked at.
//! See <https://sqlite.org/fileformat2.html>.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::Duration;

use rusqlite::OpenFlags;

use super::lock::Lock;
use super::{APPLICATION, PAGE, PATIENCE, SCHEMA, beside, connect, failed, has_log};
use crate::error::JournalError;
use crate::store::Inspection;

/// The first page begins with the header of the file.
const HEADER: usize = 100;
/// The page that SQLite never uses, where it locks.
const LOCK_PAGE: u32 = (1 << 30) / 4096 + 1;
/// A tree with more levels has more rows than there can be.
const MAX_DEPTH: usize = 12;

/// A reason, and the record at which it was noticed.
type Checked<T> = Result<T, String>;

/// Looks at a journal's file, with nobody writing to it.
pub(super) fn inspect_file(path: &Path) -> Result<Inspection, JournalError> {
    let read = |error: io::Error| JournalError::of_file(path, "read", &error);
    let lock = Lock::open_to_read(&beside(path, "-lock"), PATIENCE);
    let _held = lock.as_ref().map(|lock| lock.hold(path, "read")).transpose()?;
    if has_log(path) {
        // Somebody is at it, or was killed: what is in the log belongs into the file.
        let settle = || {
            let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
            // Writers wait for this; whoever reads from the log may take long.
            connection.busy_timeout(Duration::ZERO).map_err(|error| failed(path, "written", &error))?;
            let settle = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
            settle.map_err(|error| failed(path, "written", &error))
        };
        if let Err(error) = settle() {
            return Ok(Inspection::Skipped(format!(
                "the file has a log that cannot be written back: {error}"
            )));
        }
        if has_log(path) {
            return Ok(Inspection::Skipped("somebody is reading from the log of the file".to_owned()));
        }
    }
    let file = File::open(path).map_err(read)?;
    let length = file.metadata().map_err(read)?.len();
    let mut walk = Walk::new(length, |number, page: &mut [u8; PAGE]| {
        file.read_exact_at(page, u64::from(number - 1) * PAGE as u64)
    });
    Ok(match walk.run() {
        Ok(()) => Inspection::Whole,
        Err(reason) => Inspection::Damaged(reason),
    })
}

/// A walk over all pages of a file.
struct Walk<R> {
    length: u64,
    read: R,
    seen: Vec<bool>,
    /// The row that must come next.
    next: u64,
}

impl<R: FnMut(u32, &mut [u8; PAGE]) -> io::Result<()>> Walk<R> {
    fn new(length: u64, read: R) -> Self {
        Self { length, read, seen: Vec::new(), next: 0 }
    }

    fn run(&mut self) -> Checked<()> {
        let pages = u32::try_from(self.length / PAGE as u64).unwrap_or(u32::MAX);
        if !self.length.is_multiple_of(PAGE as u64) || pages < 2 {
            return Err(format!("it has {} bytes, which are no whole pages", self.length));
        }
        self.seen = vec![false; pages as usize];
        let first = self.page(1)?;
        check_header(&first, pages)?;
        check_schema(&first)?;
        self.table(2, 0)?;
        for number in 1..=pages {
            if !self.seen[number as usize - 1] && (number != LOCK_PAGE || !is_zero(&*self.raw(number)?)) {
                return Err(format!("page {number} belongs to nothing"));
            }
        }
        Ok(())
    }

    fn raw(&mut self, number: u32) -> Checked<Box<[u8; PAGE]>> {
        let mut page = Box::new([0; PAGE]);
        (self.read)(number, &mut page).map_err(|error| format!("page {number} cannot be read: {error}"))?;
        Ok(page)
    }

    /// A page that is used for the first time.
    fn page(&mut self, number: u32) -> Checked<Box<[u8; PAGE]>> {
        let seen = number.checked_sub(1).and_then(|index| self.seen.get_mut(index as usize));
        match seen {
            Some(seen) if !*seen => *seen = true,
            _ => {
                return Err(format!(
                    "page {number} is used twice, or is not there; next would be record {}",
                    self.next
                ));
            }
        }
        self.raw(number)
    }

    /// A page of the table, and everything below it, whose rows come after those before; how many levels are below it.
    fn table(&mut self, number: u32, depth: usize) -> Checked<usize> {
        let page = self.page(number)?;
        let at = |reason: &str, next: u64| format!("{reason} on page {number}, before record {next}");
        let Some(cells) = Cells::of(&page[..], 0) else {
            return Err(at("there is no part of the table", self.next));
        };
        let (mut is_tight, mut free, mut levels) = (cells.is_tight, PAGE, 0);
        for index in 0..cells.count {
            let start = cells.start(index);
            let length = if cells.is_leaf {
                self.leaf(&page[..], start)?
            } else {
                let (length, below) = self.inner(&page[..], start, depth)?;
                levels = below + 1;
                length
            };
            is_tight &= start + length == free;
            free = start;
        }
        if let Some(last) = cells.last {
            levels = self.descend(last, depth)? + 1;
        }
        is_tight &= free == cells.content && is_zero(&page[cells.end..free.max(cells.end)]);
        // Pages between inner pages are taken apart and put together again.
        let was_divided = levels > 0 && depth + levels > 1;
        if is_tight || was_divided {
            Ok(levels)
        } else {
            Err(at("there is something in unused space", self.next))
        }
    }

    fn descend(&mut self, number: u32, depth: usize) -> Checked<usize> {
        if depth == MAX_DEPTH {
            return Err(format!("the tree is too deep at page {number}"));
        }
        self.table(number, depth + 1)
    }

    /// A child, and the last row in it; how long this is, and how many levels are below the child.
    fn inner(&mut self, page: &[u8], start: usize, depth: usize) -> Checked<(usize, usize)> {
        let mut bytes = Bytes(&page[start..]);
        let (child, key) = (bytes.word(), bytes.varint());
        let (Some(child), Some(key)) = (child, key) else { return Err(self.odd_row()) };
        let levels = self.descend(child, depth)?;
        if Some(key) != self.next.checked_sub(1) {
            return Err(format!(
                "page {child} ends with another record than {key}, near record {}",
                self.next
            ));
        }
        Ok((page.len() - start - bytes.0.len(), levels))
    }

    /// A row; how long it is here.
    fn leaf(&mut self, page: &[u8], start: usize) -> Checked<usize> {
        let mut bytes = Bytes(&page[start..]);
        let (length, key) = (bytes.varint(), bytes.varint());
        if key != Some(self.next) {
            return Err(format!(
                "record {} stands where record {} should",
                key.unwrap_or_default(),
                self.next
            ));
        }
        let row = length.and_then(|length| {
            let length = usize::try_from(length).ok()?;
            let local = local(length);
            let here = bytes.take(local)?;
            let overflow = if local < length { Some(bytes.word()?) } else { None };
            Some((here, length, overflow))
        });
        let Some((here, length, overflow)) = row else { return Err(self.odd_row()) };
        if let Some(first) = overflow {
            self.overflow(first, length - here.len())?;
        }
        if !is_row(here, length) {
            return Err(self.odd_row());
        }
        self.next += 1;
        Ok(page.len() - start - bytes.0.len())
    }

    /// The pages for the rest of a long row; what is in them its hash is over.
    fn overflow(&mut self, first: u32, length: usize) -> Checked<()> {
        let (mut number, mut left) = (first, length);
        while left > 0 {
            let page = self.page(number)?;
            let used = left.min(PAGE - 4);
            if !is_zero(&page[4 + used..]) {
                return Err(format!(
                    "there is something in unused space on page {number}, after record {}",
                    self.next
                ));
            }
            left -= used;
            number = u32::from_be_bytes([page[0], page[1], page[2], page[3]]);
        }
        if number == 0 { Ok(()) } else { Err(self.odd_row()) }
    }

    fn odd_row(&self) -> String {
        format!("record {} is not stored as it was written", self.next)
    }
}

/// How much of a row of this length is on its own page.
const fn local(length: usize) -> usize {
    let (most, least) = (PAGE - 35, (PAGE - 12) * 32 / 255 - 23);
    if length <= most {
        return length;
    }
    let local = least + (length - least) % (PAGE - 4);
    if local <= most { local } else { least }
}

/// The rows or children on a page.
struct Cells<'a> {
    is_leaf: bool,
    count: usize,
    pointers: &'a [u8],
    /// Where the pointers end.
    end: usize,
    /// Where the rows begin.
    content: usize,
    /// Whether nothing was ever taken out.
    is_tight: bool,
    /// The last child of an inner page.
    last: Option<u32>,
}

impl<'a> Cells<'a> {
    /// Nothing, if the page's own header makes no sense.
    fn of(page: &'a [u8], offset: usize) -> Option<Self> {
        let mut bytes = Bytes(page.get(offset..)?);
        let kind = bytes.take(1)?[0];
        let (free, count, content) = (bytes.half()?, usize::from(bytes.half()?), usize::from(bytes.half()?));
        let fragments = bytes.take(1)?[0];
        let is_leaf = kind == 13;
        let last = if is_leaf { None } else { Some(bytes.word()?) };
        let pointers = bytes.take(count * 2)?;
        let end = page.len() - bytes.0.len();
        let is_sound = (is_leaf || kind == 5) && (end..=PAGE).contains(&content);
        let is_tight = free == 0 && fragments == 0;
        let cells = Self { is_leaf, count, pointers, end, content, is_tight, last };
        (is_sound && (0..count).all(|index| (content..PAGE).contains(&cells.start(index)))).then_some(cells)
    }

    fn start(&self, index: usize) -> usize {
        usize::from(u16::from_be_bytes([self.pointers[index * 2], self.pointers[index * 2 + 1]]))
    }
}

/// Bytes that are taken from the front.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn half(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.take(2)?.try_into().ok()?))
    }

    fn word(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    /// SQLite's numbers of up to eight bytes; longer ones are not written here.
    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for count in 0..8 {
            let byte = self.take(1)?[0];
            value = value << 7 | u64::from(byte & 0x7f);
            if byte < 0x80 {
                // A longer way to write the same number is nobody's.
                return (count == 0 || value >> (7 * count) != 0).then_some(value);
            }
        }
        None
    }
}

/// Whether a row begins as ours do: the types and lengths of its columns add up to all of it.
fn is_row(here: &[u8], length: usize) -> bool {
    let text = |kind: u64| (kind >= 13 && kind % 2 == 1).then(|| (kind - 13) / 2);
    let add_up = || {
        let mut bytes = Bytes(here);
        let header = usize::try_from(bytes.varint()?).ok()?;
        // The sequence is the row's key, so its column is empty.
        let key = bytes.varint()?;
        let (id, time, session) = (text(bytes.varint()?)?, text(bytes.varint()?)?, bytes.varint()?);
        let session = if session == 0 { 0 } else { text(session)? };
        let (event, hash) = (text(bytes.varint()?)?, bytes.varint()?);
        let is_ours = key == 0 && hash == 12 + 2 * 32 && here.len() - bytes.0.len() == header;
        is_ours.then_some(header as u64 + id + time + session + event + 32)
    };
    add_up() == Some(length as u64)
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

/// The header of the file has nothing in it that is not known or noted twice.
fn check_header(page: &[u8; PAGE], pages: u32) -> Checked<()> {
    let word = |at: usize| u32::from_be_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]]);
    let half = |at: usize| usize::from(u16::from_be_bytes([page[at], page[at + 1]]));
    let known = [
        ("name", page[..16] == *b"SQLite format 3\0"),
        ("page size", half(16) == PAGE),
        ("versions and fractions", page[18..24] == [2, 2, 0, 64, 32, 32]),
        ("change counter", word(24) == word(92)),
        ("number of pages", word(28) == pages),
        ("list of free pages", word(32) == 0 && word(36) == 0),
        ("schema counter", word(40) == 1),
        ("schema format", word(44) == 4),
        ("cache size and vacuum", word(48) == 0 && word(52) == 0 && word(64) == 0),
        ("text encoding", word(56) == 1),
        ("version", word(60) == word(96)),
        ("application", i64::from(word(68)) == APPLICATION),
        ("reserved space", is_zero(&page[72..92])),
    ];
    match known.iter().find(|(_, is_known)| !is_known) {
        Some((what, _)) => Err(format!("the file's header is not as it was written: {what}")),
        None => Ok(()),
    }
}

/// The first page has the one table's description, and nothing else.
fn check_schema(page: &[u8; PAGE]) -> Checked<()> {
    let columns: [&[u8]; 5] = [b"table", b"record", b"record", &[2], SCHEMA.as_bytes()];
    let is_ours = || {
        let cells = Cells::of(&page[..], HEADER).filter(|cells| cells.is_leaf && cells.count == 1)?;
        let start = cells.start(0);
        let mut bytes = Bytes(&page[start..]);
        let (length, key) = (usize::try_from(bytes.varint()?).ok()?, bytes.varint()?);
        let mut row = Bytes(bytes.take(length)?);
        let header = usize::try_from(row.varint()?).ok()?;
        for column in columns {
            let kind = if column == [2] { 1 } else { 13 + 2 * column.len() as u64 };
            row.varint().filter(|found| *found == kind)?;
        }
        let is_whole = cells.is_tight
            && length - row.0.len() == header
            && row.0 == columns.concat()
            && bytes.0.is_empty()
            && key == 1;
        (is_whole && start == cells.content && is_zero(&page[cells.end..start])).then_some(())
    };
    is_ours().ok_or_else(|| "the description of the table is not as it was written".to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn inspect(bytes: &[u8]) -> Checked<()> {
        let read = |number: u32, page: &mut [u8; PAGE]| {
            let start = (number as usize - 1) * PAGE;
            page.copy_from_slice(bytes.get(start..start + PAGE).ok_or(io::ErrorKind::UnexpectedEof)?);
            Ok(())
        };
        Walk::new(bytes.len() as u64, read).run()
    }

    /// A file with rows as ours are, enough for inner pages over inner pages.
    fn file(rows: usize) -> Vec<u8> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal.db");
        let sqlite = super::super::Sqlite::open(&path, super::super::PATIENCE).unwrap();
        sqlite.connection.execute_batch("BEGIN").unwrap();
        let mut insert = sqlite
            .connection
            .prepare("INSERT INTO record VALUES(?1, 'i', 't', NULL, ?2, zeroblob(32))")
            .unwrap();
        for row in 0..rows {
            insert.execute((row as u64, "x".repeat(if row % 50 == 0 { 9000 } else { 3000 }))).unwrap();
        }
        drop(insert);
        sqlite.connection.execute_batch("COMMIT").unwrap();
        drop(sqlite);
        std::fs::read(path).unwrap()
    }

    #[test]
    fn files_of_any_size_are_whole() {
        for rows in [0, 1, 2, 40, 500, 1200] {
            assert_eq!(inspect(&file(rows)), Ok(()), "{rows}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_written_over_it_is_looked_at_without_a_panic(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<[u8; 4]>()), 1..20)) {
            let mut bytes = file(60);
            for (at, change) in changes {
                let at = at.index(bytes.len() - change.len());
                bytes[at..at + change.len()].copy_from_slice(&change);
            }
            // It ends, and says something.
            let _ = inspect(&bytes);
        }

        #[test]
        fn any_bytes_are_looked_at_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..3 * PAGE)) {
            prop_assert!(inspect(&bytes).is_err());
        }
    }
}
