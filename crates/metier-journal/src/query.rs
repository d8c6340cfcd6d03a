//! Queries for records.

use crate::record::{RecordRef, Time};

/// Conditions that a record must meet; those that are `None` are always met.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordQuery {
    /// The event mentions the skill with this name.
    pub skill: Option<String>,
    /// It belongs to this session.
    pub session: Option<String>,
    /// It is of this kind. A kind that ends with `.` matches all that begin with it, such as `skill.`.
    pub kind: Option<String>,
    /// It is not from before this time.
    pub since: Option<Time>,
    /// It is from before this time.
    pub until: Option<Time>,
    /// The maximum number of records, the last ones.
    pub limit: Option<usize>,
}

impl RecordQuery {
    pub(crate) fn matches(&self, row: &RecordRef<'_>) -> bool {
        if self.session.as_deref().is_some_and(|session| row.session != Some(session)) {
            return false;
        }
        if self.since.is_some() || self.until.is_some() {
            let Some(time) = Time::parse(row.time) else { return false };
            if self.since.is_some_and(|since| time < since) || self.until.is_some_and(|until| time >= until) {
                return false;
            }
        }
        if self.skill.is_none() && self.kind.is_none() {
            return true;
        }
        // Most records that do not match do not contain the words.
        let is_in = |word: &Option<String>| word.as_deref().is_none_or(|word| has_word(row.event, word));
        is_in(&self.skill) && is_in(&self.kind) && self.matches_event(row)
    }

    fn matches_event(&self, row: &RecordRef<'_>) -> bool {
        let event = row.value();
        let is_kind = |kind: &str, wanted: &str| match wanted.strip_suffix('.') {
            Some(_) => kind.starts_with(wanted),
            None => kind == wanted,
        };
        let kind = event["kind"].as_str().unwrap_or_default();
        self.kind.as_deref().is_none_or(|wanted| is_kind(kind, wanted))
            && self.skill.as_deref().is_none_or(|skill| skills_of(&event).any(|name| name == skill))
    }
}

/// The skills that an event mentions.
pub(crate) fn skills_of(event: &serde_json::Value) -> impl Iterator<Item = &str> {
    let own = event["name"].as_str().into_iter();
    let listed = ["skills", "added", "changed", "removed"].into_iter().flat_map(|member| {
        let value = &event[member];
        let names = value.as_array().into_iter().flatten().filter_map(serde_json::Value::as_str);
        names.chain(value.as_object().into_iter().flat_map(|members| members.keys().map(String::as_str)))
    });
    own.chain(listed)
}

/// Whether the JSON of an event can contain this word. Words that JSON escapes always can.
fn has_word(event: &str, word: &str) -> bool {
    let is_plain = word.bytes().all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\');
    !is_plain || event.contains(word)
}
