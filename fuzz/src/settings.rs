//! Settings of agents: hooks are added and removed, and nothing else is different.

use metier_guard::{add_hooks, find_hooks, has_hooks, remove_hooks};
use metier_home::Agent;

/// A hook of the guard.
const HOOK: &str = "o=$(timeout 3 '/m/metier' hook claude PreToolUse) && printf '%s' \"$o\" || { exit 2; }";

/// Reads the bytes as settings of an agent, adds a hook, removes it, and checks that they are the same again.
pub fn check_settings(bytes: &[u8]) -> Result<(), String> {
    let Ok(text) = std::str::from_utf8(bytes) else { return Ok(()) };
    let agent = Agent::ClaudeCode;
    let hooks = serde_json::json!({ "hooks": { "PreToolUse": [{ "hooks": [{ "command": HOOK }] }] } });
    let Ok((added, trace)) = add_hooks(text, &hooks) else { return Ok(()) };
    if !find_hooks(text, agent).is_ok_and(|found| found.is_empty()) {
        return Ok(());
    }
    if has_hooks(&added, agent, &hooks) != Ok(true) {
        return Err(format!("the hook is not in {added:?}"));
    }
    match remove_hooks(&added, agent, &trace) {
        Ok(removed) if removed == text => Ok(()),
        removed => Err(format!("{added:?} became {removed:?}")),
    }
}
