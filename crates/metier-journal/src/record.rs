//! One record: its members, and the hash that links it to the record before. `docs/journal.md` describes the format.

use std::borrow::Cow;

use metier_skill::Digest;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::error::JournalError;
use crate::event::Event;
pub use crate::time::Time;

/// The format of records that this crate writes.
pub(crate) const FORMAT: u64 = 1;

/// The longest event, as JSON.
const MAX_EVENT: usize = 256 << 10;

/// The longest name of a session, a task or an actor.
const MAX_NAME: usize = 256;

/// The largest integer that every JSON parser reads exactly.
pub(crate) const MAX_NUMBER: u64 = (1 << 53) - 1;

/// The deepest nesting of an event. JSON parsers have limits, and the record adds a level.
const MAX_DEPTH: usize = 100;

/// The previous hash of the first record.
pub(crate) const NOTHING: Digest = Digest::from_bytes([0; 32]);

/// The clock and the source of ids for records. Tests pass one with fixed values.
pub trait Clock: Send + Sync {
    /// The current time.
    fn now(&self) -> Time;
    /// A new unique id.
    fn id(&self) -> Uuid;
}

/// The session, task, actor and account that a record belongs to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordContext {
    /// The session; `None` for events outside of sessions.
    pub session: Option<String>,
    /// The task within the session.
    pub task: Option<String>,
    /// The actor: a person, an agent, a program.
    pub actor: Option<String>,
    /// The account and the machine.
    pub identity: Option<Identity>,
}

/// An account of the operating system on a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// The account's name.
    pub user: String,
    /// Its numeric id.
    pub uid: u32,
    /// The machine's name.
    pub host: String,
}

impl RecordContext {
    /// The context of a session.
    pub fn session<S: Into<String>>(session: S) -> Self {
        Self { session: Some(session.into()), ..Self::default() }
    }
}

/// A record to append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingRecord {
    pub(crate) id: Uuid,
    pub(crate) time: Time,
    pub(crate) session: Option<String>,
    /// Canonical JSON.
    pub(crate) event: String,
}

impl PendingRecord {
    /// A record of an event that happens now.
    pub fn new(clock: &dyn Clock, context: &RecordContext, event: &Event) -> Result<Self, JournalError> {
        let value = serde_json::to_value(event).map_err(|error| refused(error.to_string()))?;
        Self::of_value(clock, context, value)
    }

    /// A record of a host's own event: an object with a string `kind`. Numbers must be integers of at most 53 bits, which
    /// every JSON parser reads exactly.
    pub fn of_value(
        clock: &dyn Clock,
        context: &RecordContext,
        mut event: Value,
    ) -> Result<Self, JournalError> {
        let Some(members) = event.as_object_mut() else { return Err(refused("it is not a JSON object")) };
        if !members.get("kind").is_some_and(Value::is_string) {
            return Err(refused("it has no `kind`"));
        }
        for (name, value) in [("task_id", &context.task), ("actor", &context.actor)] {
            if let Some(value) = value {
                check_name(name, value)?;
                members.insert(name.to_owned(), Value::String(value.clone()));
            }
        }
        if let Some(Identity { user, uid, host }) = &context.identity {
            for (name, value) in [("user", user), ("host", host)] {
                // An odd host name must not prevent recording.
                let value: String = value.chars().filter(|c| *c != '\0').take(64).collect();
                members.insert(name.to_owned(), Value::String(value));
            }
            members.insert("uid".to_owned(), Value::from(*uid));
        }
        if let Some(session) = &context.session {
            check_name("session", session)?;
        }
        check(&event, MAX_DEPTH)?;
        let text = canonical(&event);
        if text.len() > MAX_EVENT {
            return Err(refused(format!("it has {} bytes of JSON, more than {MAX_EVENT}", text.len())));
        }
        Ok(Self { id: clock.id(), time: clock.now(), session: context.session.clone(), event: text })
    }

    /// The id of the record.
    pub const fn id(&self) -> Uuid {
        self.id
    }

