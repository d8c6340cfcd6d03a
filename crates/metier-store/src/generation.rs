//! The installed skills, changed in one step: one directory per state, and one link to the current one.
//!
//! ```text
//! current ─▶ generations/7/ ─┬ metier.lock, provenance.json
//!                            └ skills/<tier>/<name> ─▶ trees/<digest>/<name>/   read-only, its files shared by links
//! ```
//!
//! A new state is written completely before the link is renamed. The previous state stays until the next change, so
//! that processes that still read it can finish.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use metier_catalog::installed_directory;
use metier_skill::{Digest, Tier, nearest_names};
use rayon::prelude::*;

use crate::StoreError;
use crate::error::io_error;
use crate::lock::{LOCK_FILE, LOCK_MAX, LockedSkill, Lockfile};
use crate::plant::close;
use crate::provenance::{PROVENANCE_FILE, Provenance, Provenances};
use crate::staging::{Staged, Staging, remove};
use crate::store::Store;

/// How often to check whether the other process is done.
const AGAIN: Duration = Duration::from_millis(20);

/// How often to read again if the state changed while it was read.
const READS: usize = 10;

/// The installed skills, with their lock entries and provenance.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstalledSkills {
    lock: Lockfile,
    provenances: Provenances,
}

impl InstalledSkills {
    /// The lockfile.
    pub const fn lock(&self) -> &Lockfile {
        &self.lock
    }

    /// The installed skill with this name.
    pub fn get(&self, name: &str) -> Option<&LockedSkill> {
        self.lock.get(name)
    }

    /// The provenance of the skill with this name.
    pub fn provenance(&self, name: &str) -> Option<&Provenance> {
        self.provenances.get(name)
    }

    /// The installed skills with these names; all of them if there are no names.
    pub(crate) fn named(&self, names: &[String]) -> Result<Vec<&LockedSkill>, StoreError> {
        if let Some(name) = names.iter().find(|name| self.get(name).is_none()) {
            return Err(self.not_installed(name));
        }
        let all = self.lock.skills().iter();
        Ok(all.filter(|skill| names.is_empty() || names.contains(&skill.name)).collect())
    }

    /// The error for a skill that is not installed, with similar names.
    pub(crate) fn not_installed(&self, name: &str) -> StoreError {
        let near = nearest_names(name, self.lock.skills().iter().map(|skill| skill.name.as_str()));
        StoreError::NotInstalled {
            name: name.to_owned(),
            near: near.into_iter().map(str::to_owned).collect(),
        }
    }

    /// A copy that also has these skills; each replaces the one with its name.
    pub(crate) fn with(&self, skills: Vec<(LockedSkill, Provenance)>) -> Self {
        let mut next = self.without(|name| skills.iter().any(|(skill, _)| skill.name == name));
        let mut locked = next.lock.skills().to_vec();
        for (skill, provenance) in skills {
            next.provenances.insert(skill.name.clone(), provenance.following(self.provenance(&skill.name)));
            locked.push(skill);
        }
        next.lock = Lockfile::new(locked);
        next
    }

    /// A copy without the matching skills.
    pub(crate) fn without(&self, is_gone: impl Fn(&str) -> bool) -> Self {
        let kept = self.lock.skills().iter().filter(|skill| !is_gone(&skill.name)).cloned().collect();
        let mut provenances = self.provenances.clone();
        provenances.retain(|name, _| !is_gone(name));
        Self { lock: Lockfile::new(kept), provenances }
    }

