//! The four tools: their names, their parameters and what each does.

mod list;
mod load;
mod read;
mod report;
mod run;

use std::sync::Arc;

use metier_catalog::Entry;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub(crate) use list::list;
pub(crate) use load::{Scripts, load};
pub(crate) use read::{output_address, read, read_output};
pub(crate) use report::{Around, report};
pub(crate) use run::prepare;

use crate::answer::Refusal;

/// Up to so many skills are listed in the schema, so that a model cannot name another.
pub(crate) const NAMED: usize = 50;

/// What the tools are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ToolNames {
    /// `load_skill` and the like, as most agents call them.
    #[default]
    Plain,
    /// `skills.read` and the like.
    Dotted,
}

/// One of the tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    List,
    Load,
    Read,
    Run,
}

impl Kind {
    const ALL: [Self; 4] = [Self::List, Self::Load, Self::Read, Self::Run];
}

impl ToolNames {
    pub(crate) const fn name(self, kind: Kind) -> &'static str {
        match (self, kind) {
            (Self::Plain, Kind::List) => "list_skills",
            (Self::Plain, Kind::Load) => "load_skill",
            (Self::Plain, Kind::Read) => "read_skill_resource",
            (Self::Plain, Kind::Run) => "run_skill_script",
            (Self::Dotted, Kind::List) => "skills.list",
            (Self::Dotted, Kind::Load) => "skills.read",
            (Self::Dotted, Kind::Read) => "skills.read_resource",
            (Self::Dotted, Kind::Run) => "skills.run_script",
        }
    }

    pub(crate) const fn list(self) -> &'static str {
        self.name(Kind::List)
    }

    pub(crate) const fn load(self) -> &'static str {
        self.name(Kind::Load)
    }

    pub(crate) const fn read(self) -> &'static str {
        self.name(Kind::Read)
    }

    pub(crate) const fn run(self) -> &'static str {
        self.name(Kind::Run)
    }

    /// The tool of a name.
    pub(crate) fn find(self, name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| self.name(*kind) == name)
    }
}

/// What a tool is shown as.
struct Schema {
    title: &'static str,
    description: String,
    /// The schema of its parameters.
    takes: Value,
}

/// The tools as clients see them, in an order that does not change; none where there are no skills. `place` says where scripts work.
pub(crate) fn all(skills: &[Entry], names: ToolNames, skill_list: Option<&str>, place: &str) -> Vec<Tool> {
    if skills.is_empty() {
        return Vec::new();
    }
    let skill = skill_schema(skills);
    let tool = |kind: Kind| {
        let Schema { title, mut description, takes } = match kind {
            Kind::List => list::schema(),
            Kind::Load => load::schema(&skill, names),
            Kind::Read => read::schema(&skill),
            Kind::Run => run::schema(&skill, place),
        };
        if let (Kind::Load, Some(list)) = (kind, skill_list) {
            description.extend(["\n\n", list]);
        }
        let runs = kind == Kind::Run;
        let hints =
            ToolAnnotations::new().read_only(!runs).destructive(runs).idempotent(!runs).open_world(false);
        Tool::new(names.name(kind), description, object(takes)).with_title(title).with_annotations(hints)
    };
    Kind::ALL.into_iter().map(tool).collect()
}

fn skill_schema(skills: &[Entry]) -> Value {
    if skills.len() > NAMED {
        return json!({ "type": "string", "description": "Name or id of the skill" });
    }
    let names: Vec<&str> = skills.iter().map(Entry::name).collect();
    json!({ "type": "string", "description": "Name of the skill", "enum": names })
}

fn object(value: Value) -> Arc<JsonObject> {
    match value {
        Value::Object(object) => Arc::new(object),
        _ => Arc::default(),
    }
}

/// What a tool was called with, as its type.
pub(crate) fn arguments<T: DeserializeOwned>(
    tool: &'static str,
    arguments: Option<JsonObject>,
) -> Result<T, Refusal> {
    let value = Value::Object(arguments.unwrap_or_default());
    T::deserialize(value).map_err(|error| Refusal::Arguments { tool, reason: error.to_string() })
}
