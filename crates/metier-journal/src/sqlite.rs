//! Records in a SQLite file. Writers of all processes queue at a lock of our own instead of polling SQLite's.

mod cut;
mod lock;
mod reserve;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use metier_skill::Digest;
use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use rustix::fs::OFlags;

use crate::error::JournalError;
use crate::record::{NOTHING, RecordRef};
use crate::start::Start;
use crate::store::{Found, Inspection, NewRow, Store, Tail};
use cut::Cut;
use lock::{Held, Lock};
use reserve::Reserve;

/// In the file's header: `mtj` and the format.
const APPLICATION: i64 = 0x6d74_6a01;

/// The same for a journal whose oldest records are in archives.
const ARCHIVED: i64 = 0x6d74_6a02;

/// The columns are the members of a record. Its hash covers them and the hash of the row before.
const SCHEMA: &str = "CREATE TABLE record(sequence INTEGER PRIMARY KEY, id TEXT NOT NULL, time TEXT NOT NULL, \
                      session TEXT, event TEXT NOT NULL, hash BLOB NOT NULL) STRICT";

/// How long to wait for a reader that blocks.
const PATIENCE: Duration = Duration::from_secs(30);

/// A journal in a file.
pub(crate) struct Sqlite {
    path: PathBuf,
    connection: Connection,
    /// What writers need; `None` for readers.
    writing: Option<Writing>,
    tail: Tail,
}

/// Everything that is needed to add to a journal.
#[derive(Clone)]
struct Writing {
    lock: Lock,
    reserve: Reserve,
    /// The file's device and inode. Records written to a file that was removed or replaced would be lost.
    identity: (u64, u64),
}

impl Sqlite {
    /// Opens a journal to add to it; creates it if it does not exist.
    pub(crate) fn open(path: &Path, patience: Duration) -> Result<Self, JournalError> {
        // One journal has one lock, whatever path leads to it.
        let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let written = |error: io::Error| JournalError::of_file(path, "written", &error);
        if let Some(parent) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(parent).map_err(written)?;
        }
        match check_kind(path) {
            Ok(()) | Err(JournalError::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
        let lock = Lock::open(&beside(path, "-lock"), patience).map_err(written)?;
        let _held = lock.hold(path, "written")?;
        if let Some((noted, _)) = lock.noted().filter(|_| !path.exists()) {
            return Err(Self::shorter(path, noted, 0));
        }
        // Created here, so that only this user can read it.
        private(path).map_err(written)?;
        let mut sqlite = Self {
            path: path.to_owned(),
            connection: connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?,
            writing: None,
            tail: Tail::default(),
        };
        // The file of another program is left as it is.
        if !sqlite.is_empty().map_err(|error| sqlite.failed("read", &error))? {
            sqlite.check_format()?;
        }
        let reserve = Reserve::open(&beside(path, "-reserve")).map_err(written)?;
        sqlite.set_up().map_err(|error| sqlite.failed("written", &error))?;
        sqlite.catch_up()?;
        sqlite.check_note(&lock)?;
        let identity = identity(path).map_err(written)?;
        sqlite.writing = Some(Writing { lock, reserve, identity });
        Ok(sqlite)
    }

    /// Whether the file has no tables yet, also because a process was killed before it created them.
    fn is_empty(&self) -> rusqlite::Result<bool> {
        let tables: i64 =
            self.connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        let application: i64 = self.connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
        Ok(tables == 0 && application == 0)
    }

    /// Whether the last record that was noted is still there and unchanged.
    fn check_note(&self, lock: &Lock) -> Result<(), JournalError> {
        let Some((noted, hash)) = lock.noted() else { return Ok(()) };
        let size = self.tail.size();
        if noted > size {
            return Err(Self::shorter(&self.path, noted, size));
        }
        let last = noted.saturating_sub(1);
        match self.beginning()? {
            // The note is older than the last archive, as after a power failure.
            Some(start) if noted < start.size() => return Ok(()),
            Some(start) if noted == start.size() && hash == start.tail.hash() => return Ok(()),
            _ => {}
        }
        let there = self.connection.query_row("SELECT hash FROM record WHERE sequence = ?1", [last], |row| {
            Ok(row.get_ref(0)?.as_blob().ok().and_then(digest))
        });
        if there.map_err(|error| self.failed("read", &error))? != Some(hash) {
            let reason = format!("record {last} is not the one that was written; the journal was rewritten");
            return Err(JournalError::Damaged { reason });
        }
        Ok(())
    }

    fn shorter(path: &Path, noted: u64, size: u64) -> JournalError {
        let reason = format!("`{}` had {noted} records and now has {size}", path.display());
        JournalError::Damaged { reason }
    }

    /// Opens a journal to read it.
    pub(crate) fn open_to_read(path: &Path) -> Result<Self, JournalError> {
        check_kind(path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
        let connection = connect(path, flags).and_then(|connection| {
            let works = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()));
            works.map(|()| connection).map_err(|error| failed(path, "read", &error))
        });
        // In a read-only directory SQLite cannot even create the index of an absent write-ahead log.
        let connection = match connection {
            Err(
                error @ (JournalError::File { .. }
                | JournalError::Full { .. }
                | JournalError::ReadOnly { .. }),
            ) if !has_log(path) => {
                let place = format!("file:{}?immutable=1", encoded(path));
                let immutable = connect(Path::new(&place), flags | OpenFlags::SQLITE_OPEN_URI);
                // The first error is the one to report.
                immutable.or(Err(error))?
            }
            other => other?,
        };
        let sqlite = Self { path: path.to_owned(), connection, writing: None, tail: Tail::default() };
        sqlite.check_format()?;
        Ok(sqlite)
    }

