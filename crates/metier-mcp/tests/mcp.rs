//! A library served in this process: over two streams, and over HTTP on loopback.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "mcp/asking.rs"]
mod asking;
#[path = "../../../tests/shared/clock.rs"]
mod clock;
#[path = "mcp/common.rs"]
mod common;
#[path = "mcp/gateway.rs"]
mod gateway;
#[path = "mcp/hostile.rs"]
mod hostile;
#[path = "mcp/http.rs"]
mod http;
#[path = "../../../tests/shared/launcher.rs"]
mod launcher;
#[path = "mcp/programs.rs"]
mod programs;
#[path = "mcp/running.rs"]
mod running;
#[path = "mcp/text.rs"]
mod text;
#[path = "mcp/upstream.rs"]
mod upstream;
#[path = "mcp/waiting.rs"]
mod waiting;
