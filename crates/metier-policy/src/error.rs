//! What stops a policy from being read. What is merely wrong with a rule is a [`RuleNote`](crate::RuleNote).

use metier_skill::Coded;

/// Why a policy cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// A pattern for skills or scripts that cannot be read.
    #[error("{source_name}: `{pattern}` is no pattern")]
    Pattern {
        /// The file.
        source_name: String,
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        source: globset::Error,
    },
    /// A rule that decides nothing.
    #[error(
        "{source_name}: rule {number} decides nothing; add `activate`, `resources`, `scripts`, `network` or `destructive`"
    )]
    EmptyRule {
        /// The file.
        source_name: String,
        /// Which rule of the file, from 1.
        number: usize,
    },
    /// A rule about a file and about loading the skill, which is about no file.
    #[error(
        "{source_name}: rule {number} names a `script` and decides `activate`, which is about the whole skill; write two rules"
    )]
    ScriptToActivate {
        /// The file.
        source_name: String,
        /// Which rule of the file, from 1.
        number: usize,
    },
    /// A rule whose name or message does not fit into a line.
    #[error(
        "{source_name}: rule {number} has a `name` or `message` that is empty, too long or not one line of text"
    )]
    RuleText {
        /// The file.
        source_name: String,
        /// Which rule of the file, from 1.
        number: usize,
    },
    /// A prohibition that would do nothing.
    #[error("{source_name}: the rule `{rule}` denies nothing: {message}")]
    DenyRule {
        /// The file.
        source_name: String,
        /// The rule.
        rule: String,
        /// What is the matter with it.
        message: String,
    },
    /// Not a host and a port.
    #[error("`{text}` is no destination: write `example.org:443`, `*.example.org:443` or `127.0.0.1:8080`")]
    Destination {
        /// What was written.
        text: String,
    },
    /// More hosts than a person would read.
    #[error("{count} destinations are more than a person is asked about at once; name at most {most}")]
    Destinations {
        /// How many there are.
        count: usize,
        /// How many there may be.
        most: usize,
    },
}

impl Coded for PolicyError {
    fn code(&self) -> &'static str {
        match self {
            Self::Pattern { .. } => "policy-pattern",
            Self::EmptyRule { .. } | Self::ScriptToActivate { .. } | Self::RuleText { .. } => "policy-rule",
            Self::DenyRule { .. } => "policy-deny-rule",
            Self::Destination { .. } | Self::Destinations { .. } => "policy-destination",
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Pattern { .. } => "write a glob such as `review-*` or `scripts/**`",
            Self::DenyRule { .. } => "write the rule as `Tool` or `Tool(spec)`, or remove it",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}