    /// When it happened.
    pub const fn time(&self) -> Time {
        self.time
    }
}

fn refused<S: Into<String>>(reason: S) -> JournalError {
    JournalError::Event { reason: reason.into() }
}

fn check_name(what: &str, name: &str) -> Result<(), JournalError> {
    if name.is_empty() || name.len() > MAX_NAME {
        return Err(refused(format!("`{what}` has {} bytes; 1 to {MAX_NAME} are allowed", name.len())));
    }
    // PostgreSQL cannot store it.
    if name.contains('\0') {
        return Err(refused(format!("`{what}` has a zero byte in it")));
    }
    Ok(())
}

/// Whether every JSON parser reads it exactly.
fn check(value: &Value, depth: usize) -> Result<(), JournalError> {
    if depth == 0 {
        return Err(refused(format!("it is nested more than {MAX_DEPTH} levels deep")));
    }
    match value {
        Value::Number(number) => {
            let fits = number.as_u64().is_some_and(|number| number <= MAX_NUMBER)
                || number.as_i64().is_some_and(|number| number.unsigned_abs() <= MAX_NUMBER);
            let wrong = || refused(format!("{number} is not an integer of at most 53 bits; use a string"));
            if fits { Ok(()) } else { Err(wrong()) }
        }
        Value::Array(values) => values.iter().try_for_each(|value| check(value, depth - 1)),
        Value::Object(members) => members.values().try_for_each(|value| check(value, depth - 1)),
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
    }
}

/// Canonical JSON (RFC 8785) of a value without fractions: members sorted by the UTF-16 of their names, no spaces.
///
/// It takes a tenth of the time of a general crate; a property test compares it with one.
pub(crate) fn canonical(value: &Value) -> String {
    let mut out = Vec::with_capacity(512);
    write_canonical(value, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

fn write_canonical(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::String(text) => write_text(text, out),
        Value::Array(values) => {
            out.push(b'[');
            for (index, value) in values.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_canonical(value, out);
            }
            out.push(b']');
        }
        Value::Object(members) => {
            let mut sorted: Vec<(&String, &Value)> = members.iter().collect();
            sorted.sort_unstable_by(|(a, _), (b, _)| {
                if a.is_ascii() && b.is_ascii() { a.cmp(b) } else { a.encode_utf16().cmp(b.encode_utf16()) }
            });
            out.push(b'{');
            for (index, (name, value)) in sorted.into_iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_text(name, out);
                out.push(b':');
                write_canonical(value, out);
            }
            out.push(b'}');
        }
        // Writing to memory does not fail.
        Value::Null | Value::Bool(_) | Value::Number(_) => drop(serde_json::to_writer(out, value)),
    }
}

/// A record as it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordRef<'a> {
    /// Its sequence: its place in the journal, from 0.
    pub sequence: u64,
    /// Its id.
    pub id: &'a str,
    /// When it happened.
    pub time: &'a str,
    /// The session, if it belongs to one.
    pub session: Option<&'a str>,
    /// The event, as canonical JSON.
    pub event: &'a str,
    /// The record's hash.
    pub hash: Digest,
}

