//! What can go wrong with a store.

use std::io;
use std::path::{Path, PathBuf};

use metier_skill::{Coded as _, Digest, SkillError, did_you_mean};

use crate::{ArchiveError, SignatureError, TrustError};

/// Why something cannot be kept or had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// It was never kept, or is gone.
    #[error("the store {} does not have {digest}", store.display())]
    Missing {
        /// The store.
        store: PathBuf,
        /// What is missing.
        digest: Digest,
    },
    /// What is kept under a digest is not what has that digest.
    #[error("{} was changed: it should have the digest {digest}; remove it, or put back what it was", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// What it should be.
        digest: Digest,
    },
    /// What is kept is no manifest of a skill.
    #[error("{digest} is kept, and is no skill")]
    NotASkill {
        /// What was asked for.
        digest: Digest,
    },
    /// An archive that is not to be unpacked.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The signature of a skill does not count.
    #[error("`{name}`: {source}; sign it again with `metier sign`, or remove the signature")]
    SignatureOf {
        /// The skill.
        name: String,
        /// What is wrong with its signature.
        source: SignatureError,
    },
    /// A signature that cannot be made or read.
    #[error(transparent)]
    Signature(#[from] SignatureError),
    /// A list of keys that cannot be used.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// Another process changes what is installed, and takes its time.
    #[error("another process holds {}; wait until it is done, and try again", path.display())]
    Locked {
        /// What it holds.
        path: PathBuf,
    },
    /// A lock or what stands beside it cannot be read.
    #[error("{} cannot be used: {reason}", path.display())]
    Lock {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// What is known of the installed skills would be more than is ever read back.
    #[error(
        "what is to be installed is too much: `{file}` would have {size} bytes, and {limit} is the most; install fewer skills, or remove some first"
    )]
    TooLarge {
        /// The file.
        file: &'static str,
        /// Its bytes.
        size: u64,
        /// The most that it may have.
        limit: u64,
    },
    /// Nothing that skills come from.
    #[error("`{text}` is {problem}")]
    Source {
        /// As it was written.
        text: String,
        /// What is wrong with it, and what to do.
        problem: String,
    },
    /// What was asked for is not in the source.
    #[error("`{source_name}` has no skill `{name}`; it has {}", if has.is_empty() { "none of those that were asked for" } else { has })]
    NoSuchSkill {
        /// Where it was looked for.
        source_name: String,
        /// What was asked for.
        name: String,
        /// What there is.
        has: String,
    },
    /// There are several skills, and nobody said which.
    #[error(
        "`{source_name}` has {count} skills: {names}; choose with `--skill NAME`, or take them with `--all`"
    )]
    Several {
        /// Where.
        source_name: String,
        /// How many.
        count: usize,
        /// Some of them.
        names: String,
    },
    /// Two skills of one name are to be installed.
    #[error("two skills are called `{name}`: one from `{first}`, one from `{second}`; choose one")]
    Twice {
        /// Their name.
        name: String,
        /// Where the one is.
        first: String,
        /// Where the other is.
        second: String,
    },
    /// A skill breaks the rules that it is held to.
    #[error(
        "`{name}` is no valid skill: {reason}; see `metier validate`, or hold it to less with `--profile lenient`"
    )]
    Invalid {
        /// The skill, or its folder.
        name: String,
        /// The first of what is wrong.
        reason: String,
    },
    /// The scan found what nobody should run unseen.
    #[error(
        "the scan stopped `{name}`: {findings}; look at it with `metier scan`, and say `--accept-risk` if you want it all the same"
    )]
    Risk {
        /// The skill.
        name: String,
        /// What it found.
        findings: String,
    },
    /// Another skill has the name already.
    #[error(
        "`{name}` is installed already, from `{origin}`; `metier update {name}` brings it up to date, `--replace` takes this one instead"
    )]
    Occupied {
        /// The name.
        name: String,
        /// Where the installed one came from.
        origin: String,
    },
    /// What is to be installed was there before something newer.
    #[error("`{name}` would go back to {what}; `--allow-rollback` lets it")]
    Rollback {
        /// The skill.
        name: String,
        /// To what.
        what: String,
    },
    /// No such skill is installed.
    #[error("`{name}` is not installed{}", did_you_mean(near, "`metier lock` lists every installed skill"))]
    NotInstalled {
        /// The name.
        name: String,
        /// Names of installed skills that may have been meant.
        near: Vec<String>,
    },
    /// What is there is not what is locked.
    #[error("`{name}` is not what the lock says: {difference}")]
    NotAsLocked {
        /// The skill.
        name: String,
        /// What is different.
        difference: String,
    },
    /// What was agreed to is no longer what is there.
    #[error("`{name}` has changed since it was shown, and nothing was installed; look again")]
    NotAsShown {
        /// The skill.
        name: String,
    },
    /// A tag is another commit now.
    #[error(
        "the tag `{tag}` of `{source_name}` was moved: it was {was}, and is {now}; ask its owner why before you trust either; `--allow-moved-tag` lets it be"
    )]
    TagMoved {
        /// Where.
        source_name: String,
        /// The tag.
        tag: String,
        /// The commit that is locked.
        was: String,
        /// What it is now.
        now: String,
    },
    /// git could not do what it should.
    #[error("git cannot {doing}: {reason}")]
    Git {
        /// What it should do.
        doing: &'static str,
        /// What it said.
        reason: String,
    },
    /// The skill itself.
    #[error(transparent)]
    Skill(#[from] SkillError),
    /// The disk.
    #[error("cannot {doing} {}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl StoreError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "store-missing",
            Self::Changed { .. } => "store-changed",
            Self::NotASkill { .. } => "store-not-a-skill",
            Self::Locked { .. } => "store-locked",
            Self::Lock { .. } => "store-lock",
            Self::TooLarge { .. } => "store-too-large",
            Self::Source { .. } => "store-source",
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
            Self::Git { .. } => "store-git",
            Self::Archive(error) => error.code(),
            Self::SignatureOf { source: error, .. } | Self::Signature(error) => error.code(),
            Self::Trust(error) => error.code(),
            Self::Skill(error) => error.code(),
            Self::Io { .. } => "store-io",
        }
    }
}

pub(crate) fn io_error(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::Io { doing, path, source }
}
