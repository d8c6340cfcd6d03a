//! The hook events of each agent: as data, one row per event.

use metier_home::Agent;

/// What a hook event means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HookKind {
    /// A tool is about to be called. The answer can deny it.
    BeforeTool,
    /// A tool was called.
    AfterTool,
    /// The agent asks for permission to call a tool. The answer can allow or deny it.
    Permission,
    /// A person sent a prompt.
    Prompt,
    /// A prompt named a skill, whose text is in the context now.
    Expansion,
    /// A conversation began or is continued.
    SessionStart,
    /// A conversation ended.
    SessionEnd,
    /// A conversation was compacted: earlier content is gone from the context.
    Compacted,
    /// A conversation started another one for a subagent.
    SubagentStart,
}

impl HookKind {
    /// Whether a hook that fails must stop what it was asked about.
    pub const fn refuses_on_failure(self) -> bool {
        matches!(self, Self::BeforeTool | Self::Permission | Self::Prompt | Self::Expansion)
    }
}

/// One hook event of one agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct HookRow {
    /// The agent.
    pub agent: Agent,
    /// The event's name: in the agent's settings, and on the command line of `metier hook`.
    pub event: &'static str,
    /// What it means.
    pub kind: HookKind,
    /// Whether the guard needs it. Others are understood where a person configures them.
    pub is_installed: bool,
}

const fn row(agent: Agent, event: &'static str, kind: HookKind) -> HookRow {
    HookRow { agent, event, kind, is_installed: true }
}

const fn other(agent: Agent, event: &'static str, kind: HookKind) -> HookRow {
    HookRow { agent, event, kind, is_installed: false }
}

/// Every hook event that means something to the guard.
#[rustfmt::skip]
pub const HOOKS: &[HookRow] = &[
    row(Agent::ClaudeCode, "PreToolUse", HookKind::BeforeTool),
    row(Agent::ClaudeCode, "PostToolUse", HookKind::AfterTool),
    other(Agent::ClaudeCode, "PostToolUseFailure", HookKind::AfterTool),
    row(Agent::ClaudeCode, "PermissionRequest", HookKind::Permission),
    row(Agent::ClaudeCode, "UserPromptSubmit", HookKind::Prompt),
    row(Agent::ClaudeCode, "UserPromptExpansion", HookKind::Expansion),
    row(Agent::ClaudeCode, "SessionStart", HookKind::SessionStart),
    row(Agent::ClaudeCode, "SessionEnd", HookKind::SessionEnd),
    row(Agent::ClaudeCode, "PostCompact", HookKind::Compacted),

    row(Agent::Codex, "PreToolUse", HookKind::BeforeTool),
    row(Agent::Codex, "PostToolUse", HookKind::AfterTool),
    row(Agent::Codex, "PermissionRequest", HookKind::Permission),
    row(Agent::Codex, "UserPromptSubmit", HookKind::Prompt),
    row(Agent::Codex, "SessionStart", HookKind::SessionStart),
    row(Agent::Codex, "SessionEnd", HookKind::SessionEnd),
    row(Agent::Codex, "PostCompact", HookKind::Compacted),

    row(Agent::OpenCode, "tool.execute.before", HookKind::BeforeTool),
    row(Agent::OpenCode, "tool.execute.after", HookKind::AfterTool),
    row(Agent::OpenCode, "chat.message", HookKind::Prompt),
    row(Agent::OpenCode, "command.execute.before", HookKind::Expansion),
    row(Agent::OpenCode, "event.session.created", HookKind::SubagentStart),
    row(Agent::OpenCode, "event.session.deleted", HookKind::SessionEnd),
    row(Agent::OpenCode, "event.session.compacted", HookKind::Compacted),

    // `PreCompress` is called before every request, whether or not anything is compacted.
    row(Agent::Gemini, "BeforeTool", HookKind::BeforeTool),
    row(Agent::Gemini, "AfterTool", HookKind::AfterTool),
    row(Agent::Gemini, "BeforeAgent", HookKind::Prompt),
    row(Agent::Gemini, "SessionStart", HookKind::SessionStart),
    row(Agent::Gemini, "SessionEnd", HookKind::SessionEnd),

    row(Agent::Goose, "PreToolUse", HookKind::BeforeTool),
    row(Agent::Goose, "PostToolUse", HookKind::AfterTool),
    row(Agent::Goose, "UserPromptSubmit", HookKind::Prompt),
    row(Agent::Goose, "SessionStart", HookKind::SessionStart),
    row(Agent::Goose, "SessionEnd", HookKind::SessionEnd),

    row(Agent::Copilot, "preToolUse", HookKind::BeforeTool),
    row(Agent::Copilot, "postToolUse", HookKind::AfterTool),
    other(Agent::Copilot, "postToolUseFailure", HookKind::AfterTool),
    row(Agent::Copilot, "permissionRequest", HookKind::Permission),
    row(Agent::Copilot, "userPromptSubmitted", HookKind::Prompt),
    row(Agent::Copilot, "sessionStart", HookKind::SessionStart),
    row(Agent::Copilot, "sessionEnd", HookKind::SessionEnd),
    row(Agent::Copilot, "subagentStart", HookKind::SubagentStart),
    row(Agent::Copilot, "postCompact", HookKind::Compacted),
    // The same program can be configured in Claude Code's form; inputs and answers have that form then.
    other(Agent::Copilot, "PreToolUse", HookKind::BeforeTool),
];

/// The events of an agent that the guard needs.
pub fn hooks_of(agent: Agent) -> impl Iterator<Item = &'static HookRow> {
    HOOKS.iter().filter(move |row| row.agent == agent && row.is_installed)
}

/// The event of an agent with a name; `None` if it means nothing to the guard.
pub fn hook_row(agent: Agent, event: &str) -> Option<&'static HookRow> {
    HOOKS.iter().find(|row| row.agent == agent && row.event == event)
}
