//! What every store promises, kept in files.

use metier_journal::JournalAddress;
use tempfile::TempDir;

use crate::behaviours::{self, Ground, assert_whole, exported, fill};
use crate::common::{filled, place};

/// Files in a directory.
struct Files(TempDir);

impl Ground for Files {
    fn place(&self, name: &str) -> JournalAddress {
        JournalAddress::file(self.0.path().join(name))
    }

    fn alter(&self, name: &str, statement: &str) {
        let statement =
            statement.replace("{record}", "record").replace("{own}", "true").replace("{stream}", "");
        let connection = rusqlite::Connection::open(self.0.path().join(name)).unwrap();
        connection.execute_batch(&statement).unwrap();
    }
}

#[test]
fn a_file_keeps_every_promise() {
    behaviours::all(&Files(tempfile::tempdir().unwrap()));
}

#[test]
fn what_is_in_one_step_is_as_what_is_in_many() {
    let (one, many) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fill(&place(one.path()), 1100);
    let many = filled(many.path(), 1100);
    assert_whole(&many, 1102);
    assert_eq!(exported(&place(one.path())), exported(&many));
}
