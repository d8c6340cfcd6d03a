//! Applies skills' tool rules inside agents, through the hooks that agents call before they use one of their own tools.
//!
//! [`guard_files`] has what an agent's settings need, so that it starts `metier hook` for each [`HookRow`] of [`HOOKS`].
//! [`add_hooks`] and [`remove_hooks`] change settings that belong to a person; every byte that is not a hook of metier stays.
//! [`HookInput::read`] reads what the agent then says, [`AgentCall::as_rules_see_it`] translates its tools, [`GuardStates`] keeps which
//! skills are active, and [`HookAnswer::to_json`] answers in the agent's own words.
//!
//! *Architecture invariant:* codecs do no I/O. Nothing here decides what is allowed, and nothing reads variables or settings.

mod answer;
mod command;
mod context;
mod error;
mod escape;
mod event;
mod input;
mod installed;
mod jsonc;
mod mention;
mod merge;
mod places;
mod plugin;
mod settings;
mod state;
mod suggest;
mod tools;

pub use answer::HookAnswer;
pub use command::HookProgram;
pub use context::{ContextSkill, GuardContext};
pub use error::GuardError;
pub use event::{HOOKS, HookKind, HookRow, hook_row, hooks_of};
pub use input::{AgentCall, HookEvent, HookInput, HookStart};
pub use installed::InstalledHook;
pub use jsonc::{JsoncError, read_jsonc};
pub use mention::skills_named;
pub use merge::{MergeTrace, add_hooks, find_hooks, has_hooks, remove_hooks};
pub use places::{
    HOOK_SWITCHES, HookSwitch, SwitchPlace, guarded_arguments, guarded_rules, leaks_of, measured_version,
    settings_variable,
};
pub use settings::{GuardContent, GuardFile, guard_files};
pub use state::{CallCheck, ConversationState, GuardStates, GuardedCall, HeldState};
pub use suggest::suggestion;
pub use tools::{HOST_TOOLS, HostCall, HostInput, HostTool};
