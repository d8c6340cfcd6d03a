//! Telemetry against a collector that is part of the test: what arrives there, and what happens when it is busy, slow or gone.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop"
)]

#[path = "telemetry/collector.rs"]
mod collector;
#[path = "telemetry/content.rs"]
mod content;
#[path = "telemetry/records.rs"]
mod records;
#[path = "telemetry/trouble.rs"]
mod trouble;
