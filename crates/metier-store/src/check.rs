//! Verifies installed skills, and removes content of the store that is no longer needed.

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

/// Younger content may belong to another process that has not recorded it yet.
const GRACE: Duration = Duration::from_hours(1);

/// Write permission for anyone, setuid and setgid: no file of a tree has them.
const TOO_MUCH: u32 = 0o6222;

/// The result of verifying one installed skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct VerifiedSkill {
    /// Its name.
    pub name: String,
    /// The expected digest; `None` for something that the lock does not list.
    pub digest: Option<Digest>,
    /// The differences: `+`, `-` or `~` and a file, or the reason why the skill could not be verified. Empty if the
    /// skill is unchanged.
    pub differences: Vec<String>,
}

impl VerifiedSkill {
    /// Whether the skill is unchanged.
    pub const fn is_fine(&self) -> bool {
        self.differences.is_empty()
    }
}

/// What a sweep removed, or would remove.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SweepReport {
    /// Number of skills.
    pub trees: usize,
    /// Number of files.
    pub objects: usize,
    /// Number of bytes.
    pub bytes: u64,
    /// Skills and files that are not needed, but too young to be removed.
    pub young: usize,
}

impl Store {
    /// Computes the digests of installed skills again: of the named ones, or of all. With all, it also reports files
    /// in the directories of installed skills that the lock does not list.
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
            // Another process may have replaced it meanwhile; that is not a modification.
            if found.iter().all(VerifiedSkill::is_fine) || self.generation()?.as_ref() == Some(&generation) {
                return Ok(found);
            }
        }
    }

    /// Whether a skill found in a directory is unchanged since it was installed; `None` for a skill outside the
    /// store.
    pub fn is_as_installed(&self, directory: &Path, digest: &Digest) -> bool {
        let Ok(root) = fs::canonicalize(self.root()) else { return true };
        let Ok(place) = fs::canonicalize(directory) else { return !directory.starts_with(self.root()) };
        let Ok(below) = place.strip_prefix(root) else { return true };
        // Trees are named by their digests, and nothing else in the store is a skill.
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
            differences.push(format!("{} does not point to it", link.display()));
        }
        let everywhere = entries(&generation.join("skills")).into_iter().map(|tier| tier.join(&skill.name));
        let is_other = |path: &PathBuf| *path != link && fs::symlink_metadata(path).is_ok();
        differences.extend(everywhere.filter(is_other).map(|path| not_locked(&path)));
        match skill.manifest() {
            Some(manifest) => differences.extend(tree_differences(&tree, &manifest)),
            None => differences.push("the files listed in the lockfile do not match its digest".to_owned()),
        }
        VerifiedSkill { name: skill.name.clone(), digest: Some(skill.digest), differences }
    }

    /// Removes content that is neither installed nor referenced. `kept` lists the skills that a journal may still
    /// refer to.
    pub fn sweep(
        &self,
        kept: &HashSet<Digest>,
        now: SystemTime,
        dry_run: bool,
        patience: Duration,
    ) -> Result<SweepReport, StoreError> {
        let _held = if dry_run { None } else { Some(self.hold(patience)?) };
        let installed = self.installed()?;
        // Processes that still read the previous state can finish.
        let states: Vec<InstalledSkills> = self.states().into_iter().chain([installed]).collect();
        let skills = || states.iter().flat_map(|state| state.lock().skills());
        let trees: HashSet<Digest> = skills().map(|skill| skill.digest).collect();
        let mut objects: HashSet<Digest> = kept | &trees;
        for skill in skills() {
            objects.extend(skill.manifest().iter().flat_map(Manifest::files).map(|file| file.digest));
        }
        for digest in kept {
            // A state that is already gone refers to nothing.
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
            // Objects first: removing a tree updates the times of its objects, which would then look young.
            for (_, path) in gone_objects.iter().filter(|(_, path)| is_old(path, now)) {
                let _ = fs::remove_file(path);
            }
            for (_, path) in &gone_trees {
                remove(path);
            }
        }
        Ok(swept)
    }

    /// The trees. Only entries that the store made are listed.
    fn kept_trees(&self) -> Vec<(Digest, PathBuf)> {
        let trees = entries(&self.trees()).into_iter();
        trees.filter_map(|path| Some((digest_of(path.file_name()?.to_str()?)?, path))).collect()
    }

    /// The objects, and temporary files that were to become objects.
    fn kept_objects(&self) -> Vec<(Option<Digest>, PathBuf)> {
        let mut found = Vec::new();
        for above in entries(&self.root().join("objects")) {
            // A link would lead to files outside the store.
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

/// Entries in the directories of installed skills that the lock does not list.
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
    format!("+ {}: not in the lockfile; the next change removes it", path.display())
}

/// How the files of a tree differ from the manifest.
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

/// Visits a directory and everything below it without following links; `visit` decides whether to descend.
fn each_below(root: &Path, path: &Path, visit: &mut dyn FnMut(&Path, &Metadata) -> bool) {
    // Without a trailing path component: a file has nothing below it.
    let here = if path.as_os_str().is_empty() { root.to_owned() } else { root.join(path) };
    let Ok(meta) = fs::symlink_metadata(&here) else { return };
    if visit(path, &meta) && meta.is_dir() {
        for entry in entries(&here) {
            each_below(root, &path.join(entry.file_name().unwrap_or_default()), visit);
        }
    }
}

/// The bytes that are freed when these are removed: only files without another hard link count.
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

/// The digest that a name encodes, in the form that the store writes.
fn digest_of(digits: &str) -> Option<Digest> {
    format!("sha256:{digits}").parse::<Digest>().ok().filter(|digest| digest.hex() == digits)
}

/// Whether something is old enough that the process that made it must have recorded it.
fn is_old(path: &Path, now: SystemTime) -> bool {
    let changed = fs::symlink_metadata(path).ok().map(|meta| {
        let seconds = u64::try_from(meta.ctime()).unwrap_or_default();
        let nanoseconds = u32::try_from(meta.ctime_nsec()).unwrap_or_default();
        SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds)
    });
    changed.and_then(|changed| now.duration_since(changed).ok()).is_some_and(|age| age > GRACE)
}
