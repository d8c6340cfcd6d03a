//! What a prompt becomes, and what it never does.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "prompt/common.rs"]
mod common;
#[path = "prompt/disclosure_vectors.rs"]
mod disclosure_vectors;
#[path = "prompt/forest.rs"]
mod forest;
#[path = "prompt/messages.rs"]
mod messages;
#[path = "prompt/override_vectors.rs"]
mod override_vectors;
#[path = "prompt/properties.rs"]
mod properties;
#[path = "prompt/readers.rs"]
mod readers;
mod skill_list;
#[path = "prompt/skills.rs"]
mod skills;
#[path = "prompt/snapshots.rs"]
mod snapshots;
#[path = "prompt/tool_vectors.rs"]
mod tool_vectors;
#[path = "prompt/vectors.rs"]
mod vectors;
#[path = "prompt/workspaces.rs"]
mod workspaces;
