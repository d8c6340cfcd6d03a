//! Stores, installs and verifies skills: files by their digest, skills by the digest of their manifest, safe
//! unpacking of untrusted archives, reproducible packing, and signatures over digests.
//!
//! [`Store::keep`] stores the content of a skill and [`Store::manifest`] finds it again later. The digest is checked
//! on every read, so corrupted content is an error.
//!
//! [`unpack`] reads archives, [`ArchiveLayout`] lists the skills in them, and [`pack`] writes them. [`sign`] and
//! [`verify`] handle signatures with the keys of a [`TrustFile`]. `metier-scan` scans a skill before it is installed;
//! [`unpack_subjects`] unpacks an archive in memory for the scan.

mod archive;
mod candidate;
mod change;
mod check;
mod error;
mod generation;
mod http;
mod install;
mod lock;
mod pack;
mod plant;
mod plugin;
mod provenance;
mod signature;
mod source;
mod staging;
mod store;
mod trust;
mod withdrawn;

pub use archive::{
    ArchiveError, ArchiveFile, ArchiveFormat, ArchiveLayout, ArchiveLimits, EntryProblem, FileWriter,
    NameProblem, SkippedEntry, SkippedReason, UnpackedArchive, skill_digest, unpack, unpack_subjects,
};
pub use change::{ChangeKind, PlannedChange};
pub use check::{SweepReport, VerifiedSkill};
pub use error::StoreError;
pub use generation::InstalledSkills;
pub use http::{DownloadAccess, DownloadCredential, HostLookup};
pub use install::{InstallOptions, InstallRequest, Installation, SkillSelection};
pub use lock::{LOCK_FILE, LockedSkill, Lockfile};
pub use pack::{PackedSkill, pack};
pub use plugin::{
    MANIFESTS, MARKETPLACES, ManifestKind, Marketplace, PluginEntry, PluginManifest, PluginProblem,
    PluginSource,
};
pub use provenance::{Provenance, ScanSummary, ValidSignature};
pub use signature::{NAMESPACE, SignatureError, Signer, sign, verify};
pub use source::{
    ArchiveSource, DirectorySource, DownloadSource, FetchContext, FetchedSource, GIT_HOST, GitAddress,
    GitSource, IndexArtifact, IndexEntry, IndexProblem, OciAddress, ParsedSource, SiteSource, SkillIndex,
    SkillSource, SourceAddress, SourcePlace, parse_source,
};
pub use staging::Basket;
pub use store::Store;
pub use trust::{TrustError, TrustFile};