    fn set_up(&mut self) -> rusqlite::Result<()> {
        self.connection.pragma_update(None, "synchronous", "FULL")?;
        if self.is_empty()? {
            lay_out(&self.connection)?;
        }
        log_ahead(&self.connection)
    }

    fn check_format(&self) -> Result<(), JournalError> {
        let read = |error: rusqlite::Error| self.failed("read", &error);
        // One snapshot: another process may be archiving records for the first time.
        let _snapshot = self.connection.unchecked_transaction().map_err(read)?;
        let found: i64 =
            self.connection.query_row("PRAGMA application_id", [], |row| row.get(0)).map_err(read)?;
        match found {
            // A trigger, a view or another table was added by another program.
            APPLICATION | ARCHIVED if !self.has_only_records(found == ARCHIVED).map_err(read)? => {
                let reason = "its tables were changed, or others were added".to_owned();
                Err(JournalError::NotAJournal { path: self.path.clone(), reason })
            }
            APPLICATION | ARCHIVED => self.beginning().map(drop),
            0 if self.is_empty().map_err(read)? => {
                Err(JournalError::NotFound { place: self.path.display().to_string() })
            }
            _ if found >> 8 == APPLICATION >> 8 => {
                let place = self.path.display().to_string();
                Err(JournalError::Format { place, found: found & 0xff, known: ARCHIVED & 0xff })
            }
            _ => {
                let reason = "it is a database of another program".to_owned();
                Err(JournalError::NotAJournal { path: self.path.clone(), reason })
            }
        }
    }

    fn has_only_records(&self, is_archived: bool) -> rusqlite::Result<bool> {
        let mut all = self.connection.prepare("SELECT type, name, sql FROM sqlite_schema ORDER BY name")?;
        let rows = all.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let rows: Vec<(String, String, Option<String>)> = rows.collect::<Result<_, _>>()?;
        let table = |name: &str, sql: &str| ("table".to_owned(), name.to_owned(), Some(sql.to_owned()));
        let mut expected = vec![table("record", SCHEMA)];
        expected.extend(is_archived.then(|| table("start", cut::SCHEMA)));
        Ok(rows == expected)
    }

    fn failed(&self, doing: &'static str, error: &rusqlite::Error) -> JournalError {
        failed(&self.path, doing, error)
    }

