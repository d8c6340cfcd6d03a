//! The runtime for Agent Skills, as one library: folders with a `SKILL.md` that teach an AI agent a craft.
//!
//! Each part is a crate of its own, along the life of a skill; here they are modules. A host that is an agent begins with
//! [`session`]; `examples/agent.rs` is one in under 80 lines.
//!
//! A program that runs scripts calls [`sandbox::launch_if_asked`] first of all in `main`.

pub use metier_catalog as catalog;
pub use metier_home as home;
pub use metier_journal as journal;
#[cfg(feature = "mcp")]
pub use metier_mcp as mcp;
pub use metier_policy as policy;
pub use metier_prompt as prompt;
pub use metier_sandbox as sandbox;
pub use metier_scan as scan;
#[cfg(feature = "search")]
pub use metier_search as search;
pub use metier_session as session;
pub use metier_skill as skill;
pub use metier_store as store;

/// The programs in the guide are run, too.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/prompt.md")]
struct Guide;
