//! The tools of all servers under the names that clients see.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError};

use metier_skill::Digest;
use serde_json::{Map, Value};

use super::items::{self, List};
use super::link::Link;
use super::pins::definition;
use super::{Gateway, ServerToolNames};
use crate::library::Library;

/// The longest name of a tool.
const LONGEST: usize = 200;

/// A tool of a server.
#[derive(Debug, Clone)]
pub(super) struct ServerTool {
    /// The server's place in the settings.
    pub(super) server: usize,
    /// Its name at the server.
    pub(super) name: String,
    pub(super) definition: Digest,
    /// Whether it differs from when it was first seen.
    pub(super) is_changed: bool,
    /// What a client gets, with the name that it sees.
    shown: Map<String, Value>,
}

/// The tools that a client saw last.
#[derive(Debug, Default)]
pub(super) struct ToolTable(BTreeMap<String, Arc<ServerTool>>);

impl ToolTable {
    pub(super) fn get(&self, name: &str) -> Option<Arc<ServerTool>> {
        self.0.get(name).cloned()
    }

    /// The definitions, in the order of the servers and of their lists.
    pub(super) fn shown(&self) -> impl Iterator<Item = Value> {
        self.0.values().map(|tool| Value::Object(tool.shown.clone()))
    }
}

/// The full name of a tool, as rules write it.
fn qualified(server: &str, tool: &str) -> String {
    format!("mcp__{server}__{tool}")
}

impl Link {
    /// Reads the tools of all servers that are there. A server whose list cannot be read has no tools until it can.
    pub(super) async fn tools(self: &Arc<Self>, library: &Library, own: &[String]) -> Arc<ToolTable> {
        self.begin().await;
        let reading = self.present().map(|(index, served, connected)| {
            let (caller, patience) = (self.caller().clone(), served.server.patience);
            async move {
                let tools = items::read(&connected, List::Tools, &caller, patience).await;
                if let Err(error) = &tools {
                    // Its connection is of no use; it is restarted.
                    connected.wire.end(error.clone());
                }
                (index, tools.unwrap_or_default())
            }
        });
        let listed = futures_util::future::join_all(reading).await;
        let (gateway, own) = (Arc::clone(&self.gateway), own.to_vec());
        let table = library.blocking(move || table(&gateway, listed, &own)).await;
        let table = Arc::new(table.unwrap_or_default());
        *self.table.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&table);
        table
    }

    /// The tool with this name, as the client saw it; lists are read if the client has not seen any.
    pub(super) async fn tool(
        self: &Arc<Self>,
        name: &str,
        library: &Library,
        own: &[String],
    ) -> Option<Arc<ServerTool>> {
        let known = || self.table.read().unwrap_or_else(PoisonError::into_inner).get(name);
        match known() {
            Some(tool) => Some(tool),
            None => self.tools(library, own).await.get(name),
        }
    }
}

/// Names the tools, and compares them with what was seen first.
fn table(gateway: &Gateway, listed: Vec<(usize, Vec<Map<String, Value>>)>, own: &[String]) -> ToolTable {
    let mut tools = Vec::new();
    for (server, entries) in listed {
        let name = &gateway.options.servers[server].name;
        let sound: Vec<Map<String, Value>> = entries.into_iter().filter(is_sound).collect();
        let digests: Vec<Digest> = sound.iter().map(|entry| definition(name, entry)).collect();
        let names = sound.iter().filter_map(|entry| entry.get("name").and_then(Value::as_str));
        let changed = gateway.pins.check(name, names.zip(digests.iter().copied()));
        for ((shown, definition), is_changed) in sound.into_iter().zip(digests).zip(changed) {
            let name = shown.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
            tools.push(ServerTool { server, name, definition, is_changed, shown });
        }
    }
    let mut count: HashMap<String, usize> = HashMap::new();
    for tool in &tools {
        *count.entry(tool.name.clone()).or_default() += 1;
    }
    let mut named = BTreeMap::new();
    for mut tool in tools {
        let server = &gateway.options.servers[tool.server].name;
        // A tool that is called like one of ours, or like a full name, could be taken for it.
        let is_plain = gateway.options.names == ServerToolNames::Plain
            && count[&tool.name] == 1
            && !own.contains(&tool.name)
            && !tool.name.starts_with("mcp__");
        let name = if is_plain { tool.name.clone() } else { qualified(server, &tool.name) };
        tool.shown.insert("name".to_owned(), Value::String(name.clone()));
        // `mcp__a__b__c` can be two tools; neither is offered then as the other.
        named.entry(name).or_insert_with(|| Arc::new(tool));
    }
    ToolTable(named)
}

/// Whether a tool can be offered: it has a short name and takes an object.
fn is_sound(tool: &Map<String, Value>) -> bool {
    let has_name = tool.get("name").and_then(Value::as_str).is_some_and(|name| name.len() <= LONGEST);
    let schema = tool.get("inputSchema").and_then(Value::as_object);
    has_name && schema.is_some_and(|schema| schema.get("type").is_none_or(|kind| kind == "object"))
}