impl RecordRef<'_> {
    /// What the hash covers: a zero byte, then the canonical JSON of the record without its hash.
    pub(crate) fn write_hashed(&self, previous: &Digest, out: &mut Vec<u8>) {
        out.clear();
        out.push(LEAF);
        self.write(previous, None, out);
    }

    /// The exported line.
    pub(crate) fn write_line(&self, previous: &Digest, out: &mut Vec<u8>) {
        self.write(previous, Some(&self.hash), out);
        out.push(b'\n');
    }

    fn write(&self, previous: &Digest, hash: Option<&Digest>, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"event\":");
        out.extend_from_slice(self.event.as_bytes());
        if let Some(hash) = hash {
            out.extend_from_slice(b",\"hash\":\"");
            write_digest(hash, out);
            out.push(b'"');
        }
        out.extend_from_slice(b",\"id\":");
        write_text(self.id, out);
        out.extend_from_slice(b",\"previous\":\"");
        write_digest(previous, out);
        out.extend_from_slice(b"\",\"sequence\":");
        out.extend_from_slice(self.sequence.to_string().as_bytes());
        out.extend_from_slice(b",\"session\":");
        match self.session {
            Some(session) => write_text(session, out),
            None => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(b",\"time\":");
        write_text(self.time, out);
        out.push(b'}');
    }

    /// The hash that it should have.
    pub(crate) fn expected_hash(&self, previous: &Digest, buffer: &mut Vec<u8>) -> Digest {
        self.write_hashed(previous, buffer);
        Digest::from_bytes(Sha256::digest(&*buffer).into())
    }

    /// The event's kind.
    pub fn kind(&self) -> String {
        self.value()["kind"].as_str().unwrap_or_default().to_owned()
    }

    /// The event as JSON.
    pub fn value(&self) -> Value {
        serde_json::from_str(self.event).unwrap_or_default()
    }

    /// The event, if this version of metier knows its kind.
    pub fn to_event(&self) -> Option<Event> {
        serde_json::from_str(self.event).ok()
    }
}

/// The first byte of what a record's hash covers; it differs from that of a node (RFC 6962).
const LEAF: u8 = 0;

/// The escapes of `serde_json` are those of RFC 8785.
fn write_text(text: &str, out: &mut Vec<u8>) {
    if text.bytes().all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\') {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    } else {
        // Writing to memory does not fail.
        let _ = serde_json::to_writer(out, text);
    }
}

fn write_digest(digest: &Digest, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.extend_from_slice(b"sha256:");
    let digits = |byte: &u8| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
    out.extend(digest.as_bytes().iter().flat_map(digits));
}

/// A record as it is exported: with the hash of the record before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Record {
    /// The event.
    pub event: Value,
    /// Its hash.
    pub hash: Digest,
    /// Its id.
    pub id: String,
    /// The hash of the record before.
    pub previous: Digest,
    /// Its sequence: its place in the journal, from 0.
    pub sequence: u64,
    /// The session, if it belongs to one.
    pub session: Option<String>,
    /// When it happened.
    pub time: String,
}

impl Record {
    /// Whether the event mentions a skill with this name.
    pub fn is_about(&self, skill: &str) -> bool {
        crate::query::skills_of(&self.event).any(|name| name == skill)
    }

    pub(crate) fn of(row: &RecordRef<'_>, previous: Digest) -> Self {
        Self {
            event: row.value(),
            hash: row.hash,
            id: row.id.to_owned(),
            previous,
            sequence: row.sequence,
            session: row.session.map(str::to_owned),
            time: row.time.to_owned(),
        }
    }

    pub(crate) fn with_event<'a>(&'a self, event: &'a str) -> RecordRef<'a> {
        RecordRef {
            sequence: self.sequence,
            id: &self.id,
            time: &self.time,
            session: self.session.as_deref(),
            event,
            hash: self.hash,
        }
    }

    /// Whether its hash matches its content.
    pub fn is_whole(&self) -> bool {
        self.with_event(&canonical(&self.event)).expected_hash(&self.previous, &mut Vec::new()) == self.hash
    }

    /// What its hash covers, without the leading zero byte.
    pub(crate) fn hashed(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.with_event(&canonical(&self.event)).write_hashed(&self.previous, &mut bytes);
        bytes.split_off(1)
    }
}

/// Accepts only the exact exported text: parsers differ, for example, on duplicate members.
impl<'de> Deserialize<'de> for Record {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let line = Line::parse(text.get().as_bytes(), &mut Vec::new()).map_err(serde::de::Error::custom)?;
        Ok(Self::of(&line.as_row(), line.previous))
    }
}

/// A line of an exported journal.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Line<'a> {
    #[serde(borrow)]
    event: &'a RawValue,
    hash: Digest,
    #[serde(borrow)]
    id: Cow<'a, str>,
    pub(crate) previous: Digest,
    sequence: u64,
    #[serde(borrow)]
    session: Option<Cow<'a, str>>,
    #[serde(borrow)]
    time: Cow<'a, str>,
}

