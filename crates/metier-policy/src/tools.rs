//! The tools of hosts: their names, and which of their arguments rules check.

/// What the text in a rule's parentheses means for a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A command line for a POSIX shell.
    Shell,
    PowerShell,
    /// Reads the file or directory in an argument.
    Read,
    /// Searches below the directory in an argument.
    Search,
    /// Changes the file in an argument.
    Edit,
    /// Fetches a URL.
    Fetch,
    /// Starts another agent by name.
    Agent,
    /// Loads a skill by name.
    Skill,
    /// Has no argument that a rule could check.
    Plain,
}

impl Kind {
    /// What every call of such a tool has, and rules are about.
    pub(crate) const fn needs(self) -> Option<&'static str> {
        match self {
            Self::Shell | Self::PowerShell => Some("command"),
            Self::Read | Self::Edit => Some("path"),
            Self::Fetch => Some("address"),
            Self::Agent => Some("agent"),
            Self::Skill => Some("skill"),
            // A search without a directory searches the working directory.
            Self::Search | Self::Plain => None,
        }
    }
}

/// One tool: its name in rules, its names in hosts, and the arguments that rules check.
#[derive(Debug)]
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// Its names in hosts.
    pub(crate) others: &'static [&'static str],
    /// The arguments that rules check; all that are present count.
    pub(crate) fields: &'static [&'static str],
}

pub(crate) const COMMAND: &[&str] = &["command", "cmd", "script"];
const PATH: &[&str] = &[
    "file_path",
    "path",
    "paths",
    "notebook_path",
    "filePath",
    "file",
    "filename",
    "files",
    "file_paths",
    "absolute_path",
    "target_file",
    "include",
];

pub(crate) const TOOLS: &[Tool] = &[
    Tool {
        name: "Bash",
        kind: Kind::Shell,
        others: &[
            "bash",
            "shell",
            "bash.execute",
            "bash:execute",
            "exec_command",
            "execute_command",
            "run_shell_command",
            "local_shell",
            "shell_command",
            "run_command",
            "run_terminal_cmd",
            "run_in_terminal",
            "terminal",
            "developer__shell",
            "container.exec",
            "code:run",
            "execute_bash",
        ],
        fields: COMMAND,
    },
    Tool { name: "PowerShell", kind: Kind::PowerShell, others: &["powershell", "pwsh"], fields: COMMAND },
    Tool {
        name: "Read",
        kind: Kind::Read,
        others: &[
            "read",
            "file.read",
            "file:read",
            "read_file",
            "read_many_files",
            "view",
            "view_file",
            "fs_read",
            "cat_file",
        ],
        fields: PATH,
    },
    Tool {
        name: "Grep",
        kind: Kind::Search,
        others: &["grep", "search_file_content", "grep_search", "file.search", "file:search", "search_files"],
        fields: &["path", "paths", "dir_path", "directory", "root"],
    },
    Tool {
        name: "Glob",
        kind: Kind::Search,
        others: &["glob", "file_search", "find_files", "glob_file_search"],
        fields: &["path", "dir_path", "directory", "pattern"],
    },
    Tool {
        name: "LS",
        kind: Kind::Search,
        others: &["ls", "list", "list_directory", "list_dir", "list_files", "file.list", "file:list"],
        fields: &["path", "dir_path", "directory", "target_directory"],
    },
    Tool { name: "LSP", kind: Kind::Search, others: &["lsp"], fields: PATH },
    Tool { name: "NotebookRead", kind: Kind::Read, others: &[], fields: PATH },
    Tool {
        name: "Edit",
        kind: Kind::Edit,
        others: &[
            "edit",
            "file.edit",
            "file:edit",
            "replace",
            "edit_file",
            "str_replace",
            "search_replace",
            "str_replace_editor",
            "str_replace_based_edit_tool",
        ],
        fields: PATH,
    },
    Tool { name: "MultiEdit", kind: Kind::Edit, others: &["multiedit", "multi_edit"], fields: PATH },
    // The paths are in the patch.
    Tool {
        name: "apply_patch",
        kind: Kind::Edit,
        others: &["patch", "ApplyPatch"],
        fields: &["input", "patch", "patchText"],
    },
    Tool {
        name: "delete_file",
        kind: Kind::Edit,
        others: &["remove_file", "file.delete", "file:delete"],
        fields: PATH,
    },
    Tool {
        name: "Write",
        kind: Kind::Edit,
        others: &[
            "write",
            "file.write",
            "file:write",
            "write_file",
            "create_file",
            "write_to_file",
            "fs_write",
        ],
        fields: PATH,
    },
    Tool { name: "NotebookEdit", kind: Kind::Edit, others: &["edit_notebook"], fields: PATH },
    Tool {
        name: "WebFetch",
        kind: Kind::Fetch,
        others: &["webfetch", "web_fetch", "web.fetch", "fetch", "fetch_url", "fetch_webpage", "http.get"],
        fields: &["url", "uri", "urls"],
    },
    Tool {
        name: "WebSearch",
        kind: Kind::Plain,
        others: &["websearch", "web_search", "web.search", "google_web_search"],
        fields: &["query"],
    },
    Tool {
        name: "Agent",
        kind: Kind::Agent,
        others: &["Task", "task", "agent", "delegate_to_agent", "spawn_agent"],
        fields: &["subagent_type", "agent", "agent_name", "name"],
    },
    Tool {
        name: "Skill",
        kind: Kind::Skill,
        others: &["skill", "activate_skill"],
        fields: &["skill", "name", "skill_name"],
    },
    Tool { name: "AskUserQuestion", kind: Kind::Plain, others: &["ask_user", "question"], fields: &[] },
    Tool {
        name: "TodoWrite",
        kind: Kind::Plain,
        others: &["todowrite", "todo_write", "update_plan"],
        fields: &[],
    },
    Tool { name: "TodoRead", kind: Kind::Plain, others: &["todoread"], fields: &[] },
    Tool { name: "TaskStop", kind: Kind::Plain, others: &["KillShell", "KillBash"], fields: &[] },
    Tool { name: "TaskOutput", kind: Kind::Plain, others: &["BashOutput", "AgentOutput"], fields: &[] },
    Tool { name: "EnterPlanMode", kind: Kind::Plain, others: &[], fields: &[] },
    Tool { name: "ExitPlanMode", kind: Kind::Plain, others: &["exit_plan_mode"], fields: &[] },
    Tool { name: "SlashCommand", kind: Kind::Plain, others: &[], fields: &[] },
    Tool { name: "ToolSearch", kind: Kind::Plain, others: &[], fields: &[] },
];

