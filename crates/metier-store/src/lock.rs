//! `metier.lock`: which skills are installed, where they came from, and the bytes that they are. Its text is the same for the same
//! skills, in an order that keeps differences small.

use std::path::Path;

use metier_catalog::{Requires, read_requires, read_version};
use metier_skill::{Digest, Manifest, ManifestFile, Profile, SkillName, Tier};
use serde::{Deserialize, Serialize};

use crate::StoreError;
use crate::source::git::{is_address, is_commit};

pub use metier_catalog::LOCK_FILE;

/// The format that is written.
const VERSION: u32 = 1;

/// Bytes of a file that is read, and so the most that are written.
pub(crate) const LOCK_MAX: u64 = 64 << 20;

const HEADER: &str = "# Written by metier: every skill that is installed, and the very bytes that it is.\n";

/// Every installed skill, by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lockfile {
    version: u32,
    #[serde(default, rename = "skill")]
    skills: Vec<LockedSkill>,
}

/// One installed skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct LockedSkill {
    /// Its name.
    pub name: String,
    /// What it calls its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// How far it is trusted.
    pub tier: Tier,
    /// Where it came from, as `metier install` takes it, without reference and path.
    pub source: String,
    /// The branch, tag or commit that was asked for: `refs/heads/main`, `refs/tags/v1`, or a commit's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// What that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Where in the source it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The digest of the whole skill.
    pub digest: Digest,
    /// The fingerprint of the key that signed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
    /// What it is held to.
    #[serde(default, skip_serializing_if = "Profile::is_default")]
    pub profile: Profile,
    /// The skills that it needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<String>,
    /// Its files: the digits of the digest, `x` or `-`, the path.
    pub files: Vec<String>,
}

impl LockedSkill {
    /// What it consists of; `None` where the lines say something else than the digest.
    pub fn manifest(&self) -> Option<Manifest> {
        let file = |line: &String| {
            let (digits, rest) = line.split_once(' ')?;
            let (mode, path) = rest.split_once(' ')?;
            let digest = format!("sha256:{digits}").parse().ok()?;
            let executable = match mode {
                "x" => true,
                "-" => false,
                _ => return None,
            };
            Some(ManifestFile::new(path, executable, digest))
        };
        let manifest = Manifest::new(self.files.iter().map(file).collect::<Option<_>>()?);
        (manifest.digest() == self.digest).then_some(manifest)
    }

    /// The lines that say what a manifest does.
    pub(crate) fn lines(manifest: &Manifest) -> Vec<String> {
        let line = |file: &ManifestFile| {
            let mode = if file.executable { 'x' } else { '-' };
            format!("{} {mode} {}", file.digest.hex(), file.path.display())
        };
        manifest.files().iter().map(line).collect()
    }

    /// Where it came from, as a person would write it.
    pub fn origin(&self) -> String {
        let mut text = self.source.clone();
        if let Some(path) = self.path.as_ref().filter(|_| self.commit.is_some()) {
            text = format!("{text}//{path}");
        }
        let short = |full: &'_ str| {
            full.trim_start_matches("refs/heads/").trim_start_matches("refs/tags/").to_owned()
        };
        self.reference.iter().fold(text, |text, reference| format!("{text}#{}", short(reference)))
    }
}

impl Default for Lockfile {
    fn default() -> Self {
        Self { version: VERSION, skills: Vec::new() }
    }
}

impl Lockfile {
    /// These skills, of which no two have one name.
    pub fn new(mut skills: Vec<LockedSkill>) -> Self {
        skills.sort_by(|a, b| a.name.cmp(&b.name));
        Self { version: VERSION, skills }
    }

    /// The skills, by name.
    pub fn skills(&self) -> &[LockedSkill] {
        &self.skills
    }

    /// The same with these skills, each instead of the one that has its name.
    pub(crate) fn with(&self, skills: Vec<LockedSkill>) -> Self {
        let is_kept = |old: &&LockedSkill| skills.iter().all(|new| new.name != old.name);
        let mut all: Vec<LockedSkill> = self.skills.iter().filter(is_kept).cloned().collect();
        all.extend(skills);
        Self::new(all)
    }

