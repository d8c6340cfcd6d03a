//! Whether what is installed still is what was installed, and what of the store nobody needs any more.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use metier_skill::{Digest, Folder, Limits, Manifest};
use rayon::prelude::*;
use serde::Serialize;

use crate::StoreError;
use crate::change::differences;
use crate::generation::InstalledSkills;
use crate::lock::LockedSkill;
use crate::plant::folders;
use crate::staging::remove;
use crate::store::Store;

/// What is younger may belong to somebody who has not said so yet.
const GRACE: Duration = Duration::from_hours(1);

/// Write permission for anybody, and the right to run as somebody else: nothing in a tree has them.
const TOO_MUCH: u32 = 0o6222;

/// Whether one installed skill is what it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct VerifiedSkill {
    /// Its name.
    pub name: String,
    /// The digest that it should have; none where it should not be there at all.
    pub digest: Option<Digest>,
    /// What is different: `+`, `-` or `~` and a file, or why it cannot be told. Nothing where all is well.
    pub differences: Vec<String>,
}

impl VerifiedSkill {
    /// Whether all is well.
    pub const fn is_fine(&self) -> bool {
        self.differences.is_empty()
    }
}

/// What was removed, or would be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SweepReport {
    /// Skills.
    pub trees: usize,
    /// Files.
    pub objects: usize,
    /// Bytes.
    pub bytes: u64,
    /// Skills and files that nobody needs, and that are too young to go.
    pub young: usize,
}

impl Store {
    /// Digests installed skills again: those of these names, or all, and with them whatever else is where installed skills are found.
    pub fn verify_installed(&self, names: &[String]) -> Result<Vec<VerifiedSkill>, StoreError> {
        loop {
            let Some((generation, installed)) = self.installed_at()? else {
                return InstalledSkills::default().named(names).map(|_| Vec::new());
            };
            let skills = installed.named(names)?;
            let mut found: Vec<_> =
                skills.par_iter().map(|skill| self.verified(skill, &generation)).collect();
            if names.is_empty() {
                found.extend(strangers(&generation, &installed));
            }
            // What another process replaced meanwhile is not what was changed.
            if found.iter().all(VerifiedSkill::is_fine) || self.generation()?.as_ref() == Some(&generation) {
                return Ok(found);
            }
        }
    }

    /// Whether a skill that was found in a directory is what was installed there; what is elsewhere was not.
    pub fn is_as_installed(&self, directory: &Path, digest: &Digest) -> bool {
        let Ok(root) = fs::canonicalize(self.root()) else { return true };
        let Ok(place) = fs::canonicalize(directory) else { return !directory.starts_with(self.root()) };
        let Ok(below) = place.strip_prefix(root) else { return true };
        // Trees are called by their digests, and nothing else in the store is a skill.
        let is_tree =
            |tree: &Path| tree.strip_prefix("trees").is_ok_and(|tree| tree == Path::new(&digest.hex()));
        below.parent().is_some_and(is_tree)
    }

    pub(crate) fn verified(&self, skill: &LockedSkill, generation: &Path) -> VerifiedSkill {
        let mut differences = Vec::new();
        let tree = self.tree(&skill.digest, &skill.name);
        let link = generation.join("skills").join(skill.tier.as_str()).join(&skill.name);
        let leads = fs::canonicalize(&link).ok();
        if leads.is_none() || leads != fs::canonicalize(&tree).ok() {
            differences.push(format!("{} does not lead to it", link.display()));
        }
        let everywhere = entries(&generation.join("skills")).into_iter().map(|tier| tier.join(&skill.name));
        let is_other = |path: &PathBuf| *path != link && fs::symlink_metadata(path).is_ok();
        differences.extend(everywhere.filter(is_other).map(|path| not_locked(&path)));
        match skill.manifest() {
            Some(manifest) => differences.extend(tree_differences(&tree, &manifest)),
            None => differences.push("the lock's files are not those of its digest".to_owned()),
        }
        VerifiedSkill { name: skill.name.clone(), digest: Some(skill.digest), differences }
    }

    /// Removes what is neither installed nor referred to: `kept` are the skills that a journal can still ask for.
    pub fn sweep(
        &self,
        kept: &HashSet<Digest>,
        now: SystemTime,
        dry_run: bool,
        patience: Duration,
    ) -> Result<SweepReport, StoreError> {
        let _held = if dry_run { None } else { Some(self.hold(patience)?) };
        let installed = self.installed()?;
        // Whoever still reads the state before comes to its end.
        let states: Vec<InstalledSkills> = self.states().into_iter().chain([installed]).collect();
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
        let is_going = |digest: &Digest, path: &Path, used: &HashSet<Digest>| {
            !used.contains(digest) && is_old(path, now)
        };
        let is_unused = |digest: Option<&Digest>, used: &HashSet<Digest>| {
            digest.is_none_or(|digest| !used.contains(digest))
        };
        let young_trees = self
            .kept_trees()
            .iter()
            .filter(|(digest, path)| is_unused(Some(digest), &trees) && !is_old(path, now))
            .count();
        let young_objects = self
            .kept_objects()
            .iter()
            .filter(|(digest, path)| is_unused(digest.as_ref(), &objects) && !is_old(path, now))
            .count();
        let mut gone_trees = self.kept_trees();
        gone_trees.retain(|(digest, path)| is_going(digest, path, &trees));
        let mut gone_objects = self.kept_objects();
        gone_objects.retain(|(digest, path)| match digest {
            Some(digest) => is_going(digest, path, &objects),
            None => is_old(path, now),
        });
        let paths = gone_trees.iter().map(|(_, path)| path).chain(gone_objects.iter().map(|(_, path)| path));
        let swept = SweepReport {
            trees: gone_trees.len(),
            objects: gone_objects.len(),
            bytes: freed(paths.cloned()),
            young: young_trees + young_objects,
        };
        if !dry_run {
            // Objects first: a tree that goes renews those which are in it, and they would look young.
            for (_, path) in gone_objects.iter().filter(|(_, path)| is_old(path, now)) {
                let _ = fs::remove_file(path);
            }
            for (_, path) in &gone_trees {
                remove(path);
            }
        }
        Ok(swept)
    }

