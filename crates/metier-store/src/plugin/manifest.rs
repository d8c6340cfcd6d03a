//! Manifests: files that say what one plugin contains.

use serde_json::{Map, Value};

use super::json::{names, object, skill_folders, text};
use crate::source::is_plugin_name;

/// The beginning of the schemas of Agent Plugins. A schema is a name, and never fetched.
const SCHEMAS: &str = "https://agent-plugins.org/schemas/";
/// The schemas that are supported.
const VERSIONS: [&str; 2] = ["1.0.0/plugin.schema.json", "1.1.0/plugin.schema.json"];

/// The fields of Agent Plugins; the last two are in 1.1.0.
const FIELDS: [&str; 12] = [
    "$schema",
    "name",
    "version",
    "description",
    "author",
    "homepage",
    "repository",
    "license",
    "keywords",
    "extensions",
    "displayName",
    "icon",
];

/// The longest name of a plugin of Agent Plugins.
const NAME_MAX: usize = 64;

/// Whose manifest it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ManifestKind {
    /// Agent Plugins: `plugin.json` with its `$schema`.
    AgentPlugins,
    /// Claude Code, and agents that read the same fields.
    Claude,
    /// Codex.
    Codex,
    /// Cursor, whose fields replace the usual places.
    Cursor,
    /// An extension of Gemini CLI.
    Gemini,
}

/// Where a manifest is, in the order in which it is looked for. The first is only one with its `$schema`, the last but one
/// only if nothing else is there.
pub const MANIFESTS: [(&str, ManifestKind); 8] = [
    ("plugin.json", ManifestKind::AgentPlugins),
    (".claude-plugin/plugin.json", ManifestKind::Claude),
    (".codex-plugin/plugin.json", ManifestKind::Codex),
    (".cursor-plugin/plugin.json", ManifestKind::Cursor),
    (".plugin/plugin.json", ManifestKind::Claude),
    (".github/plugin/plugin.json", ManifestKind::Claude),
    ("plugin.json", ManifestKind::Claude),
    ("gemini-extension.json", ManifestKind::Gemini),
];

/// What a plugin contains.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PluginManifest {
    /// Its name, which qualifies the names of its skills: `plugin:skill`.
    pub name: String,
    /// Its version.
    pub version: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Directories with skills, or folders of skills, besides the usual place `skills/`.
    pub skills: Vec<String>,
    /// Whether the usual place is used as well.
    pub has_usual_place: bool,
    /// Its hooks, which metier lists and never runs.
    pub hooks: Vec<String>,
    /// Its MCP servers, which metier lists and never starts.
    pub mcp_servers: Vec<String>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

impl PluginManifest {
    /// Whether a `plugin.json` at the root says that it is one of Agent Plugins.
    pub fn is_agent_plugins(bytes: &[u8]) -> bool {
        let schema = |file: Map<String, Value>| Some(file.get("$schema")?.as_str()?.starts_with(SCHEMAS));
        object(bytes).ok().and_then(schema).unwrap_or(false)
    }

    /// Parses a manifest. The error is what is wrong with the file.
    pub fn parse(bytes: &[u8], kind: ManifestKind) -> Result<Self, String> {
        let file = object(bytes)?;
        let name = text(&file, "name")?.ok_or("has no `name`")?;
        let mut notes = Vec::new();
        let skills = if kind == ManifestKind::AgentPlugins {
            check_closed(&file, name, &mut notes)?;
            None
        } else {
            if !is_plugin_name(name) {
                return Err(format!(
                    "has the invalid name `{name}`: spaces, `@`, `:` and `/` are not allowed"
                ));
            }
            skill_folders(&file)?
        };
        Ok(Self {
            name: name.to_owned(),
            version: text(&file, "version")?.map(str::to_owned),
            description: text(&file, "description")?.map(str::to_owned),
            has_usual_place: kind != ManifestKind::Cursor || skills.is_none(),
            skills: skills.unwrap_or_default(),
            hooks: names(&file, "hooks"),
            mcp_servers: names(&file, "mcpServers"),
            notes,
        })
    }
}

/// The rules of Agent Plugins: unknown fields are reported and ignored, everything else is an error.
fn check_closed(file: &Map<String, Value>, name: &str, notes: &mut Vec<String>) -> Result<(), String> {
    let schema = text(file, "$schema")?.ok_or("has no `$schema`")?;
    let version =
        schema.strip_prefix(SCHEMAS).ok_or_else(|| format!("has the unknown `$schema` `{schema}`"))?;
    if !VERSIONS.contains(&version) {
        return Err(format!("has the unsupported `$schema` `{schema}`; supported: {SCHEMAS}1.0.0 and 1.1.0"));
    }
    let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_fine = name.len() <= NAME_MAX
        && name.starts_with(is_letter)
        && name.ends_with(is_letter)
        && name.chars().all(|c| is_letter(c) || matches!(c, '.' | '-'))
        && !name.contains("--")
        && !name.contains("..");
    if !is_fine {
        return Err(format!("has the invalid name `{name}`"));
    }
    for (key, value) in file {
        let is_right = match key.as_str() {
            "author" | "extensions" => value.is_object(),
            "keywords" => value.as_array().is_some_and(|words| words.iter().all(Value::is_string)),
            "version" | "description" | "homepage" | "repository" | "license" | "displayName" => {
                value.is_string()
            }
            key if !FIELDS.contains(&key) => {
                notes.push(format!("ignored `{key}`: it is not a field of Agent Plugins"));
                true
            }
            _ => true,
        };
        if !is_right {
            return Err(format!("has a `{key}` of the wrong type"));
        }
    }
    Ok(())
}
