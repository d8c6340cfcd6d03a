//! The composition root: environment and settings turned into catalogs, sessions, stores, homes and servers.
//!
//! A program starts with a [`Metier`]. [`Metier::open`] reads the default settings, as the command line does;
//! [`Metier::builder`] changes them.
//!
//! ```
//! # let place = tempfile::tempdir()?;
//! # std::fs::create_dir_all(place.path().join("skills/pdf"))?;
//! # std::fs::write(place.path().join("skills/pdf/SKILL.md"), "---\nname: pdf\ndescription: Fills in forms.\n---\nText\n")?;
//! # let environment = metier_host::Environment::new(place.path(), place.path());
//! use metier_host::Metier;
//!
//! let metier = Metier::builder().root("skills").environment(environment).build()?;
//! let catalog = metier.catalog()?;
//! for skill in catalog.for_models() {
//!     println!("{}", skill.entry.name());
//! }
//! let list = catalog.skill_list().budget(2_000).render();
//! assert!(list.text.contains("Fills in forms."));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Without features this crate lists skills and renders them for a prompt. `session` adds sessions with a journal and the
//! sandbox; `search`, `store`, `home`, `mcp`, `postgres` and `otel` add the rest.
//!
//! *Architecture invariant:* only `environment.rs` reads the environment and the clock. This crate prints nothing; it returns
//! messages for the user.

#[cfg(feature = "session")]
mod answers;
mod approver;
mod catalog;
#[cfg(all(feature = "home", feature = "store"))]
mod checkup;
mod environment;
mod error;
#[cfg(feature = "mcp")]
mod gateway;
#[cfg(feature = "guard")]
mod guarding;
#[cfg(feature = "harness")]
mod harness;
#[cfg(feature = "home")]
mod home;
#[cfg(feature = "guard")]
mod hook;
mod host;
#[cfg(feature = "session")]
mod keys;
#[cfg(feature = "home")]
mod linking;
mod machine;
#[cfg(feature = "store")]
mod netrc;
#[cfg(feature = "openai")]
mod openai;
mod opened;
mod policy;
#[cfg(feature = "session")]
mod recording;
#[cfg(feature = "session")]
mod refusals;
#[cfg(feature = "mcp")]
mod server;
#[cfg(feature = "session")]
mod session;
mod settings;
mod skill_list;
#[cfg(feature = "store")]
mod store;
#[cfg(feature = "session")]
mod trusting;
#[cfg(feature = "session")]
mod work;

pub use approver::{Approve, TerminalApprover, ask_line, confirm, is_terminal_attached};
pub use catalog::HostCatalog;
#[cfg(all(feature = "home", feature = "store"))]
pub use checkup::{
    Check, CheckStatus, CheckedIndex, CheckedJournal, CheckedProtection, CheckedRoot, Checkup, Inspection,
    LocalAgent, Removal, RunnableTiers, remove_leftovers,
};
#[cfg(feature = "session")]
pub use environment::now;
pub use environment::{Environment, SystemClock};
pub use error::HostError;
#[cfg(feature = "guard")]
pub use guarding::{
    GuardChange, GuardFileChange, GuardInstall, GuardInstallError, GuardScope, GuardState, InstalledGuard,
};
#[cfg(feature = "harness")]
pub use harness::HomeBuilder;
#[cfg(feature = "guard")]
pub use hook::{GuardProof, HookRequest, RunGuard, answer_hook};
pub use host::{Metier, MetierBuilder};
#[cfg(feature = "home")]
pub use linking::LinkChange;
pub use machine::ThisMachine;
#[cfg(feature = "openai")]
pub use openai::OpenAiBuilder;
pub use opened::{OpenedSkill, digest_of};
pub use policy::{organisation, organisation_file, policy_file, real};
#[cfg(feature = "session")]
pub use recording::Recorder;
#[cfg(feature = "session")]
pub use refusals::Refusal;
#[cfg(feature = "mcp")]
pub use server::{HostServer, OpenServer};
#[cfg(feature = "session")]
pub use session::{HostSession, SessionBuilder};
pub use settings::{
    ArchivePeriod, ArchiveSetting, Layer, OBEYED_FILES, OTHER_VARIABLES, Overrides, PROJECT_FILE,
    RecordingSettings, SETTINGS, ServerNaming, ServerSetting, Setting, SettingInfo, SettingOrigin, Settings,
    StateSetting, TelemetryTable, read_named, read_regular,
};
pub use skill_list::SkillListBuilder;
#[cfg(feature = "store")]
pub use store::HostStore;
#[cfg(feature = "session")]
pub use trusting::{TrustChange, distrust_folder, trust_folder};
#[cfg(feature = "session")]
pub use work::UsualWork;
