//! Prompts that show a model only as much as it needs, in sections with tools and skills, and skill lists in
//! several formats and within a budget.
//!
//! A [`Prompt`] is built once from [`Section`]s and checked completely. It is then rendered for the current
//! state of a session. Summarized sections tell the model how to open them, and opening a section adds its
//! tools and skills. Skills can be attached to a section ([`SkillMount`]), written or referenced in a
//! [`SkillsSection`], or discovered in a directory or catalog ([`AgentSkillsSection`]). A [`WorkspaceSection`] has
//! the files that the agent works on.
//!
//! *Architecture invariant:* pure text and data. This crate does not read the disk or run anything, and does
//! not know catalogs or agents. The caller passes in what to show and how to read skills.

mod disclosure;
mod discovered;
mod error;
mod listing;
mod mount;
mod node;
mod overrides;
mod params;
mod path;
mod prompt;
mod readers;
mod render;
mod resolve;
mod section;
mod skill_list;
mod skill_ref;
mod strict;
mod template;
mod tool;
mod tool_names;
mod view;
mod workspace;

pub use disclosure::{DisclosureError, ExpandedSkill, ExpansionRequired, OpenSections, ReadSection};
pub use discovered::DiscoveredSkill;
pub use error::{PromptError, RefReason};
pub use mount::{MountSource, ReadSkill, RefProblem, RenderedSkill, SkillKind, SkillMount, SkillReader};
pub use overrides::{PromptDescriptor, PromptOverrides, SectionOverride, ToolOverride};
pub use params::{Binding, Bindings, NoParams, Params};
pub use path::{SectionKey, SectionPath};
pub use prompt::{Prompt, PromptBuilder};
pub use render::{ListedInPrompt, RenderWarning, RenderedPrompt, RenderedSection, RenderedTool, Rendering};
pub use section::{
    AgentSkillsSection, AnySection, EnabledSkills, InlineSkill, Section, SectionBuilder, SkillsSection,
    WorkspaceSection, kind,
};
pub use skill_list::{
    ActivationHint, ExplainedSkill, Fate, ListExplanation, ListFormat, ListedSkill, LocationStyle,
    RenderedList, SkillList,
};
pub use skill_ref::SkillRef;
pub use tool::{
    Allowance, Tool, ToolAnswer, ToolContext, ToolError, ToolFailure, ToolPolicy, ToolResult, ToolText,
    ToolValue, cut,
};
pub use tool_names::ToolNames;
pub use view::{SessionState, SessionView, Visibility};
pub use workspace::{HostMount, WorkspaceFiles};
