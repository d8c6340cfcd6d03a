//! What sections contain, before they are part of a prompt.

use crate::discovered::DiscoveredSkill;
use crate::error::PromptError;
use crate::path::{SectionKey, SectionPath};
use crate::section::{AgentSkillsSection, Draft, InlineSkill, Role, SkillsSection};
use crate::skill_ref::SkillRef;

impl<P> InlineSkill<P> {
    /// Whether it or a section in it has tools. Such a skill stays in the prompt, where its tools can be called.
    pub fn has_tools(&self) -> bool {
        has_tools(&self.draft)
    }
}

impl SkillsSection {
    /// The names of the skills with their text in the prompt.
    pub fn inline_skills(&self) -> impl Iterator<Item = &str> {
        self.inline_drafts().map(|(name, _)| name)
    }

    /// Those of them that can be installed in an agent's home: they have no tools and contain no other skills.
    pub fn native_skills(&self) -> impl Iterator<Item = &str> {
        self.inline_drafts().filter(|(_, draft)| !stays(draft)).map(|(name, _)| name)
    }

    /// Those of them that stay in the prompt.
    pub fn prompt_skills(&self) -> impl Iterator<Item = &str> {
        self.inline_drafts().filter(|(_, draft)| stays(draft)).map(|(name, _)| name)
    }

    /// The references to skills in directories.
    pub fn referenced_skills(&self) -> impl Iterator<Item = &SkillRef> {
        self.draft.children.iter().filter_map(|child| match &child.role {
            Role::Reference(skill) => Some(skill),
            _ => None,
        })
    }

    fn inline_drafts(&self) -> impl Iterator<Item = (&str, &Draft)> {
        self.draft.children.iter().filter_map(|child| match &child.role {
            Role::Inline { name, .. } => Some((name.as_str(), child)),
            _ => None,
        })
    }
}

impl<P> AgentSkillsSection<P> {
    /// The skills that the patterns include, in order. An invalid pattern is an error.
    pub fn discovered_skills(&self) -> Result<Vec<&DiscoveredSkill>, PromptError> {
        let path = SectionPath::below(None, &SectionKey::new(&self.draft.key)?);
        self.draft.discovered.wanted(&path)
    }
}

fn has_tools(draft: &Draft) -> bool {
    !draft.tools.is_empty() || draft.children.iter().any(has_tools)
}

/// Tools are called through the session, and skills inside a skill are found in the prompt.
fn stays(draft: &Draft) -> bool {
    has_tools(draft) || draft.children.iter().any(contains_skills)
}

fn contains_skills(draft: &Draft) -> bool {
    let is_skill = match &draft.role {
        Role::Inline { .. } | Role::Reference(_) => true,
        Role::Discovered => !draft.discovered.skills.is_empty(),
        Role::Plain | Role::Skills | Role::Workspace => false,
    };
    is_skill || draft.children.iter().any(contains_skills)
}
