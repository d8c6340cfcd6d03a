//! Applies skills' tool rules inside agents, through the hooks that agents call before they use one of their own tools.
//!
//! [`guard_files`] has what an agent's settings need, so that it starts `metier hook` for each [`HookRow`] of [`HOOKS`].
//! [`add_hooks`] and [`remove_hooks`] change settings that belong to a person; every byte that is not a hook of metier stays.
//!
//! *Architecture invariant:* codecs do no I/O. Nothing here decides what is allowed, and nothing reads variables or settings.

mod command;
mod context;
mod error;
mod event;
mod installed;
mod jsonc;
mod merge;
mod places;
mod plugin;
mod settings;
mod suggest;

pub use command::HookProgram;
pub use context::{ContextSkill, GuardContext};
pub use error::GuardError;
pub use event::{HOOKS, HookKind, HookRow, hook_row, hooks_of};
pub use installed::InstalledHook;
pub use jsonc::{JsoncError, read_jsonc};
pub use merge::{MergeTrace, add_hooks, find_hooks, has_hooks, remove_hooks};
pub use places::{
    HOOK_SWITCHES, HookSwitch, SwitchPlace, guarded_rules, leaks_of, measured_version, settings_variable,
};
pub use settings::{GuardContent, GuardFile, guard_files};
pub use suggest::suggestion;
