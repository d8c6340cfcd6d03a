//! What happened, provably.
//!
//! A journal is an append-only list of records. Each carries the hash of the one before, so that none can be changed, left out or moved unseen;
//! checkpoints carry a Merkle root over all records so far, so that a journal that was cut off or rewritten as a whole is told from the one it was.
//! Any number of threads and processes write to one journal; an answer comes when a record is on the disk.
//!
//! Nothing here decides or does anything: it is told what happened. Clock and ids come from outside.

mod batched;
mod checkpoint;
mod error;
mod event;
mod journal;
mod merkle;
mod place;
#[cfg(feature = "postgres")]
mod postgres;
mod privacy;
mod query;
mod reader;
mod record;
mod sqlite;
mod stats;
mod store;
#[cfg(feature = "otel")]
mod telemetry;
mod time;
mod verify;

pub use checkpoint::{Checkpoint, Consistency, Inclusion};
pub use error::JournalError;
pub use event::{
    Answer, Approved, ByteRange, Checked, Connection, Event, NetworkUse, PathList, PlantedFile, RunFacts,
    RunUsage, ScriptExecuted, ScriptOutcome, ToolInvoked, ToolOutcome, Touched, Trigger, Variable,
};
pub use journal::{Durability, Journal, Observer, Options, Receipt};
pub use place::Place;
pub use privacy::{Content, Privacy};
pub use query::Query;
pub use reader::{Reader, verify_export};
pub use record::{Context, Entry, Identity, Record, Row, Source, Time};
pub use stats::{SkillStats, Stats};
#[cfg(feature = "otel")]
pub use telemetry::{Telemetry, TelemetryReport, TelemetrySettings};
pub use verify::{Damage, DamageKind, Verification, verify};
