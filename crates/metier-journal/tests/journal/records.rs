//! Records come back as they went in, in one order.

use metier_journal::{Query, Reader, verify};

use crate::common::filled;

#[test]
fn what_is_appended_is_there_and_verifies() {
    let directory = tempfile::tempdir().unwrap();
    let place = filled(directory.path(), 3000);
    let verification = verify(&place, &[]).unwrap();
    assert_eq!(verification.damage, None);
    assert_eq!(verification.skipped, Vec::<String>::new());
    // The first, and two checkpoints.
    assert_eq!(verification.records, 3003);
    let mut reader = Reader::open(&place).unwrap();
    let stats = reader.stats(&Query::default()).unwrap();
    assert_eq!((stats.records, stats.sessions, stats.skills.len()), (3003, 3, 4));
}
