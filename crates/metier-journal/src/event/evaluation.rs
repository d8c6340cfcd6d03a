//! Evaluations: a prompt that an agent or a model answered, and what that used.

use serde::{Deserialize, Serialize};

/// A prompt was given to an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvaluationStart {
    /// The id of the evaluation, inside its session.
    pub evaluation: String,
    /// The agent, for example `claude`.
    pub agent: String,
    /// The prompt, as `namespace/key`.
    pub prompt: String,
    /// The model that was asked for, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The agent's conversation that goes on, if it is not a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed: Option<String>,
}

/// An evaluation ended, with an answer or without.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvaluationEnd {
    /// The id of the evaluation, inside its session.
    pub evaluation: String,
    /// The agent.
    pub agent: String,
    /// Its version, where it said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The model that answered, where the agent said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The agent's own id of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<String>,
    /// Input tokens of all model requests together, cached ones included.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// What it cost in millionths of a US dollar, where the agent said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_microdollars: Option<u64>,
    /// How many model requests the agent counted.
    pub turns: u64,
    /// Why the agent stopped, for example `end_turn`.
    pub stop: String,
    /// The code of the error that ended it, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The walls that stood between the agent and its tools: `hidden`, `hooks`, `permissions`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub walls: Vec<String>,
    /// How long it took, in microseconds.
    pub duration_us: u64,
}

/// Which skills a prompt brought into an agent's home.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptSkills {
    /// The namespace of the prompt.
    pub prompt_ns: String,
    /// Its key.
    pub prompt_key: String,
    /// Skills that are written in the prompt.
    #[serde(default)]
    pub inline: Vec<String>,
    /// Skills that the prompt refers to by path.
    #[serde(default)]
    pub referenced: Vec<String>,
    /// Skills that are attached to a section.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attached: Vec<String>,
    /// Skills that were found in a directory or catalog.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub discovered: Vec<String>,
    /// The directory that the agent finds them in.
    pub skills_dir: String,
}
