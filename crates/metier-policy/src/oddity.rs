//! What makes a call unlikely. Decisions do not depend on it; it helps a person who tries out a policy.

use std::fmt;

use crate::call::ToolCall;
use crate::tools;

/// Why no agent is likely to make a call: see [`ToolCall::oddity`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallOddity {
    /// No agent that metier knows has this tool.
    UnknownTool {
        /// The tool.
        tool: String,
        /// The known tool that may be meant.
        meant: Option<&'static str>,
    },
    /// The call lacks what rules about the tool look at.
    Missing {
        /// The tool.
        tool: String,
        /// What is missing, such as `command`.
        what: &'static str,
    },
}

impl fmt::Display for CallOddity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownTool { tool, meant: Some(meant) } => {
                write!(f, "unknown tool `{tool}`; did you mean `{meant}`?")
            }
            Self::UnknownTool { tool, meant: None } => {
                write!(f, "unknown tool `{tool}`; only a rule with exactly this name matches it")
            }
            Self::Missing { tool, what } => write!(f, "the call of `{tool}` has no {what}"),
        }
    }
}

impl ToolCall {
    /// What makes it unlikely that an agent makes this call: no agent has such a tool, or the call lacks what rules about the tool
    /// look at. `None` for tools of MCP servers, which can have any name and input.
    ///
    /// ```
    /// use metier_policy::ToolCall;
    ///
    /// let oddity = ToolCall::new("Bsh", "git log").oddity().unwrap();
    /// assert_eq!(oddity.to_string(), "unknown tool `Bsh`; did you mean `Bash`?");
    /// ```
    pub fn oddity(&self) -> Option<CallOddity> {
        let tool = self.tool().to_owned();
        let Some(what) = self.needs() else {
            let is_known = self.is_known() || tool.starts_with("mcp__") || tools::is_own_tool(&tool);
            return (!is_known).then(|| CallOddity::UnknownTool { meant: tools::nearest(&tool), tool });
        };
        // An argument that is not a text is there as well.
        let is_there = self.texts().is_none_or(|texts| texts.iter().any(|text| !text.is_empty()));
        (!is_there).then_some(CallOddity::Missing { tool, what })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn only_calls_that_no_agent_makes_are_odd() {
        let odd = |tool: &str, input: Value| ToolCall::new(tool, input).oddity().map(|odd| odd.to_string());
        for (tool, input) in [
            ("Bash", json!("git log")),
            ("exec_command", json!({ "cmd": ["git", "log"] })),
            ("Bash", json!({ "command": 3 })),
            ("Grep", json!({ "pattern": "x" })),
            ("TodoWrite", json!("")),
            ("mcp__github__get_issue", json!("")),
            ("load_skill", json!("")),
        ] {
            assert_eq!(odd(tool, input), None, "{tool}");
        }
        for (tool, input, said) in [
            ("Bash", json!(""), "the call of `Bash` has no command"),
            ("shell", json!({ "workdir": "/" }), "the call of `shell` has no command"),
            ("Read", json!({}), "the call of `Read` has no path"),
            ("WebFetch", json!(""), "the call of `WebFetch` has no address"),
            ("BASH", json!("ls"), "unknown tool `BASH`; did you mean `Bash`?"),
            (
                "Frobnicate",
                json!("x"),
                "unknown tool `Frobnicate`; only a rule with exactly this name matches it",
            ),
        ] {
            assert_eq!(odd(tool, input).as_deref(), Some(said));
        }
    }
}
