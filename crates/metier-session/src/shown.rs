//! Records which skills a model was shown by name and description, each once.

use std::collections::HashMap;
use std::path::Path;

use metier_catalog::Entry;
use metier_journal::Event;
use metier_prompt::{ListedInPrompt, MountSource, RenderedPrompt};
use metier_skill::{SKILL_FILES, Tier};

use crate::error::SessionError;
use crate::session::{Session, shortened};
use crate::tools::{SkillToolAnswer, listed_tokens};

impl Session {
    /// Records that a model was shown skills by name and description, each with its size in tokens. What it was shown
    /// before is not recorded again, unless it has changed.
    pub fn disclosed<'a>(
        &mut self,
        shown: impl IntoIterator<Item = (&'a Entry, u64)>,
    ) -> Result<(), SessionError> {
        let shown =
            shown.into_iter().map(|(entry, tokens)| (entry.id.to_string(), discovered(entry, tokens)));
        let shown = shown.collect();
        self.record_shown(shown)
    }

    /// Records the skills in an answer of the tool that lists skills.
    pub fn disclosed_by(&mut self, answer: &SkillToolAnswer) -> Result<(), SessionError> {
        let catalog = self.catalog.clone();
        self.disclosed(listed_tokens(&catalog, answer))
    }

    /// Records the skills that the lists of a prompt show.
    pub(crate) fn record_listed(&mut self, rendered: &RenderedPrompt) -> Result<(), SessionError> {
        let is_new = |listed: &&ListedInPrompt| !self.shown.contains(&place_of(listed).display().to_string());
        let new: Vec<&ListedInPrompt> = rendered.listed.iter().filter(is_new).collect();
        if new.is_empty() {
            return Ok(());
        }
        let entries: HashMap<&Path, &Entry> =
            self.catalog.all().iter().map(|entry| (entry.path(), entry)).collect();
        let event = |listed: &ListedInPrompt| {
            let (place, tokens) = (place_of(listed), listed.tokens as u64);
            match entries.get(place) {
                Some(entry) => discovered(entry, tokens),
                None => {
                    let (name, tier) = (shortened(&listed.skill.name), Tier::User);
                    Event::SkillDiscovered { skill_id: format!("prompt/{name}"), name, tier, tokens }
                }
            }
        };
        let shown = new.into_iter().map(|listed| (place_of(listed).display().to_string(), event(listed)));
        let shown = shown.collect();
        self.record_shown(shown)
    }

    fn record_shown(&mut self, shown: Vec<(String, Event)>) -> Result<(), SessionError> {
        let is_new = |(key, _): &(String, Event)| !self.shown.contains(key);
        let (keys, events): (Vec<String>, Vec<Event>) = shown.into_iter().filter(is_new).unzip();
        if events.is_empty() {
            return Ok(());
        }
        self.record_all(&events)?;
        self.shown.extend(keys);
        Ok(())
    }
}

fn discovered(entry: &Entry, tokens: u64) -> Event {
    let (skill_id, name) = (entry.id.to_string(), entry.name().to_owned());
    Event::SkillDiscovered { skill_id, name, tier: entry.tier(), tokens }
}

/// The directory of a skill in a prompt's list.
fn place_of(listed: &ListedInPrompt) -> &Path {
    match listed.skill.mount.source() {
        MountSource::Path(path) if SKILL_FILES.iter().any(|name| path.ends_with(name)) => {
            path.parent().unwrap_or(path)
        }
        MountSource::Path(path) => path,
        _ => Path::new(""),
    }
}
