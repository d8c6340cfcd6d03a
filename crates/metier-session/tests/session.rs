//! What a session does, and what it never does.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "session/answers.rs"]
mod answers;
#[path = "session/between.rs"]
mod between;
#[path = "../../../tests/shared/clock.rs"]
mod clock;
#[path = "session/common.rs"]
mod common;
#[path = "session/dispatch.rs"]
mod dispatch;
#[path = "../../../tests/shared/launcher.rs"]
mod launcher;
#[path = "session/operations.rs"]
mod operations;
#[path = "session/paths.rs"]
mod paths;
#[path = "session/planted.rs"]
mod planted;
#[path = "session/prompts.rs"]
mod prompts;
#[path = "session/races.rs"]
mod races;
#[path = "session/recorded.rs"]
mod recorded;
#[path = "session/replays.rs"]
mod replays;
#[path = "session/servers.rs"]
mod servers;
#[path = "session/shown.rs"]
mod shown;
#[path = "../../../tests/shared/skips.rs"]
mod skips;
#[path = "session/tools.rs"]
mod tools;
#[path = "session/vectors.rs"]
mod vectors;
#[path = "session/work.rs"]
mod work;
