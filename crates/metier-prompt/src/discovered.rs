//! The list of skills that were found, as it is written down: which of them, where, and how they are listed.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::section::{AgentSkillsSection, Draft, Role};
use crate::skill_list::ListFormat;

type Rank = Arc<dyn Fn(&str) -> Vec<String> + Send + Sync>;

/// Skills that were found, and how they are listed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Discovered {
    pub(crate) skills: Vec<DiscoveredSkill>,
    pub(crate) allow: Vec<String>,
    pub(crate) deny: Vec<String>,
    pub(crate) mount_path: Option<String>,
    pub(crate) options: ListOptions,
}

/// How a list of skills is written in a prompt.
#[derive(Debug, Clone, Default)]
pub(crate) struct ListOptions {
    pub(crate) format: ListFormat,
    pub(crate) budget: Option<usize>,
    pub(crate) activation_tool: Option<String>,
    pub(crate) search: Option<String>,
    pub(crate) ranking: Option<Ranking>,
}

/// The names of the skills that fit a task, the best first.
#[derive(Clone)]
pub(crate) struct Ranking(pub(crate) Rank);

impl fmt::Debug for Ranking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ranking")
    }
}

/// A skill that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscoveredSkill {
    /// Its name.
    pub name: String,
    /// What it does and when to use it; `None` where only the name is to be shown.
    pub description: Option<String>,
    /// Its `SKILL.md`.
    pub skill_md: PathBuf,
}

impl AgentSkillsSection {
    /// These skills, the most important first. Its key is `agent-skills`, unless it gets another.
    pub fn new(skills: impl IntoIterator<Item = DiscoveredSkill>) -> Self {
        let discovered = Discovered { skills: skills.into_iter().collect(), ..Discovered::default() };
        let draft = Draft::new("agent-skills", "Agent Skills", Role::Discovered);
        Self::of(Draft { accepts_overrides: false, discovered, ..draft })
    }
}

impl<P> AgentSkillsSection<P> {
    /// Only skills whose names match one of these patterns: `pdf-*`.
    #[must_use]
    pub fn allow<T: Into<String>>(mut self, patterns: impl IntoIterator<Item = T>) -> Self {
        self.draft.discovered.allow.extend(patterns.into_iter().map(Into::into));
        self
    }

    /// No skills whose names match one of these patterns, whatever else allows them.
    #[must_use]
    pub fn deny<T: Into<String>>(mut self, patterns: impl IntoIterator<Item = T>) -> Self {
        self.draft.discovered.deny.extend(patterns.into_iter().map(Into::into));
        self
    }

    /// Where in the workspace the skills are mounted. They are listed there, and wanted there by what is rendered. Without it they
    /// are listed where they are.
    #[must_use]
    pub fn mount_path(mut self, path: &str) -> Self {
        self.draft.discovered.mount_path = Some(path.to_owned());
        self
    }

    /// How the list is written.
    #[must_use]
    pub fn format(mut self, format: ListFormat) -> Self {
        self.draft.discovered.options.format = format;
        self
    }

    /// The most tokens that the list may cost. Descriptions are shortened first, then skills left out; the text says so.
    #[must_use]
    pub fn budget(mut self, tokens: usize) -> Self {
        self.draft.discovered.options.budget = Some(tokens);
        self
    }

    /// The tool that loads a skill by its name, where the agent does not read files. No locations are shown then.
    #[must_use]
    pub fn activation_tool(mut self, tool: &str) -> Self {
        self.draft.discovered.options.activation_tool = Some(tool.to_owned());
        self
    }

    /// What the model finds skills with that were left out: words after "find them with", as "the tool `search_skills`". Without it
    /// the text only says how many they are.
    #[must_use]
    pub fn search(mut self, words: &str) -> Self {
        self.draft.discovered.options.search = Some(words.to_owned());
        self
    }

    /// Which skills fit the session's task, by name, the best first. It is asked where there is a budget and a task; without it the
    /// order is the one that the skills were given in.
    #[must_use]
    pub fn ranked_by(mut self, rank: impl Fn(&str) -> Vec<String> + Send + Sync + 'static) -> Self {
        self.draft.discovered.options.ranking = Some(Ranking(Arc::new(rank)));
        self
    }
}
