//! The supported agents and their differences: as data, one row for each agent.

use std::fmt;

/// A supported agent: a program that finds skills in its home.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Agent {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
    /// `OpenCode`.
    OpenCode,
    /// Gemini CLI.
    Gemini,
    /// Goose.
    Goose,
    /// GitHub Copilot CLI.
    Copilot,
}

/// What is known of an agent.
pub(crate) struct Facts {
    /// As one types it.
    pub(crate) name: &'static str,
    /// As it calls itself.
    pub(crate) title: &'static str,
    /// The program.
    pub(crate) program: &'static str,
    /// What the names of its homes begin with.
    pub(crate) prefix: &'static str,
    /// Where it looks for skills in its home.
    pub(crate) skills: &'static str,
    /// Directories of skills that it finds in its working directory.
    pub(crate) in_workspace: &'static [&'static str],
    /// Whether it looks in the directories above as well.
    pub(crate) looks_above: bool,
    /// Whether it finds skills deeper than right below these.
    pub(crate) looks_below: bool,
    /// Directories of skills that it finds on every machine.
    pub(crate) in_system: &'static [&'static str],
    /// What else is there of every machine that brings in text or skills, and is not a setting of its administrator.
    pub(crate) covered_in_system: &'static [&'static str],
    /// The maximum length of a skill's description in UTF-16 code units. The agent silently ignores skills with
    /// longer ones.
    pub(crate) description_units: Option<usize>,
    /// Whether it can be told to leave its working directory's skills alone.
    pub(crate) can_ignore_workspace: bool,
    /// The directory in its home with conversations that it can resume, if nothing else has to be kept for that.
    pub(crate) conversations: Option<&'static str>,
}

impl Agent {
    /// All supported agents.
    pub const ALL: [Self; 6] =
        [Self::ClaudeCode, Self::Codex, Self::OpenCode, Self::Gemini, Self::Goose, Self::Copilot];

    pub(crate) const fn facts(self) -> &'static Facts {
        match self {
            Self::ClaudeCode => &Facts {
                name: "claude",
                title: "Claude Code",
                program: "claude",
                prefix: "claude-agent-",
                skills: ".claude/skills",
                in_workspace: &[".claude/skills"],
                looks_above: true,
                looks_below: false,
                in_system: &["/etc/claude-code/.claude/skills"],
                covered_in_system: &["/etc/claude-code/.claude", "/etc/claude-code/CLAUDE.md"],
                description_units: None,
                can_ignore_workspace: true,
                conversations: Some(".claude/projects"),
            },
            Self::Codex => &Facts {
                name: "codex",
                title: "Codex",
                program: "codex",
                prefix: "codex-agent-",
                skills: ".agents/skills",
                in_workspace: &[".agents/skills", ".codex/skills"],
                looks_above: true,
                looks_below: true,
                in_system: &["/etc/codex/skills"],
                covered_in_system: &[],
                description_units: None,
                can_ignore_workspace: true,
                conversations: Some(".codex/sessions"),
            },
            Self::OpenCode => &Facts {
                name: "opencode",
                title: "OpenCode",
                program: "opencode",
                prefix: "opencode-agent-",
                skills: ".claude/skills",
                in_workspace: &[".claude/skills", ".agents/skills", ".opencode/skill", ".opencode/skills"],
                looks_above: true,
                looks_below: true,
                in_system: &[],
                covered_in_system: &[],
                description_units: None,
                can_ignore_workspace: true,
                conversations: None,
            },
            Self::Gemini => &Facts {
                name: "gemini",
                title: "Gemini CLI",
                program: "gemini",
                prefix: "gemini-agent-",
                skills: ".agents/skills",
                in_workspace: &[".gemini/skills", ".agents/skills"],
                looks_above: false,
                looks_below: false,
                in_system: &[],
                covered_in_system: &[],
                description_units: None,
                can_ignore_workspace: false,
                conversations: None,
            },
            Self::Goose => &Facts {
                name: "goose",
                title: "Goose",
                program: "goose",
                prefix: "goose-agent-",
                skills: ".agents/skills",
                in_workspace: &[".goose/skills", ".claude/skills", ".agents/skills"],
                looks_above: false,
                looks_below: true,
                in_system: &[],
                covered_in_system: &[],
                description_units: None,
                can_ignore_workspace: false,
                conversations: None,
            },
            Self::Copilot => &Facts {
                name: "copilot",
                title: "GitHub Copilot CLI",
                program: "copilot",
                prefix: "copilot-agent-",
                skills: ".agents/skills",
                in_workspace: &[".github/skills", ".claude/skills", ".agents/skills"],
                looks_above: true,
                looks_below: true,
                in_system: &[],
                covered_in_system: &[],
                description_units: Some(1024),
                can_ignore_workspace: false,
                conversations: Some(".copilot/session-state"),
            },
        }
    }

    /// The name on the command line, such as `claude`.
    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    /// The name in messages, such as `Claude Code`.
    pub const fn title(self) -> &'static str {
        self.facts().title
    }

    /// The name of its program.
    pub const fn program(self) -> &'static str {
        self.facts().program
    }

    /// The directory where it looks for skills, relative to its home.
    pub const fn skills_directory(self) -> &'static str {
        self.facts().skills
    }

    /// Whether its commands run in a sandbox of its own that the home configures.
    pub const fn has_sandbox(self) -> bool {
        matches!(self, Self::ClaudeCode)
    }

    /// The agent with a name, in any of the spellings in use.
    ///
    /// ```
    /// use metier_home::Agent;
    ///
    /// assert_eq!(Agent::find("claude-code"), Some(Agent::ClaudeCode));
    /// assert_eq!(Agent::find("emacs"), None);
    /// ```
    pub fn find(name: &str) -> Option<Self> {
        let is_meant = |agent: &Self| {
            let title = agent.title().to_ascii_lowercase().replace(' ', "-");
            name == agent.name() || name == title
        };
        Self::ALL.into_iter().find(is_meant)
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
