//! The agents and how they differ, as data: one row for each.

use metier_home::Agent;

/// How an agent is told which model to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModelBy {
    /// By an argument with this name.
    Argument(&'static str),
    /// By the option `model` of the conversation.
    Option,
}

/// Where an agent says which tool is called. The protocol itself does not say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NamedBy {
    /// The title with which a call is announced; later the title is prose.
    FirstTitle,
    /// The beginning of the call's id, before `__`.
    CallId,
    /// `toolName` in what Goose adds.
    GooseMeta,
    /// Nowhere: by the kind of the call and the names of its arguments.
    Shape,
}

/// How much of what was used the agent reports at the end of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reports {
    /// The last request to the model.
    LastRequest,
    /// The last request, and the size of each one while it works.
    EachSize,
    /// The turn.
    Turn,
    /// All turns of this process.
    Process,
}

/// An agent.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) agent: Agent,
    pub(super) arguments: &'static [&'static str],
    /// More arguments, if the prompt has tools.
    pub(super) for_tools: &'static [&'static str],
    pub(super) model_by: ModelBy,
    /// The mode in which it asks for permission.
    pub(super) mode: Option<&'static str>,
    pub(super) named_by: NamedBy,
    /// What the model's names of the prompt's tools begin with.
    pub(super) prefix: &'static str,
    /// Its tool for skills, with the argument that names the skill.
    pub(super) skill_tool: (&'static str, &'static str),
    /// Tools that only read the files and directories in their arguments.
    pub(super) readers: &'static [&'static str],
    /// Tools that are denied, because what they do is not asked about; with the reason.
    pub(super) refused: Option<(&'static str, &'static str)>,
    pub(super) reports: Reports,
    /// Whether its notes for a person are part of its text.
    pub(super) says_notes: bool,
    pub(super) can_resume: bool,
    /// Whether it runs the hooks of the project that it works in, without asking.
    pub(super) runs_hooks: bool,
    pub(super) asks_for: &'static str,
}

/// The row of an agent; `None` if it does not speak the protocol.
pub(super) fn row(agent: Agent) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.agent == agent)
}

const ROWS: &[Row] = &[
    Row {
        agent: Agent::OpenCode,
        // Without plugins: those of a project would run in it.
        arguments: &["acp", "--pure"],
        for_tools: &[],
        model_by: ModelBy::Option,
        mode: None,
        named_by: NamedBy::FirstTitle,
        prefix: "metier_",
        skill_tool: ("skill", "name"),
        readers: &["read", "list", "glob", "grep"],
        refused: None,
        reports: Reports::LastRequest,
        says_notes: false,
        can_resume: true,
        runs_hooks: false,
        asks_for: "all tools but its lists of tasks and the loading of skills",
    },
    Row {
        agent: Agent::Gemini,
        arguments: &["--acp"],
        for_tools: &[],
        model_by: ModelBy::Argument("--model"),
        mode: Some("default"),
        named_by: NamedBy::CallId,
        prefix: "mcp_metier_",
        skill_tool: ("activate_skill", "name"),
        readers: &["read_file", "list_directory", "glob", "grep_search"],
        refused: None,
        reports: Reports::Turn,
        says_notes: false,
        // It says that it can, and then finds no conversation.
        can_resume: false,
        runs_hooks: false,
        asks_for: "all tools but its lists of tasks, the loading of skills, and commands that it knows to only read, such as `ls`",
    },
    Row {
        agent: Agent::Goose,
        arguments: &["acp"],
        for_tools: &[],
        model_by: ModelBy::Option,
        mode: Some("approve"),
        named_by: NamedBy::GooseMeta,
        prefix: "metier__",
        skill_tool: ("load_skill", "name"),
        readers: &["tree", "analyze"],
        refused: Some(("delegate", "Goose's subagents do not ask for permission")),
        reports: Reports::EachSize,
        says_notes: false,
        can_resume: true,
        runs_hooks: false,
        asks_for: "all tools",
    },
    Row {
        agent: Agent::Copilot,
        arguments: &["--acp", "--no-auto-update", "--disable-builtin-mcps"],
        // Whether one may be called is decided when it is called. Copilot's question about it would have no name.
        for_tools: &["--allow-tool=metier"],
        model_by: ModelBy::Argument("--model"),
        mode: None,
        named_by: NamedBy::Shape,
        prefix: "metier-",
        skill_tool: ("skill", "skill"),
        readers: &[],
        refused: None,
        reports: Reports::Process,
        says_notes: true,
        can_resume: true,
        runs_hooks: true,
        asks_for: "commands, changes of files, and tools of MCP servers that do not only read; not for reading",
    },
];
