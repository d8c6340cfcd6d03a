//! What an agent tells a hook: its JSON, in one form for all agents.

use std::path::PathBuf;

use metier_home::Agent;
use metier_skill::Digest;
use serde_json::Value;

use crate::error::GuardError;
use crate::event::{HookKind, hook_row};

/// What an agent tells a hook.
///
/// ```
/// use metier_guard::{HookEvent, HookInput};
/// use metier_home::Agent;
///
/// let json = br#"{"session_id": "s1", "cwd": "/repo", "tool_name": "Bash", "tool_input": {"command": "ls"}}"#;
/// let input = HookInput::read(Agent::ClaudeCode, "PreToolUse", json)?;
/// assert_eq!(input.conversation.as_deref(), Some("s1"));
/// assert!(matches!(input.event, HookEvent::BeforeTool(call) if call.tool == "Bash"));
/// # Ok::<(), metier_guard::GuardError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct HookInput {
    /// The agent.
    pub agent: Agent,
    /// The event's name, as the agent calls it.
    pub name: String,
    /// The agent's id of the conversation.
    pub conversation: Option<String>,
    /// The conversation that started this one for a subagent.
    pub parent: Option<String>,
    /// The agent's working directory.
    pub working: Option<PathBuf>,
    /// What happened, or is about to.
    pub event: HookEvent,
}

/// What happened in an agent, or is about to.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum HookEvent {
    /// A tool is about to be called.
    BeforeTool(AgentCall),
    /// A tool was called.
    AfterTool(AgentCall),
    /// The agent asks for permission to call a tool.
    Permission(AgentCall),
    /// A person sent a prompt with this text.
    Prompt(String),
    /// A prompt named this skill, whose text is in the context now.
    Expansion(String),
    /// A conversation began.
    SessionStart(HookStart),
    /// A conversation ended.
    SessionEnd,
    /// A conversation was compacted.
    Compacted,
    /// A conversation started this one for a subagent.
    SubagentStart(String),
    /// Something that means nothing to the guard.
    Other,
}

/// How a conversation began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HookStart {
    /// Without earlier content.
    New,
    /// With the content of an earlier one.
    Resumed,
    /// With a summary of the content so far.
    Compacted,
}

/// A call of an agent's tool, in the agent's own words.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct AgentCall {
    /// The agent's id of the call. Two agents have none.
    pub id: Option<String>,
    /// The agent's name for the tool.
    pub tool: String,
    /// The input.
    pub input: Value,
    /// The MCP server and its name for the tool, if the agent says so.
    pub server: Option<(String, String)>,
    /// The names of the MCP servers that the agent has, if it says so.
    pub servers: Vec<String>,
}

impl AgentCall {
    /// A call without an id.
    pub fn new(tool: impl Into<String>, input: impl Into<Value>) -> Self {
        Self { id: None, tool: tool.into(), input: input.into(), server: None, servers: Vec::new() }
    }

    /// The digest of the tool and the input, whatever the order of members.
    pub fn digest(&self) -> Digest {
        let mut input = self.input.clone();
        input.sort_all_objects();
        Digest::of(format!("{}\0{input}", self.tool).as_bytes())
    }
}

/// Where the inputs of an agent have what: as JSON pointers, the first that is there counts.
struct Form {
    conversation: &'static [&'static str],
    parent: &'static [&'static str],
    working: &'static [&'static str],
    call: &'static [&'static str],
    tool: &'static [&'static str],
    input: &'static [&'static str],
    prompt: &'static [&'static str],
    skill: &'static [&'static str],
    child: &'static [&'static str],
}

/// Claude Code, and those that have taken over its form.
const SNAKE: Form = Form {
    conversation: &["/session_id"],
    parent: &[],
    working: &["/cwd", "/working_dir"],
    call: &["/tool_use_id", "/tool_call_id"],
    tool: &["/tool_name"],
    input: &["/tool_input"],
    prompt: &["/prompt", "/message"],
    skill: &["/command_name"],
    child: &["/agent_id"],
};

const COPILOT: Form = Form {
    conversation: &["/sessionId"],
    parent: &["/parentAgentId"],
    working: &["/cwd"],
    call: &["/toolCallId"],
    tool: &["/toolName"],
    input: &["/toolArgs", "/toolInput"],
    prompt: &["/prompt"],
    skill: &[],
    child: &["/agentId"],
};

/// What the plugin passes on.
const OPENCODE: Form = Form {
    conversation: &["/input/sessionID", "/event/properties/sessionID", "/event/properties/info/id"],
    parent: &["/event/properties/info/parentID"],
    working: &["/directory", "/event/properties/info/directory"],
    call: &["/input/callID"],
    tool: &["/input/tool"],
    input: &["/output/args", "/input/args"],
    prompt: &[],
    skill: &["/input/command"],
    child: &["/event/properties/info/id"],
};

