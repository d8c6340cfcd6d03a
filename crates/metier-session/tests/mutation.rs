//! What the gateway for changes to protected documents promises.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "mutation/common.rs"]
mod common;
#[path = "mutation/crowd.rs"]
mod crowd;
// It changes registers of the processor.
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
#[path = "mutation/faults.rs"]
mod faults;
#[path = "mutation/model.rs"]
mod model;
#[path = "mutation/names.rs"]
mod names;
#[path = "mutation/promises.rs"]
mod promises;
