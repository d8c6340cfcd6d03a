//! Links that make skills visible to an agent in the user's own home, and removing them. Never without a record.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use metier_catalog::{Entry, SkillPlace};
use metier_home::{Agent, LinkedSkill, link_skill, unlink_skill};
use metier_journal::{Event, JournalError, JournalReader, RecordContext, RecordQuery};
use metier_prompt::{MountSource, SkillMount};
use metier_skill::{SkillName, Tier, is_skill_directory};

use crate::catalog::HostCatalog;
use crate::error::HostError;
use crate::host::Metier;
use crate::recording::Recorder;

/// The result of [`HostCatalog::link`] and [`HostCatalog::unlink`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LinkChange {
    /// The agent's directory for skills, in the user's home.
    pub directory: PathBuf,
    /// Each link, and whether it was created or removed.
    pub links: Vec<LinkedSkill>,
    /// Messages for the user.
    pub notes: Vec<String>,
}

impl LinkChange {
    /// Records the links that are different from before.
    fn record(&mut self, is_linked: bool, recorder: Recorder) -> Result<(), HostError> {
        let new = self.links.iter().filter(|one| one.is_new);
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let name = |link: &Path| link.file_name().map(|name| name.to_string_lossy().into_owned());
        let skills: BTreeMap<String, String> =
            new.filter_map(|one| Some((name(&one.link)?, text(&one.target)))).collect();
        if !skills.is_empty() {
            let place = text(&self.directory);
            let event = if is_linked {
                Event::SkillsLinked { skills, place }
            } else {
                Event::SkillsUnlinked { skills, place }
            };
            recorder.record(&RecordContext::default(), &event).map_err(|error| match error {
                HostError::Journal(source) => HostError::NotRecorded { source },
                error => error,
            })?;
        }
        self.notes.extend(recorder.close());
        Ok(())
    }
}

/// The name and the directory of a skill on the disk. A skill can also be named by its file.
fn linkable(mount: &SkillMount) -> Option<(String, &Path)> {
    let MountSource::Path(path) = mount.source() else { return None };
    let is_file = path.file_name().is_some_and(|file| file.eq_ignore_ascii_case("SKILL.md"));
    let path = if is_file { path.parent().unwrap_or(path) } else { path };
    Some((mount.effective_name().unwrap_or_default(), path))
}

/// The skill of a link of this name, if it no longer exists.
fn broken_link(directory: &Path, name: &str) -> Option<SkillMount> {
    let link = directory.join(SkillName::new(name).ok()?.as_str());
    let target = fs::read_link(&link).ok()?;
    (!link.exists()).then(|| SkillMount::new(target).named(name))
}

impl HostCatalog {
    /// The named skills, without checking whether they may be used: for removing their links. Links that metier made are found by
    /// their names, wherever they lead.
    pub fn mounts_to_remove(&self, agent: Agent, named: &[String]) -> Result<Vec<SkillMount>, HostError> {
        let directory = self.link_change(agent)?.directory;
        let recorded = self.recorded_links(&directory)?;
        let by_name = |name: &str| {
            let target = recorded.get(name)?;
            Some(SkillMount::new(target).named(name))
        };
        let mount = |text: &String| {
            if let Some(mount) = by_name(text).or_else(|| broken_link(&directory, text)) {
                return Ok(mount);
            }
            let mount = self.named(text)?.mount;
            // The catalog may know a skill only by its link.
            let link = linkable(&mount).map(|(_, path)| path).filter(|path| path.starts_with(&directory));
            let Some(link) = link.filter(|path| path.is_symlink()) else { return Ok(mount) };
            let name = link.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            by_name(name).ok_or_else(|| HostError::LinkNotRecorded { link: link.to_owned() })
        };
        named.iter().map(mount).collect()
    }

    /// All skills of the catalog, for removing their links. With `everything`, also each link of the agent that metier made, and
    /// each that leads into the store.
    pub fn all_mounts_to_remove(&self, agent: Agent, everything: bool) -> Result<Vec<SkillMount>, HostError> {
        // A link may lead to any copy of a skill.
        let known = self.all().iter().filter(|entry| entry.builtin().is_none());
        let known = known.flat_map(Entry::places).map(|place: &SkillPlace| SkillMount::new(&place.path));
        let mut mounts: Vec<SkillMount> = known.collect();
        if everything {
            let directory = self.link_change(agent)?.directory;
            let recorded = self.recorded_links(&directory)?;
            mounts.extend(recorded.iter().map(|(name, target)| SkillMount::new(target).named(name)));
            let broken = self.metier().broken_links(agent).into_iter();
            mounts.extend(broken.filter_map(|link| broken_link(&directory, link.file_name()?.to_str()?)));
        }
        Ok(mounts)
    }

