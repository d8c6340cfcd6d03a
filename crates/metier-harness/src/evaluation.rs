//! The result of a prompt that ran on an agent.

use std::fmt;
use std::time::Duration;

use metier_skill::Digest;
use serde::{Deserialize, Serialize};

use crate::usage::{Cost, TokenUsage, UsageSoFar};

/// An agent's answer to a prompt, with what it used.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Evaluation<Output = String> {
    /// The id of the evaluation in its session.
    pub id: String,
    /// The final text of the agent.
    pub text: String,
    /// The text as the type that was asked for.
    pub output: Output,
    /// The tokens that it used.
    pub usage: TokenUsage,
    /// The cost, where the agent says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// How many requests the agent made to a model, as it counts them.
    pub turns: u64,
    /// Why the agent stopped.
    pub stop: StopReason,
    /// The agent's own id of the conversation, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The agent's version, where it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The model that answered, where the agent says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The skills that the agent loaded, in order.
    pub skills: Vec<LoadedSkill>,
    /// How many tools it called.
    pub tool_calls: u64,
    /// How often it started again because the model opened sections.
    pub expansions: u64,
    /// What stood between the agent and its tools.
    pub walls: Walls,
    /// How long it took. It is not part of the JSON.
    #[serde(skip)]
    pub duration: Duration,
}

impl<Output> Evaluation<Output> {
    /// What it used.
    pub(crate) const fn used(&self) -> UsageSoFar {
        UsageSoFar { usage: self.usage, cost: self.cost, turns: self.turns }
    }

    pub(crate) fn with_output<Other>(self, output: Other) -> Evaluation<Other> {
        let Self {
            id,
            text,
            output: _,
            usage,
            cost,
            turns,
            stop,
            session_id,
            version,
            model,
            skills,
            tool_calls,
            expansions,
            walls,
            duration,
        } = self;
        Evaluation {
            id,
            text,
            output,
            usage,
            cost,
            turns,
            stop,
            session_id,
            version,
            model,
            skills,
            tool_calls,
            expansions,
            walls,
            duration,
        }
    }
}

/// A skill that an agent loaded by its own means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LoadedSkill {
    /// The skill.
    pub name: String,
    /// The digest of what was mounted; `None` for a skill that metier did not mount.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
}

/// Why an agent stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// It was done.
    EndTurn,
    /// The model's answer reached its maximum length.
    MaxTokens,
    /// The agent made as many requests as it may.
    MaxTurns,
    /// The model refused.
    Refusal,
    /// It was interrupted.
    Interrupted,
    /// A tool was denied, and the agent ended its turn because of that.
    Denied,
    /// Another reason, as the agent calls it.
    #[serde(untagged)]
    Other(String),
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EndTurn => "end_turn",
            Self::MaxTokens => "max_tokens",
            Self::MaxTurns => "max_turns",
            Self::Refusal => "refusal",
            Self::Interrupted => "interrupted",
            Self::Denied => "denied",
            Self::Other(reason) => reason,
        })
    }
}

/// What stood between an agent and its tools, so that the policy applied to its own tools too.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Walls {
    /// Tools that the agent did not have, although it usually does.
    pub hidden: Vec<String>,
    /// Every tool call was checked by a hook before it ran.
    pub hooks: bool,
    /// The tool calls for which the agent asks permission were decided by the policy. Calls for which it does not ask,
    /// for example reading files, were not.
    pub permissions: bool,
}

impl Walls {
    /// The walls that stood, by name.
    pub fn names(&self) -> Vec<String> {
        let all =
            [("hidden", !self.hidden.is_empty()), ("hooks", self.hooks), ("permissions", self.permissions)];
        all.iter().filter(|(_, stands)| *stands).map(|(name, _)| (*name).to_owned()).collect()
    }
}
