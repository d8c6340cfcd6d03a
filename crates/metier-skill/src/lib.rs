//! Reads, validates, fixes, hashes and writes one Agent Skill: a directory with a `SKILL.md`.
//!
//! Reading never fails: [`read`] takes any bytes and returns the skill, as far as it could be read, and a list
//! of [`Diagnostic`]s. Each diagnostic has a position in the file and, if there is one obvious way, a [`Fix`].
//! The [`Rules`] decide by [`Profile`] what is an error and what is a warning.
//!
//! [`Location`] does the same for a path and also checks the files around `SKILL.md`.
//!
//! *Architecture invariant:* this crate does not depend on other skills, agent directories, the environment or
//! the terminal. No other crate parses `SKILL.md`.
//!
//! ```no_run
//! use metier_skill::{Rules, validate_skill};
//!
//! let reading = validate_skill("skills/code-review".as_ref(), &Rules::standard())?;
//! for found in &reading.diagnostics {
//!     println!("{}:{}:{}: {}", found.file, found.line, found.column, found.message);
//! }
//! # Ok::<(), metier_skill::SkillError>(())
//! ```

mod body;
mod client_fields;
mod code;
mod coded;
mod diagnostic;
mod digest;
pub mod disk;
mod document;
mod error;
mod escape;
mod fields;
mod fix;
mod folder;
mod lint;
mod location;
mod manifest;
mod name;
mod nearest;
mod path_text;
mod read;
mod refused_by;
mod rules;
mod secret;
mod skill;
mod text;
mod tier;
mod tool_rules;
mod tree;
mod tree_writer;
mod value;
mod visible;
mod write;
mod yaml;

pub use body::Body;
pub use code::Code;
pub use coded::Coded;
pub use diagnostic::{Diagnostic, Edit, Findings, Fix, Severity, Span, line_and_column};
pub use digest::{Digest, ParseDigestError};
pub use disk::{VCS_DIRECTORIES, is_searched};
pub use error::SkillError;
pub use escape::{Escape, Replacement, escape_xml};
pub use fields::{DESCRIPTION_MAX, find_tag};
pub use fix::apply_fixes;
pub use folder::{CapturedSkill, Folder};
pub use location::{Location, SKILL_FILES, effective_name, is_skill_directory, load_skill, validate_skill};
pub use manifest::{Manifest, ManifestFile};
pub use name::{NAME_MAX, NameError, SkillName, validate_skill_name};
pub use nearest::{did_you_mean, nearest_names};
pub use path_text::{lossy_path, lossy_paths};
pub use read::{Origin, Reading, body_of, read};
pub use rules::{Limits, Profile, Rules, SymlinkPolicy};
pub use secret::{is_secret_name, is_secret_value};
pub use skill::Skill;
pub use text::tokens;
pub use tier::{ParseTierError, Tier};
pub use tool_rules::ToolRules;
pub use tree::{ExceededLimit, FileStamp, SkipReason, SkippedFile, Tree, TreeFile};
pub use tree_writer::TreeWriter;
pub use value::{Data, Field, Scalar, ScalarKind, Value};
pub use visible::{first_invisible, is_invisible, visible, visible_name};
