//! `allowed-tools`: the list of rules that a skill declares, split but not interpreted. The policy interprets
//! them.

use serde::{Deserialize, Serialize};

/// The tools that a skill declares. An empty list allows no tools; a skill without a declaration has no
/// `ToolRules`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolRules {
    rules: Vec<String>,
}

impl ToolRules {
    /// Rules given one by one, as in a YAML list. Empty rules are dropped.
    pub fn from_rules<T: AsRef<str>>(rules: impl IntoIterator<Item = T>) -> Self {
        let rules = rules.into_iter().map(|rule| rule.as_ref().trim().to_owned());
        Self { rules: rules.filter(|rule| !rule.is_empty()).collect() }
    }

    /// Splits a text at white space and commas outside parentheses.
    ///
    /// ```
    /// use metier_skill::ToolRules;
    ///
    /// let tools = ToolRules::split("Read, Bash(git add *) Write");
    /// assert_eq!(tools.rules(), ["Read", "Bash(git add *)", "Write"]);
    /// ```
    pub fn split(text: &str) -> Self {
        let mut depth = 0_usize;
        Self::from_rules(text.split(|c: char| {
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && (c == ',' || c.is_whitespace())
        }))
    }

    /// The rules, in the order of the file.
    pub fn rules(&self) -> &[String] {
        &self.rules
    }

    /// Why a rule can never match, judged by its parentheses alone. Reading a skill reports this as
    /// [`AllowedToolsRule`](crate::Code::AllowedToolsRule). The policy reports other problems with rules.
    pub fn problem(rule: &str) -> Option<&'static str> {
        if rule.starts_with('(') {
            return Some("the tool's name must come directly before the parenthesis");
        }
        let mut depth = 0_usize;
        for c in rule.chars() {
            match c {
                '(' => depth += 1,
                ')' if depth == 0 => return Some("its parentheses are not balanced"),
                ')' => depth -= 1,
                _ => {}
            }
        }
        (depth != 0).then_some("its parentheses are not balanced")
    }

    /// Whether no tools are allowed.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}
