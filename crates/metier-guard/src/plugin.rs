//! The plugin that calls the hooks from inside `OpenCode`, which has no hooks that are programs.

use metier_home::Agent;

use crate::command::HookProgram;
use crate::event::hooks_of;

/// The plugin, without the programs that it calls.
const SOURCE: &str = include_str!("plugin.js");

/// The text of the plugin for a program. Everything but a clear answer stops a call.
pub(crate) fn opencode_plugin(program: &HookProgram) -> String {
    let words: serde_json::Map<String, serde_json::Value> =
        hooks_of(Agent::OpenCode).map(|row| (row.event.to_owned(), program.words(row).into())).collect();
    // Plain data always serialises.
    let words = serde_json::to_string_pretty(&words).unwrap_or_default();
    SOURCE.replace("\"COMMANDS\"", &words)
}
