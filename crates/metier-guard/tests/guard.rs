//! Everything about hooks that needs no agent.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "guard/merge.rs"]
mod merge;
#[path = "guard/settings.rs"]
mod settings;
