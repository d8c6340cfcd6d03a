//! What happened, provably.
//!
//! A journal is an append-only list of records. Each carries the hash of the one before, so that none can be changed, left out or moved unseen;
//! checkpoints carry a Merkle root over all records so far, so that a journal that was cut off or rewritten as a whole is told from the one it was.
//! Any number of threads and processes write to one journal; an answer comes when a record is on the disk.
//!
//! Nothing here decides or does anything: it is told what happened. Clock and ids come from outside.
//!
//! Without features, the crate has everything that needs no database: events, records, proofs, the verification of exported lines and
//! the rules of privacy. `sqlite` adds journals in files, `postgres` those on a server, `otel` traces and metrics.

mod address;
mod batched;
mod checkpoint;
mod error;
mod event;
mod journal;
mod merkle;
#[cfg(feature = "postgres")]
mod postgres;
mod privacy;
mod query;
mod reader;
mod record;
#[cfg(feature = "sqlite")]
mod sqlite;
mod stats;
mod store;
#[cfg(feature = "otel")]
mod telemetry;
mod time;
mod verify;

pub use address::JournalAddress;
pub use checkpoint::{Checkpoint, Consistency, Inclusion};
pub use error::JournalError;
pub use event::{
    ByteRange, CheckReport, ConnectionRecord, Event, NetworkUse, PathList, PlantedFile, RecordedAnswer,
    RunApproval, RunFacts, RunUsage, ScriptExecuted, ScriptOutcome, ToolInvoked, ToolOutcome, TouchedPaths,
    Trigger, Variable,
};
pub use journal::{Durability, Journal, JournalOptions, Observer, Receipt};
pub use privacy::{Privacy, RecordedContent};
pub use query::RecordQuery;
pub use reader::{JournalReader, verify_export};
pub use record::{Clock, Identity, PendingRecord, Record, RecordContext, RecordRef, Time};
pub use stats::{JournalStats, SkillStats};
#[cfg(feature = "otel")]
pub use telemetry::{Telemetry, TelemetryReport, TelemetrySettings};
pub use verify::{Damage, DamageKind, Verification, verify};