fn form(agent: Agent, event: &str) -> &'static Form {
    match agent {
        Agent::OpenCode => &OPENCODE,
        Agent::Copilot if event.starts_with(|c: char| c.is_ascii_lowercase()) => &COPILOT,
        _ => &SNAKE,
    }
}

impl HookInput {
    /// Reads what an agent passed to a hook. Unknown events and members are accepted. An event that could stop something and
    /// does not say what is an error.
    pub fn read(agent: Agent, event: &str, bytes: &[u8]) -> Result<Self, GuardError> {
        let wrong =
            |reason: String| GuardError::Input { agent: agent.name(), event: event.to_owned(), reason };
        let json: Value = serde_json::from_slice(bytes).map_err(|error| wrong(error.to_string()))?;
        if !json.is_object() {
            return Err(wrong("it is not a JSON object".to_owned()));
        }
        let reader = Reader { agent, json: &json, form: form(agent, event) };
        let missing = |what: &str| wrong(format!("it has no {what}"));
        let kind = hook_row(agent, event).map(|row| row.kind);
        let found = reader.event(kind).map_err(missing)?;
        let conversation = reader.text(reader.form.conversation);
        if conversation.is_none() && kind.is_some() {
            return Err(missing("id of the conversation"));
        }
        let parent = reader.text(reader.form.parent).filter(|parent| Some(parent) != conversation.as_ref());
        let (conversation, parent) = match &found {
            // The event is about the new conversation, and names the one that started it beside.
            HookEvent::SubagentStart(_) if agent == Agent::OpenCode => (parent, None),
            HookEvent::SubagentStart(_) => (conversation, None),
            _ => (conversation, parent),
        };
        let working = reader.text(reader.form.working).map(PathBuf::from).filter(|path| path.is_absolute());
        Ok(Self { agent, name: event.to_owned(), conversation, parent, working, event: found })
    }
}

struct Reader<'a> {
    agent: Agent,
    json: &'a Value,
    form: &'static Form,
}

impl Reader<'_> {
    fn value(&self, places: &[&str]) -> Option<&Value> {
        places.iter().find_map(|place| self.json.pointer(place)).filter(|value| !value.is_null())
    }

    fn text(&self, places: &[&str]) -> Option<String> {
        self.value(places)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
    }

    /// The event, or what it lacks.
    fn event(&self, kind: Option<HookKind>) -> Result<HookEvent, &'static str> {
        Ok(match kind {
            Some(HookKind::BeforeTool) => HookEvent::BeforeTool(self.call()?),
            Some(HookKind::AfterTool) => HookEvent::AfterTool(self.call()?),
            Some(HookKind::Permission) => HookEvent::Permission(self.call()?),
            Some(HookKind::Prompt) => HookEvent::Prompt(self.prompt().ok_or("prompt")?),
            Some(HookKind::Expansion) => {
                HookEvent::Expansion(self.text(self.form.skill).ok_or("name of a command")?)
            }
            Some(HookKind::SessionStart) => HookEvent::SessionStart(self.start()),
            Some(HookKind::SessionEnd) => HookEvent::SessionEnd,
            Some(HookKind::Compacted) => HookEvent::Compacted,
            Some(HookKind::SubagentStart) => match self.text(self.form.child) {
                // OpenCode tells of every conversation.
                Some(_) if self.agent == Agent::OpenCode && self.value(self.form.parent).is_none() => {
                    HookEvent::SessionStart(HookStart::New)
                }
                Some(child) => HookEvent::SubagentStart(child),
                None => HookEvent::Other,
            },
            None => HookEvent::Other,
        })
    }

    fn call(&self) -> Result<AgentCall, &'static str> {
        let tool = self.text(self.form.tool).ok_or("name of a tool")?;
        let input = match self.value(self.form.input) {
            // Some versions of Copilot pass the JSON as text.
            Some(Value::String(text)) => serde_json::from_str(text)
                .ok()
                .filter(Value::is_object)
                .unwrap_or_else(|| text.clone().into()),
            Some(input) => input.clone(),
            None => Value::Object(serde_json::Map::new()),
        };
        let at = |place: &str| self.text(&[place]);
        let server = at("/mcp_context/server_name").zip(at("/mcp_context/tool_name"));
        let servers =
            self.value(&["/servers"]).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let servers = servers.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        Ok(AgentCall { id: self.text(self.form.call), tool, input, server, servers })
    }

    fn prompt(&self) -> Option<String> {
        if let Some(prompt) = self.value(self.form.prompt) {
            return prompt.as_str().map(str::to_owned);
        }
        // OpenCode's prompts are lists of parts.
        let parts = self.json.pointer("/output/parts")?.as_array()?;
        let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
        Some(texts.collect::<Vec<_>>().join("\n"))
    }

    fn start(&self) -> HookStart {
        match self.text(&["/source"]).as_deref() {
            Some("resume") => HookStart::Resumed,
            Some("compact") => HookStart::Compacted,
            _ => HookStart::New,
        }
    }
}
