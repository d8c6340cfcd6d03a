//! Records in a SQLite file. Writers of all processes wait for each other at a lock of our own, in turn, instead of asking again and again.

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
use crate::store::{Found, Inspection, NewRow, Store, Tail};
use lock::Lock;
use reserve::Reserve;

/// In the file's header: `mtj` and the format.
const APPLICATION: i64 = 0x6d74_6a01;

/// The columns are what a record has; its hash is over them and the hash of the row before.
const SCHEMA: &str = "CREATE TABLE record(sequence INTEGER PRIMARY KEY, id TEXT NOT NULL, time TEXT NOT NULL, \
                      session TEXT, event TEXT NOT NULL, hash BLOB NOT NULL) STRICT";

/// How long to wait for a reader that is in the way.
const PATIENCE: Duration = Duration::from_secs(30);

/// A journal in a file.
pub(crate) struct Sqlite {
    path: PathBuf,
    connection: Connection,
    /// What writers have. Readers have nothing of it.
    writing: Option<Writing>,
    tail: Tail,
}

/// What is needed to add to a journal.
#[derive(Clone)]
struct Writing {
    lock: Lock,
    reserve: Reserve,
    /// The file's device and inode: what was removed or replaced is written to by nobody who would ever read it.
    identity: (u64, u64),
}

