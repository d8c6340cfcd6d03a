//! The files that an agent's hooks depend on: as data, per agent. Which of them can switch hooks off, and which a model should
//! not write to.

use metier_home::Agent;
use serde_json::Value;

use crate::installed::InstalledHook;

/// The version of an agent that the guard was measured with. Older ones may call no hooks, or ignore their answers.
pub const fn measured_version(agent: Agent) -> &'static str {
    match agent {
        Agent::ClaudeCode => "2.1.326",
        Agent::Codex => "0.169.0",
        Agent::OpenCode => "1.18.34",
        Agent::Gemini => "0.61.0",
        Agent::Goose => "1.52.0",
        Agent::Copilot => "1.0.102",
        // An agent that is not known here has no hooks.
        _ => "none",
    }
}

/// The variable that moves an agent's settings out of the home, and which part of a path in the home it replaces.
pub const fn settings_variable(agent: Agent) -> Option<(&'static str, &'static str)> {
    match agent {
        Agent::ClaudeCode => Some(("CLAUDE_CONFIG_DIR", ".claude")),
        Agent::Codex => Some(("CODEX_HOME", ".codex")),
        Agent::OpenCode => Some(("XDG_CONFIG_HOME", ".config")),
        Agent::Gemini => Some(("GEMINI_CLI_HOME", "")),
        _ => None,
    }
}

/// What an agent that metier starts in a home of its own is called with, before all other arguments, so that its hooks run: `Codex`
/// skips hooks that were not trusted, and a project can switch those of `Claude Code` and `Codex` off.
pub const fn guarded_arguments(agent: Agent) -> &'static [&'static str] {
    match agent {
        Agent::ClaudeCode => &["--settings={\"disableAllHooks\":false}"],
        Agent::Codex => &["--dangerously-bypass-hook-trust", "--config=features.hooks=true"],
        _ => &[],
    }
}

/// Where the path of a [`HookSwitch`] begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SwitchPlace {
    /// In the person's home.
    Home,
    /// In the directory that the agent works in.
    Project,
    /// At the root of the file system.
    System,
}

/// A setting of an agent that switches all hooks off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct HookSwitch {
    /// The agent.
    pub agent: Agent,
    /// Where the path begins.
    pub place: SwitchPlace,
    /// The file.
    pub path: &'static str,
    /// The setting, by its keys.
    pub keys: &'static [&'static str],
    when: Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Off {
    True,
    False,
    /// It lists our command.
    Lists,
}

impl HookSwitch {
    /// Whether the settings in the file switch hooks of the guard off.
    pub fn is_off(&self, settings: &Value) -> bool {
        let found = self.keys.iter().try_fold(settings, |value, key| value.get(key));
        let is_ours = |value: &Value| value.as_str().and_then(InstalledHook::parse).is_some();
        match self.when {
            Off::True => found == Some(&Value::Bool(true)),
            Off::False => found == Some(&Value::Bool(false)),
            Off::Lists => found.and_then(Value::as_array).is_some_and(|list| list.iter().any(is_ours)),
        }
    }

    /// The setting as one writes it, such as `features.hooks = false`.
    pub fn setting(&self) -> String {
        let value = match self.when {
            Off::True => "true",
            Off::False => "false",
            Off::Lists => "[the hooks of metier]",
        };
        format!("{} = {value}", self.keys.join("."))
    }
}

const fn switch(
    agent: Agent,
    place: SwitchPlace,
    path: &'static str,
    keys: &'static [&'static str],
    when: Off,
) -> HookSwitch {
    HookSwitch { agent, place, path, keys, when }
}

