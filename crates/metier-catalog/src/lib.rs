//! Finds Agent Skills below roots, ranks them by trust, indexes them and watches them for changes.
//!
//! A [`Scanner`] turns [`Root`]s into a [`Catalog`], an immutable snapshot of all skills: their content,
//! location and state, and which of several with the same name wins. What cannot be used is reported as a
//! [`Problem`] with a path and a reason; it never stops a scan.
//!
//! *Architecture invariant:* this crate reads disks, but the environment, the clock and the terminal are passed
//! in. It does not parse `SKILL.md`; `metier-skill` does.

mod builtin;
mod bytes;
mod catalog;
mod compatibility;
mod entry;
mod error;
mod evidence;
mod index;
mod problem;
mod record;
mod requires;
mod root;
mod scan;
mod scanner;
mod shown;
mod stamp;
mod state;
mod tier;
mod trees;
mod trust;
mod walk;
mod watch;

pub use builtin::Builtin;
pub use catalog::{Catalog, CatalogChanges, RootReport, UnusableSkill};
pub use compatibility::{Compatibility, Machine, Os, Requirement, RequirementStatus, compatibility};
pub use entry::{Entry, Listing, SkillId, SkillPlace};
pub use error::CatalogError;
pub use evidence::Evidence;
pub use metier_skill::Tier;
pub use problem::{Problem, ProblemCode};
pub use record::SkillFacts;
pub use requires::{Requires, RequiresError, read_requires, read_version};
pub use root::{AGENT_DIRECTORIES, LOCK_FILE, Root, RootLocations, installed_directory, installed_roots};
pub use scan::Bounds;
pub use scanner::{CatalogOptions, Scanner};
pub use shown::ShownSkills;
pub use state::{State, StateRule, StateRules};
pub use tier::{Precedence, Scope};
pub use trust::TrustStore;
pub use walk::{WalkItem, walk_skills};
pub use watch::{CatalogUpdate, WatchOptions, Watcher};
