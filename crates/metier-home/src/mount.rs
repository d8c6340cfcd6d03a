//! Mounting skills: copies of them in a directory, all of them or none.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use metier_prompt::{MountSource, SkillMount};
use metier_skill::{
    Code, Digest, Location, NameError, Origin, Rules, SkillError, SkillName, SkippedFile, SymlinkPolicy,
    effective_name, read,
};

use crate::copy::{Copied, Copy};
use crate::error::HomeError;
use crate::staging::Staging;

/// What happens if a skill is mounted under another name than its frontmatter has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Rename {
    /// The copy says the new name.
    #[default]
    Rewrite,
    /// The copy says what the skill says; some agents will not take it.
    Verbatim,
    /// It is not mounted.
    Reject,
}

/// Options for mounting skills.
#[derive(Debug, Clone)]
pub struct MountOptions {
    /// The rules that skills are checked against, with limits and the handling of symlinks.
    pub rules: Rules,
    /// Whether invalid skills are refused. Names and limits are always checked.
    pub validate: bool,
    /// How renamed skills are handled.
    pub rename: Rename,
    /// Whether the copies are writable.
    pub is_writable: bool,
    /// The maximum size of all skills together, in bytes.
    pub set_bytes: u64,
    /// The maximum size of one file other than `SKILL.md`, in bytes.
    pub file_bytes: Option<u64>,
}

impl Default for MountOptions {
    fn default() -> Self {
        Self {
            rules: Rules::standard(),
            validate: true,
            rename: Rename::default(),
            is_writable: false,
            set_bytes: 50 << 20,
            file_bytes: None,
        }
    }
}

/// A skill that was mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MountedSkill {
    /// The name that it is mounted under.
    pub name: String,
    /// The name in its frontmatter, if it has one.
    pub own_name: Option<String>,
    /// Its directory.
    pub path: PathBuf,
    /// The size of all its files.
    pub bytes: u64,
    /// The number of its files.
    pub files: usize,
    /// Files of the source that were not copied.
    pub skipped: Vec<SkippedFile>,
    /// The digest of the copy.
    pub tree_digest: Digest,
}

/// Mounts skills into a directory that is empty or does not exist: all of them, or none. If no skill is enabled, the directory is
/// not created.
pub fn mount_skills(
    mounts: &[SkillMount],
    directory: &Path,
    options: &MountOptions,
) -> Result<Vec<MountedSkill>, HomeError> {
    let (staging, mounted) = stage(mounts, directory, options, |_| Ok(()))?;
    if let Some(staging) = staging {
        staging.become_directory(directory)?;
    }
    Ok(mounted)
}

/// Adds skills to an existing directory of skills: each in one step, all of them or none.
pub fn add_skills(
    mounts: &[SkillMount],
    directory: &Path,
    options: &MountOptions,
) -> Result<Vec<MountedSkill>, HomeError> {
    let is_free = |skill: &Named<'_>| {
        let first = directory.join(&skill.name);
        if fs::symlink_metadata(&first).is_err() {
            return Ok(());
        }
        Err(HomeError::Duplicate { name: skill.name.clone(), first, second: skill.given.clone() })
    };
    let (staging, mounted) = stage(mounts, directory, options, is_free)?;
    let Some(staging) = staging else { return Ok(mounted) };
    fs::create_dir_all(directory).map_err(HomeError::io("make", directory))?;
    for (number, skill) in mounted.iter().enumerate() {
        if let Err(error) = staging.give(&skill.name, &skill.path) {
            // Another process was faster, or the disk is full: skills that were already added are removed.
            for added in &mounted[..number] {
                crate::staging::retire(&added.path)?;
            }
            return Err(error);
        }
    }
    Ok(mounted)
}