    /// Writes the files that describe the state. It fails if they would be too large to be read back, because then no
    /// later change would be possible.
    fn files(&self) -> Result<[(&'static str, Vec<u8>); 2], StoreError> {
        let provenances = serde_json::to_vec_pretty(&self.provenances);
        let provenances = provenances
            .map_err(|error| StoreError::Lock { path: PROVENANCE_FILE.into(), reason: error.to_string() })?;
        let files = [(LOCK_FILE, self.lock.text()?.into_bytes()), (PROVENANCE_FILE, provenances)];
        match files.iter().map(|(file, text)| (*file, text.len() as u64)).find(|(_, size)| *size > LOCK_MAX) {
            Some((file, size)) => Err(StoreError::TooLarge { file, size, limit: LOCK_MAX }),
            None => Ok(files),
        }
    }
}

/// The exclusive lock for changing the installed skills.
#[derive(Debug)]
pub(crate) struct Held(#[expect(dead_code, reason = "it is held, not used")] File);

impl Store {
    /// The directory with the installed skills of a tier, by name.
    pub fn skills_directory(&self, tier: Tier) -> PathBuf {
        installed_directory(self.root(), tier)
    }

    /// The currently installed skills.
    pub fn installed(&self) -> Result<InstalledSkills, StoreError> {
        Ok(self.installed_at()?.map_or_else(InstalledSkills::default, |(_, installed)| installed))
    }

    /// The same with the directory of the current state; `None` if nothing was ever installed.
    pub(crate) fn installed_at(&self) -> Result<Option<(PathBuf, InstalledSkills)>, StoreError> {
        let current = self.root().join("current");
        let mut last = None;
        for _ in 0..READS {
            let Some(generation) = self.generation()? else { return Ok(None) };
            match read_generation(&generation) {
                Ok(installed) => return Ok(Some((generation, installed))),
                // It may have been replaced twice in the meantime.
                Err(error) if self.generation()?.as_ref() == Some(&generation) => return Err(error),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| io_error("read", &current)(io::ErrorKind::NotFound.into())))
    }

    /// The directory of the current state.
    pub(crate) fn generation(&self) -> Result<Option<PathBuf>, StoreError> {
        let current = self.root().join("current");
        match fs::read_link(&current) {
            Ok(target) if target.parent() == Some(Path::new("generations")) && number(&target).is_some() => {
                Ok(Some(self.root().join(target)))
            }
            // Only the store creates this link, and it creates no other targets.
            Ok(_) => {
                Err(io_error("use", &current)(io::Error::other("it does not point to a state of this store")))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io_error("read", &current)(error)),
        }
    }

    /// The directory of an installed skill's files.
    pub(crate) fn tree(&self, digest: &Digest, name: &str) -> PathBuf {
        self.trees().join(digest.hex()).join(name)
    }

    pub(crate) fn trees(&self) -> PathBuf {
        self.root().join("trees")
    }

    /// Waits for the exclusive lock, at most this long. Leftovers of other processes are removed.
    pub(crate) fn hold(&self, patience: Duration) -> Result<Held, StoreError> {
        let path = self.root().join("lock");
        let open = || {
            DirBuilder::new().recursive(true).mode(0o700).create(self.root())?;
            File::options().create(true).append(true).read(true).open(&path)
        };
        let file = open().map_err(io_error("write to", &path))?;
        let mut waited = Duration::ZERO;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if waited < patience => {
                    thread::sleep(AGAIN);
                    waited += AGAIN;
                }
                Err(TryLockError::WouldBlock) => return Err(StoreError::Locked { path }),
                Err(TryLockError::Error(error)) => return Err(io_error("lock", &path)(error)),
            }
        }
        Staging::sweep(self);
        self.forget_generations();
        Ok(Held(file))
    }

    /// Switches to a new state, in one step. Staged skills become trees first.
    pub(crate) fn switch(
        &self,
        _held: &Held,
        staging: &Staging<'_>,
        next: &InstalledSkills,
        staged: &[(String, Staged)],
    ) -> Result<(), StoreError> {
        let files = next.files()?;
        let number = self.numbers().into_iter().max().unwrap_or(0) + 1;
        let made = staging.scratch()?;
        let (written, planted) = rayon::join(
            || Self::write_generation(&made, next, &files),
            || staged.par_iter().try_for_each(|(name, skill)| staging.plant(name, skill)),
        );
        // Everything is synced to disk before the link changes. Objects are visible as soon as they exist, even if a
        // later step fails.
        let synced = staging.sync();
        written.and(planted).and(synced)?;
        let generations = self.root().join("generations");
        let step = || {
            DirBuilder::new().recursive(true).mode(0o700).create(&generations)?;
            let generation = generations.join(number.to_string());
            fs::rename(&made, &generation)?;
            // A read-only directory cannot be moved.
            close(&generation)?;
            File::open(&generations)?.sync_all()?;
            let link = staging.scratch_path("current");
            std::os::unix::fs::symlink(Path::new("generations").join(number.to_string()), &link)?;
            fs::rename(link, self.root().join("current"))?;
            File::open(self.root())?.sync_all()
        };
        step().map_err(io_error("write to", self.root()))
    }

    fn write_generation(
        directory: &Path,
        next: &InstalledSkills,
        files: &[(&str, Vec<u8>)],
    ) -> Result<(), StoreError> {
        let step = || {
            let skills = directory.join("skills");
            let mut tiers = BTreeSet::new();
            for skill in next.lock.skills() {
                let above = skills.join(skill.tier.as_str());
                if tiers.insert(skill.tier) {
                    DirBuilder::new().recursive(true).mode(0o700).create(&above)?;
                }
                let tree = Path::new("../../../../trees").join(skill.digest.hex()).join(&skill.name);
                std::os::unix::fs::symlink(tree, above.join(&skill.name))?;
            }
            for (name, text) in files {
                let mut options = OpenOptions::new();
                options
                    .write(true)
                    .create_new(true)
                    .mode(0o444)
                    .open(directory.join(name))?
                    .write_all(text)?;
            }
            // Prevents adding a skill that the lock does not list.
            let own = tiers.iter().map(|tier| skills.join(tier.as_str()));
            own.chain(tiers.first().map(|_| skills.clone())).try_for_each(|directory| close(&directory))
        };
        step().map_err(io_error("write", directory))
    }