    /// The same for a file in a directory that others get as well: sources below the directory are named from there, as
    /// [`Store::install_locked`](crate::Store::install_locked) reads them. With it come the skills whose sources only this machine has.
    pub fn beside(&self, directory: &Path) -> (Self, Vec<&LockedSkill>) {
        let real = std::fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
        let mut here = Vec::new();
        let skills = self.skills.iter().map(|skill| {
            let source = Path::new(&skill.source);
            let below = source.strip_prefix(directory).or_else(|_| source.strip_prefix(&real)).ok();
            let below = below.and_then(Path::to_str).filter(|_| skill.commit.is_none());
            if below.is_none() && (source.is_absolute() || skill.source.starts_with("file:")) {
                here.push(skill);
            }
            let source = below.map_or_else(|| skill.source.clone(), |below| format!("./{below}"));
            LockedSkill { source, ..skill.clone() }
        });
        (Self { version: self.version, skills: skills.collect() }, here)
    }

    /// What skills need and is not here: a line each.
    pub(crate) fn unmet(&self) -> Vec<String> {
        let is_met = |needed: &Requires| {
            let Some(skill) = self.get(&needed.name) else { return false };
            let version = skill.version.as_deref().and_then(read_version);
            needed.range.as_ref().is_none_or(|range| version.is_some_and(|version| range.matches(&version)))
        };
        let needs = self.skills.iter().flat_map(|skill| {
            let needed = skill.requires.iter().flat_map(|text| read_requires(text).into_iter().flatten());
            needed.map(|needed| (skill.name.as_str(), needed))
        });
        let unmet = needs.filter(|(_, needed)| !is_met(needed));
        unmet.map(|(name, needed)| format!("`{name}` needs `{needed}`, which is not installed")).collect()
    }

    /// The skill of a name.
    pub fn get(&self, name: &str) -> Option<&LockedSkill> {
        self.skills.iter().find(|skill| skill.name == name)
    }

    /// Reads a lock; `path` is for what is said of it.
    pub fn parse(text: &str, path: &Path) -> Result<Self, StoreError> {
        let wrong = |reason: String| StoreError::Lock { path: path.to_owned(), reason };
        let lock: Self =
            toml::from_str(text).map_err(|error| wrong(error.to_string().trim_end().to_owned()))?;
        if lock.version != VERSION {
            return Err(wrong(format!("its version is {}, and only {VERSION} is known", lock.version)));
        }
        for skill in &lock.skills {
            if SkillName::new(&skill.name).is_err() {
                return Err(wrong(format!("`{}` is no name of a skill", skill.name)));
            }
            let is_asked = |commit: &String| is_commit(commit) && is_address(&skill.source);
            if !skill.commit.as_ref().is_none_or(is_asked) {
                return Err(wrong(format!(
                    "`{}` comes from no git repository that could be asked",
                    skill.name
                )));
            }
            let Some(manifest) = skill.manifest() else {
                return Err(wrong(format!("the files of `{}` are not those of its digest", skill.name)));
            };
            let is_plain = |file: &ManifestFile| {
                crate::archive::name::check(file.path.as_os_str().as_encoded_bytes(), usize::MAX - 1).is_ok()
            };
            if !manifest.files().iter().all(is_plain) {
                return Err(wrong(format!("`{}` has a file that no skill can have", skill.name)));
            }
        }
        let mut names = lock.skills.iter().map(|skill| skill.name.as_str());
        if !names.clone().zip(names.by_ref().skip(1)).all(|(a, b)| a < b) {
            return Err(wrong("its skills are not in the order of their names, each once".to_owned()));
        }
        Ok(lock)
    }

    /// The text of the file.
    pub fn text(&self) -> Result<String, StoreError> {
        let written = toml::to_string_pretty(self);
        let written = written
            .map_err(|error| StoreError::Lock { path: LOCK_FILE.into(), reason: error.to_string() })?;
        Ok(format!("{HEADER}{written}"))
    }
}
