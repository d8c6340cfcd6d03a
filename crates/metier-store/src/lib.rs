//! Where skills are kept and how they travel: every file by its digest, every skill by the digest of its manifest;
//! archives read without trust and written reproducibly; signatures over digests.
//!
//! Whoever wants to know later what a skill was when it was used finds it here ([`Store::keep`], [`Store::manifest`]).
//! What is read is digested again, so that a changed byte is an error and never an answer.
//!
//! [`unpack`] reads archives, [`Layout`] says which skills are in them, [`pack`] writes them. [`sign`] and [`verify`] are
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
    ArchiveError, ArchiveFile, ArchiveLimits, EntryProblem, Format, Layout, NameProblem, SkippedEntry,
    SkippedReason, Unpacked, Write, skill_digest, unpack, unpack_subjects,
};
pub use change::{Change, Kind};
pub use check::{Swept, Verified};
pub use error::StoreError;
pub use generation::Installed;
pub use install::{InstallOptions, Outcome, Request, Wanted};
pub use lock::{LOCK_FILE, Lock, LockedSkill};
pub use pack::{Packed, pack};
pub use provenance::{Provenance, Scanned, Signed};
pub use signature::{NAMESPACE, SignatureError, Signer, sign, verify};
pub use source::{
    ArchiveSource, DirectorySource, Fetched, Fetching, GIT_HOST, GitSource, Source, parse_source,
};
pub use staging::Basket;
pub use store::Store;
pub use trust::{TrustError, TrustFile};