    /// All states that exist, as far as they can be read.
    pub(crate) fn states(&self) -> Vec<InstalledSkills> {
        let generations = self.root().join("generations");
        let numbers = self.lasting().unwrap_or_else(|| self.numbers()).into_iter();
        numbers.filter_map(|number| read_generation(&generations.join(number.to_string())).ok()).collect()
    }

    /// The numbers of all existing states.
    fn numbers(&self) -> Vec<u64> {
        let entries = fs::read_dir(self.root().join("generations")).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    }

    /// The numbers of the current and the previous state; `None` if the current one cannot be determined.
    fn lasting(&self) -> Option<Vec<u64>> {
        let current = self.generation().ok()?.as_deref().and_then(number);
        let before = |current: u64| self.numbers().into_iter().filter(|number| *number < current).max();
        Some(current.into_iter().chain(current.and_then(before)).collect())
    }

    /// Removes states before the previous one, and incomplete ones.
    fn forget_generations(&self) {
        let Some(lasting) = self.lasting() else { return };
        for number in self.numbers().into_iter().filter(|number| !lasting.contains(number)) {
            remove(&self.root().join("generations").join(number.to_string()));
        }
    }
}

/// The number of a state, from its path.
fn number(generation: &Path) -> Option<u64> {
    generation.file_name()?.to_str()?.parse().ok()
}

fn read_generation(directory: &Path) -> Result<InstalledSkills, StoreError> {
    let read = |name: &str| {
        let path = directory.join(name);
        let mut text = String::new();
        let read = File::open(&path).and_then(|file| file.take(LOCK_MAX + 1).read_to_string(&mut text));
        read.map_err(io_error("read", &path))?;
        if text.len() as u64 > LOCK_MAX {
            return Err(StoreError::Lock { path, reason: format!("it is larger than {LOCK_MAX} bytes") });
        }
        Ok((text, path))
    };
    let (text, path) = read(LOCK_FILE)?;
    let lock = Lockfile::parse(&text, &path)?;
    let (text, path) = read(PROVENANCE_FILE)?;
    let provenances =
        serde_json::from_str(&text).map_err(|error| StoreError::Lock { path, reason: error.to_string() })?;
    Ok(InstalledSkills { lock, provenances })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SKILL: &str = r#"{ "name": "pdf", "tier": "third_party", "source": "", "files": [],
        "digest": "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" }"#;

    const PROVENANCE: &str = r#"{ "source": "", "time": "now", "tier": "third_party", "tier_from": "default",
        "digest": "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "scan": { "verdict": "clean", "rules": [], "is_accepted": false } }"#;

    #[test]
    fn what_could_not_be_read_back_is_not_written() {
        let place = tempfile::tempdir().unwrap();
        let store = Store::new(place.path());
        let held = store.hold(Duration::ZERO).unwrap();
        let staging = Staging::new(&store).unwrap();
        let most = usize::try_from(LOCK_MAX).unwrap();
        for file in [LOCK_FILE, PROVENANCE_FILE] {
            let mut skill: LockedSkill = serde_json::from_str(SKILL).unwrap();
            let mut provenance: Provenance = serde_json::from_str(PROVENANCE).unwrap();
            let long = if file == LOCK_FILE { &mut skill.source } else { &mut provenance.source };
            *long = "x".repeat(most);
            let next = InstalledSkills::default().with(vec![(skill, provenance)]);
            let error = store.switch(&held, &staging, &next, &[]).unwrap_err();
            assert_eq!(error.code(), "store-too-large");
            assert!(error.to_string().contains(file), "{error}");
            assert_eq!(store.installed().unwrap(), InstalledSkills::default());
        }
    }

    #[test]
    fn a_lock_that_is_too_large_is_called_so() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join(PROVENANCE_FILE), "{}").unwrap();
        let file = File::create(place.path().join(LOCK_FILE)).unwrap();
        file.set_len(LOCK_MAX + 1).unwrap();
        let error = read_generation(place.path()).unwrap_err().to_string();
        assert!(error.contains("it is larger than 67108864 bytes"), "{error}");
    }
}
