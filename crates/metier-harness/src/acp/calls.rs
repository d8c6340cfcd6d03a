//! Tool calls of an agent: what is known of each, and which tool it is, as rules name it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::agents::{NamedBy, Row};
use crate::frame::{owned, text};
use crate::mcp::SERVER;
use crate::message::PromptToolCall;

/// The maximum number of calls that are known at once. More than that are not real.
const KNOWN: usize = 10_000;

/// The name of a tool that is not certain. Rules for tools do not match it.
pub(super) const UNKNOWN: &str = "unknown";

/// The conversation of a call and its id there: subagents have conversations of their own, with ids of their own.
pub(super) type CallKey = (String, String);

/// The calls of a turn.
#[derive(Debug, Clone, Default)]
pub(super) struct Calls {
    known: BTreeMap<CallKey, Call>,
}

/// What an agent said of a call, in several frames.
#[derive(Debug, Default, Clone)]
pub(super) struct Call {
    id: String,
    /// The first title.
    title: String,
    kind: String,
    /// What Goose adds.
    meta_name: Option<String>,
    input: Map<String, Value>,
    locations: Vec<String>,
    /// The first text that came with it.
    text: String,
    /// Whether an event was made of it.
    pub(super) is_announced: bool,
    is_ended: bool,
    /// Whether a call of a prompt's tool that arrived at the server was found to be this one.
    is_served: bool,
}

impl Calls {
    /// A call begins: frames about another one with this id do not count. Some model servers use ids again.
    pub(super) fn begin(&mut self, key: &CallKey) {
        self.known.remove(key);
    }

    /// Takes what a frame says of a call, and returns the call.
    pub(super) fn take(&mut self, key: &CallKey, frame: &Value) -> Option<&mut Call> {
        let is_going_on = matches!(text(frame, "status"), Some("pending" | "in_progress"));
        if is_going_on && self.known.get(key).is_some_and(|call| call.is_ended) {
            self.begin(key);
        }
        if self.known.len() >= KNOWN && !self.known.contains_key(key) {
            return None;
        }
        let new = || Call { id: key.1.clone(), ..Call::default() };
        let call = self.known.entry(key.clone()).or_insert_with(new);
        call.take(frame);
        Some(call)
    }

    pub(super) fn get_mut(&mut self, key: &CallKey) -> Option<&mut Call> {
        self.known.get_mut(key)
    }

    /// A new turn has calls of its own.
    pub(super) fn clear(&mut self) {
        self.known.clear();
    }

    /// The agent's id of a call that arrived at the server: one of the same tool, if possible with the same arguments.
    pub(super) fn served(&mut self, row: &Row, tools: &[String], called: &PromptToolCall) -> Option<String> {
        let wanted = rule_name(&called.tool);
        let is_open = |call: &Call| !call.is_served && !call.is_ended && call.tool(row, tools) == wanted;
        let open = || self.known.iter().filter(|(_, call)| is_open(call));
        let same = open().find(|(_, call)| Some(&call.input) == called.arguments.as_object());
        let key = same.or_else(|| open().next()).map(|(key, _)| key.clone())?;
        self.known.get_mut(&key)?.is_served = true;
        Some(key.1)
    }
}

/// A tool of the prompt, as rules name it.
fn rule_name(tool: &str) -> String {
    format!("mcp__{SERVER}__{tool}")
}

impl Call {
    fn take(&mut self, frame: &Value) {
        let said = |name: &str| text(frame, name).filter(|text| !text.is_empty());
        if let Some(title) = said("title").filter(|_| self.title.is_empty()) {
            title.clone_into(&mut self.title);
        }
        if let Some(kind) = said("kind").filter(|_| self.kind.is_empty()) {
            kind.clone_into(&mut self.kind);
        }
        let meta_name = frame.pointer("/_meta/goose/toolCall/toolName").and_then(Value::as_str);
        self.meta_name = self.meta_name.take().or_else(|| meta_name.map(str::to_owned));
        // Later frames have more of the arguments.
        if let Some(input) = frame.get("rawInput").and_then(Value::as_object) {
            self.input.extend(input.iter().map(|(name, value)| (name.clone(), value.clone())));
        }
        let locations = frame.get("locations").and_then(Value::as_array).into_iter().flatten();
        for path in locations.filter_map(|location| text(location, "path")) {
            if self.locations.len() < KNOWN && !self.locations.iter().any(|known| known == path) {
                self.locations.push(path.to_owned());
            }
        }
        if let Some(content) = frame.pointer("/content/0/content").filter(|_| self.text.is_empty()) {
            self.text = owned(content, "text");
        }
        self.is_ended |= is_result(frame);
    }

    /// The tool, as rules name it.
    pub(super) fn tool(&self, row: &Row, tools: &[String]) -> String {
        let Some(name) = self.own_name(row) else { return UNKNOWN.to_owned() };
        let of_prompt = name.strip_prefix(row.prefix).filter(|rest| tools.iter().any(|tool| tool == rest));
        of_prompt.map_or_else(|| name.to_owned(), rule_name)
    }

    /// The agent's own name of the tool, if that is certain.
    fn own_name(&self, row: &Row) -> Option<&str> {
        match row.named_by {
            NamedBy::FirstTitle => Some(self.title.as_str()).filter(|name| kind_of(name) == self.kind),
            NamedBy::CallId => self.id.split_once("__").map(|(name, _)| name),
            NamedBy::GooseMeta => self.meta_name.as_deref(),
            NamedBy::Shape => self.name_by_shape(row),
        }
    }

