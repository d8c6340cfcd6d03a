//! Applies skills' tool rules inside agents, through the hooks that agents call before they use one of their own tools.
//!
//! [`guard_files`] has what an agent's settings need, so that it starts `metier hook` for each [`HookRow`] of [`HOOKS`].
//!
//! *Architecture invariant:* codecs do no I/O. Nothing here decides what is allowed, and nothing reads variables or settings.

mod command;
mod context;
mod error;
mod event;
mod plugin;
mod settings;

pub use command::HookProgram;
pub use context::{ContextSkill, GuardContext};
pub use error::GuardError;
pub use event::{HOOKS, HookKind, HookRow, hook_row, hooks_of};
pub use settings::{GuardContent, GuardFile, guard_files};
