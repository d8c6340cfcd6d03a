//! Lists of servers, read page by page within limits.

use serde_json::{Map, Value, json};

use crate::upstream::{Caller, Connected, Generation, UpstreamError};

/// The limits of one list: pages, entries, and bytes of all entries.
const PAGES: usize = 200;
const ENTRIES: usize = 10_000;
const BYTES: usize = 16 << 20;

/// The longest name, address or cursor that is passed on.
pub(super) const LONGEST_NAME: usize = 2_048;

/// One kind of list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    Tools,
    Prompts,
    Resources,
    Templates,
}

impl List {
    pub(super) const fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Prompts => "prompts/list",
            Self::Resources => "resources/list",
            Self::Templates => "resources/templates/list",
        }
    }

    /// The capability that a server with such a list declares.
    pub(super) const fn capability(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources | Self::Templates => "resources",
        }
    }

    /// The member with the entries.
    pub(super) const fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
        }
    }

    /// The member by which entries are told apart.
    pub(super) const fn key(self) -> &'static str {
        match self {
            Self::Tools | Self::Prompts => "name",
            Self::Resources => "uri",
            Self::Templates => "uriTemplate",
        }
    }
}

/// Reads a whole list. An entry that appears again on a later page is left out: the first one counts.
pub(super) async fn read(
    connected: &Connected,
    list: List,
    caller: &Caller,
    patience: std::time::Duration,
) -> Result<Vec<Map<String, Value>>, UpstreamError> {
    if !connected.offers(list.capability()) {
        return Ok(Vec::new());
    }
    let mut entries: Vec<Map<String, Value>> = Vec::new();
    let mut names = std::collections::HashSet::new();
    let mut cursors = std::collections::HashSet::new();
    let (mut cursor, mut bytes): (Option<String>, usize) = (None, 0);
    for _ in 0..PAGES {
        let mut params = Map::new();
        params.extend(cursor.take().map(|cursor| ("cursor".to_owned(), json!(cursor))));
        let params = described(Value::Object(params), connected, caller);
        let mut ongoing = connected.wire.request(list.method(), params)?;
        let reply = tokio::time::timeout(patience, ongoing.answer()).await;
        let mut result = match reply.map_err(|_| UpstreamError::Silent { patience })?? {
            Ok(result) => result,
            // A server may declare more than it has.
            Err(error) if error["code"] == -32601 => return Ok(entries),
            Err(_) => return Err(UpstreamError::protocol(format!("it refused `{}`", list.method()))),
        };
        let Value::Array(page) = result[list.member()].take() else {
            return Err(UpstreamError::protocol(format!("its answer to `{}` is not a list", list.method())));
        };
        for entry in page {
            let Value::Object(entry) = entry else { continue };
            let Some(name) = entry.get(list.key()).and_then(Value::as_str) else { continue };
            let is_sound = !name.is_empty()
                && name.len() <= LONGEST_NAME
                && !name.chars().any(|c| c.is_control() || metier_skill::is_invisible(c));
            if !is_sound || !names.insert(name.to_owned()) {
                continue;
            }
            bytes += Value::Object(entry.clone()).to_string().len();
            if entries.len() >= ENTRIES || bytes > BYTES {
                return Err(UpstreamError::TooLong { most: BYTES });
            }
            entries.push(entry);
        }
        match result["nextCursor"].as_str() {
            // The same page again would never end.
            Some(next) if next.len() <= LONGEST_NAME && cursors.insert(next.to_owned()) => {
                cursor = Some(next.to_owned());
            }
            Some(_) => return Err(UpstreamError::protocol("its list has no end: a cursor appears twice")),
            None => return Ok(entries),
        }
    }
    Err(UpstreamError::protocol("its list has too many pages"))
}

/// Parameters as the server's generation wants them: with the description of the client in `_meta`, or without.
pub(super) fn described(mut params: Value, connected: &Connected, caller: &Caller) -> Value {
    let Some(members) = params.as_object_mut() else { return params };
    match connected.generation {
        Generation::Handshake => {
            if let Some(meta) = members.get_mut("_meta").and_then(Value::as_object_mut) {
                for (name, _) in caller.meta() {
                    meta.shift_remove(name);
                }
                if meta.is_empty() {
                    members.shift_remove("_meta");
                }
            }
        }
        Generation::Stateless => {
            let meta = members.entry("_meta").or_insert_with(|| json!({}));
            if let Some(meta) = meta.as_object_mut() {
                for (name, value) in caller.meta() {
                    meta.entry(name).or_insert(value);
                }
            }
        }
    }
    params
}