    /// The trees that there are. What the store did not make is not its to remove.
    fn kept_trees(&self) -> Vec<(Digest, PathBuf)> {
        let trees = entries(&self.trees()).into_iter();
        trees.filter_map(|path| Some((digest_of(path.file_name()?.to_str()?)?, path))).collect()
    }

    /// The objects that there are, and what was to become one.
    fn kept_objects(&self) -> Vec<(Option<Digest>, PathBuf)> {
        let mut found = Vec::new();
        for above in entries(&self.root().join("objects")) {
            // A link would lead to what is somebody else's.
            let is_own = fs::symlink_metadata(&above).is_ok_and(|meta| meta.is_dir());
            let Some(first) = above.file_name().and_then(OsStr::to_str).filter(|_| is_own) else { continue };
            for path in entries(&above) {
                let is_directory = fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_dir());
                let Some(rest) = path.file_name().and_then(OsStr::to_str) else { continue };
                let digest = digest_of(&format!("{first}{}", rest.strip_suffix(".x").unwrap_or(rest)));
                let is_ours = first.len() == 2 && (digest.is_some() || rest.starts_with(".tmp"));
                if is_ours && !is_directory {
                    found.push((digest, path));
                }
            }
        }
        found
    }
}

/// What is where installed skills are found, and has the name of none.
fn strangers(generation: &Path, installed: &InstalledSkills) -> Vec<VerifiedSkill> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in entries(&generation.join("skills")).into_iter().flat_map(|tier| entries(&tier)) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if installed.get(&name).is_none() {
            found.entry(name).or_default().push(not_locked(&path));
        }
    }
    found.into_iter().map(|(name, differences)| VerifiedSkill { name, digest: None, differences }).collect()
}

fn not_locked(path: &Path) -> String {
    format!("+ {}: the lock does not have it; remove it, or it goes with the next change", path.display())
}

/// What a tree has more, less or other than the skill that it should be.
pub(crate) fn tree_differences(tree: &Path, manifest: &Manifest) -> Vec<String> {
    let captured = Folder::open(tree).and_then(|folder| folder.capture(&Limits::default(), |_, _| Ok(())));
    let captured = match captured {
        Ok(captured) => captured,
        Err(error) => return vec![error.to_string()],
    };
    let mut lines = differences(manifest, &captured.manifest);
    let skipped: HashSet<&Path> = captured.skipped.iter().map(|skipped| skipped.path.as_path()).collect();
    lines.extend(captured.skipped.iter().map(|skipped| format!("+ {}", skipped.path.display())));
    let (own, found) = (folders(manifest), folders(&captured.manifest));
    let mut more = Vec::new();
    each_below(tree, Path::new(""), &mut |path, meta| {
        if skipped.contains(path) {
            return false;
        }
        let is_same = manifest.get(path) == captured.manifest.get(path);
        if meta.is_dir() && !own.contains(path) && !found.contains(path) {
            more.push(format!("+ {}/", path.display()));
        } else if is_same && meta.permissions().mode() & TOO_MUCH != 0 {
            let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
            more.push(format!("~ {} (its permissions)", path.display()));
        }
        true
    });
    more.sort_unstable();
    lines.extend(more);
    lines
}

/// Calls for a directory and for everything below it, links not followed; `visit` says whether to go below.
fn each_below(root: &Path, path: &Path, visit: &mut dyn FnMut(&Path, &Metadata) -> bool) {
    // With nothing joined to it: a file has nothing below.
    let here = if path.as_os_str().is_empty() { root.to_owned() } else { root.join(path) };
    let Ok(meta) = fs::symlink_metadata(&here) else { return };
    if visit(path, &meta) && meta.is_dir() {
        for entry in entries(&here) {
            each_below(root, &path.join(entry.file_name().unwrap_or_default()), visit);
        }
    }
}

/// The bytes that nobody needs once these are gone: of files that have no name elsewhere.
fn freed(paths: impl Iterator<Item = PathBuf>) -> u64 {
    let mut seen: HashMap<(u64, u64), u64> = HashMap::new();
    let mut bytes = 0;
    for path in paths {
        each_below(&path, Path::new(""), &mut |_, meta| {
            let names = seen.entry((meta.dev(), meta.ino())).or_default();
            *names += 1;
            bytes += if meta.is_file() && *names == meta.nlink() { meta.len() } else { 0 };
            true
        });
    }
    bytes
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// The digest that a name is, as the store writes it.
fn digest_of(digits: &str) -> Option<Digest> {
    format!("sha256:{digits}").parse::<Digest>().ok().filter(|digest| digest.hex() == digits)
}

/// Whether something was made long enough ago that whoever made it has said what for.
fn is_old(path: &Path, now: SystemTime) -> bool {
    let changed = fs::symlink_metadata(path).ok().map(|meta| {
        let seconds = u64::try_from(meta.ctime()).unwrap_or_default();
        let nanoseconds = u32::try_from(meta.ctime_nsec()).unwrap_or_default();
        SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds)
    });
    changed.and_then(|changed| now.duration_since(changed).ok()).is_some_and(|age| age > GRACE)
}
