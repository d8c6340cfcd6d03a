//! Errors of the store: installing, updating, verifying and reading skills.

use std::io;
use std::path::{Path, PathBuf};

use metier_skill::{Coded as _, Digest, SkillError, Tier, did_you_mean};

use crate::{ArchiveError, SignatureError, TrustError};

/// Why an operation of the store failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// An object was never stored, or was removed.
    #[error("{digest} is not in the store {}", store.display())]
    Missing {
        /// The store.
        store: PathBuf,
        /// The missing digest.
        digest: Digest,
    },
    /// The content of a stored file does not match its digest.
    #[error("{} was modified: its digest is not {digest}; remove it or restore its content", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// The expected digest.
        digest: Digest,
    },
    /// The object with this digest is not a skill's manifest.
    #[error("{digest} is in the store, but is not a skill")]
    NotASkill {
        /// The requested digest.
        digest: Digest,
    },
    /// An archive that was refused.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The signature of a skill is invalid.
    #[error("`{name}`: {source}; sign it again with `metier sign`, or remove the signature")]
    SignatureOf {
        /// The skill.
        name: String,
        /// Why it is invalid.
        source: SignatureError,
    },
    /// A signature cannot be made or read.
    #[error(transparent)]
    Signature(#[from] SignatureError),
    /// The trust file cannot be used.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// Another process holds the lock of the store for too long.
    #[error("another process holds the lock {}; wait until it is done and try again", path.display())]
    Locked {
        /// The lock file.
        path: PathBuf,
    },
    /// The lockfile, or a file next to it, cannot be used.
    #[error("{} cannot be used: {reason}", path.display())]
    Lock {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The files that describe the installed skills would become larger than the limit for reading them.
    #[error(
        "too many skills: `{file}` would have {size} bytes, the limit is {limit}; install fewer skills or remove some first"
    )]
    TooLarge {
        /// The file.
        file: &'static str,
        /// Its size in bytes.
        size: u64,
        /// The largest allowed size in bytes.
        limit: u64,
    },
    /// Not a valid source of skills.
    #[error("`{text}` {problem}")]
    Source {
        /// The source as it was given.
        text: String,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// The text of a source has two readings.
    #[error("`{text}` is ambiguous: write {first}, or {second}")]
    Ambiguous {
        /// The source as it was given.
        text: String,
        /// What to write for the first reading, and what it means.
        first: String,
        /// The same for the second reading.
        second: String,
    },
    /// A source is a path, and nothing is there.
    #[error("`{text}` does not exist{}", if text.contains('#') { "; for a reference of a local repository, use `file:///PATH#REFERENCE`" } else { "" })]
    NoSource {
        /// The source as it was given.
        text: String,
    },
    /// The source does not have a requested skill.
    #[error("`{source_name}` has no skill `{name}`; it has {}", if has.is_empty() { "none of the requested skills" } else { has })]
    NoSuchSkill {
        /// The source.
        source_name: String,
        /// The requested skill.
        name: String,
        /// The skills that the source has.
        has: String,
    },
    /// The source has several skills, and none was chosen.
    #[error(
        "`{source_name}` has {count} skills: {names}; choose with `--skill NAME`, or install all with `--all`"
    )]
    Several {
        /// The source.
        source_name: String,
        /// How many skills it has.
        count: usize,
        /// Some of their names.
        names: String,
    },
    /// Two skills to install have the same name.
    #[error("two skills have the name `{name}`: one in `{first}`, one in `{second}`; choose one of them")]
    Twice {
        /// Their name.
        name: String,
        /// Where the first one is.
        first: String,
        /// Where the second one is.
        second: String,
    },
    /// A skill is invalid under its validation profile.
    #[error(
        "`{name}` is not a valid skill: {reason}; run `metier validate` for details, or use `--profile lenient`"
    )]
    Invalid {
        /// The skill, or its folder.
        name: String,
        /// The first error.
        reason: String,
    },
    /// The scan blocks the skill.
    #[error(
        "the scan blocks `{name}`: {findings}; review it with `metier scan`, or use `--accept-risk` to install it anyway"
    )]
    Risk {
        /// The skill.
        name: String,
        /// What the scan found.
        findings: String,
    },
    /// A skill with this name is already installed from another source.
    #[error(
        "`{name}` is already installed from `{origin}`; run `metier update {name}` to update it, or use `--replace` to install this one instead"
    )]
    Occupied {
        /// The name.
        name: String,
        /// The source of the installed skill.
        origin: String,
    },
    /// The skill would be replaced by an older version.
    #[error("`{name}` would be rolled back to {what}; use `--allow-rollback` to allow it")]
    Rollback {
        /// The skill.
        name: String,
        /// The older version.
        what: String,
    },
    /// The skill is not installed.
    #[error("`{name}` is not installed{}", did_you_mean(near, "`metier lock` lists every installed skill"))]
    NotInstalled {
        /// The name.
        name: String,
        /// Similar names of installed skills.
        near: Vec<String>,
    },
    /// The skill does not match the lock.
    #[error("`{name}` does not match the lockfile: {difference}")]
    NotAsLocked {
        /// The skill.
        name: String,
        /// The difference.
        difference: String,
    },
    /// The skill changed after the user agreed to install it.
    #[error("`{name}` changed after you reviewed it, so nothing was installed; run the command again")]
    NotAsShown {
        /// The skill.
        name: String,
    },
    /// A tag points to another commit than before.
    #[error(
        "the tag `{tag}` of `{source_name}` was moved from {was} to {now}; ask its owner why before you trust it, or use `--allow-moved-tag`"
    )]
    TagMoved {
        /// The repository.
        source_name: String,
        /// The tag.
        tag: String,
        /// The locked commit.
        was: String,
        /// The current commit.
        now: String,
    },
    /// A download failed.
    #[error("cannot download {url}: {reason}")]
    Download {
        /// The URL, without its query.
        url: String,
        /// The reason.
        reason: String,
    },
    /// A download does not have the expected digest.
    #[error("{url} has changed or was damaged: its digest is {found}, not {expected}; nothing was installed")]
    WrongDigest {
        /// The URL, without its query.
        url: String,
        /// The digest that was given, or that the index has.
        expected: Digest,
        /// The digest of what was downloaded.
        found: Digest,
    },
    /// The system's certificates cannot be read.
    #[error("the system's certificates cannot be read: {reason}; install the package `ca-certificates`")]
    Certificates {
        /// The reason.
        reason: String,
    },
    /// git failed.
    #[error("git cannot {doing}: {reason}")]
    Git {
        /// What git was asked to do.
        doing: &'static str,
        /// Why it failed.
        reason: String,
    },
    /// Skills are to be trusted more than installing them allows.
    #[error(
        "skills cannot be installed as `{tier}`: only a signature by a key that is trusted for `{tier}` gives that trust; use `user` or `third_party`"
    )]
    RaisedTier {
        /// The tier.
        tier: Tier,
    },
    /// An error of the skill itself.
    #[error(transparent)]
    Skill(#[from] SkillError),
    /// An I/O error.
    #[error("cannot {doing} {}", path.display())]
    Io {
        /// The operation that failed.
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl StoreError {
    /// The stable code of the error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "store-missing",
            Self::Changed { .. } => "store-changed",
            Self::NotASkill { .. } => "store-not-a-skill",
            Self::Locked { .. } => "store-locked",
            Self::Lock { .. } => "store-lock",
            Self::TooLarge { .. } => "store-too-large",
            Self::Source { .. } => "store-source",
            Self::Ambiguous { .. } => "store-ambiguous",
            Self::NoSource { .. } => "store-no-source",
            Self::NoSuchSkill { .. } => "store-no-such-skill",
            Self::Several { .. } => "store-several-skills",
            Self::Twice { .. } => "store-twice",
            Self::Invalid { .. } => "store-invalid",
            Self::Risk { .. } => "store-risk",
            Self::Occupied { .. } => "store-occupied",
            Self::Rollback { .. } => "store-rollback",
            Self::NotInstalled { .. } => "store-not-installed",
            Self::NotAsLocked { .. } => "store-not-as-locked",
            Self::NotAsShown { .. } => "store-not-as-shown",
            Self::TagMoved { .. } => "store-tag-moved",
            Self::Download { .. } => "store-download",
            Self::WrongDigest { .. } => "store-wrong-digest",
            Self::Certificates { .. } => "store-certificates",
            Self::Git { .. } => "store-git",
            Self::Archive(error) => error.code(),
            Self::SignatureOf { source: error, .. } | Self::Signature(error) => error.code(),
            Self::Trust(error) => error.code(),
            Self::RaisedTier { .. } => "store-raised-tier",
            Self::Skill(error) => error.code(),
            Self::Io { .. } => "store-io",
        }
    }
}

pub(crate) fn io_error(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::Io { doing, path, source }
}
