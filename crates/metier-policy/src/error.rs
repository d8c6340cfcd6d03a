//! Errors that make a policy unusable. A problem with a single tool rule is a [`RuleNote`](crate::RuleNote).

use metier_skill::Coded;

/// Why a policy cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// A pattern for skills or scripts is invalid.
    #[error("{source_name}: invalid pattern `{pattern}`")]
    Pattern {
        /// The file.
        source_name: String,
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        source: globset::Error,
    },
    /// A rule has no effect.
    #[error(
        "{source_name}: rule {number} has no effect; add `activate`, `resources`, `scripts`, `network`, `destructive` or `tools`"
    )]
    EmptyRule {
        /// The file.
        source_name: String,
        /// Which rule of the file, from 1.
        number: usize,
    },
    /// A rule has both a `script` and `activate`, which applies to the whole skill.
    #[error(
        "{source_name}: rule {number} has both `script` and `activate`, but `activate` applies to the whole skill; write two rules"
    )]
    ScriptToActivate {
        /// The file.
        source_name: String,
        /// Which rule of the file, from 1.
        number: usize,
    },
    /// A rule is about skills and about the tools of MCP servers.
    #[error(
        "{source_name}: rule {number} mixes skills and tools: `server` and `tool` go with `tools` only, `tier`, `skill` and `script` with everything else; write two rules"
    )]
    MixedRule {
        /// The file.
        source_name: String,
        /// Which rule of the file, from 1.
        number: usize,
    },
    /// A rule's name or message is not a short line of text.
    #[error(
        "{source_name}: rule {number} has a `name` or `message` that is empty, too long or not one line of text"
    )]
    RuleText {
        /// The file.
        source_name: String,
        /// Which rule of the file, from 1.
        number: usize,
    },
    /// A deny rule has no effect.
    #[error("{source_name}: deny rule `{rule}` has no effect: {message}")]
    DenyRule {
        /// The file.
        source_name: String,
        /// The rule.
        rule: String,
        /// What is wrong with it.
        message: String,
    },
    /// A text is not a host with a port.
    #[error("invalid destination `{text}`; use `example.org:443`, `*.example.org:443` or `127.0.0.1:8080`")]
    Destination {
        /// The text as written.
        text: String,
    },
    /// Too many destinations for one approval question.
    #[error("{count} destinations are too many for one approval; name at most {most}")]
    Destinations {
        /// The number of destinations.
        count: usize,
        /// The maximum.
        most: usize,
    },
}

impl Coded for PolicyError {
    fn code(&self) -> &'static str {
        match self {
            Self::Pattern { .. } => "policy-pattern",
            Self::EmptyRule { .. }
            | Self::ScriptToActivate { .. }
            | Self::MixedRule { .. }
            | Self::RuleText { .. } => "policy-rule",
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
