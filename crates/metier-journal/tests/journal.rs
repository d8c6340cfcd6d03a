//! What a journal in a file promises.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![expect(clippy::print_stdout, reason = "what was tested is said")]

#[path = "journal/archives.rs"]
mod archives;
#[path = "support/behaviours.rs"]
mod behaviours;
#[path = "../../../tests/shared/clock.rs"]
mod clock;
#[path = "support/common.rs"]
mod common;
#[path = "journal/damage.rs"]
mod damage;
#[path = "journal/faults.rs"]
mod faults;
#[path = "journal/full.rs"]
mod full;
#[path = "journal/kill.rs"]
mod kill;
#[path = "journal/promises.rs"]
mod promises;
#[path = "journal/python.rs"]
mod python;
#[path = "journal/records.rs"]
mod records;
#[path = "../../../tests/shared/skips.rs"]
mod skips;
#[path = "../../../tests/shared/small_disk.rs"]
mod small_disk;