    /// Titles are prose there, and the model writes some of them.
    fn name_by_shape(&self, row: &Row) -> Option<&str> {
        let has = |name: &str| self.input.get(name).is_some_and(Value::is_string);
        let skill = self.input.get(row.skill_tool.1).and_then(Value::as_str);
        match self.kind.as_str() {
            "execute" if has("command") => Some("bash"),
            "edit" if has("path") && has("file_text") => Some("write"),
            "edit" if has("path") => Some("edit"),
            "read" if has("path") => Some("view"),
            "execute" | "edit" | "read" => None,
            "other" if skill.is_some_and(|skill| self.title == format!("Using skill: {skill}")) => {
                Some(row.skill_tool.0)
            }
            _ => Some(self.title.as_str()).filter(|title| title.starts_with(row.prefix)),
        }
    }

    /// The arguments, as far as they are known.
    pub(super) fn arguments(&self, row: &Row) -> Value {
        let mut all = self.input.clone();
        let name = self.own_name(row).unwrap_or_default();
        if row.named_by == NamedBy::CallId {
            // Gemini CLI says no arguments: only the command, the places, and those of MCP servers if they are short.
            match self.kind.as_str() {
                "execute" => drop(all.insert("command".to_owned(), json!(self.title))),
                _ if name.starts_with("mcp_") => {
                    let known = serde_json::from_str::<Value>(&self.text).ok();
                    all.extend(known.as_ref().and_then(Value::as_object).cloned().unwrap_or_default());
                }
                _ => {}
            }
        }
        let is_new = |path: &&String| !all.values().any(|value| value.as_str() == Some(path));
        let places: Vec<&String> = self.locations.iter().filter(is_new).collect();
        // The place of a command is its working directory.
        if !places.is_empty() && self.kind != "execute" {
            all.insert("paths".to_owned(), json!(places));
        }
        Value::Object(all)
    }

    /// The skill that the call loads, if the tool is the agent's tool for skills.
    pub(super) fn skill(&self, row: &Row) -> Option<String> {
        let (tool, argument) = row.skill_tool;
        if self.own_name(row) != Some(tool) {
            return None;
        }
        if row.named_by == NamedBy::CallId {
            // The title begins with the name in quotes.
            return self.title.strip_prefix('"')?.split_once('"').map(|(name, _)| name.to_owned());
        }
        // The name can be followed by the path of one of the skill's files.
        let name = self.input.get(argument)?.as_str()?;
        name.split('/').next().map(str::to_owned)
    }

    /// The files and directories that the call reads, if it only reads them and does nothing else.
    pub(super) fn reads(&self, row: &Row, working: &Path) -> Vec<PathBuf> {
        let Some(name) = self.own_name(row).filter(|name| row.readers.contains(name)) else {
            return Vec::new();
        };
        let member = |name: &&str| self.input.get(*name).and_then(Value::as_str);
        let leads_away = |pattern: &str| Path::new(pattern).is_absolute() || pattern.contains("..");
        if ["pattern", "include", "glob"].iter().filter_map(member).any(leads_away) {
            return Vec::new();
        }
        let named = ["filePath", "file_path", "path", "dir_path"];
        let named = named.iter().filter_map(member).chain(self.locations.iter().map(String::as_str));
        let mut reads: Vec<PathBuf> = named.map(|path| working.join(path)).collect();
        reads.dedup();
        // A search without a place is one of the working directory, once its arguments are known.
        let is_search = !matches!(name, "read" | "read_file");
        let is_known = !self.input.is_empty() || row.named_by == NamedBy::CallId;
        if reads.is_empty() && is_search && is_known { vec![working.to_owned()] } else { reads }
    }

    /// Whether its frames say all that a decision needs. A command of Gemini CLI says its working directory beside the
    /// arguments, and one of Copilot comes with its parts.
    pub(super) fn is_plain(&self, row: &Row) -> bool {
        match row.named_by {
            NamedBy::CallId if self.kind == "execute" => self.text.starts_with("[current working directory "),
            NamedBy::Shape if self.kind == "execute" => {
                self.input.get("commands").is_some_and(Value::is_array)
            }
            // The title is the model's: it could be that of another tool.
            NamedBy::Shape => matches!(self.kind.as_str(), "edit" | "read"),
            _ => true,
        }
    }

    /// What the agent calls it, for a person.
    pub(super) fn title(&self) -> &str {
        &self.title
    }
}

/// The kind that `OpenCode` gives to calls of its tools. A title that is prose has another.
fn kind_of(tool: &str) -> &'static str {
    match tool {
        "bash" => "execute",
        "read" | "list" => "read",
        "write" | "edit" | "patch" | "apply_patch" | "multiedit" => "edit",
        "glob" | "grep" => "search",
        "webfetch" => "fetch",
        _ => "other",
    }
}

/// Whether a frame ends a call.
pub(super) fn is_result(frame: &Value) -> bool {
    matches!(text(frame, "status"), Some("completed" | "failed"))
}

/// The result of a call, as the agent shows it.
pub(super) fn result_of(frame: &Value) -> String {
    let parts = frame.get("content").and_then(Value::as_array).into_iter().flatten();
    let texts: Vec<&str> =
        parts.filter_map(|part| part.get("content")).filter_map(|content| text(content, "text")).collect();
    if !texts.is_empty() {
        return texts.join("\n");
    }
    let output = frame.get("rawOutput").unwrap_or(&Value::Null);
    let said = ["content", "output", "message", "error"].iter().find_map(|name| text(output, name));
    said.unwrap_or_default().to_owned()
}
