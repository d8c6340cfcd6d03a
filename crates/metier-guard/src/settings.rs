//! What an agent's settings need so that it calls the hooks: as data, per agent.

use metier_home::Agent;
use serde_json::{Map, Value, json};

use crate::command::HookProgram;
use crate::event::{HookKind, HookRow, hooks_of};
use crate::plugin::opencode_plugin;

/// An agent's own limit for a hook, in seconds: more than the hook takes before it is ended.
const SECONDS: u32 = 15;

/// A file that makes an agent call the hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GuardFile {
    /// Its path in a person's home, or in the home of a run.
    pub in_home: String,
    /// Its path in a project.
    pub in_project: String,
    /// Its content.
    pub content: GuardContent,
}

/// The content of a file that makes an agent call the hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuardContent {
    /// Members of a JSON object that may have others: below `hooks`, each event has a list, and the entries here are added to
    /// it.
    Merged(Value),
    /// The whole file, which belongs to metier.
    Whole(String),
}

/// The files that make an agent call the hooks.
///
/// The name is that of files and directories of metier's own. Goose replaces a person's plugin by a project's of the same
/// name, so choose one that a project cannot guess.
pub fn guard_files(agent: Agent, program: &HookProgram, name: &str) -> Vec<GuardFile> {
    let file = |in_home: String, in_project: String, content| GuardFile { in_home, in_project, content };
    let both = |path: String, content| file(path.clone(), path, content);
    match agent {
        Agent::ClaudeCode => {
            vec![both(".claude/settings.json".to_owned(), GuardContent::Merged(matched(agent, program, 1)))]
        }
        Agent::Codex => {
            vec![both(".codex/hooks.json".to_owned(), GuardContent::Merged(unmatched(agent, program, false)))]
        }
        // Its limit is in milliseconds. Without a name, a project cannot switch the hook off by name.
        Agent::Gemini => {
            let content = GuardContent::Merged(matched(agent, program, 1_000));
            vec![both(".gemini/settings.json".to_owned(), content)]
        }
        Agent::OpenCode => {
            let (home, project) = (".config/opencode/plugins", ".opencode/plugins");
            let content = GuardContent::Whole(opencode_plugin(program));
            vec![file(format!("{home}/{name}.js"), format!("{project}/{name}.js"), content)]
        }
        Agent::Goose => {
            let place = format!(".agents/plugins/{name}");
            let plugin = json!({
                "name": name,
                "version": "1.0.0",
                "description": "Applies the tool rules of skills",
            });
            vec![
                both(format!("{place}/plugin.json"), GuardContent::Whole(pretty(&plugin))),
                both(
                    format!("{place}/hooks/hooks.json"),
                    GuardContent::Whole(pretty(&unmatched(agent, program, true))),
                ),
            ]
        }
        Agent::Copilot => {
            let content = GuardContent::Whole(pretty(&copilot(program)));
            vec![file(format!(".copilot/hooks/{name}.json"), format!(".github/hooks/{name}.json"), content)]
        }
        // An agent that is not known here has no hooks.
        _ => Vec::new(),
    }
}

/// Claude Code's form: groups with a pattern for names of tools.
fn matched(agent: Agent, program: &HookProgram, units: u32) -> Value {
    by_event(agent, |row| {
        let hook = json!({
            "type": "command",
            "command": program.command_line(row),
            "timeout": SECONDS * units,
        });
        // Only events about tools have something to match.
        let is_about_tools =
            matches!(row.kind, HookKind::BeforeTool | HookKind::AfterTool | HookKind::Permission);
        if is_about_tools {
            json!([{ "matcher": "*", "hooks": [hook] }])
        } else {
            json!([{ "hooks": [hook] }])
        }
    })
}

/// The same without patterns.
fn unmatched(agent: Agent, program: &HookProgram, has_failure: bool) -> Value {
    by_event(agent, |row| {
        let mut hook = json!({
            "type": "command",
            "command": program.command_line(row),
            "timeout": SECONDS,
        });
        if has_failure && row.kind == HookKind::BeforeTool {
            hook["on_failure"] = json!("block");
        }
        json!([{ "hooks": [hook] }])
    })
}

fn copilot(program: &HookProgram) -> Value {
    let mut settings = by_event(
        Agent::Copilot,
        |row| json!([{ "type": "command", "bash": program.command_line(row), "timeoutSec": SECONDS }]),
    );
    settings["version"] = json!(1);
    settings
}

fn by_event(agent: Agent, groups: impl Fn(&HookRow) -> Value) -> Value {
    let hooks: Map<String, Value> = hooks_of(agent).map(|row| (row.event.to_owned(), groups(row))).collect();
    json!({ "hooks": hooks })
}

fn pretty(value: &Value) -> String {
    // Plain data always serialises.
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}