impl Sqlite {
    /// For adding; made if it is not there.
    pub(crate) fn open(path: &Path, patience: Duration) -> Result<Self, JournalError> {
        // One journal has one lock, whatever it is called.
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
        // By us, so that it is nobody else's to read.
        private(path).map_err(written)?;
        let mut sqlite = Self {
            path: path.to_owned(),
            connection: connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?,
            writing: None,
            tail: Tail::default(),
        };
        // What is somebody else's is left as it is.
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

    /// Whether nothing was made in the file yet, or somebody was killed before it was.
    fn is_empty(&self) -> rusqlite::Result<bool> {
        let tables: i64 =
            self.connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        let application: i64 = self.connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
        Ok(tables == 0 && application == 0)
    }

    /// Whether everything is there that was once noted, as it was.
    fn check_note(&self, lock: &Lock) -> Result<(), JournalError> {
        let Some((noted, hash)) = lock.noted() else { return Ok(()) };
        let size = self.tail.size();
        if noted > size {
            return Err(Self::shorter(&self.path, noted, size));
        }
        let last = noted.saturating_sub(1);
        let there = self.connection.query_row("SELECT hash FROM record WHERE sequence = ?1", [last], |row| {
            Ok(row.get_ref(0)?.as_blob().ok().and_then(digest))
        });
        if there.map_err(|error| self.failed("read", &error))? != Some(hash) {
            let reason = format!("record {last} is not the one that was written: it was rewritten");
            return Err(JournalError::Damaged { reason });
        }
        Ok(())
    }

    fn shorter(path: &Path, noted: u64, size: u64) -> JournalError {
        let lock = beside(path, "-lock");
        let lock = lock.display();
        let reason =
            format!("it had {noted} records and now has {size}; if that is on purpose, remove `{lock}`");
        JournalError::Damaged { reason }
    }

    /// For reading only.
    pub(crate) fn open_to_read(path: &Path) -> Result<Self, JournalError> {
        check_kind(path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
        let connection = connect(path, flags).and_then(|connection| {
            let works = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()));
            works.map(|()| connection).map_err(|error| failed(path, "read", &error))
        });
        // Where nothing can be written, not even the index of a write-ahead log that is not there.
        let connection = match connection {
            Err(
                error @ (JournalError::File { .. }
                | JournalError::Full { .. }
                | JournalError::ReadOnly { .. }),
            ) if !has_log(path) => {
                let place = format!("file:{}?immutable=1", encoded(path));
                let immutable = connect(Path::new(&place), flags | OpenFlags::SQLITE_OPEN_URI);
                // Whatever was wrong first is what matters.
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
        let found: i64 =
            self.connection.query_row("PRAGMA application_id", [], |row| row.get(0)).map_err(read)?;
        match found {
            // A trigger, a view or another table is somebody else's.
            APPLICATION if !self.has_only_records().map_err(read)? => {
                let reason = "somebody added to its tables, or changed them".to_owned();
                Err(JournalError::NotAJournal { path: self.path.clone(), reason })
            }
            APPLICATION => Ok(()),
            0 if self.is_empty().map_err(read)? => {
                Err(JournalError::NotFound { place: self.path.display().to_string() })
            }
            _ if found >> 8 == APPLICATION >> 8 => {
                let place = self.path.display().to_string();
                Err(JournalError::Format { place, found: found & 0xff, known: APPLICATION & 0xff })
            }
            _ => {
                let reason = "it is a database of something else".to_owned();
                Err(JournalError::NotAJournal { path: self.path.clone(), reason })
            }
        }
    }

    fn has_only_records(&self) -> rusqlite::Result<bool> {
        let mut all = self.connection.prepare("SELECT type, name, sql FROM sqlite_schema")?;
        let rows = all.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let rows: Vec<(String, String, Option<String>)> = rows.collect::<Result<_, _>>()?;
        Ok(rows == [("table".to_owned(), "record".to_owned(), Some(SCHEMA.to_owned()))])
    }

    fn failed(&self, doing: &'static str, error: &rusqlite::Error) -> JournalError {
        failed(&self.path, doing, error)
    }

    /// How many records there are, and the hash of the last.
    fn last(&self) -> Result<(u64, Digest), JournalError> {
        let query = || {
            let mut last = self
                .connection
                .prepare_cached("SELECT sequence + 1, hash FROM record ORDER BY sequence DESC LIMIT 1")?;
            let mut rows = last.query([])?;
            let Some(row) = rows.next()? else { return Ok((0, Some(NOTHING))) };
            Ok((row.get(0)?, row.get_ref(1)?.as_blob().ok().and_then(digest)))
        };
        let (size, hash): (u64, _) = query().map_err(|error| self.failed("read", &error))?;
        let reason = || format!("the hash of record {} has the wrong length", size.saturating_sub(1));
        Ok((size, hash.ok_or_else(|| JournalError::Damaged { reason: reason() })?))
    }

    /// Learns what others have added.
    fn catch_up(&mut self) -> Result<(), JournalError> {
        let (size, hash) = self.last()?;
        self.tail.check(size, &hash)?;
        if size == self.tail.size() {
            return Ok(());
        }
        let mut tail = self.tail.clone();
        let mut result = Ok(());
        self.read(tail.behind(size), &mut |found| {
            result =
                found.map_err(|reason| JournalError::Damaged { reason }).and_then(|row| tail.catch_up(&row));
            if result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        result?;
        tail.check(size, &hash)?;
        self.tail = tail;
        Ok(())
    }

    fn write(&mut self, make: &mut dyn FnMut(&mut Tail) -> Vec<NewRow>) -> Result<Vec<NewRow>, JournalError> {
        let run = |sqlite: &Self, statement| {
            let done =
                sqlite.connection.prepare_cached(statement).and_then(|mut prepared| prepared.execute([]));
            done.map(drop).map_err(|error| sqlite.failed("written", &error))
        };
        run(self, "BEGIN IMMEDIATE")?;
        let result = self.catch_up().and_then(|()| {
            let mut tail = self.tail.clone();
            let rows = make(&mut tail);
            if rows.is_empty() {
                run(self, "ROLLBACK")?;
                return Ok(rows);
            }
            self.insert(&rows).map_err(|error| self.failed("written", &error))?;
            run(self, "COMMIT")?;
            self.tail = tail;
            Ok(rows)
        });
        if result.is_err() && !self.connection.is_autocommit() {
            // What failed is what matters; without this the lock would be kept.
            let _ = run(self, "ROLLBACK");
        }
        result
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
        let Some(Writing { lock, reserve, identity: opened }) = self.writing.clone() else {
            let reason = "it was opened for reading".to_owned();
            return Err(JournalError::ReadOnly { path: self.path.clone(), reason });
        };
        let _held = lock.hold(&self.path, "written")?;
        if identity(&self.path).ok() != Some(opened) {
            let reason = "it was removed or replaced while it was open".to_owned();
            return Err(JournalError::File { path: self.path.clone(), doing: "written", reason });
        }
        let rows = match self.write(make) {
            // What was done must be recorded: the room that was kept for it is given up. SQLite knows a full disk, and no quotas.
            Err(JournalError::Full { .. } | JournalError::File { .. }) if reserve.release() => {
                self.write(make)
            }
            other => other,
        }?;
        lock.note(self.tail.size(), &self.tail.hash());
        Ok(rows)
    }

    fn read(
        &mut self,
        from: u64,
        each: &mut dyn FnMut(Found<'_>) -> ControlFlow<()>,
    ) -> Result<(), JournalError> {
        let query = "SELECT sequence, id, time, session, event, hash FROM record WHERE sequence >= ?1 ORDER BY sequence";
        let mut all = self.connection.prepare_cached(query).map_err(|error| self.failed("read", &error))?;
        let mut rows = all.query([from]).map_err(|error| self.failed("read", &error))?;
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
            // Not while somebody records something in the room that they gave up.
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

/// How many records there once were in this file, and the hash of the last, where that is noted.
pub(crate) fn noted(path: &Path) -> Option<(u64, Digest)> {
    Lock::open_to_read(&beside(path, "-lock"), PATIENCE)?.noted()
}

/// Makes an empty journal. Whoever is killed on the way leaves one without a table, which is made again.
fn lay_out(connection: &Connection) -> rusqlite::Result<()> {
    log_ahead(connection)?;
    connection.execute_batch(&format!("BEGIN; PRAGMA application_id = {APPLICATION}; {SCHEMA}; COMMIT"))
}

/// Makes sure that there is a write-ahead log. SQLite does not say what kept it from making one, and may first say that it has.
fn log_ahead(connection: &Connection) -> rusqlite::Result<()> {
    for _ in 0..2 {
        let mode: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
        if mode == "wal" {
            return Ok(());
        }
        connection.pragma_update(None, "journal_mode", "WAL")?;
    }
    let reason = "it cannot be given a write-ahead log".to_owned();
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
    let wrong = |what: &str| format!("its {what} is not of the kind that was written");
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

/// What SQLite said, in our words.
fn failed(path: &Path, doing: &'static str, error: &rusqlite::Error) -> JournalError {
    let (path, reason) = (path.to_owned(), error.to_string());
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => JournalError::Full { path },
        // SQLite needs room even to open a journal, and says only that something failed.
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

/// Whether there is no room beside a file: for what SQLite makes there, or for any file at all.
fn is_full(path: &Path) -> bool {
    const NEEDED: u64 = 64 << 10;
    let Some(Ok(found)) = path.parent().map(rustix::fs::statvfs) else { return false };
    let is_out_of_files = found.f_files > 0 && found.f_favail == 0;
    found.f_bavail.saturating_mul(found.f_frsize) < NEEDED || is_out_of_files
}

/// Something else than a file might never end, or not even open.
fn check_kind(path: &Path) -> Result<(), JournalError> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() => Ok(()),
        Ok(_) => {
            let reason = "it is not a file".to_owned();
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

/// A file that only this user reads, made if it is not there.
fn private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    // What is written into must not be something else by another name.
    let file = options
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed() | OFlags::NONBLOCK.bits().cast_signed())
        .open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a file")) }
}

/// Which file a path is.
fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let found = fs::metadata(path)?;
    Ok((found.dev(), found.ino()))
}

/// A path inside of a `file:` address.
fn encoded(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
    let bytes = path.as_os_str().as_bytes().iter();
    bytes
        .map(|&byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02x}") })
        .collect()
}

/// Whether there is something in the write-ahead log.
fn has_log(path: &Path) -> bool {
    fs::metadata(beside(path, "-wal")).is_ok_and(|log| log.len() > 0)
}
