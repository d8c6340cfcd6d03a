//! Links that make skills visible to an agent in the user's own home, and removing them. Never without a record.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use metier_catalog::{Entry, SkillPlace};
use metier_home::{Agent, LinkedSkill, link_skill, unlink_skill};
use metier_journal::{Event, RecordContext};
use metier_prompt::{MountSource, SkillMount};
use metier_skill::{SkillName, Tier, is_skill_directory};

use crate::catalog::HostCatalog;
use crate::error::HostError;
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
    /// The given skills, or all, without checking whether they may be used: for removing links. Links of the agent whose skill was
    /// removed are found by their name, and without names if they lead into the store.
    pub fn mounts_to_remove(&self, agent: Agent, named: &[String]) -> Result<Vec<SkillMount>, HostError> {
        let directory = self.link_change(agent)?.directory;
        if !named.is_empty() {
            let mount = |text: &String| match broken_link(&directory, text) {
                Some(mount) => Ok(mount),
                None => Ok(self.named(text)?.mount),
            };
            return named.iter().map(mount).collect();
        }
        // A link may lead to any copy of a skill.
        let known = self.all().iter().filter(|entry| entry.builtin().is_none());
        let known = known.flat_map(Entry::places).map(|place: &SkillPlace| SkillMount::new(&place.path));
        let store = self.metier().environment().store_directory();
        let links = fs::read_dir(&directory).into_iter().flatten().flatten();
        let broken = links.filter_map(|link| broken_link(&directory, link.file_name().to_str()?));
        let is_installed = |mount: &SkillMount| match (mount.source(), &store) {
            (MountSource::Path(path), Some(store)) => path.starts_with(store),
            _ => false,
        };
        Ok(known.chain(broken.filter(is_installed)).collect())
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
        let entry = self.all().iter().find(|entry| entry.path() == path)?;
        let store = self.metier().environment().store_directory();
        let is_installed = store.is_some_and(|store| path.starts_with(store));
        (entry.tier() == Tier::ThirdParty && !is_installed).then(|| {
            format!(
                "`{name}` is a third-party skill; linked into your home, it has the tier `user` and counts as your own"
            )
        })
    }

    /// Removes such links, and records it. Other files are not changed.
    pub fn unlink(&self, agent: Agent, mounts: &[SkillMount]) -> Result<LinkChange, HostError> {
        let mut change = self.link_change(agent)?;
        let recorder = self.metier().recorder()?;
        let unlinked = mounts.iter().filter_map(linkable).try_for_each(|(name, path)| {
            // A link is not what it leads to.
            if !path.starts_with(&change.directory) {
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
