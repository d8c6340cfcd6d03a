//! `metier.lock`: the installed skills, their sources and the digests of their files. The text is deterministic and
//! sorted, so that diffs stay small.

use std::path::Path;

use metier_catalog::{Requires, read_requires, read_version};
use metier_skill::{Digest, Manifest, ManifestFile, Profile, SkillName, Tier};
use serde::{Deserialize, Serialize};

use crate::StoreError;
use crate::source::git::{is_address, is_commit};

pub use metier_catalog::LOCK_FILE;

/// The version of the format.
const VERSION: u32 = 1;

/// The largest lockfile that is read or written, in bytes.
pub(crate) const LOCK_MAX: u64 = 64 << 20;

const HEADER: &str = "# Written by metier: every installed skill, with the digests of its files.\n";

/// The lockfile: every installed skill, by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lockfile {
    version: u32,
    #[serde(default, rename = "skill")]
    skills: Vec<LockedSkill>,
}

/// One installed skill in the lockfile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct LockedSkill {
    /// Its name.
    pub name: String,
    /// Its version, if it declares one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Its trust tier.
    pub tier: Tier,
    /// Its source as `metier install` accepts it, without reference and path.
    pub source: String,
    /// The requested branch, tag or commit: `refs/heads/main`, `refs/tags/v1`, or a commit id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The commit that the reference resolved to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Its path in the source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The digest of the whole skill.
    pub digest: Digest,
    /// The fingerprint of the key that signed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
    /// Its validation profile.
    #[serde(default, skip_serializing_if = "Profile::is_default")]
    pub profile: Profile,
    /// The skills that it requires.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<String>,
    /// Its files: the hexadecimal digest, `x` (executable) or `-`, and the path.
    pub files: Vec<String>,
}

impl LockedSkill {
    /// The skill's manifest; `None` if the files do not match the digest.
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

    /// The lines for a manifest.
    pub(crate) fn lines(manifest: &Manifest) -> Vec<String> {
        let line = |file: &ManifestFile| {
            let mode = if file.executable { 'x' } else { '-' };
            format!("{} {mode} {}", file.digest.hex(), file.path.display())
        };
        manifest.files().iter().map(line).collect()
    }

    /// Its source with path and reference, in the form that `metier install` accepts.
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
    /// A lockfile with these skills, whose names must be unique.
    pub fn new(mut skills: Vec<LockedSkill>) -> Self {
        skills.sort_by(|a, b| a.name.cmp(&b.name));
        Self { version: VERSION, skills }
    }

    /// The skills, by name.
    pub fn skills(&self) -> &[LockedSkill] {
        &self.skills
    }

    /// A copy that also has these skills; each replaces the one with its name.
    pub(crate) fn with(&self, skills: Vec<LockedSkill>) -> Self {
        let is_kept = |old: &&LockedSkill| skills.iter().all(|new| new.name != old.name);
        let mut all: Vec<LockedSkill> = self.skills.iter().filter(is_kept).cloned().collect();
        all.extend(skills);
        Self::new(all)
    }

    /// A copy for a shared directory, such as a project: sources below the directory become relative paths, as
    /// [`Store::install_locked`](crate::Store::install_locked) expects them. Also returns the skills whose sources
    /// exist only on this machine.
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

    /// Required skills that are not installed: one line each.
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

    /// The skill with this name.
    pub fn get(&self, name: &str) -> Option<&LockedSkill> {
        self.skills.iter().find(|skill| skill.name == name)
    }

    /// Parses a lockfile; `path` is used in error messages.
    pub fn parse(text: &str, path: &Path) -> Result<Self, StoreError> {
        let wrong = |reason: String| StoreError::Lock { path: path.to_owned(), reason };
        let lock: Self =
            toml::from_str(text).map_err(|error| wrong(error.to_string().trim_end().to_owned()))?;
        if lock.version != VERSION {
            return Err(wrong(format!("unsupported version {}; supported: {VERSION}", lock.version)));
        }
        for skill in &lock.skills {
            if SkillName::new(&skill.name).is_err() {
                return Err(wrong(format!("`{}` is not a valid name of a skill", skill.name)));
            }
            let is_asked = |commit: &String| is_commit(commit) && is_address(&skill.source);
            if !skill.commit.as_ref().is_none_or(is_asked) {
                return Err(wrong(format!(
                    "`{}` has a commit, but its source is not a git repository",
                    skill.name
                )));
            }
            let Some(manifest) = skill.manifest() else {
                return Err(wrong(format!("the files of `{}` do not match its digest", skill.name)));
            };
            let is_plain = |file: &ManifestFile| {
                crate::archive::name::check(file.path.as_os_str().as_encoded_bytes(), usize::MAX - 1).is_ok()
            };
            if !manifest.files().iter().all(is_plain) {
                return Err(wrong(format!("`{}` has a file with an invalid path", skill.name)));
            }
        }
        let mut names = lock.skills.iter().map(|skill| skill.name.as_str());
        if !names.clone().zip(names.by_ref().skip(1)).all(|(a, b)| a < b) {
            return Err(wrong("its skills are not sorted by name, or a name appears twice".to_owned()));
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
