//! A record as telemetry sees it: parsed once, then made into spans and counted.

use serde::Deserialize;

use crate::event::{Event, ScriptExecuted, ScriptOutcome, Trigger};
use crate::record::{RecordRef, Time};

/// A record.
#[derive(Debug)]
pub(super) struct Seen<'a> {
    pub(super) id: &'a str,
    pub(super) sequence: u64,
    pub(super) session: Option<&'a str>,
    /// In microseconds after 1970.
    pub(super) time: i64,
    pub(super) kind: String,
    pub(super) task: Option<String>,
    /// None for a host's own events.
    pub(super) event: Option<Event>,
}

/// What every event may have.
#[derive(Deserialize)]
struct Head {
    kind: String,
    #[serde(default)]
    task_id: Option<String>,
}

impl<'a> Seen<'a> {
    /// `None` if a journal cannot have written the record.
    pub(super) fn read(row: &RecordRef<'a>) -> Option<Self> {
        let time = Time::parse(row.time)?.as_micros();
        let head: Head = serde_json::from_str(row.event).ok()?;
        Some(Self {
            id: row.id,
            sequence: row.sequence,
            session: row.session,
            time,
            kind: head.kind,
            task: head.task_id,
            event: row.to_event(),
        })
    }
}

/// The time as OTLP has it. There are no times before 1970 there.
pub(super) fn nanoseconds(microseconds: i64) -> u64 {
    u64::try_from(microseconds).unwrap_or(0).saturating_mul(1000)
}

/// The word for it, as in records.
pub(super) fn outcome_word(outcome: ScriptOutcome) -> &'static str {
    match outcome {
        ScriptOutcome::Exited => "exited",
        ScriptOutcome::Killed => "killed",
        ScriptOutcome::Limited => "limited",
        ScriptOutcome::Cancelled => "cancelled",
        ScriptOutcome::Denied => "denied",
        ScriptOutcome::Failed => "failed",
    }
}

/// The word for it, as in records.
pub(super) fn trigger_word(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::Model => "model",
        Trigger::User => "user",
        Trigger::Nested => "nested",
    }
}

/// What went wrong with a script, in one word; nothing if it did what it was asked to.
pub(super) fn script_error(script: &ScriptExecuted) -> Option<&str> {
    match (script.outcome, script.exit) {
        (ScriptOutcome::Exited, Some(0)) => None,
        (ScriptOutcome::Exited, _) => Some("nonzero_exit"),
        (outcome, _) => Some(script.code.as_deref().unwrap_or(outcome_word(outcome))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_records() {
        use ScriptOutcome::{Cancelled, Denied, Exited, Failed, Killed, Limited};
        for outcome in [Exited, Killed, Limited, Cancelled, Denied, Failed] {
            assert_eq!(serde_json::to_value(outcome).unwrap(), outcome_word(outcome));
        }
        for trigger in [Trigger::Model, Trigger::User, Trigger::Nested] {
            assert_eq!(serde_json::to_value(trigger).unwrap(), trigger_word(trigger));
        }
    }

    #[test]
    fn times_before_1970_are_its_beginning() {
        assert_eq!(nanoseconds(-5), 0);
        assert_eq!(nanoseconds(1_700_000_000_123_456), 1_700_000_000_123_456_000);
        assert_eq!(nanoseconds(i64::MAX), u64::MAX);
    }
}
