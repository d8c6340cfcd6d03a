//! The list of skills for a model's prompt.

use std::path::PathBuf;

use metier_catalog::Entry;
use metier_prompt::{ActivationHint, ListFormat, ListedSkill, RenderedList, SkillList};

use crate::catalog::HostCatalog;
#[cfg(feature = "search")]
use crate::error::HostError;

/// Writes the list of skills for a model's prompt: see [`HostCatalog::skill_list`].
#[derive(Debug)]
pub struct SkillListBuilder<'a> {
    catalog: &'a HostCatalog,
    budget: Option<usize>,
    task: Option<String>,
    format: ListFormat,
}

impl<'a> SkillListBuilder<'a> {
    pub(crate) const fn new(catalog: &'a HostCatalog) -> Self {
        Self { catalog, budget: None, task: None, format: ListFormat::Xml }
    }

    /// At most so many tokens: descriptions are shortened, then the least relevant skills left out.
    #[must_use]
    pub const fn budget(mut self, tokens: usize) -> Self {
        self.budget = Some(tokens);
        self
    }

    /// What the prompt is for: with the feature `search`, the skills that fit come first.
    #[must_use]
    pub fn task(mut self, task: &str) -> Self {
        self.task = Some(task.to_owned());
        self
    }

    /// How to write the list; XML unless said.
    #[must_use]
    pub const fn format(mut self, format: ListFormat) -> Self {
        self.format = format;
        self
    }

    /// The list. Skills are loaded by their names; where the index for searching cannot be opened, the order is by tier.
    pub fn render(self) -> RenderedList {
        let entries = self.catalog.ranked(self.task.as_deref());
        let listed: Vec<ListedSkill<'_>> = entries
            .iter()
            .filter_map(|entry| {
                let description = entry.listing()?.description;
                Some(ListedSkill { name: entry.name(), description, location: None })
            })
            .collect();
        let list = SkillList::new(&listed).format(self.format).budget(self.budget);
        list.activation(Some(ActivationHint::ByName)).render()
    }
}

impl HostCatalog {
    /// The skills that models are shown, by tier and name.
    fn by_tier(&self) -> Vec<&Entry> {
        let mut entries: Vec<&Entry> = self.for_models().map(|skill| skill.entry).collect();
        // By name already; the sort keeps that within a tier.
        entries.sort_by_key(|entry| self.metier().settings().precedence.value.rank(entry.tier()));
        entries
    }

    fn ranked(&self, task: Option<&str>) -> Vec<&Entry> {
        #[cfg(feature = "search")]
        if let Ok(entries) = self.relevant(task) {
            return entries;
        }
        #[cfg(not(feature = "search"))]
        let _ = task;
        self.by_tier()
    }

    /// The skills that models are shown, the most relevant for a task first; without one by tier and name.
    #[cfg(feature = "search")]
    pub fn relevant(&self, task: Option<&str>) -> Result<Vec<&Entry>, HostError> {
        let mut entries = self.by_tier();
        if let Some(task) = task {
            let search = self.search()?;
            let ranked = search.ranked(task, entries.len());
            let places: std::collections::HashMap<&str, usize> =
                ranked.into_iter().map(Entry::name).zip(0..).collect();
            entries.sort_by_key(|entry| places.get(entry.name()).copied().unwrap_or(usize::MAX));
        }
        Ok(entries)
    }

    /// Where a model finds the `SKILL.md` of a skill. Those inside metier are written out to the cache; `None` where there
    /// is no cache directory.
    pub fn skill_md(&self, entry: &Entry) -> Option<PathBuf> {
        let directory = match entry.builtin() {
            Some(builtin) => {
                let cache = self.metier().environment().cache_directory()?;
                builtin.unpack(&cache.join("builtin")).ok()?
            }
            None => entry.path().to_owned(),
        };
        Some(directory.join(entry.file_name()))
    }
}
