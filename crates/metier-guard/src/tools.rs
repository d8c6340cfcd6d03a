//! The tools of agents, as tool rules name them: as data, one row per tool of each agent, with an example.

use metier_home::Agent;
use metier_policy::is_own_tool;
use serde_json::{Map, Value, json};

use crate::input::AgentCall;

/// How a tool's input becomes the input that rules check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HostInput {
    /// As it is.
    Same,
    /// Only this member, by the name that rules know.
    Member(&'static str, &'static str),
    /// The addresses in this text.
    Addresses(&'static str),
    /// The files that the patch in this member changes.
    Patch(&'static str),
    /// The skill in this member, which can have a path in the skill behind it.
    Skill(&'static str),
    /// Nothing that rules could check, although they would have to: no rule with a specifier allows it.
    Hidden,
}

/// A tool of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostTool {
    /// The agent.
    pub agent: Agent,
    /// The agent's name for it.
    pub name: &'static str,
    /// Its name in rules.
    pub rule: &'static str,
    /// What rules check.
    pub input: HostInput,
    /// An input, as the agent sends it.
    pub example: &'static str,
    /// The same, as rules check it.
    pub checked: &'static str,
}

const fn tool(
    agent: Agent,
    name: &'static str,
    rule: &'static str,
    input: HostInput,
    example: &'static str,
    checked: &'static str,
) -> HostTool {
    HostTool { agent, name, rule, input, example, checked }
}

const fn same(agent: Agent, name: &'static str, rule: &'static str, example: &'static str) -> HostTool {
    tool(agent, name, rule, HostInput::Same, example, example)
}

/// The tools of agents whose names or inputs differ from what rules check, and those that are used most. Every other tool is
/// checked by its own name.
#[rustfmt::skip]
pub const HOST_TOOLS: &[HostTool] = &[
    same(Agent::ClaudeCode, "Bash", "Bash", r#"{"command":"git log"}"#),
    same(Agent::ClaudeCode, "Read", "Read", r#"{"file_path":"/repo/a"}"#),
    same(Agent::ClaudeCode, "Write", "Write", r#"{"file_path":"/repo/a"}"#),
    same(Agent::ClaudeCode, "Edit", "Edit", r#"{"file_path":"/repo/a"}"#),
    same(Agent::ClaudeCode, "NotebookEdit", "NotebookEdit", r#"{"notebook_path":"/repo/a.ipynb"}"#),
    same(Agent::ClaudeCode, "Glob", "Glob", r#"{"pattern":"src/**"}"#),
    same(Agent::ClaudeCode, "Grep", "Grep", r#"{"pattern":"x","path":"src"}"#),
    same(Agent::ClaudeCode, "WebFetch", "WebFetch", r#"{"url":"https://example.com/"}"#),
    same(Agent::ClaudeCode, "WebSearch", "WebSearch", r#"{"query":"x"}"#),
    same(Agent::ClaudeCode, "Agent", "Agent", r#"{"subagent_type":"Explore"}"#),
    same(Agent::ClaudeCode, "Task", "Agent", r#"{"subagent_type":"Explore"}"#),
    same(Agent::ClaudeCode, "Skill", "Skill", r#"{"skill":"pdf"}"#),

    same(Agent::Codex, "Bash", "Bash", r#"{"command":"git log"}"#),
    tool(Agent::Codex, "apply_patch", "Edit", HostInput::Patch("command"),
        r#"{"command":"*** Begin Patch\n*** Add File: new.txt\n+w\n*** End Patch"}"#, r#"{"file_path":"new.txt"}"#),
    same(Agent::Codex, "view_image", "Read", r#"{"path":"/repo/a.png"}"#),
    // What is typed into a program that runs already.
    tool(Agent::Codex, "write_stdin", "Bash", HostInput::Hidden, r#"{"session_id":1,"chars":"ls\n"}"#, "{}"),
    tool(Agent::Codex, "spawn_agent", "Agent", HostInput::Member("agent_type", "agent"), r#"{"agent_type":"worker"}"#, r#"{"agent":"worker"}"#),
    tool(Agent::Codex, "collaborationspawn_agent", "Agent", HostInput::Member("agent_type", "agent"), r#"{"task_name":"t1"}"#, "{}"),
    tool(Agent::Codex, "multi_agent_v1spawn_agent", "Agent", HostInput::Member("agent_type", "agent"), r#"{"message":"go"}"#, "{}"),

    same(Agent::OpenCode, "bash", "Bash", r#"{"command":"git log"}"#),
    same(Agent::OpenCode, "read", "Read", r#"{"filePath":"/repo/a"}"#),
    same(Agent::OpenCode, "write", "Write", r#"{"filePath":"/repo/a"}"#),
    same(Agent::OpenCode, "edit", "Edit", r#"{"filePath":"/repo/a"}"#),
    tool(Agent::OpenCode, "apply_patch", "Edit", HostInput::Patch("patchText"),
        r#"{"patchText":"*** Begin Patch\n*** Update File: a\n*** End Patch"}"#, r#"{"file_path":"a"}"#),
    tool(Agent::OpenCode, "patch", "Edit", HostInput::Patch("patchText"),
        r#"{"patchText":"*** Begin Patch\n*** Delete File: a\n*** End Patch"}"#, r#"{"file_path":"a"}"#),
    same(Agent::OpenCode, "glob", "Glob", r#"{"pattern":"src/**"}"#),
    same(Agent::OpenCode, "grep", "Grep", r#"{"pattern":"x","path":"src"}"#),
    same(Agent::OpenCode, "list", "LS", r#"{"path":"src"}"#),
    same(Agent::OpenCode, "webfetch", "WebFetch", r#"{"url":"https://example.com/"}"#),
    same(Agent::OpenCode, "websearch", "WebSearch", r#"{"query":"x"}"#),
    same(Agent::OpenCode, "task", "Agent", r#"{"subagent_type":"general"}"#),
    same(Agent::OpenCode, "skill", "Skill", r#"{"name":"pdf"}"#),

    same(Agent::Gemini, "run_shell_command", "Bash", r#"{"command":"git log"}"#),
    same(Agent::Gemini, "read_file", "Read", r#"{"file_path":"/repo/a"}"#),
    same(Agent::Gemini, "read_many_files", "Read", r#"{"include":["/repo/a"]}"#),
    same(Agent::Gemini, "write_file", "Write", r#"{"file_path":"/repo/a"}"#),
    same(Agent::Gemini, "replace", "Edit", r#"{"file_path":"/repo/a"}"#),
    same(Agent::Gemini, "list_directory", "LS", r#"{"dir_path":"src"}"#),
    same(Agent::Gemini, "glob", "Glob", r#"{"pattern":"src/**"}"#),
    same(Agent::Gemini, "grep_search", "Grep", r#"{"pattern":"x","dir_path":"src"}"#),
    same(Agent::Gemini, "search_file_content", "Grep", r#"{"pattern":"x","dir_path":"src"}"#),
    tool(Agent::Gemini, "web_fetch", "WebFetch", HostInput::Addresses("prompt"),
        r#"{"prompt":"fetch https://example.com/ now"}"#, r#"{"urls":["https://example.com/"]}"#),
    same(Agent::Gemini, "google_web_search", "WebSearch", r#"{"query":"x"}"#),
    same(Agent::Gemini, "invoke_agent", "Agent", r#"{"agent_name":"generalist"}"#),
    same(Agent::Gemini, "activate_skill", "Skill", r#"{"name":"pdf"}"#),

    same(Agent::Goose, "shell", "Bash", r#"{"command":"git log"}"#),
    same(Agent::Goose, "developer__shell", "Bash", r#"{"command":"git log"}"#),
    same(Agent::Goose, "write", "Write", r#"{"path":"/repo/a"}"#),
    same(Agent::Goose, "edit", "Edit", r#"{"path":"/repo/a"}"#),
    same(Agent::Goose, "tree", "LS", r#"{"path":"src"}"#),
    tool(Agent::Goose, "delegate", "Agent", HostInput::Member("source", "agent"), r#"{"source":"reviewer","instructions":"x"}"#, r#"{"agent":"reviewer"}"#),
    // metier's own tool for models has this name as well, but not here.
    tool(Agent::Goose, "load_skill", "Skill", HostInput::Skill("name"), r#"{"name":"pdf/scripts/fill.py"}"#, r#"{"skill":"pdf"}"#),

    same(Agent::Copilot, "bash", "Bash", r#"{"command":"git log"}"#),
    // What is typed into a shell that runs already.
    tool(Agent::Copilot, "write_bash", "Bash", HostInput::Hidden, r#"{"shellId":"0","input":"ls\n"}"#, "{}"),
    same(Agent::Copilot, "read_bash", "TaskOutput", r#"{"shellId":"0"}"#),
    same(Agent::Copilot, "stop_bash", "TaskStop", r#"{"shellId":"0"}"#),
    same(Agent::Copilot, "view", "Read", r#"{"path":"/repo/a"}"#),
    same(Agent::Copilot, "create", "Write", r#"{"path":"/repo/a"}"#),
    same(Agent::Copilot, "edit", "Edit", r#"{"path":"/repo/a"}"#),
    tool(Agent::Copilot, "apply_patch", "Edit", HostInput::Patch("input"),
        r#"{"input":"*** Begin Patch\n*** Add File: a\n*** End Patch"}"#, r#"{"file_path":"a"}"#),
    same(Agent::Copilot, "glob", "Glob", r#"{"pattern":"src/**"}"#),
    same(Agent::Copilot, "grep", "Grep", r#"{"pattern":"x","path":"src"}"#),
    same(Agent::Copilot, "rg", "Grep", r#"{"pattern":"x","path":"src"}"#),
    same(Agent::Copilot, "web_fetch", "WebFetch", r#"{"url":"https://example.com/"}"#),
    tool(Agent::Copilot, "task", "Agent", HostInput::Member("agent_type", "agent"), r#"{"agent_type":"explore"}"#, r#"{"agent":"explore"}"#),
    same(Agent::Copilot, "skill", "Skill", r#"{"skill":"pdf"}"#),
    // The same tool where the hook is configured in Claude Code's form.
    same(Agent::Copilot, "Bash", "Bash", r#"{"command":"git log"}"#),
];

/// A call as tool rules see it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct HostCall {
    /// The tool's name in rules.
    pub tool: String,
    /// The input that rules check.
    pub input: Value,
}

impl HostCall {
    fn new(tool: impl Into<String>, input: Value) -> Self {
        Self { tool: tool.into(), input }
    }

    /// The skill that the call loads by name.
    pub fn skill(&self) -> Option<&str> {
        let name = match self.tool.as_str() {
            "Skill" => {
                ["skill", "name", "skill_name"].iter().find_map(|member| self.input.get(*member)?.as_str())
            }
            // Earlier versions of Claude Code load skills as commands.
            "SlashCommand" => {
                self.input.get("command")?.as_str()?.trim_start().strip_prefix('/')?.split_whitespace().next()
            }
            _ => None,
        };
        name.map(|name| name.trim_start_matches('/'))
    }
}

impl AgentCall {
    /// The call as tool rules see it. Most calls are one. A patch of several files is several, and so is a name that can be
    /// read in several ways; the call is allowed only if each of them is.
    pub fn as_rules_see_it(&self, agent: Agent) -> Vec<HostCall> {
        if let Some((server, tool)) = &self.server {
            return vec![HostCall::new(format!("mcp__{server}__{tool}"), self.input.clone())];
        }
        if let Some(row) = HOST_TOOLS.iter().find(|row| row.agent == agent && row.name == self.tool) {
            return self.by_row(row);
        }
        let names = self.names(agent);
        names.into_iter().map(|name| HostCall::new(name, self.input.clone())).collect()
    }

    fn by_row(&self, row: &HostTool) -> Vec<HostCall> {
        let one = |input: Value| vec![HostCall::new(row.rule, input)];
        let text = |member: &str| self.input.get(member).and_then(Value::as_str);
        match row.input {
            HostInput::Same => one(self.input.clone()),
            HostInput::Hidden => one(json!({})),
            HostInput::Member(from, to) => one(match self.input.get(from) {
                Some(value) => Value::Object(Map::from_iter([(to.to_owned(), value.clone())])),
                None => json!({}),
            }),
            HostInput::Addresses(member) => one(match text(member).map(addresses) {
                Some(urls) if !urls.is_empty() => json!({ "urls": urls }),
                _ => self.input.clone(),
            }),
            HostInput::Skill(member) => one(match text(member) {
                Some(name) => json!({ "skill": name.split('/').next().unwrap_or_default() }),
                None => self.input.clone(),
            }),
            HostInput::Patch(member) => {
                let paths = text(member).map(patched).unwrap_or_default();
                if paths.is_empty() {
                    // A patch without files is not what it seems; no path rule allows it.
                    return vec![HostCall::new("apply_patch", json!({ "patch": text(member) }))];
                }
                paths.iter().map(|path| HostCall::new(row.rule, json!({ "file_path": path }))).collect()
            }
        }
    }

    /// The names that rules may have for a tool without a row.
    fn names(&self, agent: Agent) -> Vec<String> {
        let tool = self.tool.as_str();
        if tool.starts_with("mcp__") {
            return vec![tool.to_owned()];
        }
        let separator = match agent {
            Agent::OpenCode => "_",
            Agent::Goose => "__",
            // Both, depending on the event.
            Agent::Copilot if tool.contains('/') => "/",
            Agent::Copilot => "-",
            _ => "",
        };
        let splits: Vec<(&str, &str)> = match separator {
            "" => Vec::new(),
            separator => tool
                .match_indices(separator)
                .map(|(at, _)| (&tool[..at], &tool[at + separator.len()..]))
                .filter(|(server, name)| !server.is_empty() && !name.is_empty())
                .collect(),
        };
        // OpenCode says which servers there are; what belongs to none is a tool of its own.
        let is_server =
            |server: &str| agent != Agent::OpenCode || self.servers.iter().any(|one| is_same(one, server));
        let names: Vec<String> = splits
            .into_iter()
            .filter(|(server, _)| is_server(server))
            .map(|(server, name)| format!("mcp__{server}__{name}"))
            .collect();
        if !names.is_empty() {
            return names;
        }
        // Rules of metier let its own tools pass, but it serves them over MCP only.
        if is_own_tool(tool) { vec![format!("{}.{tool}", agent.name())] } else { vec![tool.to_owned()] }
    }
}

/// Whether a server's name is this one in the name of a tool, where characters can be replaced.
fn is_same(server: &str, shown: &str) -> bool {
    let plain = |text: &str| -> String {
        text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
    };
    plain(server) == plain(shown)
}

/// The addresses in a text. A word that looks like a host name is one as well: a model that reads the text would take it for one.
fn addresses(text: &str) -> Vec<String> {
    let is_trim =
        |c: char| matches!(c, '.' | ',' | ';' | '!' | '?' | ')' | '(' | '"' | '\'' | '<' | '>' | '`');
    let words = text.split_whitespace().filter_map(|word| {
        if word.contains("://") {
            return Some(word.to_owned());
        }
        let bare = word.trim_matches(is_trim);
        let looks_like_a_host = bare.split_once('.').is_some_and(|(before, after)| {
            before.ends_with(char::is_alphanumeric) && after.starts_with(char::is_alphanumeric)
        });
        (looks_like_a_host || bare.eq_ignore_ascii_case("localhost")).then(|| format!("https://{bare}"))
    });
    words.collect()
}

/// The files that a patch changes, each once.
fn patched(patch: &str) -> Vec<&str> {
    const MARKS: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
    let mut paths: Vec<&str> = Vec::new();
    for line in patch.lines() {
        let path = MARKS.iter().find_map(|mark| line.trim_start().strip_prefix(mark)).map(str::trim);
        if let Some(path) = path.filter(|path| !paths.contains(path)) {
            paths.push(path);
        }
    }
    paths
}
