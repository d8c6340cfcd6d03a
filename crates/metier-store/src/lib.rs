//! Where skills are kept and how they travel: every file by its digest, every skill by the digest of its manifest;
//! archives read without trust and written reproducibly; signatures over digests.
//!
//! Whoever wants to know later what a skill was when it was used finds it here ([`Store::keep`], [`Store::manifest`]).
//! What is read is digested again, so that a changed byte is an error and never an answer.
//!
//! [`unpack`] reads archives, [`ArchiveLayout`] says which skills are in them, [`pack`] writes them. [`sign`] and [`verify`] are
//! for signatures, with the keys that a [`TrustFile`] knows. `metier-scan` looks at a skill before it is
//! installed; [`unpack_subjects`] hands it what is in an archive.

mod archive;
mod candidate;
mod change;
mod check;
mod error;
mod generation;
mod install;
mod lock;
mod pack;
mod plant;
mod provenance;
mod signature;
mod source;
mod staging;
mod store;
mod trust;

pub use archive::{
    ArchiveError, ArchiveFile, ArchiveFormat, ArchiveLayout, ArchiveLimits, EntryProblem, FileWriter,
    NameProblem, SkippedEntry, SkippedReason, UnpackedArchive, skill_digest, unpack, unpack_subjects,
};
pub use change::{ChangeKind, PlannedChange};
pub use check::{SweepReport, VerifiedSkill};
pub use error::StoreError;
pub use generation::InstalledSkills;
pub use install::{InstallOptions, InstallRequest, Installation, SkillSelection};
pub use lock::{LOCK_FILE, LockedSkill, Lockfile};
pub use pack::{PackedSkill, pack};
pub use provenance::{Provenance, ScanSummary, ValidSignature};
pub use signature::{NAMESPACE, SignatureError, Signer, sign, verify};
pub use source::{
    ArchiveSource, DirectorySource, FetchContext, FetchedSource, GIT_HOST, GitSource, SkillSource,
    parse_source,
};
pub use staging::Basket;
pub use store::Store;
pub use trust::{TrustError, TrustFile};
