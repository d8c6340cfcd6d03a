//! Skills mounted into directories and homes: what behaviour.md says in sections 4 to 9.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "home/claude.rs"]
mod claude;
#[path = "home/common.rs"]
mod common;
#[path = "home/copying.rs"]
mod copying;
#[path = "home/faults.rs"]
mod faults;
#[path = "home/mounting.rs"]
mod mounting;
#[path = "home/others.rs"]
mod others;
#[path = "../../../tests/shared/skips.rs"]
mod skips;
#[path = "../../../tests/shared/small_disk.rs"]
mod small_disk;
#[path = "home/workspaces.rs"]
mod workspaces;
