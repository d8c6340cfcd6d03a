//! Which records somebody wants to see.

use crate::record::{RecordRef, Time};

/// What a record must have; what is not set, any record has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordQuery {
    /// The skill's name.
    pub skill: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// The kind; one that ends with `.` stands for all that begin so, as `skill.`.
    pub kind: Option<String>,
    /// Not before this.
    pub since: Option<Time>,
    /// Before this.
    pub until: Option<Time>,
    /// At most so many, the last ones.
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
        // Most records that do not match do not even have the words.
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

/// The skills that an event is about.
pub(crate) fn skills_of(event: &serde_json::Value) -> impl Iterator<Item = &str> {
    let own = event["name"].as_str().into_iter();
    let listed = ["skills", "added", "changed", "removed"].into_iter().flat_map(|member| {
        let value = &event[member];
        let names = value.as_array().into_iter().flatten().filter_map(serde_json::Value::as_str);
        names.chain(value.as_object().into_iter().flat_map(|members| members.keys().map(String::as_str)))
    });
    own.chain(listed)
}

/// Whether the text of an event can have this word in it; words that JSON escapes are looked for by reading.
fn has_word(event: &str, word: &str) -> bool {
    let is_plain = word.bytes().all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\');
    !is_plain || event.contains(word)
}
