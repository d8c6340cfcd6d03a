//! What a model sees: prompts in sections that show as much as is needed, with tools and skills that come with them; and the list of
//! the skills that it can use, in several formats and within a budget.
//!
//! A [`Prompt`] is built once from [`Section`]s, and everything that can be known about it is checked then. It is rendered for a
//! session as that is now: sections that are summaries tell the model how to open them; what is opened brings its tools and skills
//! along. Skills come in three ways: attached to a section ([`SkillMount`]), written or referred to in a [`SkillsSection`], and
//! found in a directory or a catalog ([`AgentSkillsSection`]).
//!
//! *Architecture invariant:* pure text and data. This crate reads no disk and runs nothing by itself, and knows neither catalogs nor
//! agents; whoever calls it says what there is to show, and what reads skills.

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
mod render;
mod resolve;
mod section;
mod skill_list;
mod strict;
mod template;
mod tool;
mod tool_names;
mod view;

pub use disclosure::{DisclosureError, ExpandedSkill, ExpansionRequired, OpenSections, ReadSection};
pub use discovered::DiscoveredSkill;
pub use error::{PromptError, RefReason};
pub use mount::{MountSource, ReadSkill, RefProblem, RenderedSkill, SkillKind, SkillMount, SkillReader};
pub use overrides::{PromptDescriptor, PromptOverrides, SectionOverride, ToolOverride};
pub use params::{Binding, Bindings, NoParams, Params};
pub use path::{SectionKey, SectionPath};
pub use prompt::{Prompt, PromptBuilder};
pub use render::{RenderWarning, RenderedPrompt, RenderedSection, RenderedTool, Rendering};
pub use section::{
    AgentSkillsSection, AnySection, EnabledSkills, InlineSkill, Section, SectionBuilder, SkillRef,
    SkillsSection, kind,
};
pub use skill_list::{
    ActivationHint, ExplainedSkill, Fate, ListExplanation, ListFormat, ListedSkill, LocationStyle,
    RenderedList, SkillList,
};
pub use tool::{
    Allowance, Tool, ToolAnswer, ToolContext, ToolError, ToolFailure, ToolPolicy, ToolResult, ToolText,
    ToolValue, cut,
};
pub use tool_names::ToolNames;
pub use view::{SessionState, SessionView, Visibility};
