//! The data of a skill.

use crate::body::Body;
use crate::name::SkillName;
use crate::tool_rules::ToolRules;
use crate::value::{Data, Field, ScalarKind, Value};

/// One skill: the content of its `SKILL.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// The name under which the skill is known. It equals `name` unless `name` is invalid and the profile
    /// allows that; then it is the nearest valid name.
    pub id: SkillName,
    /// The frontmatter's `name`, trimmed.
    pub name: String,
    /// What the skill does and when to use it, trimmed.
    pub description: String,
    /// The licence.
    pub license: Option<String>,
    /// What the skill needs to work.
    pub compatibility: Option<String>,
    /// The value of `metadata`, whatever its shape.
    pub metadata: Option<Value>,
    /// The tools that the skill declares; `None` if it declares none.
    pub allowed_tools: Option<ToolRules>,
    /// All other fields, in the order of the file.
    pub fields: Vec<Field>,
    /// The Markdown after the frontmatter, unchanged.
    pub body: Body,
}

impl Skill {
    /// A skill with only the two required fields.
    pub fn new(name: SkillName, description: impl Into<String>) -> Self {
        Self {
            name: name.to_string(),
            id: name,
            description: description.into(),
            license: None,
            compatibility: None,
            metadata: None,
            allowed_tools: None,
            fields: Vec::new(),
            body: Body::default(),
        }
    }

    /// The value of a field that is not in the standard.
    pub fn field(&self, key: &str) -> Option<&Value> {
        self.fields.iter().find(|entry| entry.key.text() == key).map(|entry| &entry.value)
    }

    /// Whether the skill is hidden from the skill list that models see (`disable-model-invocation`).
    pub fn is_hidden_from_models(&self) -> bool {
        self.flag("disable-model-invocation").unwrap_or(false)
    }

    /// Whether its description is still the text of a template, which starts with `TODO:`.
    pub fn has_template_description(&self) -> bool {
        let written = self.description.trim();
        written == "TODO" || written.starts_with("TODO:")
    }

    /// Whether users may call the skill by name (`user-invocable`). Defaults to true.
    pub fn is_user_invocable(&self) -> bool {
        self.flag("user-invocable").unwrap_or(true)
    }

    /// The version: the field `version`, or `version` under `metadata`.
    pub fn version(&self) -> Option<&str> {
        let below = || self.metadata.as_ref()?.get("version");
        let scalar = self.field("version").or_else(below)?.as_scalar()?;
        (scalar.kind() != ScalarKind::Null).then_some(scalar.text())
    }

    /// Tools that the skill disallows (`disallowed-tools`). A value that cannot be read disallows every tool.
    pub fn disallowed_tools(&self) -> Option<ToolRules> {
        let value = self.field("disallowed-tools").filter(|value| !value.is_null())?;
        Some(match &value.data {
            Data::Scalar(scalar) => ToolRules::split(scalar.text()),
            Data::List(items) => ToolRules::from_rules(items.iter().map(Value::to_string)),
            Data::Map(_) => ToolRules::from_rules(["*"]),
        })
    }

    /// `metadata` as pairs of texts. Values that are not scalars are written on one line.
    pub fn metadata_text(&self) -> Vec<(String, String)> {
        let entries = self.metadata.as_ref().and_then(Value::as_map).unwrap_or_default();
        entries.iter().map(|entry| (entry.key.text().to_owned(), entry.value.to_string())).collect()
    }

    fn flag(&self, key: &str) -> Option<bool> {
        match self.field(key)?.as_scalar()?.text().to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => Some(true),
            "false" | "no" | "off" => Some(false),
            _ => None,
        }
    }
}
