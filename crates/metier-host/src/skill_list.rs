//! The list of skills for a model's prompt.

use std::path::PathBuf;

use metier_catalog::Entry;
use metier_prompt::{ActivationHint, ListFormat, ListedSkill, RenderedList, SkillList};

use crate::catalog::HostCatalog;
#[cfg(feature = "search")]
use crate::error::HostError;

/// Options for the skill list of a model's prompt: see [`HostCatalog::skill_list`].
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

    /// Sets the maximum number of tokens. Descriptions are shortened first, then the least relevant skills are left out.
    #[must_use]
    pub const fn budget(mut self, tokens: usize) -> Self {
        self.budget = Some(tokens);
        self
    }

    /// Sets the task of the prompt. With the feature `search`, the most relevant skills come first.
    #[must_use]
    pub fn task(mut self, task: &str) -> Self {
        self.task = Some(task.to_owned());
        self
    }

    /// Sets the format. The default is XML.
    #[must_use]
    pub const fn format(mut self, format: ListFormat) -> Self {
        self.format = format;
        self
    }

    /// Renders the list. Skills are loaded by their names. If the search index cannot be opened, the order is by tier.
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
    /// The skills that models are shown, by tier and name. Those inside metier come last: they are the same everywhere, and the
    /// first ones to be left out if there is no space for all.
    fn by_tier(&self) -> Vec<&Entry> {
        let mut entries: Vec<&Entry> = self.for_models().map(|skill| skill.entry).collect();
        #[cfg(feature = "session")]
        {
            let refused = self.refused_names();
            entries.retain(|entry| !refused.contains(entry.name()));
        }
        let precedence = &self.metier().settings().precedence.value;
        // By name already; the sort keeps that within a tier.
        entries.sort_by_key(|entry| (entry.builtin().is_some(), precedence.rank(entry.tier())));
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

    /// The path of the `SKILL.md` of a skill, for a model. Skills inside metier are written to the cache; `None` without a cache
    /// directory.
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
