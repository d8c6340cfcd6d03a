//! Removing records that are in an archive: the table that says where the journal begins, and the space that is freed.

use metier_skill::Digest;

use super::{ARCHIVED, Sqlite, digest};
use crate::error::JournalError;
use crate::start::Start;

/// One row: the state of the journal before its first record, as an archive begins with it.
pub(super) const SCHEMA: &str = "CREATE TABLE start(state TEXT NOT NULL) STRICT";

/// What is removed: the records from `from` on, up to `start`.
pub(super) struct Cut<'a> {
    pub(super) from: u64,
    pub(super) start: &'a Start,
}

impl Sqlite {
    /// Where the journal begins, if its oldest records are in archives.
    pub(super) fn beginning(&self) -> Result<Option<Start>, JournalError> {
        let query = || {
            let find = "SELECT EXISTS(SELECT 1 FROM sqlite_schema WHERE name = 'start')";
            if !self.connection.prepare_cached(find)?.query_row([], |row| row.get(0))? {
                return Ok(None);
            }
            let mut all = self.connection.prepare_cached("SELECT state FROM start")?;
            let states = all.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
            Ok(Some(states))
        };
        let damaged = |reason: String| JournalError::NotAJournal { path: self.path.clone(), reason };
        match query().map_err(|error| self.failed("read", &error))?.as_deref() {
            None => Ok(None),
            Some([state]) => {
                let start = Start::parse(state);
                start
                    .map(Some)
                    .map_err(|reason| damaged(format!("the state before its first record: {reason}")))
            }
            Some(_) => Err(damaged("the state before its first record is missing".to_owned())),
        }
    }

    /// Whether the journal still is what was archived: it begins there, and it has the last archived record.
    pub(super) fn check_cut(&self, cut: &Cut<'_>) -> Result<(), JournalError> {
        let first = self.beginning()?.map_or(0, |start| start.size());
        let last = cut.start.size().saturating_sub(1);
        let query = || {
            let mut find = self.connection.prepare_cached("SELECT hash FROM record WHERE sequence = ?1")?;
            let mut rows = find.query([last])?;
            let Some(row) = rows.next()? else { return Ok(None) };
            Ok::<Option<Digest>, rusqlite::Error>(row.get_ref(0)?.as_blob().ok().and_then(digest))
        };
        let hash = query().map_err(|error| self.failed("read", &error))?;
        if first != cut.from || hash != Some(cut.start.tail.hash()) {
            return Err(JournalError::Moved { place: self.path.display().to_string() });
        }
        Ok(())
    }

    /// Removes the records, inside of a transaction.
    pub(super) fn remove(&self, cut: &Cut<'_>) -> rusqlite::Result<()> {
        self.connection.execute("DELETE FROM record WHERE sequence < ?1", [cut.start.size()])?;
        self.connection.execute_batch(&format!(
            "DROP TABLE IF EXISTS start; {SCHEMA}; PRAGMA application_id = {ARCHIVED}"
        ))?;
        self.connection.execute("INSERT INTO start VALUES(?1)", [cut.start.to_line()])?;
        Ok(())
    }

    /// Rewrites the file without unused pages, and empties the write-ahead log.
    pub(super) fn vacuum(&self) -> rusqlite::Result<()> {
        self.connection.execute_batch("VACUUM")?;
        // While others read, the log is emptied later.
        self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
    }
}
