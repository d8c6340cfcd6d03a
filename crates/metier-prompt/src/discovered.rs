//! Options of the list of discovered skills: which skills, where they are, and how they are listed.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use globset::{Glob, GlobSet, GlobSetBuilder};

use crate::error::PromptError;
use crate::path::SectionPath;
use crate::section::{AgentSkillsSection, Draft, Role};
use crate::skill_list::ListFormat;

type Rank = Arc<dyn Fn(&str) -> Vec<String> + Send + Sync>;

/// Discovered skills and the options of their list.
#[derive(Debug, Clone, Default)]
pub(crate) struct Discovered {
    pub(crate) skills: Vec<DiscoveredSkill>,
    pub(crate) allow: Vec<String>,
    pub(crate) deny: Vec<String>,
    pub(crate) mount_path: Option<String>,
    pub(crate) options: ListOptions,
}

impl Discovered {
    /// The skills that the patterns include.
    pub(crate) fn wanted(&self, path: &SectionPath) -> Result<Vec<&DiscoveredSkill>, PromptError> {
        let (allow, deny) = (globs(&self.allow, path)?, globs(&self.deny, path)?);
        let is_wanted = |name: &str| (self.allow.is_empty() || allow.is_match(name)) && !deny.is_match(name);
        Ok(self.skills.iter().filter(|skill| is_wanted(&skill.name)).collect())
    }
}

fn globs(patterns: &[String], path: &SectionPath) -> Result<GlobSet, PromptError> {
    let mut set = GlobSetBuilder::new();
    let wrong = |pattern: &str, error: &globset::Error| PromptError::Pattern {
        path: path.clone(),
        pattern: pattern.to_owned(),
        reason: error.kind().to_string(),
    };
    for pattern in patterns {
        set.add(Glob::new(pattern).map_err(|error| wrong(pattern, &error))?);
    }
    set.build().map_err(|error| wrong(&patterns.join(" "), &error))
}

/// How a skill list is written in a prompt.
#[derive(Debug, Clone, Default)]
pub(crate) struct ListOptions {
    pub(crate) format: ListFormat,
    pub(crate) budget: Option<usize>,
    pub(crate) activation_tool: Option<String>,
    pub(crate) search: Option<String>,
    pub(crate) ranking: Option<Ranking>,
}

/// Ranks the names of skills by how well they fit a task, best first.
#[derive(Clone)]
pub(crate) struct Ranking(pub(crate) Rank);

impl fmt::Debug for Ranking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ranking")
    }
}

/// A discovered skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiscoveredSkill {
    /// Its name.
    pub name: String,
    /// What it does and when to use it; `None` to show only its name.
    pub description: Option<String>,
    /// The path of its `SKILL.md`.
    pub skill_md: PathBuf,
}

impl AgentSkillsSection {
    /// A list of these skills, most important first. Its key defaults to `agent-skills`.
    pub fn new(skills: impl IntoIterator<Item = DiscoveredSkill>) -> Self {
        let discovered = Discovered { skills: skills.into_iter().collect(), ..Discovered::default() };
        let draft = Draft::new("agent-skills", "Agent Skills", Role::Discovered);
        Self::of(Draft { accepts_overrides: false, discovered, ..draft })
    }
}

impl<P> AgentSkillsSection<P> {
    /// Includes only skills whose names match one of these patterns, such as `pdf-*`.
    #[must_use]
    pub fn allow<T: Into<String>>(mut self, patterns: impl IntoIterator<Item = T>) -> Self {
        self.draft.discovered.allow.extend(patterns.into_iter().map(Into::into));
        self
    }

    /// Excludes skills whose names match one of these patterns, even if they are allowed.
    #[must_use]
    pub fn deny<T: Into<String>>(mut self, patterns: impl IntoIterator<Item = T>) -> Self {
        self.draft.discovered.deny.extend(patterns.into_iter().map(Into::into));
        self
    }

    /// Where skills are mounted in the workspace. The list shows those locations, and rendering requests the
    /// mounts. By default, skills are listed at their own locations.
    #[must_use]
    pub fn mount_path(mut self, path: &str) -> Self {
        self.draft.discovered.mount_path = Some(path.to_owned());
        self
    }

    /// The format of the list.
    #[must_use]
    pub fn format(mut self, format: ListFormat) -> Self {
        self.draft.discovered.options.format = format;
        self
    }

    /// The maximum number of tokens of the list. Descriptions are shortened first, then skills are left out;
    /// the text says so.
    #[must_use]
    pub fn budget(mut self, tokens: usize) -> Self {
        self.draft.discovered.options.budget = Some(tokens);
        self
    }

    /// The tool that loads a skill by its name, for agents that do not read files. Locations are not shown
    /// then.
    #[must_use]
    pub fn activation_tool(mut self, tool: &str) -> Self {
        self.draft.discovered.options.activation_tool = Some(tool.to_owned());
        self
    }

    /// How the model finds skills that were left out, as words after "find them with", such as "the tool
    /// `search_skills`". Without it the text only says how many were left out.
    #[must_use]
    pub fn search(mut self, words: &str) -> Self {
        self.draft.discovered.options.search = Some(words.to_owned());
        self
    }

    /// Ranks skills by the session's task, best first. It is called if there is a budget and a task; otherwise
    /// skills keep the given order.
    #[must_use]
    pub fn ranked_by(mut self, rank: impl Fn(&str) -> Vec<String> + Send + Sync + 'static) -> Self {
        self.draft.discovered.options.ranking = Some(Ranking(Arc::new(rank)));
        self
    }
}