/// Copies skills into a directory that is not visible yet, beside the target; `None` without skills. The error
/// is that of the first skill that fails.
fn stage(
    mounts: &[SkillMount],
    directory: &Path,
    options: &MountOptions,
    check: impl Fn(&Named<'_>) -> Result<(), HomeError>,
) -> Result<(Option<Staging>, Vec<MountedSkill>), HomeError> {
    let mut seen = BTreeMap::new();
    let enabled = mounts.iter().filter(|mount| mount.is_enabled());
    let mut named = Vec::new();
    let mut wrong = Ok(());
    for mount in enabled {
        let found = Named::new(mount, &mut seen).and_then(|skill| check(&skill).map(|()| skill));
        match found {
            Ok(skill) => named.push(skill),
            Err(error) => {
                wrong = Err(error);
                break;
            }
        }
    }
    if named.is_empty() {
        return wrong.map(|()| (None, Vec::new()));
    }
    // It would be copied while it grows.
    let place = directory.ancestors().find_map(|above| fs::canonicalize(above).ok()).unwrap_or_default();
    if let Some(outer) = named.iter().find(|skill| skill.path.is_dir() && place.starts_with(&skill.path)) {
        return Err(HomeError::Inside { skill: outer.given.clone(), directory: directory.to_owned() });
    }
    let staging = Staging::beside(directory)?;
    let copied = copy_all(&named, staging.path(), options)?;
    wrong?;
    let mounted = named.into_iter().zip(copied).map(|(skill, copied)| skill.mounted(directory, copied));
    Ok((Some(staging), mounted.collect()))
}

/// How many skills make it worth to have help.
const ALONE: usize = 8;

/// Copies skills into a directory, several at once.
fn copy_all(skills: &[Named<'_>], into: &Path, options: &MountOptions) -> Result<Vec<Copied>, HomeError> {
    let helpers =
        if skills.len() > ALONE { thread::available_parallelism().map_or(1, usize::from).min(4) } else { 1 };
    let (next, failed, bytes) = (AtomicUsize::new(0), AtomicUsize::new(usize::MAX), AtomicU64::new(0));
    let work = || {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            // What comes after a skill that failed is not needed any more.
            if number >= skills.len() || number > failed.load(Ordering::Relaxed) {
                return done;
            }
            let copied = skills[number].find(options).and_then(|skill| {
                let copied = skill.copy(&into.join(skill.name), options)?;
                within(bytes.fetch_add(copied.bytes, Ordering::Relaxed) + copied.bytes, options)?;
                Ok(copied)
            });
            if copied.is_err() {
                failed.fetch_min(number, Ordering::Relaxed);
            }
            done.push((number, copied));
        }
    };
    let mut all = thread::scope(|scope| {
        let others: Vec<_> = (1..helpers).map(|_| scope.spawn(work)).collect();
        let mut all = work();
        for other in others {
            all.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        all
    });
    all.sort_by_key(|(number, _)| *number);
    all.into_iter().map(|(_, copied)| copied).collect()
}

fn within(bytes: u64, options: &MountOptions) -> Result<(), HomeError> {
    let limit = options.set_bytes;
    if bytes <= limit {
        return Ok(());
    }
    Err(HomeError::Size { what: "the total skills size".to_owned(), limit })
}

/// A skill by the name that it is to be mounted as, which no other has.
struct Named<'a> {
    name: String,
    /// As messages show it.
    given: PathBuf,
    /// Where that is.
    path: PathBuf,
    source: &'a MountSource,
    /// What its content must be.
    expected: Option<Digest>,
}

impl<'a> Named<'a> {
    /// The first checks, in their order: the name, its rule, whether it is taken.
    fn new(mount: &'a SkillMount, seen: &mut BTreeMap<String, PathBuf>) -> Result<Self, HomeError> {
        let given = match mount.source() {
            MountSource::Path(path) => path.clone(),
            _ => PathBuf::from("(text)"),
        };
        // A link is what it leads to, for its name as for what is in it.
        let path = fs::canonicalize(&given).unwrap_or_else(|_| given.clone());
        let name =
            mount.explicit_name().map(str::to_owned).or_else(|| effective_name(&path)).unwrap_or_default();
        SkillName::new(name.as_str()).map_err(|problem: NameError| HomeError::Name {
            name: name.clone(),
            path: given.clone(),
            problem,
        })?;
        if let Some(first) = seen.insert(name.clone(), given.clone()) {
            return Err(HomeError::Duplicate { name, first, second: given });
        }
        Ok(Self { name, given, path, source: mount.source(), expected: mount.expected_digest() })
    }

    /// The other checks: whether there is anything, whether that is a skill.
    fn find(&self, options: &MountOptions) -> Result<Source<'_>, HomeError> {
        let kind = match self.source {
            MountSource::SkillMd(text) => Kind::Text(text),
            _ => Kind::Location(Location::find(&self.path).map_err(|error| match error {
                SkillError::NotFound { .. } => HomeError::NotFound { path: self.given.clone() },
                source => HomeError::Copy { name: self.name.clone(), path: self.given.clone(), source },
            })?),
        };
        let source = Source { name: &self.name, path: &self.given, kind, expected: self.expected };
        if options.validate {
            source.validate(&options.rules)?;
        }
        Ok(source)
    }

    fn mounted(self, directory: &Path, copied: Copied) -> MountedSkill {
        MountedSkill {
            path: directory.join(&self.name),
            name: self.name,
            own_name: copied.own_name,
            bytes: copied.bytes,
            files: copied.files,
            skipped: copied.skipped,
            tree_digest: copied.tree_digest,
        }
    }
}

/// A skill that is there.
struct Source<'a> {
    name: &'a str,
    path: &'a Path,
    kind: Kind<'a>,
    expected: Option<Digest>,
}

enum Kind<'a> {
    Text(&'a str),
    Location(Location),
}

impl Source<'_> {
    fn validate(&self, rules: &Rules) -> Result<(), HomeError> {
        let reading = match &self.kind {
            Kind::Text(text) => read(text.as_bytes(), Origin { file: "SKILL.md", directory: None }, rules),
            Kind::Location(location) => match location.validate(rules) {
                Ok(reading) => reading,
                Err(source) => return Err(self.copy_error(source)),
            },
        };
        let Some(error) = reading.diagnostics.iter().find(|found| found.is_error()) else { return Ok(()) };
        if error.code == Code::SkillTooLarge {
            let what = format!("the total size of skill `{}` at {}", self.name, self.path.display());
            return Err(HomeError::Size { what, limit: rules.limits.skill_bytes });
        }
        Err(HomeError::Validation {
            name: self.name.to_owned(),
            path: self.path.to_owned(),
            reason: error.message.clone(),
            diagnostics: reading.diagnostics,
        })
    }

    fn copy_error(&self, source: SkillError) -> HomeError {
        HomeError::Copy { name: self.name.to_owned(), path: self.path.to_owned(), source }
    }

    fn copy(&self, target: &Path, options: &MountOptions) -> Result<Copied, HomeError> {
        let source = match &self.kind {
            Kind::Text(_) => self.path,
            Kind::Location(location) => location.path(),
        };
        let mut copy = Copy::new(self.name, source, target, options).expecting(self.expected);
        match &self.kind {
            Kind::Text(text) => copy.file(Path::new("SKILL.md"), false, text.as_bytes())?,
            Kind::Location(location) if location.is_single_file() => copy.single_file(location.path())?,
            Kind::Location(location) if options.rules.symlinks == SymlinkPolicy::Skip => {
                copy.directory(location.path())?;
            }
            Kind::Location(location) => copy.directory_with_links(location.path())?,
        }
        copy.finish()
    }
}
