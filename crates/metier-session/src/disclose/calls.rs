//! Ids of tool calls: an agent announces a call with its id in one place, and the call arrives in another.

use std::collections::{HashMap, VecDeque};

use metier_skill::Digest;
use serde_json::Value;

use crate::session::Session;

/// The maximum number of remembered calls, so that an agent that announces calls without making them cannot fill the
/// memory.
const MOST: usize = 10_000;

/// Announced calls that have not arrived, by tool and arguments, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    waiting: HashMap<Digest, VecDeque<String>>,
    count: usize,
}

impl Calls {
    fn announce(&mut self, tool: &str, arguments: &Value, id: &str) {
        if self.count >= MOST {
            *self = Self::default();
        }
        self.waiting.entry(key(tool, arguments)).or_default().push_back(id.to_owned());
        self.count += 1;
    }

    /// The id of a call: the one it carries, or else the oldest announced one. It is removed.
    pub(crate) fn take(&mut self, tool: &str, arguments: &Value, said: Option<&str>) -> Option<String> {
        let key = key(tool, arguments);
        let waiting = self.waiting.get_mut(&key)?;
        let id = match said {
            None => waiting.pop_front(),
            Some(said) => waiting.iter().position(|id| id == said).and_then(|at| waiting.remove(at)),
        };
        if waiting.is_empty() {
            self.waiting.remove(&key);
        }
        self.count -= usize::from(id.is_some());
        id
    }
}

impl Session {
    /// Announces the id of a call that is about to arrive. Calls of one tool with the same arguments arrive in the
    /// order in which they were announced.
    pub fn announce_call(&mut self, tool: &str, arguments: &Value, id: &str) {
        self.calls.announce(tool, arguments, id);
    }
}

/// A tool's name, without the prefix of its server.
pub(super) fn bare(tool: &str) -> &str {
    tool.strip_prefix("mcp__metier__").unwrap_or(tool)
}

fn key(tool: &str, arguments: &Value) -> Digest {
    let mut text = bare(tool).to_owned();
    text.push('\0');
    write_sorted(arguments, &mut text);
    Digest::of(text.as_bytes())
}

/// The same text for the same value, whatever the order of its members.
fn write_sorted(value: &Value, out: &mut String) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            out.push('{');
            for (name, value) in members {
                out.push_str(&Value::from(name.as_str()).to_string());
                out.push(':');
                write_sorted(value, out);
                out.push(',');
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for item in items {
                write_sorted(item, out);
                out.push(',');
            }
            out.push(']');
        }
        plain => out.push_str(&plain.to_string()),
    }
}
