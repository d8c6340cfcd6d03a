//! Skills into a directory: all of them or none, each a copy that nobody has to trust the source for any more.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use metier_prompt::{MountSource, SkillMount};
use metier_skill::{
    Digest, Location, NameError, Origin, Rules, SkillError, SkillName, Skipped, SymlinkPolicy,
    effective_name, read,
};

use crate::copy::{Copied, Copy};
use crate::error::HomeError;
use crate::staging::Staging;

/// What happens where a skill is mounted as something else than it says.
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

/// How skills are mounted.
#[derive(Debug, Clone)]
pub struct MountOptions {
    /// What skills are held to, with the limits and what happens to links.
    pub rules: Rules,
    /// Whether they are held to it. Names and limits always count.
    pub validate: bool,
    /// What happens to names.
    pub rename: Rename,
    /// Whether the copies can be written to.
    pub is_writable: bool,
    /// The most bytes of all skills together.
    pub set_bytes: u64,
    /// The most bytes of one file, beside `SKILL.md`.
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
    /// What it is mounted as.
    pub name: String,
    /// What its frontmatter said, where it had one.
    pub own_name: Option<String>,
    /// Its directory.
    pub path: PathBuf,
    /// Bytes of all its files.
    pub bytes: u64,
    /// How many they are.
    pub files: usize,
    /// What of the source is not in the copy.
    pub skipped: Vec<Skipped>,
    /// Of the copy.
    pub tree_digest: Digest,
}

/// Mounts skills into a directory that is not there yet, or is empty: all of them, or none. Without any that is on, the directory is
/// not made.
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

/// Adds skills to a directory of skills that is there: each in one step, all of them or none.
pub fn add_skills(
    mounts: &[SkillMount],
    directory: &Path,
    options: &MountOptions,
) -> Result<Vec<MountedSkill>, HomeError> {
    let is_free = |skill: &Source<'_>| {
        let first = directory.join(&skill.name);
        if fs::symlink_metadata(&first).is_err() {
            return Ok(());
        }
        Err(HomeError::Duplicate { name: skill.name.clone(), first, second: skill.path.clone() })
    };
    let (staging, mounted) = stage(mounts, directory, options, is_free)?;
    let Some(staging) = staging else { return Ok(mounted) };
    fs::create_dir_all(directory).map_err(HomeError::io("make", directory))?;
    for (number, skill) in mounted.iter().enumerate() {
        if let Err(error) = staging.give(&skill.name, &skill.path) {
            // Somebody else was faster, or the disk is full: what was added goes again.
            for added in &mounted[..number] {
                crate::staging::retire(&added.path)?;
            }
            return Err(error);
        }
    }
    Ok(mounted)
}

/// Copies skills to where nobody sees them yet, beside a directory; nowhere if there are none.
fn stage(
    mounts: &[SkillMount],
    directory: &Path,
    options: &MountOptions,
    check: impl Fn(&Source<'_>) -> Result<(), HomeError>,
) -> Result<(Option<Staging>, Vec<MountedSkill>), HomeError> {
    let mut seen = BTreeMap::new();
    let mut staging: Option<Staging> = None;
    let mut mounted = Vec::new();
    let mut bytes = 0;
    for mount in mounts.iter().filter(|mount| mount.is_enabled()) {
        let skill = Source::find(mount, &mut seen, options)?;
        check(&skill)?;
        let stage = match &mut staging {
            Some(staging) => staging,
            none => none.insert(Staging::beside(directory)?),
        };
        let (copied, own_name) = skill.copy(&stage.path().join(&skill.name), options)?;
        bytes += copied.bytes;
        if bytes > options.set_bytes {
            return Err(HomeError::Size {
                what: "the total skills size".to_owned(),
                limit: options.set_bytes,
            });
        }
        mounted.push(skill.mounted(directory, copied, own_name));
    }
    Ok((staging, mounted))
}

/// A skill that is to be mounted, by a name that no other has.
struct Source<'a> {
    name: String,
    /// As messages show it.
    path: PathBuf,
    kind: Kind<'a>,
}

enum Kind<'a> {
    Text(&'a str),
    Location(Location),
}

impl<'a> Source<'a> {
    /// The checks in their order: the name, its rule, whether it is taken, whether there is anything, whether that is a skill.
    fn find(
        mount: &'a SkillMount,
        seen: &mut BTreeMap<String, PathBuf>,
        options: &MountOptions,
    ) -> Result<Self, HomeError> {
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
        let kind = match mount.source() {
            MountSource::SkillMd(text) => Kind::Text(text),
            _ => Kind::Location(Location::find(&path).map_err(|error| match error {
                SkillError::NotFound { .. } => HomeError::NotFound { path: given.clone() },
                source => HomeError::Copy { name: name.clone(), path: given.clone(), source },
            })?),
        };
        let source = Self { name, path: given, kind };
        if options.validate {
            source.validate(&options.rules)?;
        }
        Ok(source)
    }

    fn validate(&self, rules: &Rules) -> Result<(), HomeError> {
        let reading = match &self.kind {
            Kind::Text(text) => read(text.as_bytes(), Origin { file: "SKILL.md", directory: None }, rules),
            Kind::Location(location) => match location.validate(rules) {
                Ok(reading) => reading,
                Err(source) => return Err(self.copy_error(source)),
            },
        };
        let Some(error) = reading.diagnostics.iter().find(|found| found.is_error()) else { return Ok(()) };
        Err(HomeError::Validation {
            name: self.name.clone(),
            path: self.path.clone(),
            reason: error.message.clone(),
            diagnostics: reading.diagnostics,
        })
    }

    fn copy_error(&self, source: SkillError) -> HomeError {
        HomeError::Copy { name: self.name.clone(), path: self.path.clone(), source }
    }

    /// Copies it; and what it says that it is called.
    fn copy(&self, target: &Path, options: &MountOptions) -> Result<(Copied, Option<String>), HomeError> {
        let source = match &self.kind {
            Kind::Text(_) => &self.path,
            Kind::Location(location) => location.path(),
        };
        let mut copy = Copy::new(&self.name, source, target, options);
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

    fn mounted(self, directory: &Path, copied: Copied, own_name: Option<String>) -> MountedSkill {
        MountedSkill {
            path: directory.join(&self.name),
            name: self.name,
            own_name,
            bytes: copied.bytes,
            files: copied.files,
            skipped: copied.skipped,
            tree_digest: copied.tree_digest,
        }
    }
}
