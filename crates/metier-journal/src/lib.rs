//! The tamper-evident journal.
//!
//! A journal is an append-only list of records. Each record contains the hash of the one before it, so a record that was
//! changed, removed or moved is detected. Checkpoints contain a Merkle root over all records so far, so truncation and
//! rewriting are detected too. Any number of threads and processes can write to one journal; an append returns when its
//! record is durable. Old records can be moved to archives, which stay verifiable alone and together with the journal.
//!
//! This crate only records what it is told: it decides nothing. The clock and the ids come from the caller.
//!
//! Without features, the crate has everything that needs no database: events, records, proofs, the verification of
//! exports and archives, and the privacy rules. `sqlite` adds journals in files, `postgres` journals on a server, `otel`
//! traces and metrics.

mod address;
mod archive;
mod batched;
mod chain;
mod checkpoint;
mod error;
mod event;
mod gzip;
mod journal;
mod lines;
mod merkle;
#[cfg(feature = "postgres")]
mod postgres;
mod privacy;
mod query;
mod reader;
mod record;
#[cfg(feature = "sqlite")]
mod sqlite;
mod start;
mod stats;
mod store;
#[cfg(feature = "otel")]
mod telemetry;
mod time;
mod verify;

pub use address::JournalAddress;
pub use archive::{ArchiveReport, ArchiveRequest, PlannedArchive, archives_in};
pub use chain::verify_archives;
pub use checkpoint::{Checkpoint, Consistency, Inclusion};
pub use error::JournalError;
pub use event::{
    ArchivedRecords, ByteRange, CheckReport, ConnectionRecord, EvaluationEnd, EvaluationStart, Event,
    NetworkUse, PathList, PlantedFile, PromptSkills, RecordedAnswer, RunApproval, RunFacts, RunUsage,
    ScriptExecuted, ScriptOutcome, ServerCallOutcome, ServerToolCalled, ToolInvoked, ToolOutcome,
    TouchedPaths, Trigger, Variable,
};
pub use journal::{Durability, Journal, JournalOptions, Observer, Receipt};
pub use privacy::{Privacy, RecordedContent};
pub use query::RecordQuery;
pub use reader::{JournalReader, verify_export};
pub use record::{Clock, Identity, PendingRecord, Record, RecordContext, RecordRef, Time};
pub use stats::{EvaluationStats, JournalStats, SkillStats};
#[cfg(feature = "otel")]
pub use telemetry::{Telemetry, TelemetryReport, TelemetrySettings};
pub use verify::{Damage, DamageKind, Verification, verify};
