//! What Claude Code used: while it works from each message, and exactly from each result.

use std::collections::HashMap;

use serde_json::Value;

use crate::usage::{Cost, TokenUsage, UsageSoFar};

/// The maximum number of messages between two results whose usage is told apart.
const MESSAGES: usize = 10_000;

/// The usage of a conversation.
#[derive(Debug, Default)]
pub(super) struct ClaudeUsage {
    /// Of all turns that have ended, as their results say.
    ended: UsageSoFar,
    /// Of the messages since then: several frames can be about one message.
    messages: HashMap<String, TokenUsage>,
}

impl ClaudeUsage {
    /// A message, with its usage so far. Returns whether that is news.
    pub(super) fn message(&mut self, id: &str, usage: &Value) -> bool {
        let said = tokens(
            usage,
            ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"],
        );
        if self.messages.len() >= MESSAGES && !self.messages.contains_key(id) {
            return false;
        }
        let known = self.messages.entry(id.to_owned()).or_default();
        let now = known.max(said);
        std::mem::replace(known, now) != now
    }

    /// A result. What it says counts more than what its messages said.
    pub(super) fn result(&mut self, result: &Value) {
        self.messages.clear();
        let turns = result.get("num_turns").and_then(Value::as_u64).unwrap_or_default();
        match result.get("model_usage_since_last_result") {
            Some(since) => self.ended = self.ended + UsageSoFar { turns, ..of_models(since) },
            // Older versions: the sum of the whole session.
            None => {
                let whole = of_models(result.get("modelUsage").unwrap_or(&Value::Null));
                self.ended = UsageSoFar { turns: self.ended.turns.saturating_add(turns), ..whole };
            }
        }
    }

    /// What the conversation has used so far.
    pub(super) fn so_far(&self) -> UsageSoFar {
        let usage = self.messages.values().fold(TokenUsage::default(), |sum, usage| sum + *usage);
        let turns = self.messages.len() as u64;
        self.ended + UsageSoFar { usage, cost: None, turns }
    }
}

/// The sum over all models.
fn of_models(models: &Value) -> UsageSoFar {
    let names = ["inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"];
    let each = models.as_object().into_iter().flat_map(serde_json::Map::values);
    each.fold(UsageSoFar::default(), |sum, model| {
        let cost = model.get("costUSD").and_then(Value::as_f64).and_then(Cost::from_dollars);
        sum + UsageSoFar { usage: tokens(model, names), cost, turns: 0 }
    })
}

fn tokens(usage: &Value, [input, output, read, written]: [&str; 4]) -> TokenUsage {
    let count = |name: &str| usage.get(name).and_then(Value::as_u64).unwrap_or_default();
    TokenUsage {
        input: count(input),
        output: count(output),
        cache_read: count(read),
        cache_written: count(written),
    }
}