/// Every setting that is known to switch hooks off.
#[rustfmt::skip]
pub const HOOK_SWITCHES: &[HookSwitch] = &[
    switch(Agent::ClaudeCode, SwitchPlace::Home, ".claude/settings.json", &["disableAllHooks"], Off::True),
    switch(Agent::ClaudeCode, SwitchPlace::Project, ".claude/settings.json", &["disableAllHooks"], Off::True),
    switch(Agent::ClaudeCode, SwitchPlace::Project, ".claude/settings.local.json", &["disableAllHooks"], Off::True),
    switch(Agent::ClaudeCode, SwitchPlace::System, "etc/claude-code/managed-settings.json", &["disableAllHooks"], Off::True),
    switch(Agent::ClaudeCode, SwitchPlace::System, "etc/claude-code/managed-settings.json", &["allowManagedHooksOnly"], Off::True),
    switch(Agent::Codex, SwitchPlace::Home, ".codex/config.toml", &["features", "hooks"], Off::False),
    switch(Agent::Codex, SwitchPlace::Project, ".codex/config.toml", &["features", "hooks"], Off::False),
    switch(Agent::Codex, SwitchPlace::System, "etc/codex/config.toml", &["features", "hooks"], Off::False),
    switch(Agent::Gemini, SwitchPlace::Home, ".gemini/settings.json", &["hooksConfig", "enabled"], Off::False),
    switch(Agent::Gemini, SwitchPlace::Home, ".gemini/settings.json", &["hooksConfig", "disabled"], Off::Lists),
    switch(Agent::Gemini, SwitchPlace::Project, ".gemini/settings.json", &["hooksConfig", "enabled"], Off::False),
    switch(Agent::Gemini, SwitchPlace::Project, ".gemini/settings.json", &["hooksConfig", "disabled"], Off::Lists),
    switch(Agent::Gemini, SwitchPlace::System, "etc/gemini-cli/settings.json", &["hooksConfig", "enabled"], Off::False),
    switch(Agent::Copilot, SwitchPlace::Home, ".copilot/settings.json", &["disableAllHooks"], Off::True),
    switch(Agent::Copilot, SwitchPlace::Project, ".github/copilot/settings.json", &["disableAllHooks"], Off::True),
    switch(Agent::Copilot, SwitchPlace::Project, ".claude/settings.json", &["disableAllHooks"], Off::True),
];

/// The files and directories (with a slash) that hooks depend on, wherever they are.
const GUARDED: &[&str] = &[
    ".claude/settings.json",
    ".claude/settings.local.json",
    "etc/claude-code/",
    ".codex/hooks.json",
    ".codex/config.toml",
    "etc/codex/",
    ".config/opencode/plugins/",
    ".opencode/plugins/",
    ".gemini/settings.json",
    "etc/gemini-cli/",
    ".agents/plugins/",
    ".copilot/hooks/",
    ".copilot/settings.json",
    ".github/hooks/",
    ".github/copilot/settings.json",
    ".local/state/metier/guard/",
    ".local/state/metier/guarded-runs/",
];

/// Commands that switch the guard off. They are for people.
const SWITCHING_OFF: [&str; 2] = ["Bash(metier guard deactivate *)", "Bash(metier guard remove *)"];

/// Deny rules of the policy for switching the guard off and for writes to the files that hooks depend on, of whichever agent. They stop a model that does not
/// mean to get around them, and no other.
///
/// ```
/// let rules = metier_guard::guarded_rules();
/// assert!(rules.contains(&"Edit(//**/.claude/settings.json)".to_owned()));
/// assert!(rules.contains(&"Edit(//**/.agents/plugins/**)".to_owned()));
/// ```
pub fn guarded_rules() -> Vec<String> {
    let below = |path: &&str| if path.ends_with('/') { "**" } else { "" };
    let files = GUARDED.iter().map(|path| format!("Edit(//**/{path}{})", below(path)));
    files.chain(SWITCHING_OFF.map(str::to_owned)).collect()
}

/// What an installed guard cannot prevent, for a person to read.
pub const fn leaks_of(agent: Agent) -> &'static [&'static str] {
    match agent {
        Agent::ClaudeCode => &[
            "a model that may run shell commands can remove the hooks; Claude Code reads its settings again at once",
            "a repository's `disableAllHooks` switches them off",
            "another hook can change a call after the guard has allowed it",
        ],
        Agent::Codex => &[
            "hooks that are not trusted are skipped without a message",
            "input to a program that is running (`write_stdin`) is not checked, and `web_search` runs at the provider",
            "a trusted repository's `features.hooks = false` switches them off",
            "a model that may run shell commands can remove the hooks for the next start",
            "another hook can change a call after the guard has allowed it",
        ],
        Agent::OpenCode => &[
            "`--pure` and `OPENCODE_PURE=1` leave the plugin out",
            "a repository's plugin can change a call after the guard has allowed it",
            "a model that may run shell commands can remove the plugin for the next start",
        ],
        Agent::Gemini => &[
            "over ACP, as editors start it, Gemini CLI calls no hooks before tools",
            "a trusted repository's `hooksConfig` switches them off",
            "a model that may run shell commands can remove the hooks for the next start",
            "another hook can change a call after the guard has allowed it",
        ],
        Agent::Goose => &[
            "calls of subagents (`delegate`) reach no hook",
            "a repository's plugin of the same name replaces it",
            "a model that may run shell commands can remove the plugin for the next start",
        ],
        Agent::Copilot => &[
            "a trusted repository's `disableAllHooks` switches them off",
            "a model that may run shell commands can remove the hooks for the next start",
            "another hook can change a call after the guard has allowed it",
        ],
        _ => &[],
    }
}