/// metier's own tools for skills and prompt sections, which no allowlist removes.
const OWN: &[&str] = &[
    "open_sections",
    "read_section",
    "list_skills",
    "load_skill",
    "read_skill_resource",
    "run_skill_script",
    "skills.list",
    "skills.read",
    "skills.read_resource",
    "skills.run_script",
];

/// Whether a tool is one of metier's own, which no allowlist removes.
pub fn is_own_tool(name: &str) -> bool {
    OWN.contains(&name.strip_prefix("mcp__metier__").unwrap_or(name))
}

/// The tool that a host calls by a name.
pub(crate) fn called(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name || tool.others.contains(&name))
}

/// The tool that a name may mean, in any case and with any host's prefix. For deny rules.
pub(crate) fn suspected(name: &str) -> Option<&'static Tool> {
    let bare = name.rsplit(['.', ':', '/']).next().unwrap_or(name);
    let is = |tool: &&Tool, name: &str| {
        tool.name.eq_ignore_ascii_case(name)
            || tool.others.iter().any(|other| other.eq_ignore_ascii_case(name))
    };
    let find = |name: &str| TOOLS.iter().find(|tool| is(tool, name));
    called(name).or_else(|| find(name)).or_else(|| find(bare))
}

/// The tool that a rule names. Case matters: a name in the wrong case is a mistake, although a host may have a tool of
/// that name.
pub(crate) fn in_rule(name: &str) -> Option<&'static Tool> {
    called(name).filter(|tool| tool.name == name || !tool.name.eq_ignore_ascii_case(name))
}

/// The known tool name that is closest to an unknown one.
pub(crate) fn nearest(name: &str) -> Option<&'static str> {
    let lower = name.to_ascii_lowercase();
    let near = |tool: &&Tool| is_near(&lower, &tool.name.to_ascii_lowercase());
    let is_same = |tool: &&Tool| {
        tool.name.eq_ignore_ascii_case(name)
            || tool.others.iter().any(|other| other.eq_ignore_ascii_case(name))
    };
    let same_letters = TOOLS.iter().find(is_same);
    same_letters.or_else(|| TOOLS.iter().find(near)).map(|tool| tool.name)
}

/// Whether two names differ by one inserted, removed or changed letter, or by two swapped letters.
fn is_near(a: &str, b: &str) -> bool {
    a.len() > 2 && b.len() > 2 && a.len().abs_diff(b.len()) < 2 && strsim::osa_distance(a, b) <= 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_host_name_means_two_tools() {
        let mut names: Vec<&str> =
            TOOLS.iter().flat_map(|tool| tool.others.iter().copied().chain([tool.name])).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn names_and_near_names() {
        assert_eq!(called("exec_command").map(|tool| tool.name), Some("Bash"));
        assert!(in_rule("bash").is_none() && in_rule("shell").is_some() && in_rule("Task").is_some());
        assert_eq!(
            (nearest("bash"), nearest("Raed"), nearest("Wirte"), nearest("Foo")),
            (Some("Bash"), Some("Read"), Some("Write"), None)
        );
        assert!(
            is_own_tool("load_skill")
                && is_own_tool("mcp__metier__load_skill")
                && !is_own_tool("mcp__evil__load_skill")
        );
    }
}
