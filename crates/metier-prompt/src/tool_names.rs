//! The four tools through which a model uses skills, and what they are called.

use serde::{Deserialize, Serialize};

/// One of the four tools that a model uses skills with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SkillTool {
    /// Lists and searches skills.
    List,
    /// Loads the instructions of a skill.
    Load,
    /// Reads a file of a skill.
    Read,
    /// Runs a script of a skill.
    Run,
}

impl SkillTool {
    /// Every tool, in the order in which models are shown them.
    pub const ALL: [Self; 4] = [Self::List, Self::Load, Self::Read, Self::Run];
}

/// What the tools are called; the setting `tool_names`.
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

impl ToolNames {
    /// The name of a tool.
    pub const fn name(self, tool: SkillTool) -> &'static str {
        match (self, tool) {
            (Self::Plain, SkillTool::List) => "list_skills",
            (Self::Plain, SkillTool::Load) => "load_skill",
            (Self::Plain, SkillTool::Read) => "read_skill_resource",
            (Self::Plain, SkillTool::Run) => "run_skill_script",
            (Self::Dotted, SkillTool::List) => "skills.list",
            (Self::Dotted, SkillTool::Load) => "skills.read",
            (Self::Dotted, SkillTool::Read) => "skills.read_resource",
            (Self::Dotted, SkillTool::Run) => "skills.run_script",
        }
    }

    /// The name of the tool that lists skills.
    pub const fn list(self) -> &'static str {
        self.name(SkillTool::List)
    }

    /// The name of the tool that loads a skill.
    pub const fn load(self) -> &'static str {
        self.name(SkillTool::Load)
    }

    /// The name of the tool that reads a file of a skill.
    pub const fn read(self) -> &'static str {
        self.name(SkillTool::Read)
    }

    /// The name of the tool that runs a script.
    pub const fn run(self) -> &'static str {
        self.name(SkillTool::Run)
    }

    /// The tool of a name.
    pub fn find(self, name: &str) -> Option<SkillTool> {
        SkillTool::ALL.into_iter().find(|tool| self.name(*tool) == name)
    }
}