    /// The links in a directory that metier made, as the journal says, with what each leads to. Links whose records were archived
    /// are not among them.
    fn recorded_links(&self, directory: &Path) -> Result<BTreeMap<String, String>, HostError> {
        let mut links = BTreeMap::new();
        let mut reader = match JournalReader::open(&self.metier().journal_address()?) {
            Err(JournalError::NotFound { .. }) => return Ok(links),
            opened => opened?,
        };
        let here = directory.to_string_lossy();
        let query = RecordQuery { kind: Some("skills.".to_owned()), ..RecordQuery::default() };
        reader.each_row_matching(&query, |row| {
            match row.to_event() {
                Some(Event::SkillsLinked { skills, place }) if place == here => links.extend(skills),
                Some(Event::SkillsUnlinked { skills, place }) if place == here => {
                    links.retain(|name, _| !skills.contains_key(name));
                }
                _ => {}
            }
            ControlFlow::Continue(())
        })?;
        // Another link may have taken its place.
        links.retain(|name, target| {
            fs::read_link(directory.join(name)).is_ok_and(|known| known == Path::new(target))
        });
        Ok(links)
    }

    /// Makes skills visible to an agent in the user's own home, by links to where they are, and records it. Skills inside metier
    /// have no directory of their own: they are only unpacked in the cache, and a link would break with it. With `is_all` they
    /// are left out with a note, otherwise they are an error. A note also names third-party skills that gain trust: in the user's
    /// home, skills count as the user's own. Installed skills keep their tier.
    pub fn link(&self, agent: Agent, mounts: &[SkillMount], is_all: bool) -> Result<LinkChange, HostError> {
        let mut change = self.link_change(agent)?;
        let mut skills = Vec::new();
        for (name, path) in mounts.iter().filter_map(linkable) {
            let error = HostError::LinkInside { name: name.clone(), directory: change.directory.clone() };
            match self.is_inside(path) {
                false => skills.push((name, path)),
                true if is_all => change.notes.push(format!("left out: {error}")),
                true => return Err(error),
            }
        }
        // What cannot be recorded is not done.
        let recorder = self.metier().recorder()?;
        let linked = skills.into_iter().try_for_each(|(name, path)| {
            change.links.push(link_skill(&name, path, &change.directory)?);
            change.notes.extend(self.trust_gained(&name, path));
            Ok(())
        });
        // Also if a later one failed: those before it were linked.
        change.record(true, recorder)?;
        linked.map(|()| change)
    }

    /// Whether a path leads into the cache, where skills inside metier are unpacked.
    fn is_inside(&self, path: &Path) -> bool {
        self.metier().environment().cache_directory().is_some_and(|cache| path.starts_with(cache))
    }

    fn trust_gained(&self, name: &str, path: &Path) -> Option<String> {
        let store = self.metier().environment().store_directory();
        let is_installed = store.is_some_and(|store| path.starts_with(store));
        let mut third_party = self.all().iter().filter(|entry| entry.tier() == Tier::ThirdParty);
        if is_installed {
            return None;
        }
        if third_party.clone().any(|entry| entry.path() == path) {
            return Some(format!(
                "`{name}` is a third-party skill; linked into your home, it has the tier `user` and counts as your own"
            ));
        }
        let installed = third_party.find(|entry| entry.name() == name)?;
        Some(format!(
            "`{}` is a third-party skill; this link has the tier `user`, counts as your own and takes its place",
            installed.id
        ))
    }

    /// Removes such links, and records it. Other files are not changed.
    pub fn unlink(&self, agent: Agent, mounts: &[SkillMount]) -> Result<LinkChange, HostError> {
        let mut change = self.link_change(agent)?;
        let recorder = self.metier().recorder()?;
        let unlinked = mounts.iter().filter_map(linkable).try_for_each(|(name, path)| {
            // A link is not what it leads to.
            let is_link = path.starts_with(&change.directory);
            let link = change.directory.join(&name);
            if !is_link && !change.links.iter().any(|one| one.is_new && one.link == link) {
                change.links.push(unlink_skill(&name, path, &change.directory)?);
            }
            Ok(())
        });
        change.record(false, recorder)?;
        unlinked.map(|()| change)
    }

    fn link_change(&self, agent: Agent) -> Result<LinkChange, HostError> {
        let home = self.metier().environment().home.as_ref();
        let home = home.ok_or(HostError::NoHome { purpose: "to link into", variables: "HOME" })?;
        let directory = home.join(agent.skills_directory());
        Ok(LinkChange { directory, links: Vec::new(), notes: Vec::new() })
    }

    /// The number of skills that an agent finds in the user's home.
    pub fn visible_to(&self, agent: Agent) -> usize {
        let home = self.metier().environment().home.as_ref();
        let directory = home.map(|home| home.join(agent.skills_directory()));
        let entries = directory.and_then(|directory| fs::read_dir(directory).ok()).into_iter().flatten();
        entries.flatten().filter(|entry| is_skill_directory(&entry.path())).count()
    }
}

impl Metier {
    /// The broken links to installed skills in an agent's directory for skills, in the user's home.
    pub fn broken_links(&self, agent: Agent) -> Vec<PathBuf> {
        let environment = self.environment();
        let directory = environment.home.as_ref().map(|home| home.join(agent.skills_directory()));
        let store = environment.store_directory();
        let leads_into_store = |link: &PathBuf| {
            let target = fs::read_link(link).ok();
            target.zip(store.as_ref()).is_some_and(|(target, store)| target.starts_with(store))
                && !link.exists()
        };
        let found =
            directory.and_then(|directory| fs::read_dir(directory).ok()).into_iter().flatten().flatten();
        let mut links: Vec<PathBuf> = found.map(|entry| entry.path()).filter(leads_into_store).collect();
        links.sort();
        links
    }
}