    /// The number of records, and the hash of the last one.
    fn last(&self) -> Result<(u64, Digest), JournalError> {
        let query = || {
            let mut last = self
                .connection
                .prepare_cached("SELECT sequence + 1, hash FROM record ORDER BY sequence DESC LIMIT 1")?;
            let mut rows = last.query([])?;
            let Some(row) = rows.next()? else { return Ok(None) };
            Ok(Some((row.get(0)?, row.get_ref(1)?.as_blob().ok().and_then(digest))))
        };
        let Some((size, hash)) = query().map_err(|error| self.failed("read", &error))? else {
            return Ok(self.beginning()?.map_or((0, NOTHING), |start| (start.size(), start.tail.hash())));
        };
        let size: u64 = size;
        let reason = || format!("the hash of record {} has the wrong length", size.saturating_sub(1));
        Ok((size, hash.ok_or_else(|| JournalError::Damaged { reason: reason() })?))
    }

    /// Learns what other processes have added.
    fn catch_up(&mut self) -> Result<(), JournalError> {
        let (size, hash) = self.last()?;
        self.tail.check(size, &hash)?;
        if size == self.tail.size() {
            return Ok(());
        }
        let mut tail = self.tail.clone();
        if let Some(start) = self.beginning()?.filter(|start| start.size() > tail.size()) {
            tail = start.tail;
        }
        let mut result = Ok(());
        self.read(tail.behind(size), &mut |_| {}, &mut |found| {
            result =
                found.map_err(|reason| JournalError::Damaged { reason }).and_then(|row| tail.catch_up(&row));
            if result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        result?;
        tail.check(size, &hash)?;
        self.tail = tail;
        Ok(())
    }

    /// Writes rows in one transaction, which may remove archived ones as well.
    fn write(
        &mut self,
        make: &mut dyn FnMut(&mut Tail) -> Vec<NewRow>,
        cut: Option<&Cut<'_>>,
    ) -> Result<Vec<NewRow>, JournalError> {
        let run = |sqlite: &Self, statement| {
            let done =
                sqlite.connection.prepare_cached(statement).and_then(|mut prepared| prepared.execute([]));
            done.map(drop).map_err(|error| sqlite.failed("written", &error))
        };
        run(self, "BEGIN IMMEDIATE")?;
        let result = self.catch_up().and_then(|()| {
            if let Some(cut) = cut {
                self.check_cut(cut)?;
            }
            let mut tail = self.tail.clone();
            let rows = make(&mut tail);
            if rows.is_empty() {
                run(self, "ROLLBACK")?;
                return Ok(rows);
            }
            let insert = || self.insert(&rows).and_then(|()| cut.map_or(Ok(()), |cut| self.remove(cut)));
            insert().map_err(|error| self.failed("written", &error))?;
            run(self, "COMMIT")?;
            self.tail = tail;
            Ok(rows)
        });
        if result.is_err() && !self.connection.is_autocommit() {
            // The first error is the one to report; without a rollback the lock would stay.
            let _ = run(self, "ROLLBACK");
        }
        result
    }

    /// Waits for this writer's turn, if the file still is the one that was opened.
    fn hold(&self) -> Result<(Writing, Held), JournalError> {
        let Some(writing) = self.writing.clone() else {
            let reason = "it was opened for reading".to_owned();
            return Err(JournalError::ReadOnly { path: self.path.clone(), reason });
        };
        let held = writing.lock.hold(&self.path, "written")?;
        if identity(&self.path).ok() != Some(writing.identity) {
            let reason = "it was removed or replaced while it was open".to_owned();
            return Err(JournalError::File { path: self.path.clone(), doing: "written", reason });
        }
        Ok((writing, held))
    }

    fn insert(&self, rows: &[NewRow]) -> rusqlite::Result<()> {
        let mut insert =
            self.connection.prepare_cached("INSERT INTO record VALUES(?1, ?2, ?3, ?4, ?5, ?6)")?;
        for row in rows {
            let NewRow { sequence, id, time, session, event, hash, .. } = row;
            insert.execute((sequence, id, time, session, event, hash.as_bytes()))?;
        }
        Ok(())
    }
}

impl Store for Sqlite {
    fn append(
        &mut self,
        make: &mut dyn FnMut(&mut Tail) -> Vec<NewRow>,
    ) -> Result<Vec<NewRow>, JournalError> {
        let (Writing { lock, reserve, .. }, _held) = self.hold()?;
        let rows = match self.write(make, None) {
            // What was done must be recorded, so the reserved space is released. SQLite reports a full disk, but not a quota.
            Err(JournalError::Full { .. } | JournalError::File { .. }) if reserve.release() => {
                self.write(make, None)
            }
            other => other,
        }?;
        lock.note(self.tail.size(), &self.tail.hash());
        Ok(rows)
    }

    fn read(
        &mut self,
        from: u64,
        begin: &mut dyn FnMut(Option<&Start>),
        each: &mut dyn FnMut(Found<'_>) -> ControlFlow<()>,
    ) -> Result<(), JournalError> {
        let read = |error: rusqlite::Error| self.failed("read", &error);
        let is_in_none = self.connection.is_autocommit();
        let _snapshot =
            is_in_none.then(|| self.connection.unchecked_transaction()).transpose().map_err(read)?;
        begin(self.beginning()?.as_ref());
        let query = "SELECT sequence, id, time, session, event, hash FROM record WHERE sequence >= ?1 ORDER BY sequence";
        let mut all = self.connection.prepare_cached(query).map_err(read)?;
        let mut rows = all.query([from]).map_err(read)?;
        loop {
            let found = match rows.next() {
                Ok(None) => return Ok(()),
                Ok(Some(row)) => as_row(row),
                Err(error) => Err(error.to_string()),
            };
            let is_last = found.is_err();
            if each(found).is_break() || is_last {
                return Ok(());
            }
        }
    }

    fn size(&mut self) -> Result<u64, JournalError> {
        Ok(self.last()?.0)
    }

    fn ready(&mut self) -> Result<(), JournalError> {
        let written = |error: io::Error| JournalError::of_file(&self.path, "written", &error);
        rustix::fs::access(&self.path, rustix::fs::Access::WRITE_OK)
            .map_err(|error| written(error.into()))?;
        match &self.writing {
            // Not while another writer uses the space that it released.
            Some(Writing { lock, reserve, .. }) if !reserve.is_there() => {
                let _held = lock.hold(&self.path, "written")?;
                reserve.ensure().map_err(written)
            }
            _ => Ok(()),
        }
    }

    fn tail(&self) -> &Tail {
        &self.tail
    }

    fn cut(
        &mut self,
        from: u64,
        start: &Start,
        make: &mut dyn FnMut(&mut Tail) -> Vec<NewRow>,
    ) -> Result<Vec<NewRow>, JournalError> {
        let (Writing { lock, .. }, _held) = self.hold()?;
        let rows = self.write(make, Some(&Cut { from, start }))?;
        lock.note(self.tail.size(), &self.tail.hash());
        Ok(rows)
    }

    fn shrink(&mut self) -> Result<(), JournalError> {
        let _held = self.hold()?;
        self.vacuum().map_err(|error| self.failed("written", &error))
    }

    fn start(&mut self) -> Result<Option<Start>, JournalError> {
        self.beginning()
    }

    fn inspect(&mut self) -> Result<Inspection, JournalError> {
        let inspect = || {
            let hidden: bool = self.connection.query_row(
                "SELECT EXISTS(SELECT 1 FROM record WHERE sequence < 0)",
                [],
                |row| row.get(0),
            )?;
            if hidden {
                return Ok(Some("there are rows before the first record".to_owned()));
            }
            let check = self.connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0));
            check.map(|found: String| (found != "ok").then_some(found))
        };
        let damage = match inspect().map_err(|error| self.failed("read", &error)) {
            Err(JournalError::NotAJournal { reason, .. }) => Some(reason),
            other => other?,
        };
        Ok(Inspection { damage, skipped: None })
    }
}

/// The number of records that was noted beside this file, and the hash of the last one.
pub(crate) fn noted(path: &Path) -> Option<(u64, Digest)> {
    Lock::open_to_read(&beside(path, "-lock"), PATIENCE)?.noted()
}

/// Creates an empty journal. A process that is killed meanwhile leaves one without a table, which is created again.
fn lay_out(connection: &Connection) -> rusqlite::Result<()> {
    log_ahead(connection)?;
    connection.execute_batch(&format!("BEGIN; PRAGMA application_id = {APPLICATION}; {SCHEMA}; COMMIT"))
}

/// Makes sure that there is a write-ahead log. SQLite does not report why it could not create one, and may first report success.
fn log_ahead(connection: &Connection) -> rusqlite::Result<()> {
    for _ in 0..2 {
        let mode: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
        if mode == "wal" {
            return Ok(());
        }
        connection.pragma_update(None, "journal_mode", "WAL")?;
    }
    let reason = "no write-ahead log can be created for it".to_owned();
    let error = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR);
    Err(rusqlite::Error::SqliteFailure(error, Some(reason)))
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, JournalError> {
    let open = || {
        let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        connection.busy_timeout(PATIENCE)?;
        connection.pragma_update(None, "trusted_schema", "OFF")?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
        Ok(connection)
    };
    open().map_err(|error| failed(path, "read", &error))
}

fn as_row<'a>(row: &'a rusqlite::Row<'_>) -> Found<'a> {
    let column = |index| row.get_ref(index).map_err(|error| error.to_string());
    let wrong = |what: &str| format!("its {what} has the wrong type");
    let text = |index, what: &str| match column(index)? {
        ValueRef::Text(text) => std::str::from_utf8(text).map_err(|_| wrong(what)),
        _ => Err(wrong(what)),
    };
    let ValueRef::Integer(sequence) = column(0)? else { return Err(wrong("sequence")) };
    Ok(RecordRef {
        sequence: u64::try_from(sequence).map_err(|_| wrong("sequence"))?,
        id: text(1, "id")?,
        time: text(2, "time")?,
        session: if column(3)? == ValueRef::Null { None } else { Some(text(3, "session")?) },
        event: text(4, "event")?,
        hash: match column(5)? {
            ValueRef::Blob(bytes) => digest(bytes).ok_or_else(|| wrong("hash"))?,
            _ => return Err(wrong("hash")),
        },
    })
}

fn digest(bytes: &[u8]) -> Option<Digest> {
    Some(Digest::from_bytes(bytes.try_into().ok()?))
}

/// An error of SQLite as one of ours.
fn failed(path: &Path, doing: &'static str, error: &rusqlite::Error) -> JournalError {
    let (path, reason) = (path.to_owned(), error.to_string());
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => JournalError::Full { path },
        // SQLite needs space even to open a journal, and reports only that something failed.
        Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) if is_full(&path) => {
            JournalError::Full { path }
        }
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => JournalError::ReadOnly { path, reason },
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            JournalError::NotAJournal { path, reason }
        }
        _ => JournalError::File { path, doing, reason },
    }
}

