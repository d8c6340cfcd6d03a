//! What a catalog is, from roots to snapshots.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "catalog/support.rs"]
mod support;

#[path = "catalog/behaviour.rs"]
mod behaviour;
#[path = "catalog/evidence.rs"]
mod evidence;
#[path = "catalog/index.rs"]
mod index;
#[path = "catalog/roots.rs"]
mod roots;
#[path = "catalog/watch.rs"]
mod watch;
