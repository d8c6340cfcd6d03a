//! Marketplaces: files that list plugins. Four agents have such files, with nearly the same fields; one parser reads all.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::json::{names, object, path, skill_folders, text};
use super::source::PluginSource;
use crate::source::is_plugin_name;

/// Where the file of a marketplace is, in the order in which it is looked for.
pub const MARKETPLACES: [&str; 7] = [
    ".claude-plugin/marketplace.json",
    ".agents/plugins/marketplace.json",
    ".agents/plugins/api_marketplace.json",
    ".github/plugin/marketplace.json",
    ".cursor-plugin/marketplace.json",
    ".plugin/marketplace.json",
    "marketplace.json",
];

/// The most plugins of one marketplace.
const ENTRIES_MAX: usize = 10_000;

/// A marketplace: plugins, and where they are.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Marketplace {
    /// Its name.
    pub name: String,
    /// A directory that paths of plugins may start at.
    pub plugin_root: Option<String>,
    /// Each plugin, or why its entry cannot be used.
    pub entries: Vec<Result<PluginEntry, PluginProblem>>,
}

/// One plugin of a marketplace.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PluginEntry {
    /// Its name in the marketplace.
    pub name: String,
    /// Where it is.
    pub source: PluginSource,
    /// Its version.
    pub version: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// The folders of its skills that the entry names.
    pub skills: Option<Vec<String>>,
    /// Whether the manifest of the plugin decides what it contains. If not, the entry does.
    pub is_strict: bool,
    /// Its hooks, which metier lists and never runs.
    pub hooks: Vec<String>,
    /// Its MCP servers, which metier lists and never starts.
    pub mcp_servers: Vec<String>,
}

/// Why an entry cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PluginProblem {
    /// Its name, or its number.
    pub name: String,
    /// The reason, as the rest of a sentence about the entry.
    pub reason: String,
}

impl Marketplace {
    /// Parses the file of a marketplace. A bad entry does not spoil the others; the error is about the whole file.
    ///
    /// ```
    /// use metier_store::Marketplace;
    ///
    /// let file = br#"{"name": "acme", "plugins": [{"name": "pdf", "source": "./pdf"}, {"name": "x", "source": {"source": "command"}}]}"#;
    /// let marketplace = Marketplace::parse(file)?;
    /// assert_eq!(marketplace.entry("pdf").unwrap().name, "pdf");
    /// assert_eq!(marketplace.entry("x").unwrap_err(), "runs a program to get the plugin, which metier never does");
    /// # Ok::<(), String>(())
    /// ```
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let file = object(bytes)?;
        let name = match file.get("name") {
            Some(Value::String(name)) if !name.trim().is_empty() => name.clone(),
            Some(_) => return Err("has a `name` that is not text".to_owned()),
            None => return Err("has no `name`".to_owned()),
        };
        let Some(Value::Array(plugins)) = file.get("plugins") else {
            return Err("has no list `plugins`".to_owned());
        };
        if plugins.len() > ENTRIES_MAX {
            return Err(format!("has more than {ENTRIES_MAX} plugins"));
        }
        let root =
            file.get("metadata").and_then(|metadata| metadata.get("pluginRoot")).and_then(Value::as_str);
        let plugin_root = root.map(path).transpose()?.filter(|root| !root.is_empty());
        let mut seen = HashSet::new();
        let entry = |(at, value): (usize, &Value)| {
            let given = value.get("name").and_then(Value::as_str);
            let name = given.map_or_else(|| format!("entry {}", at + 1), str::to_owned);
            let problem = |reason: String| PluginProblem { name: name.clone(), reason };
            let Value::Object(fields) = value else { return Err(problem("is not an object".to_owned())) };
            let entry = PluginEntry::parse(fields).map_err(problem)?;
            if !seen.insert(entry.name.clone()) {
                return Err(problem("has the name of an entry before it".to_owned()));
            }
            Ok(entry)
        };
        Ok(Self { name, plugin_root, entries: plugins.iter().enumerate().map(entry).collect() })
    }

    /// The entry with this name, or why it cannot be used.
    pub fn entry(&self, name: &str) -> Result<&PluginEntry, String> {
        let mut problem = None;
        for entry in &self.entries {
            match entry {
                Ok(entry) if entry.name == name => return Ok(entry),
                Err(found) if found.name == name => drop(problem.get_or_insert(found.reason.clone())),
                _ => {}
            }
        }
        Err(problem.unwrap_or_else(|| "is not in the marketplace".to_owned()))
    }
}

impl PluginEntry {
    fn parse(entry: &Map<String, Value>) -> Result<Self, String> {
        let name = text(entry, "name")?.ok_or("has no `name`")?;
        if !is_plugin_name(name) {
            return Err("has an invalid name: spaces, `@`, `:`, `#`, `/` and `\\` are not allowed".to_owned());
        }
        if entry.contains_key("headersHelper") {
            return Err("has a `headersHelper`, which runs a program; metier never does".to_owned());
        }
        let is_strict = match entry.get("strict") {
            None | Some(Value::Null) => true,
            Some(Value::Bool(is_strict)) => *is_strict,
            Some(_) => return Err("has a `strict` that is neither `true` nor `false`".to_owned()),
        };
        Ok(Self {
            name: name.to_owned(),
            source: PluginSource::parse(entry.get("source"))?,
            version: text(entry, "version")?.map(str::to_owned),
            description: text(entry, "description")?.map(str::to_owned),
            skills: skill_folders(entry)?,
            is_strict,
            hooks: names(entry, "hooks"),
            mcp_servers: names(entry, "mcpServers"),
        })
    }
}