/// Whether the disk is too full for the files that SQLite creates beside this one, or for any file.
fn is_full(path: &Path) -> bool {
    const NEEDED: u64 = 64 << 10;
    let Some(Ok(found)) = path.parent().map(rustix::fs::statvfs) else { return false };
    let is_out_of_files = found.f_files > 0 && found.f_favail == 0;
    found.f_bavail.saturating_mul(found.f_frsize) < NEEDED || is_out_of_files
}

/// Reading anything but a regular file might never end.
fn check_kind(path: &Path) -> Result<(), JournalError> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() => Ok(()),
        Ok(_) => {
            let reason = "it is not a regular file".to_owned();
            Err(JournalError::NotAJournal { path: path.to_owned(), reason })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(JournalError::NotFound { place: path.display().to_string() })
        }
        Err(error) => Err(JournalError::of_file(path, "read", &error)),
    }
}

/// A file beside the journal.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// A file that only this user can read; created if it does not exist.
fn private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    // Symbolic links are not followed.
    let file = options
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed() | OFlags::NONBLOCK.bits().cast_signed())
        .open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a regular file")) }
}

/// The identity of the file at a path.
fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let found = fs::metadata(path)?;
    Ok((found.dev(), found.ino()))
}

/// A path as part of a `file:` address.
fn encoded(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
    let bytes = path.as_os_str().as_bytes().iter();
    bytes
        .map(|&byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02x}") })
        .collect()
}

/// Whether the write-ahead log is not empty.
fn has_log(path: &Path) -> bool {
    fs::metadata(beside(path, "-wal")).is_ok_and(|log| log.len() > 0)
}
