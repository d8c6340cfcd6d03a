//! Everything about hooks that needs no agent.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "guard/codec.rs"]
mod codec;
#[path = "guard/merge.rs"]
mod merge;
#[path = "guard/settings.rs"]
mod settings;
#[path = "guard/states.rs"]
mod states;
