//! Whether what is installed still is what was installed, and what of the store nobody needs any more.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use metier_skill::{Digest, Folder, Limits, Manifest};
use rayon::prelude::*;
use serde::Serialize;

use crate::StoreError;
use crate::change::differences;
use crate::generation::Installed;
use crate::lock::LockedSkill;
use crate::staging::remove;
use crate::store::Store;

/// What is younger may belong to somebody who has not said so yet.
const GRACE: Duration = Duration::from_hours(1);

/// Whether one installed skill is what it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Verified {
    /// Its name.
    pub name: String,
    /// The digest that it should have.
    pub digest: Digest,
    /// What is different: `+`, `-` or `~` and a file, or why it cannot be told. Nothing where all is well.
    pub differences: Vec<String>,
}

impl Verified {
    /// Whether all is well.
    pub const fn is_fine(&self) -> bool {
        self.differences.is_empty()
    }
}

/// What was removed, or would be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Swept {
    /// Skills.
    pub trees: usize,
    /// Files.
    pub objects: usize,
    /// Bytes.
    pub bytes: u64,
}

impl Store {
    /// Digests installed skills again: those of these names, or all.
    pub fn verify_installed(&self, names: &[String]) -> Result<Vec<Verified>, StoreError> {
        loop {
            let (generation, installed) = self.installed_at()?.unwrap_or_default();
            let skills = installed.named(names)?;
            let found: Vec<_> = skills.par_iter().map(|skill| self.verified(skill, &generation)).collect();
            // What another process replaced meanwhile is not what was changed.
            if found.iter().all(Verified::is_fine) || self.generation()?.unwrap_or_default() == generation {
                return Ok(found);
            }
        }
    }

    pub(crate) fn verified(&self, skill: &LockedSkill, generation: &Path) -> Verified {
        let mut differences = Vec::new();
        let tree = self.tree(&skill.digest, &skill.name);
        let link = generation.join("skills").join(skill.tier.as_str()).join(&skill.name);
        let leads = fs::canonicalize(&link).ok();
        if leads.is_none() || leads != fs::canonicalize(&tree).ok() {
            differences.push(format!("{} does not lead to it", link.display()));
        }
        let captured =
            Folder::open(&tree).and_then(|folder| folder.capture(&Limits::default(), |_, _| Ok(())));
        match (captured, skill.manifest()) {
            (Ok(captured), Some(manifest)) => {
                differences.extend(self::differences(&manifest, &captured.manifest));
                differences
                    .extend(captured.skipped.iter().map(|skipped| format!("+ {}", skipped.path.display())));
            }
            (Err(error), _) => differences.push(error.to_string()),
            (_, None) => differences.push("the lock's files are not those of its digest".to_owned()),
        }
        Verified { name: skill.name.clone(), digest: skill.digest, differences }
    }

    /// Removes what is neither installed nor referred to: `kept` are the skills that a journal can still ask for.
    pub fn sweep(
        &self,
        kept: &HashSet<Digest>,
        now: SystemTime,
        dry_run: bool,
        patience: Duration,
    ) -> Result<Swept, StoreError> {
        let _held = if dry_run { None } else { Some(self.hold(patience)?) };
        let installed = self.installed()?;
        // Whoever still reads the state before comes to its end.
        let states: Vec<Installed> = self.states().into_iter().chain([installed]).collect();
        let skills = || states.iter().flat_map(|state| state.lock().skills());
        let trees: HashSet<Digest> = skills().map(|skill| skill.digest).collect();
        let mut objects: HashSet<Digest> = kept | &trees;
        for skill in skills() {
            objects.extend(skill.manifest().iter().flat_map(Manifest::files).map(|file| file.digest));
        }
        for digest in kept {
            // One that is gone already refers to nothing.
            objects.extend(self.manifest(digest).iter().flat_map(Manifest::files).map(|file| file.digest));
        }
        let mut swept = Swept::default();
        for (digest, path) in entries(&self.trees()) {
            if !digest.is_some_and(|digest| trees.contains(&digest)) && is_old(&path, now) {
                swept.trees += 1;
                if !dry_run {
                    remove(&path);
                }
            }
        }
        for above in fs::read_dir(self.root().join("objects")).into_iter().flatten().flatten() {
            let first = above.file_name().to_string_lossy().into_owned();
            for entry in fs::read_dir(above.path()).into_iter().flatten().flatten() {
                let path = entry.path();
                let rest = entry.file_name().to_string_lossy().into_owned();
                let digest = format!("sha256:{first}{}", rest.trim_end_matches(".x")).parse::<Digest>().ok();
                if digest.is_some_and(|digest| objects.contains(&digest)) || !is_old(&path, now) {
                    continue;
                }
                swept.objects += 1;
                // What a tree that stays has as well takes its room all the same.
                swept.bytes += entry
                    .metadata()
                    .map_or(0, |meta| if meta.nlink() > 1 && dry_run { 0 } else { meta.len() });
                if !dry_run {
                    let _ = fs::remove_file(&path);
                }
            }
        }
        Ok(swept)
    }
}

fn entries(directory: &Path) -> Vec<(Option<Digest>, PathBuf)> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .map(|entry| (format!("sha256:{}", entry.file_name().to_string_lossy()).parse().ok(), entry.path()))
        .collect()
}

/// Whether something was made long enough ago that whoever made it has said what for.
fn is_old(path: &Path, now: SystemTime) -> bool {
    let changed = fs::symlink_metadata(path).ok().map(|meta| {
        let seconds = u64::try_from(meta.ctime()).unwrap_or_default();
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    });
    changed.and_then(|changed| now.duration_since(changed).ok()).is_some_and(|age| age > GRACE)
}
