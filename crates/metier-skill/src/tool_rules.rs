//! `allowed-tools`: the list of rules a skill declares, split but not interpreted. What a rule means is for
//! the policy.

use serde::{Deserialize, Serialize};

/// The tools that a skill declares. Empty means "nothing"; a skill without a declaration has none of these.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ToolRules {
    rules: Vec<String>,
}

impl ToolRules {
    /// Rules one by one, as a list in the frontmatter gives them; empty ones are dropped.
    pub fn from_rules<T: AsRef<str>>(rules: impl IntoIterator<Item = T>) -> Self {
        let rules = rules.into_iter().map(|rule| rule.as_ref().trim().to_owned());
        Self { rules: rules.filter(|rule| !rule.is_empty()).collect() }
    }

    /// Splits at blanks and commas outside parentheses.
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

    /// Why a rule cannot match anything, by its parentheses alone. Reading a skill reports these as
    /// [`AllowedToolsRule`](crate::Code::AllowedToolsRule); what else can be wrong with a rule is for the policy to say.
    pub fn problem(rule: &str) -> Option<&'static str> {
        if rule.starts_with('(') {
            return Some("a tool's name must stand right before the parenthesis");
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

    /// Whether nothing is allowed.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}
