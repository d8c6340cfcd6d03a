//! The names of the four tools that give a model access to skills.

use serde::{Deserialize, Serialize};

/// The names of the tools that list, load, read and run skills.
///
/// Use [`ToolNames::Plain`] unless an agent was trained on the dotted names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ToolNames {
    /// `list_skills`, `load_skill`, `read_skill_resource` and `run_skill_script`, as most agents call them.
    #[default]
    Plain,
    /// `skills.list`, `skills.read`, `skills.read_resource` and `skills.run_script`.
    Dotted,
}

impl ToolNames {
    /// The tool that lists and searches skills.
    pub const fn list(self) -> &'static str {
        match self {
            Self::Plain => "list_skills",
            Self::Dotted => "skills.list",
        }
    }

    /// The tool that loads a skill's instructions.
    pub const fn load(self) -> &'static str {
        match self {
            Self::Plain => "load_skill",
            Self::Dotted => "skills.read",
        }
    }

    /// The tool that reads a skill's files.
    pub const fn read(self) -> &'static str {
        match self {
            Self::Plain => "read_skill_resource",
            Self::Dotted => "skills.read_resource",
        }
    }

    /// The tool that runs a skill's scripts.
    pub const fn run(self) -> &'static str {
        match self {
            Self::Plain => "run_skill_script",
            Self::Dotted => "skills.run_script",
        }
    }
}