impl<'a> Line<'a> {
    /// Parses a line, only if it is exactly what would have been written.
    pub(crate) fn parse(line: &'a [u8], again: &mut Vec<u8>) -> Result<Self, String> {
        let parsed: Self = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        let event: Value = serde_json::from_str(parsed.event.get()).map_err(|error| error.to_string())?;
        check(&event, MAX_DEPTH).map_err(|error| error.to_string())?;
        if !event.get("kind").is_some_and(Value::is_string) {
            return Err("its event has no `kind`".to_owned());
        }
        if Uuid::parse_str(&parsed.id).map_or(true, |id| id.to_string() != parsed.id) {
            return Err("its id is not a UUID".to_owned());
        }
        if Time::parse(&parsed.time).is_none_or(|time| time.to_string() != parsed.time) {
            return Err("its time is not in the canonical form".to_owned());
        }
        again.clear();
        write_canonical(&event, again);
        let is_canonical = *again == parsed.event.get().as_bytes();
        again.clear();
        parsed.as_row().write_line(&parsed.previous, again);
        if !is_canonical || again.strip_suffix(b"\n") != Some(line) {
            return Err("the line is not canonical JSON".to_owned());
        }
        Ok(parsed)
    }

    pub(crate) fn as_row(&self) -> RecordRef<'_> {
        RecordRef {
            sequence: self.sequence,
            id: &self.id,
            time: &self.time,
            session: self.session.as_deref(),
            event: self.event.get(),
            hash: self.hash,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn values() -> impl Strategy<Value = Value> {
        let number = -(1_i64 << 53) + 1..(1_i64 << 53);
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            number.prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((any::<String>(), inner), 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn canonical_json_is_that_of_rfc_8785(value in values()) {
            prop_assert_eq!(canonical(&value), serde_json_canonicalizer::to_string(&value).unwrap());
        }

        #[test]
        fn a_line_is_read_as_it_was_written(event in values(), session in any::<Option<String>>(), sequence: u32) {
            let event = canonical(&serde_json::json!({ "kind": "x", "data": event }));
            let mut row = RecordRef { sequence: sequence.into(), id: "01990b2e-7a52-7c3e-9a70-3f1f2f5a1c11", time: "2026-11-16T14:22:43.123456Z", session: session.as_deref(), event: &event, hash: NOTHING };
            row.hash = row.expected_hash(&NOTHING, &mut Vec::new());
            let mut line = Vec::new();
            row.write_line(&NOTHING, &mut line);
            let read = Line::parse(line.strip_suffix(b"\n").unwrap(), &mut Vec::new()).unwrap();
            prop_assert_eq!(read.as_row(), row);
            prop_assert!(Record::of(&row, NOTHING).is_whole());
        }
    }

    #[test]
    fn members_are_in_the_order_of_utf_16() {
        // In UTF-8 the other way round.
        let value = serde_json::json!({ "\u{ffff}": 1, "\u{10000}": 2 });
        assert_eq!(canonical(&value), "{\"\u{10000}\":2,\"\u{ffff}\":1}");
    }

    #[test]
    fn times() {
        let time = Time::parse("2026-11-16T14:22:43.123456Z").unwrap();
        assert_eq!(time.to_string(), "2026-11-16T14:22:43.123456Z");
        assert_eq!(
            Time::from_micros(time.as_micros() / 1_000_000 * 1_000_000).to_string(),
            "2026-11-16T14:22:43.000000Z"
        );
        assert_eq!(Time::parse("2026-11-16").unwrap().to_string(), "2026-11-16T00:00:00.000000Z");
        assert_eq!(
            Time::parse("2026-11-16T16:22:43+02:00").unwrap().to_string(),
            "2026-11-16T14:22:43.000000Z"
        );
        assert_eq!(Time::parse("yesterday"), None);
        assert_eq!(Time::parse("2026-11-16T14:22:43"), None);
    }
}
