//! Skills that a model without files loads through tools: copies of chosen skills, instead of all skills of the session's catalog.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use metier_catalog::{Catalog, CatalogOptions, Entry, Root, Scanner, Scope};
use metier_journal::Trigger;
use metier_prompt::ToolNames;
use metier_skill::Tier;
use serde_json::Value;

use crate::activate::Activation;
use crate::active_skill::ActiveSkill;
use crate::error::SessionError;
use crate::evaluation::AgentSkill;
use crate::session::Session;
use crate::tools::{
    self, SkillTool, SkillToolAnswer, SkillToolError, SkillToolKind, SkillToolOptions, ToolSubject,
};

/// Skills that one conversation of a model can load: see [`Session::offer`]. Give them back with [`Session::withdraw`] when the
/// conversation has ended.
#[derive(Debug)]
pub struct OfferedSkills {
    catalog: Catalog,
    options: SkillToolOptions,
    /// What the session had of the same skills before.
    before: BTreeMap<String, ActiveSkill>,
    /// The skills whose instructions this conversation has.
    loaded: BTreeSet<String>,
}

impl OfferedSkills {
    /// The skills that the model may load, with their descriptions.
    pub fn listed(&self) -> impl Iterator<Item = &Entry> {
        self.catalog.for_models().map(|skill| skill.entry)
    }

    /// The tools for the model; empty if it may load none of the skills. Their names are plain ones, which every model API takes.
    pub fn tools(&self) -> Vec<SkillTool> {
        tools::definitions(&self.catalog, &self.options)
    }
}

impl Session {
    /// Offers copies of skills to a model, for one conversation. Each is with the place that it was copied from, if there is one.
    ///
    /// A copy is trusted as far as its original: by the catalog's entry at that place, else by the root above it, else as the
    /// person's own.
    pub fn offer(&self, skills: &[(AgentSkill, Option<PathBuf>)]) -> OfferedSkills {
        let root = |(skill, origin): &(AgentSkill, Option<PathBuf>)| {
            let tier = origin.as_deref().map_or(Tier::User, |origin| self.tier_at(origin));
            Root::new(&skill.directory, tier, Scope::Project)
        };
        let mut options = CatalogOptions::new(skills.iter().map(root).collect());
        options.rules = self.options.rules.clone();
        // There is no index, so the time does not matter.
        let catalog = Scanner::new(options).scan(SystemTime::UNIX_EPOCH);
        let ids = catalog.all().iter().map(|entry| entry.id.to_string());
        let before = ids.filter_map(|id| Some((id.clone(), self.held.get(&id)?.clone()))).collect();
        let mut options = self.options.tools.clone();
        options.names = ToolNames::Plain;
        // It ranks the skills of another catalog.
        options.rank = None;
        OfferedSkills { catalog, options, before, loaded: BTreeSet::new() }
    }

    fn tier_at(&self, origin: &Path) -> Tier {
        let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let is_file = origin.file_name().is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"));
        let here = real(if is_file { origin.parent().unwrap_or(origin) } else { origin });
        let is_it = |entry: &&Entry| entry.builtin().is_none() && real(entry.real_path()) == here;
        let entry = self.catalog.all().iter().find(is_it);
        let roots = self.catalog.roots().iter().map(|report| &report.root);
        let above = roots.filter(|root| here.starts_with(real(&root.path))).map(|root| root.tier).max();
        entry.map(Entry::tier).or(above).unwrap_or(Tier::User)
    }

    /// [`Session::dispatch`] for offered skills. What the conversation does not have yet is loaded as a whole, also if the session
    /// has it.
    pub fn dispatch_offered(
        &mut self,
        offered: &mut OfferedSkills,
        tool: &str,
        mut arguments: Value,
    ) -> Result<SkillToolAnswer, SkillToolError> {
        let loads = SkillToolKind::find(tool, offered.options.names) == Some(SkillToolKind::Load);
        let subject = ToolSubject::of(&arguments);
        let skill = subject.skill.clone().filter(|_| loads);
        if let (Some(name), Some(members)) = (&skill, arguments.as_object_mut())
            && !offered.loaded.contains(name)
        {
            members.insert("force".to_owned(), true.into());
        }
        let answer =
            self.with_offered(offered, |session, options| session.dispatch_with(tool, arguments, options));
        if answer.is_ok() {
            offered.loaded.extend(skill);
        }
        answer
    }

    /// Activates an offered skill for the person who chose it, so that its instructions can be given to the model at once.
    pub fn inject_offered(
        &mut self,
        offered: &mut OfferedSkills,
        name: &str,
    ) -> Result<Activation, SessionError> {
        let activation = self.with_offered(offered, |session, _| session.reload_as(name, Trigger::User))?;
        offered.loaded.insert(name.to_owned());
        Ok(activation)
    }

    /// Ends a conversation: what it activated does not apply any more, and what the session had before does again.
    pub fn withdraw(&mut self, offered: OfferedSkills) -> Result<(), SessionError> {
        let OfferedSkills { catalog, mut before, .. } = offered;
        for entry in catalog.all() {
            let id = entry.id.to_string();
            let is_active = self.held.get(&id).is_some_and(|held| held.is_active);
            let before = before.remove(&id);
            if is_active && !before.as_ref().is_some_and(|before| before.is_active) {
                self.deactivate(&id)?;
            }
            match before {
                Some(before) => drop(self.held.insert(id, before)),
                None => drop(self.held.remove(&id)),
            }
        }
        self.guard = None;
        Ok(())
    }

    /// Does something with the offered skills as the catalog.
    fn with_offered<T>(
        &mut self,
        offered: &OfferedSkills,
        work: impl FnOnce(&mut Self, &SkillToolOptions) -> T,
    ) -> T {
        let own = std::mem::replace(&mut self.catalog, offered.catalog.clone());
        let done = work(self, &offered.options);
        self.catalog = own;
        done
    }
}
